import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/protocol/json';
import { urlRules } from '../../../src/settings/url-rules';
import { pageSnapshot } from '../../../src/tools/page-snapshot';
import { pageText } from '../../../src/tools/page-text';
import type { Tool } from '../../../src/tools/tool';
import { pass } from './async-clock';
import { type FakeDocument, FakePages, textOf } from './fake-pages';

/** These tools look up nothing beforehand. */
const NOTHING = Promise.resolve();

async function run(pages: FakePages, tool: Tool, input: JsonObject = {}): Promise<JsonObject> {
  return (await tool.run(input, pages.context, NOTHING)).output;
}

async function fail(
  pages: FakePages,
  tool: Tool,
  input: JsonObject = {},
): Promise<{ code: string; message: string }> {
  const thrown: unknown = await tool.run(input, pages.context, NOTHING).catch((error: unknown) => error);
  if (!(thrown instanceof Error && 'code' in thrown)) throw new Error('did not fail');
  return { code: String(thrown.code), message: thrown.message };
}

/** One page with one long text. */
function longPage(text: string): FakePages {
  const pages = new FakePages();
  pages.add({ answer: () => textOf(text) });
  return pages;
}

const LONG = Array.from({ length: 3_000 }, (_line, index) => `- text: line ${index} é漢😀`).join('\n');

describe('os-interface.md, Resumable reads', () => {
  test('any split of reads gives the same whole, also while the page changes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1_024, max: 40_000 }), { minLength: 1, maxLength: 6 }),
        async (sizes) => {
          const pages = longPage(LONG);
          let whole = '';
          let input: JsonObject = { max_bytes: sizes[0] as number };
          for (let round = 1; ; round += 1) {
            const { text, next } = await run(pages, pageText, input);
            whole += text;
            if (next === null || next === undefined) break;
            for (const document of pages.documents)
              document.answer = () => textOf(`${LONG} changed ${round}`);
            input = { next, max_bytes: sizes[round % sizes.length] as number };
          }
          expect(whole).toBe(LONG);
        },
      ),
      { numRuns: 30 },
    );
  });

  test('a piece can be read again, and a short text has no next', async () => {
    const pages = longPage(LONG);
    const first = await run(pages, pageSnapshot, { max_bytes: 2_000 });
    const again = { next: first.next as JsonObject, max_bytes: 2_000 };
    expect(await run(pages, pageSnapshot, again)).toEqual(await run(pages, pageSnapshot, again));
    expect(await run(longPage('short'), pageSnapshot)).toEqual({
      tab_id: 7,
      url: 'https://a.test/',
      title: 'title',
      snapshot: 'short',
      next: null,
    });
  });

  test('an answer holds at most 256 KiB', async () => {
    const { snapshot } = await run(longPage('漢'.repeat(200_000)), pageSnapshot);
    expect(new TextEncoder().encode(snapshot as string).length).toBeLessThanOrEqual(256 * 1024);
  });

  test('cursor_invalid: another document, a tab that was unloaded, another tool, a changed or made-up cursor', async () => {
    const pages = longPage(LONG);
    const { next } = await run(pages, pageText, { max_bytes: 2_000 });
    const cursor = next as JsonObject;
    expect(await fail(pages, pageSnapshot, { next: cursor })).toMatchObject({ code: 'cursor_invalid' });
    for (const change of [
      { text_id: 'other' },
      { document_id: 'other' },
      { tab_id: 8 },
      { offset: 10_000_000 },
    ]) {
      expect(await fail(pages, pageText, { next: { ...cursor, ...change } })).toMatchObject({
        code: 'cursor_invalid',
      });
    }
    pages.tab = { ...pages.tab, discarded: true };
    expect(await fail(pages, pageText, { next: cursor })).toMatchObject({ code: 'cursor_invalid' });
    pages.tab = { ...pages.tab, discarded: false };
    await run(pages, pageText, { next: cursor });
    pages.documents = [];
    pages.add({ answer: () => textOf(LONG) });
    expect(await fail(pages, pageText, { next: cursor })).toMatchObject({ code: 'cursor_invalid' });
  });

  test('a next gives no right by itself: the rules of now hold for every frame that is in the text', async () => {
    const pages = new FakePages();
    pages.add({
      answer: () => textOf('', { parts: [LONG, 'end'], holes: [{ depth: 1, index: 0, src: '' }] }),
    });
    pages.add({ url: 'https://inner.test/', answer: () => textOf('inner', { place: 0 }) });
    const { next } = await run(pages, pageText, { max_bytes: 2_000 });
    pages.closed = (url) => url.startsWith('https://inner.test');
    expect(await fail(pages, pageText, { next: next as JsonObject })).toMatchObject({
      code: 'page_restricted',
    });
    pages.closed = () => false;
    pages.tabIsGone = true;
    expect(await fail(pages, pageText, { next: next as JsonObject })).toMatchObject({
      code: 'tab_not_found',
    });
  });

  test('next goes together with max_bytes only, and the error names the other', async () => {
    const { next } = await run(longPage(LONG), pageText, { max_bytes: 2_000 });
    const refused = await fail(longPage(LONG), pageText, { next: next as JsonObject, tab_id: 7 });
    expect(refused).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('"tab_id"') });
  });
});

