import 'fake-indexeddb/auto';
import { beforeEach, describe, expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import type { JsonObject } from '../../../src/protocol/json';
import { pass } from './async-clock';
import { Rig } from './context';
import type { FakeTab } from './fake-chrome';

let rig: Rig;

beforeEach(() => {
  rig = new Rig();
});

function openWindow(...urls: string[]): { window_id: number; tabs: FakeTab[] } {
  const { id } = rig.chrome.openWindow(urls);
  return { window_id: id, tabs: rig.chrome.tabs.filter(({ windowId }) => windowId === id) };
}

function tabAt(tabs: FakeTab[], index: number): FakeTab {
  const tab = tabs[index];
  if (!tab) throw new Error('no such tab');
  return tab;
}

const focusCalls = () => rig.chrome.calls.filter((call) => call.includes('"focused":true'));

describe('tab_list', () => {
  test('the shape of tools.md, for all windows and all kinds of pages', async () => {
    const { window_id, tabs } = openWindow('https://a.test/', 'chrome-extension://own/popup.html');
    openWindow('chrome://settings/');
    const { output } = await rig.call('tab_list');
    expect(output.tabs).toHaveLength(3);
    expect((output.tabs as JsonObject[])[0]).toEqual({
      tab_id: tabAt(tabs, 0).id,
      window_id,
      index: 0,
      active: true,
      title: 'title of https://a.test/',
      url: 'https://a.test/',
      status: 'complete',
      discarded: false,
      pinned: false,
      audible: false,
    });
  });

  test('window_id: only that window; an unknown one is invalid_input that names it', async () => {
    openWindow('https://a.test/');
    const { window_id, tabs } = openWindow('https://b.test/');
    const { output } = await rig.call('tab_list', { window_id });
    expect((output.tabs as JsonObject[]).map(({ tab_id }) => tab_id)).toEqual([tabAt(tabs, 0).id]);
    for (const unknown of [9_999, 99_999_999_999, 1e300]) {
      const refused = { code: 'invalid_input', message: expect.stringContaining('input.window_id') };
      expect(await rig.fail('tab_list', { window_id: unknown })).toMatchObject(refused);
      const opening = { url: 'https://a.test/', window_id: unknown };
      expect(await rig.fail('tab_open', opening)).toMatchObject(refused);
    }
  });

  test('a tab whose first page is not there yet shows where it goes; a page cannot blow the list up', async () => {
    const { tabs } = openWindow('', `https://a.test/${'x'.repeat(100_000)}`);
    tabAt(tabs, 0).pendingUrl = 'https://coming.test/';
    const { output } = await rig.call('tab_list');
    const [coming, long] = output.tabs as { url: string }[];
    expect(coming?.url).toBe('https://coming.test/');
    expect(long?.url).toHaveLength(8_193);
    expect(long?.url.endsWith('…')).toBe(true);
  });

  test('no tabs at all', async () => {
    expect((await rig.call('tab_list')).output).toEqual({ tabs: [] });
  });
});

describe('tab_open', () => {
  test('in the background of the last focused normal window, without taking the focus', async () => {
    const { window_id, tabs } = openWindow('https://a.test/');
    rig.chrome.openWindow(['https://popup.test/'], 'popup');
    const { output } = await rig.call('tab_open', { url: 'https://b.test' });
    const opened = rig.chrome.tab(output.tab_id as number);
    expect(output).toEqual({
      tab_id: opened.id,
      window_id,
      url: 'https://b.test/',
      title: 'title of https://b.test/',
      http_status: 200,
    });
    expect(tabAt(tabs, 0).active).toBe(true);
    expect(opened.active).toBe(false);
    expect(rig.chrome.calls).toEqual([
      `tabs.create({"url":"https://b.test/","windowId":${window_id},"active":false})`,
    ]);
  });

  test('active: true shows it in its window, but takes no focus', async () => {
    const { window_id } = openWindow('https://a.test/');
    const focused = openWindow('https://focused.test/');
    const { output } = await rig.call('tab_open', { url: 'https://b.test/', active: true, window_id });
    expect(rig.chrome.tab(output.tab_id as number).active).toBe(true);
    expect(rig.chrome.focusOrder[0]).toBe(focused.window_id);
    expect(focusCalls()).toEqual([]);
  });

  test('waits for the load, follows redirects and reports the status of a server error', async () => {
    openWindow('https://a.test/');
    rig.chrome.site = (tab) => {
      const id = rig.chrome.request(tab);
      rig.chrome.request(tab, id);
      rig.clock.setTimer(() => {
        rig.chrome.respond(tab, id, 404);
        rig.chrome.commit(tab, 'https://b.test/final');
        rig.chrome.complete(tab);
      }, 3_000);
    };
    const before = rig.clock.time;
    const { output } = await rig.call('tab_open', { url: 'https://b.test/' });
    expect(output).toMatchObject({ url: 'https://b.test/final', http_status: 404 });
    expect(rig.clock.time - before).toBeGreaterThanOrEqual(3_000);
  });

  test('about:blank has no status', async () => {
    openWindow('https://a.test/');
    expect((await rig.call('tab_open', { url: 'about:blank' })).output).toMatchObject({
      url: 'about:blank',
      http_status: null,
    });
  });

  test('with no window open it opens one, without focus', async () => {
    const { output } = await rig.call('tab_open', { url: 'https://b.test/' });
    expect(output).toMatchObject({ window_id: rig.chrome.windows[0]?.id, url: 'https://b.test/' });
    expect(rig.chrome.calls).toEqual(['windows.create({"url":"https://b.test/","focused":false})']);
  });

  test('an unknown window_id, or that of a popup, is invalid_input that names it', async () => {
    openWindow('https://a.test/');
    const popup = rig.chrome.openWindow(['https://popup.test/'], 'popup');
    for (const window_id of [9_999, popup.id]) {
      expect(await rig.fail('tab_open', { url: 'https://b.test/', window_id })).toMatchObject({
        code: 'invalid_input',
        message: expect.stringContaining('input.window_id'),
      });
    }
    expect(rig.chrome.calls).toEqual([]);
  });

  test('an address that is not opened leaves everything as it is', async () => {
    openWindow('https://a.test/');
    expect(await rig.fail('tab_open', { url: 'javascript:alert(1)' })).toMatchObject({
      code: 'page_restricted',
    });
    expect(await rig.fail('tab_open', { url: 'example.com' })).toMatchObject({ code: 'invalid_input' });
    expect(rig.chrome.calls).toEqual([]);
  });

  test('no page: navigation_failed, and the tab that nobody would know of is closed', async () => {
    openWindow('https://a.test/');
    rig.chrome.site = (tab, url) => {
      rig.chrome.breakOff(tab, rig.chrome.request(tab), 'net::ERR_NAME_NOT_RESOLVED');
      rig.chrome.commit(tab, url);
    };
    expect(await rig.fail('tab_open', { url: 'https://nope.test/' })).toMatchObject({
      code: 'navigation_failed',
    });
    expect(rig.chrome.tabs).toHaveLength(1);
  });

  test('a download: Chrome closes the tab itself', async () => {
    openWindow('https://a.test/');
    rig.chrome.site = (tab) => {
      rig.chrome.respond(tab, rig.chrome.request(tab), 200);
      rig.chrome.remove(tab.id);
    };
    expect(await rig.fail('tab_open', { url: 'https://b.test/file.zip' })).toMatchObject({
      code: 'navigation_failed',
      message: expect.stringContaining('download'),
    });
  });

  test('wire.md §5 rule 5: a cancel undoes nothing: the tab stays', async () => {
    openWindow('https://a.test/');
    rig.chrome.site = () => {};
    const running = rig.fail('tab_open', { url: 'https://b.test/' });
    await pass(rig.clock, 500, 50);
    rig.abort.abort(new AgentError('cancelled'));
    expect(await running).toMatchObject({ code: 'cancelled' });
    expect(rig.chrome.tabs).toHaveLength(2);
  });
});

describe('tab_close', () => {
  test('closes and answers when the tab is gone', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    const tab_id = tabAt(tabs, 0).id;
    expect((await rig.call('tab_close', { tab_id })).output).toEqual({ tab_id });
    expect(rig.chrome.tabs.map(({ id }) => id)).toEqual([tabAt(tabs, 1).id]);
    expect(rig.chrome.onRemoved.hasListeners()).toBe(false);
  });

  test('an unknown tab is tab_not_found', async () => {
    openWindow('https://a.test/');
    expect(await rig.fail('tab_close', { tab_id: 9_999 })).toMatchObject({ code: 'tab_not_found' });
  });

  test('a page that asks the person: answered when the person let it go', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    const tab_id = tabAt(tabs, 0).id;
    rig.chrome.asksBeforeClosing = true;
    rig.clock.setTimer(() => rig.chrome.remove(tab_id), 4_000);
    const before = rig.clock.time;
    await rig.call('tab_close', { tab_id });
    expect(rig.clock.time - before).toBeGreaterThanOrEqual(4_000);
  });

  test('a page that keeps the person asking: the deadline ends the wait', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    rig.chrome.asksBeforeClosing = true;
    rig.clock.setTimer(() => rig.abort.abort(new AgentError('timeout')), 4_000);
    expect(await rig.fail('tab_close', { tab_id: tabAt(tabs, 0).id })).toMatchObject({ code: 'timeout' });
    expect(rig.chrome.onRemoved.hasListeners()).toBe(false);
  });

  test('a page that still asks from an earlier call is not closed over the head of the person', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    const tab_id = tabAt(tabs, 0).id;
    rig.chrome.asksBeforeClosing = true;
    const removals = () => rig.chrome.calls.filter((call) => call.startsWith('tabs.remove')).length;
    for (const expected of [1, 1]) {
      rig.abort = new AbortController();
      const { abort } = rig;
      rig.clock.setTimer(() => abort.abort(new AgentError('timeout')), 4_000);
      expect(await rig.fail('tab_close', { tab_id })).toMatchObject({ code: 'timeout' });
      expect(removals()).toBe(expected);
    }
    // The person stays: the next call asks again, and this time the person lets it go.
    rig.chrome.dialogs.get(tab_id)?.();
    rig.abort = new AbortController();
    rig.clock.setTimer(() => rig.chrome.remove(tab_id), 4_000);
    expect((await rig.call('tab_close', { tab_id })).output).toEqual({ tab_id });
    expect(removals()).toBe(2);
  });

  test('a tab that another call or the person closed a moment before Chrome was asked is closed', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    const tab_id = tabAt(tabs, 0).id;
    rig.chrome.goesAfterQuery = tab_id;
    expect((await rig.call('tab_close', { tab_id })).output).toEqual({ tab_id });
    expect(rig.chrome.onRemoved.hasListeners()).toBe(false);
  });

  test('all tabs closed at once leave an empty one too', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/', 'https://c.test/');
    await Promise.all(tabs.map(({ id }) => rig.call('tab_close', { tab_id: id })));
    expect(rig.chrome.tabs).toHaveLength(1);
    expect(tabs).not.toContain(rig.chrome.tabs[0]);
  });

  test('the last tab of all leaves an empty one, because the browser would quit', async () => {
    const { window_id, tabs } = openWindow('https://a.test/');
    await rig.call('tab_close', { tab_id: tabAt(tabs, 0).id });
    expect(rig.chrome.tabs).toHaveLength(1);
    expect(rig.chrome.tabs[0]?.windowId).toBe(window_id);
  });
});

