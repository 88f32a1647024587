/** The tab tools (tools.md, Catalogue and Common shapes): windows, tabs and where they go. */
import type { Browser, Tabs } from 'webextension-polyfill';
import { AgentError } from '../protocol/errors';
import type { JsonObject } from '../protocol/json';
import type { UrlRules } from '../settings/url-rules';
import { readAddress } from './addresses';
import { addressOf, findTab, findWindow, lastFocusedWindow, meantTab } from './find-tabs';
import type { LoadPlan } from './load-watch';
import { noPage } from './navigation-errors';
import { assertOpenTab, isOpenTab } from './open-tab';
import { titleOf } from './page-title';
import { defineTool, type ToolContext } from './tool';

const TAB_ID: JsonObject = { type: 'integer', minimum: 0 };
const ADDRESS: JsonObject = { type: 'string', minLength: 1 };

/** A page can make its address megabytes long: a list of tabs must still fit into an answer. */
const LONGEST_ADDRESS = 8_192;

export const tabList = defineTool<{ window_id?: number }>({
  name: 'tab_list',
  description:
    'Lists the open tabs of all browser windows, or of one. Use it to find the tab_id that other tools take, or to see what is open. ' +
    'Returns tabs: for each tab_id, window_id, index (its place in the window), active (true for the one tab its window shows), ' +
    'title, url, status (loading, complete, or unloaded), discarded, pinned and audible. Addresses are cut after 8192 characters. ' +
    'A tab with restricted: true shows a page that is closed to the agent: its title and url are left empty, and no tool touches it.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      window_id: {
        type: 'integer',
        minimum: 0,
        description: 'Only the tabs of this window. Default: all windows.',
      },
    },
  },
  class: 'observe',
  read_only: true,
  os_action: 'tab.list',
  requires_confirmation: false,
  async run({ window_id }, context) {
    const { browser } = context;
    if (window_id !== undefined) await findWindow(browser, window_id);
    const tabs = await browser.tabs.query(window_id === undefined ? {} : { windowId: window_id });
    const open = await Promise.all(tabs.map((tab) => isOpenTab(context, tab)));
    return { output: { tabs: tabs.flatMap((tab, index) => listed(tab, open[index] === true)) } };
  },
});

function listed(tab: Tabs.Tab, isOpen: boolean): JsonObject[] {
  if (tab.id === undefined) return [];
  const url = isOpen ? addressOf(tab) : '';
  return [
    {
      tab_id: tab.id,
      window_id: tab.windowId ?? null,
      index: tab.index,
      active: tab.active,
      title: isOpen ? (tab.title ?? '') : '',
      url: url.length > LONGEST_ADDRESS ? `${url.slice(0, LONGEST_ADDRESS)}…` : url,
      status: tab.status ?? 'unloaded',
      discarded: tab.discarded ?? false,
      pinned: tab.pinned,
      audible: tab.audible ?? false,
      ...(isOpen ? {} : { restricted: true }),
    },
  ];
}

/** The address a tool may go to. Throws as `readAddress`, and `page_restricted` by the URL rules. */
function openAddress(url: string, urls: UrlRules): string {
  const address = readAddress(url);
  if (!urls.mayEnter(address)) throw new AgentError('page_restricted');
  return address;
}

const LANDED_IN_NEW_TAB = 'The address led to a page that is closed to the agent.';
const LANDED =
  'The address led to a page that is closed to the agent. The tab still shows it; only a person can go on from there.';

interface TabOpenInput {
  url: string;
  active?: boolean;
  window_id?: number;
}

