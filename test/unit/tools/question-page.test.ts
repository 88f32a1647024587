import 'fake-indexeddb/auto';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { callPage, cleanText } from '../../../src/tools/question-page';
import { findTool } from '../../../src/tools/registry';
import type { Tool } from '../../../src/tools/tool';
import { Rig } from './context';

let rig: Rig;

beforeEach(() => {
  rig = new Rig();
});

const pageOf = (name: string, input: Record<string, string | number> = {}) =>
  callPage(findTool(name) as Tool, input, rig.chrome.browser);

describe('tools.md, confirmation: the page a call is about', () => {
  test('the tab’s host and title at that moment; the active tab when none is named', async () => {
    const { id } = rig.chrome.openWindow(['https://a.test:8443/x?secret=1', 'https://b.test/']);
    const [, other] = rig.chrome.tabs.filter(({ windowId }) => windowId === id);
    expect(await pageOf('screenshot')).toMatchObject({
      host: 'a.test:8443',
      title: 'title of https://a.test:8443/x?secret=1',
    });
    expect(await pageOf('tab_close', { tab_id: other?.id ?? 0 })).toMatchObject({ host: 'b.test' });
  });

  test('the address it goes to, without its path', async () => {
    rig.chrome.openWindow(['https://a.test/']);
    expect(await pageOf('tab_open', { url: 'https://b.test/x?secret=1' })).toMatchObject({
      host: 'b.test',
      title: '',
    });
    expect(await pageOf('tab_navigate', { url: 'https://b.test/' })).toMatchObject({
      host: 'b.test',
      title: '',
    });
    expect(await pageOf('tab_navigate', { action: 'reload' })).toMatchObject({ host: 'a.test' });
  });

  test('the place is the tab, its origin and the target: paths and titles may change, sites may not', async () => {
    rig.chrome.openWindow(['https://a.test/x']);
    const [tab] = rig.chrome.tabs;
    if (!tab) throw new Error('no tab');
    const before = await pageOf('screenshot');
    tab.url = 'https://a.test/y';
    tab.title = 'another';
    expect((await pageOf('screenshot'))?.place).toBe(before?.place);
    for (const url of ['https://b.test/x', 'http://a.test/x', 'https://a.test:8443/x', 'about:blank']) {
      tab.url = url;
      expect((await pageOf('screenshot'))?.place, url).not.toBe(before?.place);
    }
  });

  test('no page: tools without one, a picture that is there already, a tab that is not there', async () => {
    rig.chrome.openWindow(['https://a.test/']);
    expect(await pageOf('workspace_info')).toBeNull();
    expect(await pageOf('screenshot', { image_id: 'i' })).toBeNull();
    expect(await pageOf('tab_close', { tab_id: 9_999 })).toBeNull();
  });
});

test('a secret that a page knows is not shown, not even the part that would fit', async () => {
  rig.chrome.openWindow(['https://a.test/']);
  const [tab] = rig.chrome.tabs;
  const secret = 'osat_SECRET9'.repeat(3);
  if (tab) tab.title = `${'x'.repeat(90)} ${secret}`;
  const page = await callPage(findTool('screenshot') as Tool, {}, rig.chrome.browser, secret);
  expect(JSON.stringify(page)).not.toContain('osat');
});

test('whatever a page calls itself becomes one short line of visible characters', () => {
  expect(cleanText('  a\n\tb\u202Ec\u200B \u2066d\u0000 ', 100)).toBe('a bc d');
  expect(cleanText('x'.repeat(101), 100)).toBe(`${'x'.repeat(99)}…`);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
      const clean = cleanText(text, 100);
      expect([...clean].length).toBeLessThanOrEqual(100);
      expect(clean).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(clean).toBe(clean.trim());
    }),
  );
});