describe('tab_activate', () => {
  test('shows the tab and brings its window to the front', async () => {
    const { window_id, tabs } = openWindow('https://a.test/', 'https://b.test/');
    openWindow('https://focused.test/');
    const tab_id = tabAt(tabs, 1).id;
    expect((await rig.call('tab_activate', { tab_id })).output).toEqual({ tab_id });
    expect(tabAt(tabs, 1).active).toBe(true);
    expect(rig.chrome.focusOrder[0]).toBe(window_id);
  });

  test('where every window says it has the focus, the window becomes the last focused one all the same', async () => {
    rig.chrome.hasWindowManager = false;
    const { window_id, tabs } = openWindow('https://a.test/');
    openWindow('https://b.test/');
    await rig.call('tab_activate', { tab_id: tabAt(tabs, 0).id });
    expect(rig.chrome.focusOrder[0]).toBe(window_id);
  });

  test('brings a minimized window back, so that a screenshot can be taken', async () => {
    const { tabs } = openWindow('https://a.test/');
    for (const window of rig.chrome.windows) window.state = 'minimized';
    await rig.call('tab_activate', { tab_id: tabAt(tabs, 0).id });
    expect(rig.chrome.windows[0]?.state).toBe('normal');
  });

  test('an unknown tab is tab_not_found', async () => {
    expect(await rig.fail('tab_activate', { tab_id: 1 })).toMatchObject({ code: 'tab_not_found' });
  });

  test('no other tool takes the focus', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    openWindow('https://focused.test/');
    const tab_id = tabAt(tabs, 1).id;
    await rig.call('tab_navigate', { tab_id, url: 'https://c.test/' });
    await rig.call('tab_open', { url: 'https://c.test/', active: true });
    await rig.call('screenshot');
    await rig.call('tab_close', { tab_id });
    expect(focusCalls()).toEqual([]);
  });
});