export const tabOpen = defineTool<TabOpenInput>({
  name: 'tab_open',
  description:
    'Opens an address in a new tab and waits until the page is loaded. Use it to visit a page without touching the tabs that are there. ' +
    'The tab opens in the background unless active is true; the window never takes the focus. Only http:, https: and about:blank are opened. ' +
    'Returns tab_id, window_id, the final url after redirects, title, and http_status (null where there is none). ' +
    'A page the server answers with an error, such as 404, is loaded all the same: look at http_status. ' +
    'When there is no page at all the answer is navigation_failed with the reason, and the new tab is closed again.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['url'],
    properties: {
      url: { ...ADDRESS, description: 'The absolute address, such as https://example.com/.' },
      active: {
        type: 'boolean',
        default: false,
        description:
          'true: the new tab becomes the one its window shows. It does not take the focus from other windows.',
      },
      window_id: {
        type: 'integer',
        minimum: 0,
        description:
          'The window to open it in. Default: the window that was last focused, or a new one when none is open.',
      },
    },
  },
  class: 'interact',
  read_only: false,
  os_action: 'tab.open',
  requires_confirmation: false,
  async run(input, context) {
    const { browser, loads, signal, urls } = context;
    const url = openAddress(input.url, urls);
    const window_id = await windowForNewTab(browser, input.window_id);
    const plan: LoadPlan = { kind: 'open', from_url: '', to_url: url, tab_id: null, signal };
    let opened: number | undefined;
    try {
      const { tab_id, http_status } = await loads.load(plan, async () => {
        opened = await openTab(browser, url, window_id, input.active ?? false);
        return opened;
      });
      const tab = await findTab(browser, tab_id);
      if (!(await isOpenTab(context, tab))) throw new AgentError('page_restricted', LANDED_IN_NEW_TAB);
      return {
        output: {
          tab_id,
          window_id: tab.windowId ?? null,
          url: addressOf(tab),
          title: await titleOf(context, tab),
          http_status,
        },
      };
    } catch (thrown) {
      const failed =
        thrown instanceof AgentError && ['navigation_failed', 'page_restricted'].includes(thrown.code);
      // A tab whose id nobody learns would stay for ever. A window that was made for it is left: closing the last one may quit.
      if (failed && opened !== undefined && window_id !== null)
        await browser.tabs.remove(opened).catch(() => {});
      throw thrown;
    }
  },
});

/** Null when a window must be opened. */
async function windowForNewTab(browser: Browser, window_id: number | undefined): Promise<number | null> {
  if (window_id === undefined) return (await lastFocusedWindow(browser))?.id ?? null;
  const window = await findWindow(browser, window_id);
  if (window.type === 'normal') return window_id;
  throw new AgentError(
    'invalid_input',
    `input.window_id: window ${window_id} cannot hold more tabs. Take a normal browser window.`,
  );
}

async function openTab(
  browser: Browser,
  url: string,
  windowId: number | null,
  active: boolean,
): Promise<number> {
  const tab =
    windowId === null
      ? (await browser.windows.create({ url, focused: false })).tabs?.[0]
      : await browser.tabs.create({ url, windowId, active });
  if (tab?.id === undefined) throw new AgentError('navigation_failed', 'Chrome opened no tab.');
  return tab.id;
}

export const tabClose = defineTool<{ tab_id: number }>({
  name: 'tab_close',
  description:
    'Closes a tab. Use it to put away a tab that is no longer needed, above all one you opened. Returns its tab_id when it is gone. ' +
    'A page with unsaved input may ask the person first; then the answer waits for the person. ' +
    'When it is the last tab of the browser, an empty one is opened in its place, because the browser would quit.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['tab_id'],
    properties: { tab_id: { ...TAB_ID, description: 'The tab to close.' } },
  },
  class: 'interact',
  read_only: false,
  os_action: 'tab.close',
  requires_confirmation: false,
  async run({ tab_id }, context) {
    const { browser, signal } = context;
    const [tab, all] = await Promise.all([findTab(browser, tab_id), browser.tabs.query({})]);
    await assertOpenTab(context, tab);
    const staying = all.filter(({ id }) => id !== tab_id && (id === undefined || !closing.has(id)));
    closing.add(tab_id);
    try {
      if (staying.length === 0 && tab.windowId !== undefined) {
        await browser.tabs.create({ windowId: tab.windowId, active: false });
      }
      await closeTab(browser, tab_id, signal);
    } finally {
      closing.delete(tab_id);
    }
    return { output: { tab_id } };
  },
});

