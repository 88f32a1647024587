/** The state of the connection on the extension's button, with the popup closed (ui.md, States). */
import { browser } from './browser';
import type { ConnectionState } from './messages';

const BADGES: Readonly<Record<ConnectionState['state'], string>> = {
  online: '',
  // Nobody has to do anything: a browser without an enrollment is as it should be.
  not_enrolled: '',
  connecting: '…',
  handshaking: '…',
  waiting: '…',
  no_network: '…',
  replaced: '…',
  token_stopped: '!',
  blocked_by_policy: '!',
  paused: '‖',
};

const QUIET = '#5f6368';
const URGENT = '#b3261e';

/** Shows the state; `sentence` is the tooltip. Chrome keeps both while the worker sleeps. */
export async function showConnection({ state }: ConnectionState, sentence: string): Promise<void> {
  const text = BADGES[state];
  await Promise.all([
    browser.action.setBadgeText({ text }),
    browser.action.setBadgeBackgroundColor({ color: text === '!' ? URGENT : QUIET }),
    browser.action.setTitle({ title: sentence }),
  ]);
}