describe('tools.md: frames are in the outline at their places', () => {
  function framed(): FakePages {
    const pages = new FakePages();
    pages.add({
      answer: () =>
        textOf('', {
          parts: ['- iframe [ref=a]', '\n- iframe [ref=b]', '\n- text: end'],
          holes: [
            { depth: 1, index: 1, src: '' },
            { depth: 1, index: 0, src: '' },
          ],
        }),
    });
    pages.add({
      url: 'https://zero.test/',
      answer: () => textOf('- text: zero\n  - text: deeper', { place: 0 }),
    });
    pages.add({ url: 'https://one.test/', answer: () => textOf('- text: one', { place: 1 }) });
    return pages;
  }

  test('each where its element is, indented', async () => {
    expect((await run(framed(), pageSnapshot)).snapshot).toBe(
      '- iframe [ref=a]\n  - text: one\n- iframe [ref=b]\n  - text: zero\n    - text: deeper\n- text: end',
    );
  });

  test('a frame that the rules close is not asked, and is told of', async () => {
    const pages = framed();
    pages.closed = (url) => url.startsWith('https://one.test');
    const { snapshot } = await run(pages, pageSnapshot);
    expect(snapshot).not.toContain('text: one');
    expect(snapshot).toContain('- iframe [ref=a] [not read: it is closed to the agent]');
    expect(pages.injections.filter((line) => line.startsWith(pages.documents[2]?.document_id ?? ''))).toEqual(
      [],
    );
  });

  test('a frame that hangs holds up nothing but itself', async () => {
    const pages = framed();
    (pages.documents[1] as { hangs?: boolean }).hangs = true;
    const running = run(pages, pageSnapshot);
    await pass(pages.clock, 6_000, 500);
    expect((await running).snapshot).toBe(
      '- iframe [ref=a]\n  - text: one\n- iframe [ref=b] [not read: it does not answer]\n- text: end',
    );
  });

  test('frames in shadow trees have no number: they go by their address, then by their order', async () => {
    const pages = new FakePages();
    pages.add({
      answer: () =>
        textOf('', {
          parts: ['first', '\nsecond', ''],
          holes: [
            { depth: 0, index: -1, src: 'https://b.test/' },
            { depth: 0, index: -1, src: '' },
          ],
        }),
    });
    pages.add({ url: 'https://x.test/', answer: () => textOf('x') });
    pages.add({ url: 'https://b.test/', answer: () => textOf('b') });
    expect((await run(pages, pageText)).text).toBe('first\nb\nsecond\nx');
  });

  test('a document that answers nonsense is page_script_failed', async () => {
    for (const nonsense of [
      null,
      'text',
      { parts: 'x' },
      textOf('', { holes: [{ depth: 1e9, index: 0, src: '' }] }),
    ]) {
      const pages = new FakePages();
      pages.add({ answer: () => nonsense });
      expect(await fail(pages, pageText)).toMatchObject({ code: 'page_script_failed' });
    }
  });

  test('a PDF in the viewer is page_restricted, not an empty page', async () => {
    const pages = new FakePages();
    pages.add({ answer: () => textOf('', { content_type: 'application/pdf' }) });
    expect(await fail(pages, pageText)).toMatchObject({
      code: 'page_restricted',
      message: expect.stringContaining('PDF'),
    });
  });
});

