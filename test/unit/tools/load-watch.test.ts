import { beforeEach, describe, expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import { createLoadWatch, type Loaded, type LoadWatch } from '../../../src/tools/load-watch';
import { FakeClock } from '../router/fake-clock';
import { pass, turn } from './async-clock';
import { FakeChrome, type FakeTab } from './fake-chrome';

const TO = 'https://b.test/';

let chrome: FakeChrome;
let clock: FakeClock;
let watch: LoadWatch;
let tab: FakeTab;
let abort: AbortController;

beforeEach(() => {
  chrome = new FakeChrome();
  clock = new FakeClock();
  watch = createLoadWatch({ browser: chrome.browser, now: clock.now, setTimer: clock.setTimer });
  chrome.openWindow(['https://a.test/']);
  tab = chrome.tabs[0] as FakeTab;
  abort = new AbortController();
});

function load(): Promise<Loaded> {
  const plan = {
    kind: 'address' as const,
    from_url: tab.url,
    to_url: TO,
    tab_id: tab.id,
    signal: abort.signal,
  };
  const loading = watch.load(plan, async () => {
    await chrome.browser.tabs.update(tab.id, { url: TO });
    return tab.id;
  });
  loading.catch(() => {});
  return loading;
}

const EVENTS = [
  'onBeforeRequest',
  'onResponseStarted',
  'onErrorOccurred',
  'onUpdated',
  'onRemoved',
  'onReplaced',
] as const;
const listening = () => EVENTS.filter((event) => chrome[event].hasListeners());

describe('waiting for a load', () => {
  test('listens before the navigation is asked for, and only while something loads', async () => {
    expect(listening()).toEqual([]);
    let heard: readonly string[] = [];
    const plan = { kind: 'address' as const, from_url: '', to_url: TO, tab_id: tab.id, signal: abort.signal };
    await watch.load(plan, async () => {
      heard = listening();
      chrome.load(tab, TO);
      return tab.id;
    });
    expect(heard).toEqual(EVENTS);
    expect(listening()).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  test('two loads at once: each hears its own, and the second is not deaf when the first ends', async () => {
    const other = chrome.addTab(tab.windowId, 'https://c.test/');
    chrome.site = () => {};
    const first = load();
    const second = watch.load(
      { kind: 'reload', from_url: other.url, to_url: null, tab_id: other.id, signal: abort.signal },
      async () => other.id,
    );
    await turn();
    chrome.load(tab, TO, 404);
    expect(await first).toEqual({ tab_id: tab.id, http_status: 404 });
    chrome.load(other, other.url, 201);
    expect(await second).toEqual({ tab_id: other.id, http_status: 201 });
  });

  test('asks Chrome only for main frames over http', () => {
    void load();
    expect(chrome.onBeforeRequest.filter).toEqual({
      urls: ['http://*/*', 'https://*/*'],
      types: ['main_frame'],
    });
  });

  test('pages that are rendered in advance and frames inside are not the page', async () => {
    chrome.site = () => {};
    const loading = load();
    await turn();
    const id = chrome.request(tab);
    chrome.request(tab, 'ahead', { documentLifecycle: 'prerender', frameType: 'outermost_frame' });
    chrome.request(tab, 'inside', { documentLifecycle: 'active', frameType: 'fenced_frame' });
    chrome.respond(tab, id, 200);
    chrome.commit(tab, TO);
    chrome.complete(tab);
    expect(await loading).toMatchObject({ http_status: 200 });
  });

  test('a new tab: what happened before its id was known counts, what happened in others does not', async () => {
    const plan = { kind: 'open' as const, from_url: '', to_url: TO, tab_id: null, signal: abort.signal };
    const result = await watch.load(plan, async () => {
      const added = chrome.addTab(tab.windowId, '');
      chrome.load(tab, 'https://noise.test/', 500);
      chrome.load(added, TO, 203);
      return added.id;
    });
    expect(result).toEqual({ tab_id: chrome.tabs.at(-1)?.id, http_status: 203 });
  });

  test('a tab that Chrome replaces is followed under its new id', async () => {
    chrome.site = () => {};
    const loading = load();
    await turn();
    const old = tab.id;
    tab.id = 9_000;
    chrome.onReplaced.emit(9_000, old);
    chrome.load(tab, TO);
    expect(await loading).toEqual({ tab_id: 9_000, http_status: 200 });
  });

  test('a discarded tab that wakes up is not a page yet', async () => {
    chrome.site = (one, url) => {
      chrome.onUpdated.emit(one.id, { discarded: false, status: 'loading' }, one);
      chrome.load(one, url, 202);
    };
    const plan = {
      kind: 'address' as const,
      from_url: tab.url,
      to_url: `${tab.url}#x`,
      tab_id: tab.id,
      signal: abort.signal,
    };
    const loading = watch.load(plan, async () => {
      await chrome.browser.tabs.update(tab.id, { url: `${tab.url}#x` });
      return tab.id;
    });
    expect(await loading).toMatchObject({ http_status: 202 });
  });

  test('closed meanwhile: tab_not_found', async () => {
    chrome.site = (one) => chrome.remove(one.id);
    await expect(load()).rejects.toMatchObject({ code: 'tab_not_found' });
  });

  test('a net error: navigation_failed with the reason', async () => {
    chrome.site = (one, url) => {
      chrome.breakOff(one, chrome.request(one), 'net::ERR_CONNECTION_REFUSED');
      chrome.commit(one, url);
    };
    await expect(load()).rejects.toMatchObject({
      code: 'navigation_failed',
      message: expect.stringContaining('refused'),
    });
  });

  test('a download does not hang until the deadline', async () => {
    chrome.site = (one) => {
      chrome.respond(one, chrome.request(one), 200);
      chrome.giveUp(one);
    };
    const loading = load();
    await pass(clock, 1_000, 50);
    await expect(loading).rejects.toMatchObject({
      code: 'navigation_failed',
      message: expect.stringContaining('download'),
    });
    expect(clock.pending).toBe(0);
  });

  test('a slow page is waited for as long as it takes', async () => {
    chrome.site = () => {};
    const loading = load();
    await pass(clock, 30_000, 100);
    chrome.load(tab, TO);
    expect(await loading).toMatchObject({ http_status: 200 });
  });

  test('an abort ends the wait with its reason and stops listening', async () => {
    chrome.site = () => {};
    const loading = load();
    await pass(clock, 1_000, 100);
    abort.abort(new AgentError('timeout'));
    await expect(loading).rejects.toMatchObject({ code: 'timeout' });
    await pass(clock, 1_000, 100);
    expect(listening()).toEqual([]);
    expect(clock.pending).toBe(0);
    await expect(load()).rejects.toMatchObject({ code: 'timeout' });
  });

  test('what the command throws, and what it finds later, ends the wait', async () => {
    const plan = {
      kind: 'history' as const,
      from_url: tab.url,
      to_url: null,
      tab_id: tab.id,
      signal: abort.signal,
    };
    const thrown = watch.load(plan, async () => {
      throw new AgentError('tab_not_found');
    });
    await expect(thrown).rejects.toMatchObject({ code: 'tab_not_found' });
    const later = watch.load(plan, async (fail) => {
      setImmediate(() => fail(new AgentError('navigation_failed')));
      return tab.id;
    });
    await expect(later).rejects.toMatchObject({ code: 'navigation_failed' });
    expect(listening()).toEqual([]);
  });
});
