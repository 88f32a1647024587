/** What the extension's button says with the popup closed (ui.md, States). Chrome keeps it while the worker sleeps. */
import { browser } from './browser';

export interface ButtonState {
  /** '' for none. */
  text: string;
  /** True when it goes on only after somebody did something. */
  urgent: boolean;
  tooltip: string;
}

const QUIET = '#5f6368';
const URGENT = '#b3261e';

export async function showOnButton({ text, urgent, tooltip }: ButtonState): Promise<void> {
  await Promise.all([
    browser.action.setBadgeText({ text }),
    browser.action.setBadgeBackgroundColor({ color: urgent ? URGENT : QUIET }),
    browser.action.setTitle({ title: tooltip }),
  ]);
}
