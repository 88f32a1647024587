/** Who is listened to, and when it ends (os-interface.md, Live output). */
import { IDBFactory } from 'fake-indexeddb';
import 'fake-indexeddb/auto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ConsoleBatch } from '../../../src/protocol/console-events';
import { type UrlRules, urlRules } from '../../../src/settings/url-rules';
import { type ConsoleIntake, createConsoleIntake, speakerAddress } from '../../../src/tools/console-intake';
import { createConsoleStore } from '../../../src/tools/console-store';
import { Rig } from './context';

const HOUR_MS = 60 * 60 * 1000;

let rig: Rig;
let registered: string[];
let tab_id: number;
/** As in the offscreen document. */
let intake: ConsoleIntake;
/** What holds when it comes in. */
let rules: UrlRules;

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory();
  rig = new Rig();
  registered = [];
  rules = { mayEnter: () => true };
  intake = createConsoleIntake({
    store: createConsoleStore({ sessionEpoch: null, now: rig.clock.now }),
    urls: async () => rules,
    tellNews: (of) => rig.news.emit(of),
  });
  rig.chrome.openWindow(['https://a.test/', 'https://b.test/']);
  tab_id = rig.chrome.tabs[0]?.id ?? 0;
  const scripting = rig.context.browser.scripting as unknown as Record<string, unknown>;
  scripting.getRegisteredContentScripts = async () => registered.map((id) => ({ id }));
  scripting.registerContentScripts = async (scripts: { id: string }[]) => {
    registered.push(...scripts.map(({ id }) => id));
  };
  scripting.unregisterContentScripts = async () => {
    registered = [];
  };
  scripting.executeScript = async () => [];
});

function batch(text: string, first = 0, url = 'https://a.test/'): ConsoleBatch {
  const events = [{ at: 1, kind: 'console' as const, level: 'log' as const, text }];
  return { type: 'console.events', first, lost: 0, url, events };
}

const originOf = (url: string) => new URL(url).origin;
const speaker = (url = 'https://a.test/', origin = originOf(url)) => ({
  tab_id,
  frame_id: 0,
  document_id: 'd',
  url,
  origin,
});

const block = (...url_blocklist: string[]) =>
  urlRules({ url_allowlist: null, url_blocklist }, 'chrome-extension://own');

async function texts(tab: number, input: object = {}): Promise<string[]> {
  const { output } = await rig.call('console_read', { tab_id: tab, ...input });
  const items = output.items as { type: string; events?: { text: string }[] }[];
  return items.flatMap(({ type, events }) => events?.map(({ text }) => text) ?? [type]);
}