/** The tabs of the calls now under way: when all are closed at once, each must know that it is not the only one. */
const closing = new Set<number>();

/**
 * The tabs that an earlier call could not close: their page may still be asking the person. Told again to
 * close such a tab, Chrome does so without waiting for the person, whose input would be lost.
 */
const asking = new Set<number>();

/** Resolves when no dialog of the page is open: until then no script in it answers. */
async function pageAnswers(browser: Browser, tab_id: number): Promise<void> {
  await browser.scripting.executeScript({ target: { tabId: tab_id }, func: () => null }).catch(() => {});
}

/** Resolves when the tab is gone: Chrome's own answer comes while the page may still be asking the person. */
async function closeTab(browser: Browser, tab_id: number, signal: AbortSignal): Promise<void> {
  let stop = (): void => {};
  const gone = new Promise<void>((resolve, reject) => {
    const onRemoved = (removed: number): void => {
      if (removed === tab_id) resolve();
    };
    const onAbort = (): void => reject(signal.reason);
    browser.tabs.onRemoved.addListener(onRemoved);
    signal.addEventListener('abort', onAbort);
    stop = () => {
      browser.tabs.onRemoved.removeListener(onRemoved);
      signal.removeEventListener('abort', onAbort);
    };
  });
  try {
    if (asking.has(tab_id)) await Promise.race([gone, pageAnswers(browser, tab_id)]);
    asking.add(tab_id);
    const refused = await Promise.race([gone, browser.tabs.remove(tab_id)]).then(
      () => null,
      (thrown: unknown) => ({ thrown }),
    );
    const isThere = await browser.tabs.get(tab_id).then(
      () => true,
      () => false,
    );
    // The person, or another call, may have closed it a moment ago: then Chrome refuses, and it is gone all the same.
    if (isThere && refused) throw refused.thrown;
    if (isThere) await gone;
    asking.delete(tab_id);
  } finally {
    stop();
  }
}

export const tabActivate = defineTool<{ tab_id: number }>({
  name: 'tab_activate',
  description:
    'Makes a tab the one its window shows and brings that window to the front, out of minimization too. ' +
    'Use it before screenshot of a tab in the background, or to show a person something. It is the only tool that moves the focus. Returns the tab_id.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['tab_id'],
    properties: { tab_id: { ...TAB_ID, description: 'The tab to show.' } },
  },
  class: 'interact',
  read_only: false,
  os_action: 'tab.activate',
  requires_confirmation: false,
  async run({ tab_id }, context) {
    const { browser } = context;
    const tab = await findTab(browser, tab_id);
    await assertOpenTab(context, tab);
    const shown = await browser.tabs.update(tab_id, { active: true });
    if (tab.windowId !== undefined) await bringToFront(context, tab.windowId);
    return { output: { tab_id: shown.id ?? tab_id } };
  },
});

/** Chrome answers before the window has come to the front: so often, with that pause, it is looked for there. */
const FRONT_LOOKS = 20;
const FRONT_PAUSE_MS = 25;

async function bringToFront({ browser, wait }: ToolContext, window_id: number): Promise<void> {
  const isInFront = async () => (await lastFocusedWindow(browser))?.id === window_id;
  const window = await browser.windows.get(window_id);
  if (window.state === 'minimized') await browser.windows.update(window_id, { state: 'normal' });
  // Where no window manager is (headless), several windows say they have the focus, and Chrome does not give it anew to one that does.
  if (window.type === 'normal' && window.focused && !(await isInFront())) {
    await browser.windows.update(window_id, { focused: false });
  }
  await browser.windows.update(window_id, { focused: true });
  if (window.type !== 'normal') return;
  // A desktop may refuse: then the tab is active all the same.
  for (let looks = 0; looks < FRONT_LOOKS && !(await isInFront()); looks += 1) await wait(FRONT_PAUSE_MS);
}