describe('the page a tool means', () => {
  test.each([
    'chrome://settings/',
    'view-source:https://a.test/',
    'chrome-extension://abc/page.html',
    'devtools://devtools/x',
    'edge://flags',
    'about-not:x',
  ])('%s is page_restricted', async (url) => {
    const pages = new FakePages();
    pages.tab = { ...pages.tab, url };
    pages.add({ url });
    expect(await fail(pages, pageText)).toMatchObject({ code: 'page_restricted' });
    expect(pages.injections).toEqual([]);
  });

  test('a discarded tab is unavailable and the sentence says what loads it', async () => {
    const pages = new FakePages();
    pages.tab = { ...pages.tab, discarded: true };
    const refused = await fail(pages, pageText);
    expect(refused).toMatchObject({ code: 'unavailable', message: expect.stringContaining('reload') });
  });

  test('an error page is navigation_failed, a tab that is gone tab_not_found', async () => {
    const pages = new FakePages();
    pages.add({ errorOccurred: true });
    expect(await fail(pages, pageText)).toMatchObject({ code: 'navigation_failed' });
    expect(await fail(pages, pageText, { tab_id: 99 })).toMatchObject({ code: 'tab_not_found' });
  });

  test('a page that the rules close is not asked anything', async () => {
    const pages = new FakePages();
    pages.add();
    pages.closed = () => true;
    expect(await fail(pages, pageText)).toMatchObject({ code: 'page_restricted' });
    expect(pages.injections).toEqual([]);
  });

  test('about: and blob: frames count as what made them', async () => {
    const pages = new FakePages();
    const asked: string[] = [];
    pages.closed = (url) => {
      asked.push(url);
      return false;
    };
    pages.add();
    pages.add({ url: 'about:srcdoc' });
    pages.add({ url: 'blob:https://b.test/1-2-3' });
    await run(pages, pageText);
    expect(new Set(asked)).toEqual(new Set(['https://a.test/', 'https://b.test/']));
  });

  describe('a document without an address of its own counts as whose content it shows', () => {
    const hole = (index: number) => ({ depth: 1, index, src: '' });
    const closedBy =
      (...url_blocklist: string[]) =>
      (url: string): boolean =>
        !urlRules({ url_allowlist: null, url_blocklist }, 'chrome-extension://own').mayEnter(url);
    const ofB = closedBy('https://b.test/*');

    test('an empty window that a closed page opened and filled', async () => {
      const pages = new FakePages();
      pages.closed = ofB;
      pages.tab.url = 'about:blank';
      pages.add({ url: 'about:blank', origin: 'https://b.test' });
      expect(await fail(pages, pageText)).toMatchObject({ code: 'page_restricted' });
      for (const document of pages.documents) document.origin = 'https://a.test';
      expect((await run(pages, pageText)).text).toBe('text');
    });

    test('one whose opener is on its way between open and closed addresses', async () => {
      const pages = new FakePages();
      pages.closed = closedBy('https://a.test/closed/*');
      pages.tab.url = 'about:blank';
      const popup = pages.add({ url: 'about:blank', origin: 'https://a.test' });
      popup.opener = 'https://a.test/open';
      expect((await run(pages, pageText)).text).toBe('text');
      popup.referrer = 'https://a.test/closed/x';
      expect(await fail(pages, pageText)).toMatchObject({ code: 'page_restricted' });
      popup.referrer = '';
      popup.opener = 'https://a.test/closed/x';
      expect(await fail(pages, pageText)).toMatchObject({ code: 'page_restricted' });
      popup.opener = 'https://another.test/';
      expect(await fail(pages, pageText)).toMatchObject({ code: 'page_restricted' });
    });

    test('an empty frame that a page of another address wrote anew', async () => {
      const pages = new FakePages();
      pages.closed = closedBy('https://a.test/closed');
      pages.add({ answer: () => textOf('open', { parts: ['open', ''], holes: [hole(0)] }) });
      pages.add({
        url: 'about:blank',
        location: 'https://a.test/closed',
        origin: 'https://a.test',
        answer: () => textOf('written', { place: 0 }),
      });
      expect((await run(pages, pageText)).text).not.toContain('written');
    });

    test('frames of an opaque origin: closed where anybody closed may have made them', async () => {
      const read = async (frame: Partial<FakeDocument>): Promise<boolean> => {
        const pages = new FakePages();
        pages.closed = ofB;
        pages.add({ answer: () => textOf('open', { parts: ['open', ''], holes: [hole(0)] }) });
        pages.add({ origin: 'null', answer: () => textOf('made', { place: 0 }), ...frame });
        return `${(await run(pages, pageText)).text}`.includes('made');
      };
      expect(await read({ url: 'about:srcdoc' })).toBe(true);
      expect(await read({ url: 'about:blank', base: 'https://a.test/x' })).toBe(true);
      expect(await read({ url: 'about:blank', base: 'https://b.test/x' })).toBe(false);
      expect(await read({ url: 'about:blank' })).toBe(false);
      expect(await read({ url: 'data:text/html,x' })).toBe(false);
    });

    test('also when it is read on after the rules changed', async () => {
      const pages = new FakePages();
      pages.tab.url = 'about:blank';
      pages.add({ url: 'about:blank', origin: 'https://b.test', answer: () => textOf(LONG) });
      const { next } = await run(pages, pageText, { max_bytes: 2_000 });
      pages.closed = ofB;
      expect(await fail(pages, pageText, { next: next as JsonObject })).toMatchObject({
        code: 'page_restricted',
      });
    });

    test('a frame of an open page that a closed one filled; an opaque one is its parent’s', async () => {
      const pages = new FakePages();
      pages.closed = ofB;
      pages.add({ answer: () => textOf('open', { parts: ['open', '', ''], holes: [hole(0), hole(1)] }) });
      pages.add({
        url: 'about:blank',
        origin: 'https://b.test',
        answer: () => textOf('closed', { place: 0 }),
      });
      pages.add({ url: 'about:srcdoc', origin: 'null', answer: () => textOf('opaque', { place: 1 }) });
      const { text } = await run(pages, pageText);
      expect(text).toContain('opaque');
      expect(text).not.toContain('closed\n');
      expect(text).toContain('it is closed to the agent');
    });

    test('a blob: frame, by the address of the page around it when that made it', async () => {
      const pages = new FakePages();
      pages.closed = (url) => url === 'https://a.test/closed';
      pages.add();
      pages.add({ url: 'https://a.test/closed' });
      pages.add({ url: 'blob:https://a.test/1-2-3', parent_frame_id: 1, origin: 'https://a.test' });
      await run(pages, pageText);
      const made = pages.documents[2]?.document_id ?? '';
      expect(pages.injections.some((line) => line.startsWith(made))).toBe(false);
    });
  });

  test('a page rendered in advance is not the page of the tab', async () => {
    const pages = new FakePages();
    pages.add();
    pages.add({ url: 'https://a.test/later', lifecycle: 'prerender', answer: () => textOf('later') });
    expect((await run(pages, pageText)).text).toBe('text');
    expect(pages.injections.some((line) => line.startsWith(pages.documents[1]?.document_id ?? ''))).toBe(
      false,
    );
  });
});