describe('console_read', () => {
  test('only tabs that were asked for are kept; scripts are registered with the first of them', async () => {
    expect(await intake.isWatched(speaker())).toBe(false);
    expect(await intake.take(speaker(), batch('before'))).toEqual({ watched: false });
    expect(registered).toEqual([]);
    expect(await texts(tab_id)).toEqual([expect.stringMatching(/before is not known/)]);
    expect(registered).toHaveLength(2);
  });

  test('what a sandboxed frame said is withheld where anything is closed: it may be of a closed frame', async () => {
    await texts(tab_id);
    await intake.take(speaker('about:srcdoc', 'null'), batch('of nobody', 0, ''));
    expect(await texts(tab_id)).toContain('of nobody');
    rig.context = { ...rig.context, urls: block('https://closed.test/*') };
    expect(await texts(tab_id)).not.toContain('of nobody');
    expect((await rig.call('console_read', { tab_id })).output).toMatchObject({ withheld: 1 });
  });

  test('what a closed page says is not kept, whatever the rules say later, and takes no number', async () => {
    await texts(tab_id);
    rules = block('https://a.test/closed*');
    const before = (await rig.call('console_read', { tab_id })).output.after as number;
    await intake.take(speaker(), batch('open', 0));
    await intake.take(speaker(), batch('secret', 1, 'https://a.test/closed'));
    await intake.take(speaker(), batch('open again', 2));
    rules = { mayEnter: () => true };
    expect(await texts(tab_id, { after: before })).toEqual(['open', 'open again']);
    const { output } = await rig.call('console_read', { tab_id, after: before });
    expect(output).toMatchObject({ withheld: 0, dropped: 0, after: before + 2 });
    expect(JSON.stringify(output)).not.toContain('rule_url');
  });

  test('a page speaks under the address it has then, not the one it had first', async () => {
    await texts(tab_id);
    await intake.take(speaker(), batch('there', 0, 'https://a.test/closed'));
    await intake.take(speaker(), batch('back', 1, 'https://a.test/'));
    rig.context = { ...rig.context, urls: block('https://a.test/closed*') };
    expect(await texts(tab_id)).toEqual([expect.stringMatching(/before is not known/), 'back']);
  });

  test('an address too long to be kept is as closed as anything of its origin', async () => {
    await texts(tab_id);
    await intake.take(speaker(), batch('long', 0, ''));
    expect(await texts(tab_id)).toContain('long');
    rig.context = { ...rig.context, urls: block('https://b.test/*') };
    expect(await texts(tab_id)).toContain('long');
    rig.context = { ...rig.context, urls: block('https://a.test/closed*') };
    expect(await texts(tab_id)).not.toContain('long');
  });

  test('when the rules are not known, nothing is taken: the page tries again', async () => {
    await texts(tab_id);
    const unknowing = createConsoleIntake({
      store: createConsoleStore({ sessionEpoch: null, now: rig.clock.now }),
      urls: () => Promise.reject(new Error('nobody answered')),
      tellNews: () => {},
    });
    await expect(unknowing.take(speaker(), batch('early'))).rejects.toThrow();
    expect(await texts(tab_id)).not.toContain('early');
  });

  const A = 'https://a.test';
  test.each([
    ['its own', `${A}/`, A, `${A}/x`, `${A}/x`, undefined],
    ['one of another origin', `${A}/x`, A, 'https://b.test/', `${A}/`, `blob:${A}/`],
    ['none', `${A}/x`, A, '', `${A}/`, `blob:${A}/`],
    ['no address at all', `${A}/x`, A, 'x y', `${A}/`, `blob:${A}/`],
    ['that of the page around an empty frame', 'about:blank', A, `${A}/x`, `${A}/x`, undefined],
    ['none of an empty frame', 'about:blank', A, '', `${A}/`, `blob:${A}/`],
    ['one of a sandboxed frame', 'about:srcdoc', 'null', `${A}/x`, 'about:srcdoc', 'blob:null/'],
    ['one of a data: frame', 'data:text/html,x', 'null', 'file:///x', 'data:text/html,x', 'blob:null/'],
    ['that of a sandboxed page', `${A}/x`, 'null', `${A}/y`, `${A}/y`, undefined],
    ['another of a sandboxed page', `${A}/x`, 'null', 'https://b.test/', `${A}/`, `blob:${A}/`],
    ['an inner address', `${A}/x`, A, `blob:${A}/1`, `${A}/`, `blob:${A}/`],
  ])(
    'the address a page tells is believed within its origin: %s',
    (_told, url, origin, told, shown, rule) => {
      expect(speakerAddress({ url, origin }, told)).toEqual({
        url: shown,
        ...(rule ? { rule_url: rule } : {}),
      });
    },
  );

  test('an hour after the last question the listening ends, and the log says so; it goes on in the same log', async () => {
    await texts(tab_id);
    rig.clock.time += HOUR_MS + 1;
    await rig.context.console.sweep();
    expect(registered).toEqual([]);
    expect(await texts(tab_id)).toEqual([
      expect.stringMatching(/before is not known/),
      expect.stringMatching(/no longer listens/),
      expect.stringMatching(/in between is not known/),
    ]);
    expect(registered).toHaveLength(2);
  });

  test('the console of a closed tab is kept for an hour, and its last item says that it is closed', async () => {
    await texts(tab_id);
    rig.chrome.remove(tab_id);
    expect((await texts(tab_id)).at(-1)).toBe('closed');
    rig.clock.time += HOUR_MS + 1;
    await rig.context.console.sweep();
    expect((await rig.fail('console_read', { tab_id })).code).toBe('tab_not_found');
  });

  test('a page whose address is closed to the agent is refused', async () => {
    rig.context = { ...rig.context, urls: { mayEnter: (url) => !url.includes('a.test') } };
    expect((await rig.fail('console_read', { tab_id })).code).toBe('page_restricted');
    expect(registered).toEqual([]);
  });

  test('a number for a tab that was never asked for begins nothing', async () => {
    expect((await rig.fail('console_read', { tab_id, after: 5 })).code).toBe('unavailable');
    expect(registered).toEqual([]);
  });
});

describe('console_watch', () => {
  test('an event wakes it at once; one of a closed address is counted, not told', async () => {
    await texts(tab_id);
    const { output } = await rig.call('console_read', { tab_id });
    const waiting = rig.call('console_watch', { tab_id, after: output.after });
    const taken = intake.take(speaker(), batch('news'));
    expect((await waiting).output).toMatchObject({ items: [{ events: [{ text: 'news' }] }], withheld: 0 });
    expect(await taken).toEqual({ watched: true, next: 1 });
    expect(await intake.isWatched(speaker())).toBe(true);
    rig.context = { ...rig.context, urls: { mayEnter: (url) => url !== 'https://closed.test/' } };
    const again = rig.call('console_watch', { tab_id, after: Number(output.after) + 1 });
    intake.take(speaker('https://closed.test/'), batch('secret', 1, 'https://closed.test/'));
    expect((await again).output).toMatchObject({ items: [], withheld: 1 });
  });

  test('it answers with nothing before its deadline, or after wait_ms', async () => {
    await texts(tab_id);
    const { output } = await rig.call('console_read', { tab_id });
    const begun = rig.clock.now();
    const silent = await rig.call('console_watch', { tab_id, after: output.after, wait_ms: 2_000 });
    expect(silent.output).toMatchObject({ items: [], after: output.after, more: false });
    expect(rig.clock.now() - begun).toBeLessThan(3_000);
    rig.context = { ...rig.context, deadline: rig.clock.now() + 8_000 };
    const late = rig.clock.now();
    await rig.call('console_watch', { tab_id, after: output.after });
    expect(rig.clock.now() - late).toBeLessThan(8_000);
  });

  test('a cancel ends it, and nobody stays waiting', async () => {
    await texts(tab_id);
    const { output } = await rig.call('console_read', { tab_id });
    const waiting = rig.call('console_watch', { tab_id, after: output.after });
    rig.abort.abort(new Error('cancelled'));
    await expect(waiting).rejects.toThrow('cancelled');
    expect(rig.chrome.onRemoved.hasListeners()).toBe(false);
  });
});