interface TabNavigateInput {
  tab_id?: number;
  url?: string;
  action?: 'back' | 'forward' | 'reload';
}

export const tabNavigate = defineTool<TabNavigateInput>({
  name: 'tab_navigate',
  description:
    'Takes a tab to an address, back or forward in its history, or reloads it, and waits until the page is loaded. ' +
    'Give either url or action. Only http:, https: and about:blank are opened. ' +
    'Returns tab_id, the final url after redirects, title, and http_status (null where there is none: about:blank, steps within a page, pages restored from memory). ' +
    'A page the server answers with an error, such as 404, is loaded all the same: look at http_status. ' +
    'navigation_failed tells why there is no page: name not found, connection refused, a download, nothing to go back to, and so on.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      tab_id: {
        ...TAB_ID,
        description: 'The tab to navigate. Default: the active tab of the window that was last focused.',
      },
      url: {
        ...ADDRESS,
        description: 'The absolute address to go to, such as https://example.com/. Not together with action.',
      },
      action: {
        enum: ['back', 'forward', 'reload'],
        description: 'A step in the history of the tab, or loading its page again. Not together with url.',
      },
    },
    oneOf: [
      { required: ['url'], properties: { url: true, action: false } },
      { required: ['action'], properties: { action: true, url: false } },
    ],
  },
  class: 'interact',
  read_only: false,
  os_action: 'tab.navigate',
  requires_confirmation: false,
  async run({ tab_id: wanted, url: given, action }, context) {
    const { browser, loads, signal, urls } = context;
    const to_url = given === undefined ? null : openAddress(given, urls);
    const tab = await meantTab(browser, wanted);
    await assertOpenTab(context, tab);
    const tab_id = tab.id as number;
    const kind = to_url !== null ? 'address' : action === 'reload' ? 'reload' : 'history';
    const plan: LoadPlan = { kind, from_url: tab.url ?? '', to_url, tab_id, signal };
    const loaded = await loads.load(plan, async (fail) => {
      if (to_url !== null) await navigateTo(browser, tab_id, to_url);
      else if (action === 'reload') await browser.tabs.reload(tab_id);
      else stepInHistory(context, tab_id, action === 'back' ? -1 : 1, fail);
      return tab_id;
    });
    const now = await findTab(browser, loaded.tab_id);
    if (!(await isOpenTab(context, now))) throw new AgentError('page_restricted', LANDED);
    return {
      output: {
        tab_id: loaded.tab_id,
        url: addressOf(now),
        title: await titleOf(context, now),
        http_status: loaded.http_status,
      },
    };
  },
});

async function navigateTo(browser: Browser, tab_id: number, url: string): Promise<void> {
  try {
    await browser.tabs.update(tab_id, { url });
  } catch {
    // It existed a moment ago; findTab tells whether it still does.
    await findTab(browser, tab_id);
    throw new AgentError('navigation_failed', 'Chrome refused to navigate this tab now. Try again.');
  }
}

/**
 * Steps as the page itself would: `tabs.goBack` skips every page on which no person clicked or typed, and
 * so all those that the agent went through. Where no script may run, that is still better than nothing.
 * Not waited for: the script of a page that shows a dialog never answers.
 */
function stepInHistory(
  { browser }: ToolContext,
  tab_id: number,
  step: -1 | 1,
  fail: (reason: AgentError) => void,
): void {
  const byPage = browser.scripting.executeScript({
    target: { tabId: tab_id },
    injectImmediately: true,
    func: goInHistory,
    args: [step],
  });
  byPage.then(
    ([frame]) => {
      if (frame?.result === 1) fail(noPage('nothing_there'));
    },
    () => {
      const byBrowser = step < 0 ? browser.tabs.goBack(tab_id) : browser.tabs.goForward(tab_id);
      byBrowser.catch(() => fail(noPage('no_way_back')));
    },
  );
}

/** Runs in the page. Returns how many pages its history has: with one there is nowhere to go. */
function goInHistory(step: number): number {
  const { length } = history;
  history.go(step);
  return length;
}