describe('a call into a page', () => {
  test('puts the agent there once, and asks it straight away the next time', async () => {
    const pages = new FakePages();
    pages.add();
    await run(pages, pageText);
    await run(pages, pageText);
    expect(pages.injections.map((line) => line.split(' ')[1])).toEqual([
      'call',
      'page-agent.js',
      'call',
      'call',
    ]);
  });

  test('policy.md: the rules are asked about the address at the moment of the act', async () => {
    const pages = new FakePages();
    pages.add({ location: 'https://a.test/moved' });
    expect((await run(pages, pageText)).url).toBe('https://a.test/moved');
    pages.closed = (url) => url.endsWith('/moved');
    expect(await fail(pages, pageText)).toMatchObject({ code: 'page_restricted' });
  });

  test('policy.md: a page that comes to a closed address while it is read is refused', async () => {
    const pages = new FakePages();
    const page = pages.add({
      answer: () => {
        page.location = 'https://a.test/closed';
        return textOf('secret');
      },
    });
    pages.closed = (url) => url.endsWith('/closed');
    expect(await fail(pages, pageText)).toMatchObject({ code: 'page_restricted' });
  });

  test('case 8: a page that never answers is a timeout before the deadline, and says why', async () => {
    const pages = new FakePages();
    pages.add({ hangs: true });
    const running = fail(pages, pageText);
    await pass(pages.clock, 60_000, 1_000);
    expect(await running).toMatchObject({ code: 'timeout', message: expect.stringContaining('dialog') });
    expect(pages.clock.pending).toBe(0);
  });

  test('a cancel ends the wait', async () => {
    const pages = new FakePages();
    pages.add({ hangs: true });
    const running = pageText.run({}, pages.context, NOTHING).catch((thrown: unknown) => thrown);
    await pass(pages.clock, 10);
    pages.abort.abort(new Error('cancelled'));
    expect(await running).toMatchObject({ message: 'cancelled' });
    expect(pages.clock.pending).toBe(0);
  });

  test('what Chrome refuses is page_restricted, without its words', async () => {
    const pages = new FakePages();
    pages.add({ refuses: true });
    const refused = await fail(pages, pageText);
    expect(refused.code).toBe('page_restricted');
    expect(refused.message).not.toContain('foreign');
  });

  test('a page that is replaced while it is asked is read anew', async () => {
    const pages = new FakePages();
    const first = pages.add();
    pages.context.browser.scripting.executeScript = ((original) => async (injection) => {
      if (pages.documents[0] === first) {
        pages.documents = [];
        pages.add({ answer: () => textOf('the new page') });
      }
      return original(injection);
    })(pages.context.browser.scripting.executeScript);
    expect((await run(pages, pageText)).text).toBe('the new page');
  });

  test('a ref of a page that was left is element_not_found, and nothing is asked', async () => {
    const pages = new FakePages();
    pages.add();
    expect(await fail(pages, pageText, { ref: 'zzzzzze1' })).toMatchObject({ code: 'element_not_found' });
    expect(pages.injections).toEqual([]);
  });
});
