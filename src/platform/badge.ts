/** What the extension's button says with the popup closed (ui.md, States). Chrome keeps it while the worker sleeps. */
import { browser } from './browser';
import { type ButtonIcon, buttonIconPaths } from './button-icons';

export interface ButtonState {
  icon: ButtonIcon;
  /** '' for none. */
  text: string;
  /** True when it goes on only after somebody did something. */
  urgent: boolean;
  tooltip: string;
}

const QUIET = '#5f6368';
const URGENT = '#b3261e';

export async function showOnButton({ icon, text, urgent, tooltip }: ButtonState): Promise<void> {
  await Promise.all([
    browser.action.setIcon({ path: buttonIconPaths(icon) }),
    browser.action.setBadgeText({ text }),
    browser.action.setBadgeBackgroundColor({ color: urgent ? URGENT : QUIET }),
    browser.action.setTitle({ title: tooltip }),
  ]);
}

/** In `storage.session`: the badge of a new connection state must not wait for the storage worker. */
const LOST_KEY = 'lost_storages';

/** Names of the Storages whose permission is lost, as they were last seen. */
export async function recallLostStorages(): Promise<string[]> {
  const { [LOST_KEY]: names } = await browser.storage.session.get(LOST_KEY);
  return Array.isArray(names) ? names.map(String) : [];
}

export async function rememberLostStorages(names: readonly string[]): Promise<void> {
  await browser.storage.session.set({ [LOST_KEY]: names });
}
