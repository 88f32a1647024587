/** Tabs and windows as tools name them: found, or the error that says what would help. */
import type { Browser, Tabs, Windows } from 'webextension-polyfill';
import { AgentError } from '../protocol/errors';

/** The tab of this id. Throws `tab_not_found`. */
export async function findTab(browser: Browser, tab_id: number): Promise<Tabs.Tab> {
  try {
    return await browser.tabs.get(tab_id);
  } catch {
    throw new AgentError('tab_not_found');
  }
}

/** Chrome takes more than the polyfill's types know. */
const NORMAL_ONLY: Windows.GetInfo & { windowTypes: Windows.WindowType[] } = {
  populate: false,
  windowTypes: ['normal'],
};

/** The normal window that last had the focus (no app window, no popup), or null when there is none. */
export async function lastFocusedWindow(browser: Browser): Promise<(Windows.Window & { id: number }) | null> {
  try {
    const found = await browser.windows.getLastFocused(NORMAL_ONLY);
    return found.id === undefined ? null : { ...found, id: found.id };
  } catch {
    return null;
  }
}

/** The tab a window shows, or null when it has none or is gone. */
export async function activeTabOf(browser: Browser, windowId: number): Promise<Tabs.Tab | null> {
  const tabs = await browser.tabs.query({ active: true, windowId }).catch((): Tabs.Tab[] => []);
  return tabs[0] ?? null;
}

/** The tab meant by an optional `tab_id`: by default the active tab of the last focused normal window. */
export async function meantTab(browser: Browser, tab_id: number | undefined): Promise<Tabs.Tab> {
  if (tab_id !== undefined) return findTab(browser, tab_id);
  const window = await lastFocusedWindow(browser);
  const tab = window && (await activeTabOf(browser, window.id));
  if (tab) return tab;
  throw new AgentError('tab_not_found', 'No browser window is open. tab_open opens one.');
}

/** The normal window of this id. Throws `invalid_input` naming `window_id`. */
export async function findWindow(browser: Browser, window_id: number): Promise<Windows.Window> {
  try {
    // Awaited here: for a number that is no id at all Chrome throws at once instead of rejecting.
    return await browser.windows.get(window_id);
  } catch {
    throw new AgentError(
      'invalid_input',
      `input.window_id: there is no window ${window_id}. tab_list shows the windows there are.`,
    );
  }
}

/** What Chrome gave as a tab's address: the one that is coming while the first one is not there yet. */
export function addressOf(tab: Pick<Tabs.Tab, 'url' | 'pendingUrl'>): string {
  return tab.url || tab.pendingUrl || '';
}