describe('tab_navigate', () => {
  test('by default the active tab of the last focused normal window', async () => {
    openWindow('https://other.test/');
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    rig.chrome.openWindow(['https://popup.test/'], 'popup');
    const { output } = await rig.call('tab_navigate', { url: 'https://c.test/' });
    expect(output).toEqual({
      tab_id: tabAt(tabs, 0).id,
      url: 'https://c.test/',
      title: 'title of https://c.test/',
      http_status: 200,
    });
  });

  test('no window: tab_not_found that says what helps', async () => {
    expect(await rig.fail('tab_navigate', { url: 'https://c.test/' })).toMatchObject({
      code: 'tab_not_found',
      message: expect.stringContaining('tab_open'),
    });
  });

  test('an unknown tab is tab_not_found; a closed address is page_restricted', async () => {
    const { tabs } = openWindow('https://a.test/');
    expect(await rig.fail('tab_navigate', { tab_id: 9_999, action: 'reload' })).toMatchObject({
      code: 'tab_not_found',
    });
    const restricted = { tab_id: tabAt(tabs, 0).id, url: 'chrome://settings/' };
    expect(await rig.fail('tab_navigate', restricted)).toMatchObject({ code: 'page_restricted' });
    expect(rig.chrome.calls).toEqual([]);
  });

  test('reload', async () => {
    const { tabs } = openWindow('https://a.test/');
    const { output } = await rig.call('tab_navigate', { action: 'reload' });
    expect(output).toMatchObject({ url: 'https://a.test/', http_status: 200 });
    expect(rig.chrome.calls).toEqual([`tabs.reload(${tabAt(tabs, 0).id})`]);
  });

  test.each([
    ['back', -1],
    ['forward', 1],
  ])('%s steps as the page itself would', async (action, step) => {
    const { tabs } = openWindow('https://a.test/');
    rig.chrome.site = (tab) => {
      rig.chrome.commit(tab, 'https://restored.test/');
      rig.chrome.complete(tab);
    };
    const { output } = await rig.call('tab_navigate', { action });
    expect(output).toMatchObject({ url: 'https://restored.test/', http_status: null });
    expect(rig.chrome.calls).toEqual([`history.go:${step}(${tabAt(tabs, 0).id})`]);
  });

  test.each([
    ['a history of one page', 1],
    ['a page at the end of its history', 3],
  ])('nothing there: navigation_failed for %s', async (_name, length) => {
    openWindow('https://a.test/');
    rig.chrome.historyLength = length;
    rig.chrome.site = () => {};
    const { code, message } = await rig.fail('tab_navigate', { action: 'back' });
    expect(code).toBe('navigation_failed');
    expect(message).toContain('no page in that direction');
  });

  test.each([
    ['back', 'tabs.goBack'],
    ['forward', 'tabs.goForward'],
  ])('%s where no script may run: Chrome is asked, and its refusal has a sentence', async (action, call) => {
    const { tabs } = openWindow('chrome://settings/');
    rig.chrome.historyLength = undefined;
    const { code, message } = await rig.fail('tab_navigate', { action });
    expect(code).toBe('navigation_failed');
    expect(message).toContain('Go to the address itself');
    expect(rig.chrome.calls).toEqual([`${call}(${tabAt(tabs, 0).id})`]);
  });

  test('a fragment of the same page ends at once', async () => {
    openWindow('https://a.test/');
    rig.chrome.site = (tab, url) => rig.chrome.commit(tab, url);
    const { output } = await rig.call('tab_navigate', { url: 'https://a.test/#x' }, 1_000);
    expect(output).toMatchObject({ url: 'https://a.test/#x', http_status: null });
  });

  test('the tab is gone when Chrome is told to navigate, or does not obey', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    const tab_id = tabAt(tabs, 1).id;
    const update = rig.context.browser.tabs.update;
    const { browser } = rig.context;
    rig.context = {
      ...rig.context,
      browser: {
        ...browser,
        tabs: {
          ...browser.tabs,
          update: (async () => {
            throw new Error('Tabs cannot be edited right now (user may be dragging a tab).');
          }) as typeof update,
        },
      },
    };
    expect(await rig.fail('tab_navigate', { tab_id, url: 'https://c.test/' })).toMatchObject({
      code: 'navigation_failed',
      message: expect.not.stringContaining('dragging'),
    });
  });
});
