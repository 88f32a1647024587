import 'fake-indexeddb/auto';
import { IDBFactory } from 'fake-indexeddb';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import type { JsonObject } from '../../../src/protocol/json';
import { urlRules } from '../../../src/settings/url-rules';
import { pass } from './async-clock';
import { Rig } from './context';
import type { FakeTab } from './fake-chrome';
import { JPEG } from './pictures';

const OPEN = 'https://open.test/';
const SHUT = 'https://shut.test/secret';
const RESTRICTED = { code: 'page_restricted' };

let rig: Rig;
let asked: string[];

beforeEach(() => {
  vi.stubGlobal('indexedDB', new IDBFactory());
  rig = new Rig();
  asked = [];
  rig.context.urls = {
    mayEnter: (url) => {
      asked.push(url);
      return !url.startsWith('https://shut.test/');
    },
  };
});

function openWindow(...urls: string[]): FakeTab[] {
  const { id } = rig.chrome.openWindow(urls);
  return rig.chrome.tabs.filter(({ windowId }) => windowId === id);
}

const idOf = (tabs: FakeTab[], index: number): number => (tabs[index] as FakeTab).id;

describe('tools.md: URL rules apply to every tool that touches a page', () => {
  test('tab_list: no title and no address of a page that is closed', async () => {
    const tabs = openWindow(OPEN, SHUT, '');
    (tabs[2] as FakeTab).pendingUrl = SHUT;
    const { output } = await rig.call('tab_list');
    const listed = output.tabs as JsonObject[];
    expect(listed.map(({ restricted }) => restricted)).toEqual([undefined, true, true]);
    expect(listed[1]).toMatchObject({ tab_id: idOf(tabs, 1), url: '', title: '', active: false });
    expect(JSON.stringify(output)).not.toMatch(/shut|secret/);
  });

  test('pages that show nothing of anybody are listed and gone on from', async () => {
    rig.context.urls = { mayEnter: (url) => url.startsWith(OPEN) };
    const tabs = openWindow('chrome://newtab/', 'about:blank', 'chrome://settings/');
    const { output } = await rig.call('tab_list');
    expect((output.tabs as JsonObject[]).map(({ url }) => url)).toEqual([
      'chrome://newtab/',
      'about:blank',
      '',
    ]);
    await rig.call('tab_navigate', { tab_id: idOf(tabs, 0), url: OPEN });
    expect(await rig.fail('tab_navigate', { tab_id: idOf(tabs, 2), url: OPEN })).toMatchObject(RESTRICTED);
  });

  describe('a window without an address of its own is as closed as who filled it', () => {
    const window = (url: string, maker?: FakeTab['maker']): FakeTab => {
      const [tab] = openWindow(url) as [FakeTab];
      tab.title = maker ? 'secret' : url;
      if (maker) tab.maker = maker;
      rig.context.urls = urlRules(
        { url_allowlist: null, url_blocklist: ['https://shut.test/*', 'https://part.test/shut/*'] },
        'chrome-extension://own',
      );
      return tab;
    };

    test.each([
      ['the browser, or the agent', undefined, true],
      ['an open page', { origin: 'https://open.test', opener: OPEN }, true],
      ['a closed page', { origin: 'https://shut.test', opener: SHUT }, false],
      ['a closed page that is gone', { origin: 'https://shut.test', opener: null }, false],
      ['an open page that is gone', { origin: 'https://open.test', opener: null }, true],
      ['an open page of a site', { origin: 'https://part.test', opener: 'https://part.test/x' }, true],
      ['a closed page of a site', { origin: 'https://part.test', opener: 'https://part.test/shut/x' }, false],
      ['one page or another of a site', { origin: 'https://part.test', opener: null }, false],
      ['nobody knows whom', { origin: 'null', opener: null }, false],
    ])('filled by %s', async (_who, maker, isOpen) => {
      const { id: tab_id, windowId } = window('about:blank', maker);
      rig.chrome.openWindow([OPEN]);
      const { output } = await rig.call('tab_list', { window_id: windowId });
      const [listed] = output.tabs as [JsonObject];
      const title = maker ? 'secret' : 'about:blank';
      expect(listed).toMatchObject(isOpen ? { title } : { title: '', url: '', restricted: true });
      for (const tool of ['screenshot', 'tab_activate', 'tab_close']) {
        const done = await rig.call(tool, { tab_id }).catch((thrown: unknown) => thrown);
        if (isOpen) expect(done, tool).toHaveProperty('output');
        else expect(done, tool).toMatchObject(RESTRICTED);
      }
    });

    test('the content of a data: address may be of anybody; without rules nobody is asked', async () => {
      const { id: tab_id } = window('data:text/html,secret', { origin: 'null', opener: null });
      expect(await rig.fail('tab_activate', { tab_id })).toMatchObject(RESTRICTED);
      rig.context.urls = urlRules({ url_allowlist: null, url_blocklist: [] }, 'chrome-extension://own');
      await rig.call('tab_activate', { tab_id });
    });

    test('a picture kept from before the rules is not given any more', async () => {
      const tab = window('about:blank', { origin: 'https://shut.test', opener: SHUT });
      const rules = rig.context.urls;
      rig.context.urls = urlRules({ url_allowlist: null, url_blocklist: [] }, 'chrome-extension://own');
      const { image_id } = (await rig.call('screenshot', { tab_id: tab.id })).output;
      rig.context.urls = rules;
      expect(await rig.fail('screenshot', { image_id, deliver_image: true })).toMatchObject(RESTRICTED);
    });
  });

  test('page_wait: a closed page is refused, whether its address fits or not', async () => {
    const [tab] = openWindow(OPEN) as [FakeTab];
    for (const url of ['*secret', '*other']) {
      tab.url = OPEN;
      const waiting = rig.fail('page_wait', { url, timeout_ms: 5_000 });
      await pass(rig.clock, 200);
      tab.url = SHUT;
      expect(await waiting).toMatchObject({
        ...RESTRICTED,
        message: new AgentError('page_restricted').message,
      });
    }
  });

  test('tab_open and tab_navigate do not go there, and say so before anything happens', async () => {
    openWindow(OPEN);
    expect(await rig.fail('tab_open', { url: SHUT })).toMatchObject(RESTRICTED);
    expect(await rig.fail('tab_navigate', { url: SHUT })).toMatchObject(RESTRICTED);
    expect(rig.chrome.calls).toEqual([]);
  });

  test('tab_open: where it lands is asked for as well; the new tab goes, and nothing is told of the page', async () => {
    openWindow(OPEN);
    rig.chrome.site = (tab) => rig.chrome.load(tab, SHUT);
    const { code, message } = await rig.fail('tab_open', { url: 'https://redirect.test/' });
    expect(code).toBe('page_restricted');
    expect(message).not.toMatch(/shut|secret/);
    expect(rig.chrome.tabs).toHaveLength(1);
  });

  test('tab_navigate: where it lands is asked for as well, by an address and by a step back', async () => {
    const tabs = openWindow(OPEN);
    rig.chrome.site = (tab) => rig.chrome.load(tab, SHUT);
    const { code, message } = await rig.fail('tab_navigate', { url: 'https://redirect.test/' });
    expect(code).toBe('page_restricted');
    expect(message).not.toMatch(/shut|secret/);
    expect(rig.chrome.tab(idOf(tabs, 0)).url).toBe(SHUT);
  });

  test('a tab that shows it is not navigated, closed or brought to the front', async () => {
    const tabs = openWindow(OPEN, SHUT);
    const tab_id = idOf(tabs, 1);
    for (const [name, input] of [
      ['tab_navigate', { tab_id, url: OPEN }],
      ['tab_navigate', { tab_id, action: 'reload' }],
      ['tab_close', { tab_id }],
      ['tab_activate', { tab_id }],
    ] as const) {
      expect(await rig.fail(name, input), name).toMatchObject(RESTRICTED);
    }
    expect(rig.chrome.calls).toEqual([]);
  });

  test('screenshot: refused before the capture', async () => {
    const tabs = openWindow(SHUT);
    expect(await rig.fail('screenshot')).toMatchObject(RESTRICTED);
    expect(await rig.fail('screenshot', { tab_id: idOf(tabs, 0) })).toMatchObject(RESTRICTED);
    expect(await rig.fail('screenshot', { max_age_ms: 60_000 })).toMatchObject(RESTRICTED);
    expect(rig.chrome.calls).toEqual([]);
  });

  test('screenshot: and again after the capture, when the tab went there meanwhile', async () => {
    const tabs = openWindow(OPEN);
    rig.chrome.capture = async () => {
      (tabs[0] as FakeTab).url = SHUT;
      return `data:image/jpeg;base64,${JPEG}`;
    };
    expect(await rig.fail('screenshot', { deliver_image: true })).toMatchObject(RESTRICTED);
    expect(await rig.context.pictures.last()).toBeNull();
  });

  test('screenshot: a picture kept from before the rules is not given any more', async () => {
    openWindow(OPEN);
    const { output } = await rig.call('screenshot');
    rig.context.urls = { mayEnter: () => false };
    const { image_id } = output;
    expect(await rig.fail('screenshot', { image_id, deliver_image: true })).toMatchObject(RESTRICTED);
  });
});
