/** The tools that act on pages (tools.md, Catalogue), in a real Chrome, in a tab that is never shown. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/protocol/json';
import type { CdpSession } from './harness/cdp';
import { html, type Site, startSite } from './harness/site';
import { call, inServiceWorker, listTabs, openTab, refusal } from './harness/tool-calls';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

let world: World;
let elsewhere: Site;
let shown: number | undefined;
let served = 0;

beforeAll(async () => {
  world = await createWorld();
  await world.browser.message('permissions.set', { name: 'page_evaluate', permission: 'allow' });
  elsewhere = await startSite();
  world.site.serve('/next', html('<!doctype html><title>next</title><p>The next page'));
  shown = await shownTab();
});

afterAll(async () => {
  await elsewhere?.close();
  await world?.[Symbol.asyncDispose]();
});

afterEach(async () => {
  expect(world.relay.violations).toEqual([]);
  expect(await shownTab(), 'the focus is never stolen').toBe(shown);
});

async function shownTab(): Promise<number | undefined> {
  return (await listTabs(world)).find(({ active }) => active)?.tab_id;
}

const HEAR = `<script>
  window.heard = [];
  for (const type of ['pointerdown','mousedown','pointerup','mouseup','click','dblclick','contextmenu','auxclick',
    'focus','blur','beforeinput','input','change','keydown','keypress','keyup'])
    addEventListener(type, (event) => heard.push(type + (event.target.id ? '#' + event.target.id : '')), true);
  // Timers are slow in a tab that is not shown; messages are not.
  function ever(work) {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { work(); port2.postMessage(0) };
    port2.postMessage(0);
  }
</script>`;

/** Opens a page of this body, in the background unless told otherwise, and returns calls in its tab. */
async function open(body: string, headers: Record<string, string> = {}, active = false): Promise<Page> {
  served += 1;
  const path = `/page-${served}`;
  world.site.serve(path, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers });
    response.end(`<!doctype html><title>page ${served}</title>${HEAR}${body}`);
  });
  return new Page(path, await openTab(world, path, { active }));
}

class Page {
  constructor(
    readonly path: string,
    readonly tab_id: number,
  ) {}

  act(tool: string, input: JsonObject, timeout_ms = 20_000): Promise<JsonObject> {
    return call(world, tool, { tab_id: this.tab_id, ...input }, { timeout_ms });
  }

  refused(
    tool: string,
    input: JsonObject,
    timeout_ms = 2_500,
  ): Promise<{ error_code: string; error: string }> {
    return refusal(world, tool, { tab_id: this.tab_id, ...input }, { timeout_ms });
  }

  async js<T>(expression: string): Promise<T> {
    return (await this.act('page_evaluate', { expression })).result as T;
  }

  /** What the page heard since the last time. */
  heard(): Promise<string[]> {
    return this.js<string[]>('heard.splice(0)');
  }

  close(): Promise<JsonObject> {
    return call(world, 'tab_close', { tab_id: this.tab_id });
  }

  async cdp(): Promise<CdpSession> {
    const target = await until('the page is there', async () =>
      (await world.browser.targets()).find((one) => one.url === world.site.url(this.path)),
    );
    return world.browser.connection.attach(target.targetId);
  }
}

describe('page_click', () => {
  it('makes the events of a mouse, moves the focus, and says what changed', async () => {
    const page = await open(
      `<button id=b onclick="document.title='pressed'; history.pushState({}, '', '/pushed')">Press me</button>`,
    );
    expect(await page.act('page_click', { selector: '#b' })).toEqual({
      tab_id: page.tab_id,
      url: world.site.url('/pushed'),
      ref: expect.any(String),
      element: '<button id="b"> "Press me"',
      changes: {
        url: world.site.url('/pushed'),
        title: 'pressed',
        content: true,
        focus: { ref: expect.any(String), element: '<button id="b"> "Press me"' },
      },
      settled: true,
    });
    const clicked = ['pointerdown#b', 'mousedown#b', 'focus#b', 'pointerup#b', 'mouseup#b', 'click#b'];
    expect(await page.heard()).toEqual(clicked);
    await page.act('page_click', { selector: '#b', count: 2 });
    expect((await page.heard()).filter((one) => one.includes('click'))).toEqual([
      'click#b',
      'click#b',
      'dblclick#b',
    ]);
    await page.act('page_click', { selector: '#b', button: 'right' });
    expect(await page.heard()).toEqual(expect.arrayContaining(['contextmenu#b', 'auxclick#b']));
    await page.close();
  });

  it.each([
    ['disabled', '<button id=b disabled>B</button>', /disabled/],
    ['disabled by its fieldset', '<fieldset disabled><button id=b>B</button></fieldset>', /disabled/],
    [
      'aria-disabled around it',
      '<div id=d aria-disabled=true><a id=b href=#>B</a></div>',
      /disabled by <div id="d"/,
    ],
    ['not displayed', '<div style="display:none"><button id=b>B</button></div>', /not visible/],
    ['hidden by style', '<button id=b style="visibility:hidden">B</button>', /not visible/],
    ['without size', '<div id=b></div>', /no size/],
    [
      'covered',
      '<button id=b>B</button><div id=veil style="position:fixed;inset:0">Please wait</div>',
      /covered by <div id="veil"> "Please wait"/,
    ],
    [
      'moving without end',
      '<button id=b style="position:absolute">B</button><script>ever(() => { b.style.left = Math.random() * 90 + "%" })</script>',
      /moving/,
    ],
    ['a file chooser', '<input id=b type=file>', /file chooser/],
  ])('an element that is %s is not clicked, and the sentence says so', async (_what, body, sentence) => {
    const page = await open(body);
    const { error_code, error } = await page.refused('page_click', { selector: '#b' });
    expect([error_code, error]).toEqual(['element_not_actionable', expect.stringMatching(sentence)]);
    expect((await page.heard()).filter((one) => one.startsWith('click'))).toEqual([]);
    await page.close();
  });

  it('waits until the element is there, enabled, free and at rest; scrolls it into view', async () => {
    const page =
      await open(`<div style="height:4000px"></div><p id=place></p><div style="height:2000px"></div>
      <div id=veil style="position:fixed;inset:0"></div>
      <script>
        setTimeout(() => { place.innerHTML = '<button id=b disabled>B</button>' }, 300);
        setTimeout(() => { b.disabled = false }, 600);
        setTimeout(() => { veil.remove() }, 900);
      </script>`);
    await page.act('page_click', { selector: '#b' });
    expect(await page.heard()).toContain('click#b');
    await page.close();
  });

  it('a hidden box is clicked by its label; a link inside a sticky header by what is free of it', async () => {
    const page = await open(`<style>input{position:absolute;opacity:0;width:0;height:0}</style>
      <label><input id=box type=checkbox><b>Like</b></label>`);
    await page.act('page_click', { selector: '#box' });
    expect(await page.js('box.checked')).toBe(true);
    await page.close();
  });

  it('an element in a frame of another origin that the page covers is not clicked', async () => {
    elsewhere.serve('/frame', html('<button id=b onclick="parent.postMessage(1, \'*\')">B</button>'));
    const frame = `<iframe src="http://localhost:${elsewhere.port}/frame" style="margin-top:1500px"></iframe>`;
    const covered = await open(`${frame}<div id=veil style="position:fixed;inset:0"></div>`);
    expect(await covered.refused('page_click', { selector: '#b' })).toEqual({
      error_code: 'element_not_actionable',
      error: expect.stringMatching(/covered by <div id="veil">/),
    });
    await covered.close();
    const free = await open(`${frame}<script>onmessage = () => { document.title = 'clicked' }</script>`);
    expect((await free.act('page_click', { selector: '#b' })).changes).toMatchObject({ title: 'clicked' });
    await free.close();
  });

  it('a load that the click starts is waited for, and the old refs are gone', async () => {
    const page = await open('<a id=a href=/next>On</a><button id=b>B</button>');
    const { ref } = await page.act('page_click', { selector: '#b' });
    expect(await page.act('page_click', { selector: '#a' })).toMatchObject({
      url: world.site.url('/next'),
      changes: { navigated: true, url: world.site.url('/next'), title: 'next' },
      settled: true,
    });
    expect(await page.refused('page_click', { ref: ref as string })).toMatchObject({
      error_code: 'element_not_found',
    });
    await page.close();
  });

  it('a ref whose element was removed is element_not_found, never another element', async () => {
    const page = await open('<button id=b>B</button>');
    const { ref } = await page.act('page_click', { selector: '#b' });
    await page.js(`b.outerHTML = '<button id=b>B</button>'`);
    expect(await page.refused('page_click', { ref: ref as string })).toMatchObject({
      error_code: 'element_not_found',
    });
    await page.close();
  });

  it('new tabs open behind: by target, by modifier, by script', async () => {
    const page = await open(`<a id=blank target=_blank href=/next>Blank</a><a id=plain href=/next>Plain</a>
      <button id=script onclick="window.open('/next')">Script</button>
      <a id=kept target=_blank href=/next onclick="event.preventDefault()">Kept</a>
      <div onclick="event.stopPropagation()"><a id=stopped target=_blank href=/next>Stopped</a></div>`);
    const inputs: JsonObject[] = [
      { selector: '#blank' },
      { selector: '#plain', modifiers: ['Control'] },
      { selector: '#plain', button: 'middle' },
      { selector: '#script' },
      { selector: '#stopped' },
    ];
    for (const input of inputs) {
      const { url, changes } = await page.act('page_click', input);
      expect(url).toBe(world.site.url(page.path));
      const opened = { tab_id: expect.any(Number), url: world.site.url('/next'), title: 'next' };
      expect(changes, JSON.stringify(input)).toMatchObject({ new_tabs: [opened] });
      const [tab] = (changes as { new_tabs: { tab_id: number }[] }).new_tabs;
      await call(world, 'tab_close', { tab_id: tab?.tab_id ?? -1 });
    }
    expect((await page.act('page_click', { selector: '#kept' })).changes).not.toHaveProperty('new_tabs');
    await page.close();
  });

  it('case 8: an alert is told within the deadline, other tabs go on, and nothing is clicked later', async () => {
    const page = await open(`<button id=b onclick="count = (window.count ?? 0) + 1; alert(1)">B</button>`);
    const other = await open('<button id=b>B</button>');
    const cdp = await page.cdp();
    await cdp.send('Page.enable');
    const clicked = await page.act('page_click', { selector: '#b' }, 3_000);
    expect(clicked).toMatchObject({ settled: false, changes: { dialog: { open: true } } });
    const refused = await page.refused('page_click', { selector: '#b' }, 3_000);
    expect(refused).toMatchObject({ error_code: 'timeout', error: expect.stringMatching(/alert/) });
    await other.act('page_click', { selector: '#b' }, 5_000);
    await cdp.send('Page.handleJavaScriptDialog', { accept: true });
    expect(await page.js('count')).toBe(1);
    await cdp.detach();
    await page.close();
    await other.close();
  });

  it('a page that forges what was heard gives short texts at most: huge ones would end the process of the extension', async () => {
    const page = await open(
      `<button id=b onclick="window[Symbol.for('endue.hooks')] = {
         restore() {}, windows: ['https://a.test/' + 'x'.repeat(2 ** 28)],
         dialogs: [{ type: 'alert', message: 'y'.repeat(2 ** 28), accepted: true }] };
         for (const name of ['slice', 'substring']) String.prototype[name] = () => 'z'.repeat(2 ** 28)">B</button>`,
    );
    const { changes } = await page.act('page_click', { selector: '#b', dialogs: 'accept' }, 10_000);
    // None when the page, with all its memory to read, took longer than the act waits.
    const { dialogs = [], ...others } = changes as { dialogs?: unknown[] };
    expect(others).toEqual({ focus: expect.anything() });
    expect([[], [{ type: 'alert', message: 'y'.repeat(500), accepted: true }]]).toContainEqual(dialogs);
    await page.close();
  });

  it('dialogs can be answered instead of shown, and the page has its own again afterwards', async () => {
    const page = await open(`<script>const [o, a] = [open, alert]</script>
      <button id=b onclick="alert('A'); window.answers = [confirm('C?'), prompt('P?', 'preset')]">B</button>`);
    const cdp = await page.cdp();
    const accepted = await page.act('page_click', { selector: '#b', dialogs: 'accept', prompt_text: 'mine' });
    expect(accepted.changes).toMatchObject({
      dialogs: [
        { type: 'alert', message: 'A', accepted: true },
        { type: 'confirm', message: 'C?', accepted: true },
        { type: 'prompt', message: 'P?', accepted: true, text: 'mine' },
      ],
    });
    expect(await page.js('answers')).toEqual([true, 'mine']);
    await page.act('page_click', { selector: '#b', dialogs: 'dismiss' });
    expect(await page.js('answers')).toEqual([false, null]);
    expect(await page.js('[o === open, a === alert]')).toEqual([true, true]);
    // A page that asks until it likes the answer comes to its end: from the eleventh on a person is asked.
    await page.js(
      `b.onclick = () => { window.asked = 0; do asked += 1; while (!confirm('Sure?') && asked < 99) }`,
    );
    await cdp.send('Page.enable');
    const stuck = await page.act('page_click', { selector: '#b', dialogs: 'dismiss' }, 6_000);
    expect(stuck).toMatchObject({ settled: false, changes: { dialog: { open: true } } });
    await cdp.send('Page.handleJavaScriptDialog', { accept: true });
    expect(await page.js('asked')).toBe(11);
    await cdp.detach();
    await page.close();
  });

  it('a page that asks before it is left: the answer says that a dialog waits', async () => {
    // In front from the start: Chrome itself brings a page that asks to the front.
    const page = await open(
      '<input id=i><a id=a href=/next>On</a><script>onbeforeunload = (event) => event.preventDefault()</script>',
      {},
      true,
    );
    const cdp = await page.cdp();
    // Chrome lets a page ask only when a person has used it.
    await cdp.evaluate('i.focus()');
    await cdp.send('Page.enable');
    const { changes } = await page.act('page_click', { selector: '#a' }, 6_000);
    expect(changes).toMatchObject({ dialog: { open: true } });
    await cdp.send('Page.handleJavaScriptDialog', { accept: true });
    await cdp.detach();
    await page.act('page_wait', { url: '*/next' });
    await page.close();
    shown = await shownTab();
  });

  it('a click that closes its tab is answered', async () => {
    const page = await open('<button id=b onclick="window.close()">B</button>');
    expect((await page.act('page_click', { selector: '#b' })).changes).toMatchObject({ tab_closed: true });
    expect((await listTabs(world)).map(({ tab_id }) => tab_id)).not.toContain(page.tab_id);
  });

  it('an act begun twice under one id is done once, and one that the page hears of too late not at all', async () => {
    const page = await open('<button id=b onclick="window.count = (window.count ?? 0) + 1">B</button>');
    const { ref } = await page.act('page_hover', { selector: '#b' });
    const begin = (id: string, late: boolean): Promise<{ reply: string; code?: string }> =>
      inServiceWorker(
        world,
        `(async () => {
          const act = { kind: 'click', button: 'left', count: 1, modifiers: [] };
          const args = { id: ${JSON.stringify(id)}, ref: ${JSON.stringify(ref)}, act, start_by: Date.now() ${late ? '- 1' : '+ 9999'} };
          const call = {
            command: 'act_begin',
            args,
            ref_prefix: ${JSON.stringify(String(ref).slice(0, 6))},
            url: ${JSON.stringify(world.site.url(page.path))},
            origin: '',
            version: chrome.runtime.getManifest().version,
          };
          const func = (call) => globalThis[Symbol.for('endue.page-agent')].call(call);
          const target = { tabId: ${page.tab_id} };
          const [{ result }] = await chrome.scripting.executeScript({ target, func, args: [call] });
          return result;
        })()`,
      );
    expect(await begin('late', true)).toMatchObject({ reply: 'failed', code: 'timeout' });
    expect(await page.js('window.count ?? 0')).toBe(0);
    expect(await begin('twice', false)).toMatchObject({ reply: 'done' });
    expect(await begin('twice', false)).toMatchObject({ reply: 'done' });
    await page.act('page_wait', { idle: 'dom' });
    expect(await page.js('count')).toBe(1);
    await page.close();
  });

  it('a ref of page_snapshot is taken, in a frame of another origin too', async () => {
    elsewhere.serve(
      '/inner',
      html('<button onclick="document.title = 1; this.textContent = `pressed`">Inner</button>'),
    );
    const page = await open(
      `<button>Outer</button><iframe src="http://localhost:${elsewhere.port}/inner"></iframe>`,
    );
    await page.act('page_wait', { text: 'Inner' });
    const refOf = async (name: string): Promise<string> => {
      const { snapshot } = await page.act('page_snapshot', {});
      const line = String(snapshot)
        .split('\n')
        .find((one) => one.includes(`"${name}"`));
      return /ref=(\w+)/.exec(line ?? '')?.[1] ?? `no ref in ${snapshot}`;
    };
    expect(await page.act('page_click', { ref: await refOf('Outer') })).toMatchObject({
      element: '<button> "Outer"',
    });
    const { element } = await page.act('page_click', { ref: await refOf('Inner') });
    expect(element).toBe('<button> "Inner"');
    await page.act('page_wait', { text: 'pressed' });
    await page.close();
  });

  it('a selector that fits several, none, or is none: what would help, and no click', async () => {
    const page = await open('<button>A</button><button>B</button>');
    const several = await page.refused('page_click', { selector: 'button' });
    expect(several).toEqual({ error_code: 'invalid_input', error: expect.stringMatching(/fits 2 elements/) });
    expect(await page.refused('page_click', { selector: '#none' })).toMatchObject({
      error_code: 'element_not_found',
    });
    expect(await page.refused('page_click', { selector: 'a[' })).toEqual({
      error_code: 'invalid_input',
      error: expect.stringMatching(/not a valid CSS selector/),
    });
    expect(await page.refused('page_click', {})).toMatchObject({ error_code: 'invalid_input' });
    expect(await page.refused('page_click', { selector: 'a', ref: 'b' })).toMatchObject({
      error_code: 'invalid_input',
    });
    await page.close();
  });
});

/** An input whose value is kept by a script that watches the property and listens to input, as React does. */
const CONTROLLED = `<input id=controlled><script>
  const native = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
  let tracked = '';
  Object.defineProperty(controlled, 'value', {
    configurable: true,
    get() { return native.get.call(this); },
    set(value) { tracked = String(value); native.set.call(this, value); },
  });
  window.state = '';
  const render = () => { if (controlled.value !== state) controlled.value = state; };
  document.addEventListener('input', ({ target }) => {
    if (target !== controlled || native.get.call(target) === tracked) return;
    tracked = native.get.call(target);
    state = tracked.toUpperCase();
    queueMicrotask(render);
  });
</script>`;

describe('page_click on pages as they are', () => {
  it('acts on one tab are done one after the other: each answers its own dialogs', async () => {
    const page = await open(
      `${[0, 1, 2, 3].map((one) => `<button id=b${one} onclick="answers.push(confirm('q${one}'))">B${one}</button>`).join('')}
       <script>window.answers = []</script>`,
    );
    const said = await Promise.all(
      [0, 1, 2, 3].map((one) =>
        page.act('page_click', { selector: `#b${one}`, dialogs: one % 2 === 0 ? 'accept' : 'dismiss' }),
      ),
    );
    for (const [one, { changes }] of said.entries()) {
      expect(changes).toMatchObject({
        dialogs: [{ type: 'confirm', message: `q${one}`, accepted: one % 2 === 0 }],
        focus: { element: expect.stringContaining(`id="b${one}"`) },
      });
    }
    const accepted = said.map(
      ({ changes }) => (changes as { dialogs: { accepted: boolean }[] }).dialogs[0]?.accepted,
    );
    expect([...accepted].sort()).toEqual([false, false, true, true]);
    expect([...(await page.js<boolean[]>('answers'))].sort()).toEqual([false, false, true, true]);
    await page.close();
  });

  it('a javascript: link runs in the page, by Enter too, unless the page or its policy keeps it from that', async () => {
    const links = `<script nonce=n>function post(what) { document.title = 'posted ' + what }</script>
      <a id=a href="javascript:post('a%20b')"><b id=in>Post</b></a>
      <a id=kept href="javascript:post('kept')">Kept</a>
      <script nonce=n>kept.addEventListener('click', (event) => event.preventDefault())</script>
      <a id=asks href="javascript:post(confirm('Sure?'))">Ask</a>`;
    const page = await open(links);
    expect((await page.act('page_click', { selector: '#in' })).changes).toMatchObject({
      title: 'posted a b',
    });
    expect((await page.act('page_click', { selector: '#kept' })).changes).not.toHaveProperty('title');
    await page.js('document.title = "before"');
    expect((await page.act('page_press', { selector: '#a', key: 'Enter' })).changes).toMatchObject({
      title: 'posted a b',
    });
    expect((await page.act('page_click', { selector: '#asks', dialogs: 'accept' })).changes).toMatchObject({
      title: 'posted true',
      dialogs: [{ type: 'confirm', message: 'Sure?', accepted: true }],
    });
    await page.close();
    const strict = await open(links, { 'content-security-policy': "script-src 'nonce-n'" });
    expect((await strict.act('page_click', { selector: '#a' })).changes).not.toHaveProperty('title');
    await strict.close();
  });

  it('what the pointer makes a page draw anew is clicked all the same; what it takes away is not', async () => {
    const page = await open(`<div id=w><button id=b>Buy</button></div><button id=gone>Gone</button><script>
      w.addEventListener('mouseover', () => {
        w.innerHTML = '<button id=b>Buy</button>';
        b.onclick = () => { document.title = 'bought' };
      }, { once: true });
      gone.onmouseover = () => gone.remove();
    </script>`);
    expect((await page.act('page_click', { selector: '#b' })).changes).toMatchObject({ title: 'bought' });
    expect(await page.refused('page_click', { selector: '#gone' })).toEqual({
      error_code: 'element_not_actionable',
      error: expect.stringMatching(/took .*"Gone" away .* Nothing was clicked/),
    });
    await page.close();
  });

  it('drawn anew while the button is down, the click goes to what is around it, as in Chrome', async () => {
    const page = await open(`<ul id=w><li id=b>Item</li></ul><script>
      w.addEventListener('mousedown', () => { w.innerHTML = '<li id=b>Item</li>' });
      w.addEventListener('click', (event) => { document.title = 'clicked ' + event.target.id });
    </script>`);
    expect((await page.act('page_click', { selector: '#b' })).changes).toMatchObject({ title: 'clicked w' });
    await page.close();
  });

  it('a box that is cut down to nothing is clicked by its label, wherever that is; not when it is disabled', async () => {
    const unseen =
      'style="position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip:rect(0,0,0,0)"';
    const page = await open(`<div style="position:relative;padding:20px"><input type=checkbox id=c ${unseen}>
      <label for=c style="margin-left:99px">One</label></div>
      <div style="position:relative;padding:20px"><input type=checkbox id=d disabled ${unseen}>
      <label for=d style="margin-left:99px">Two</label></div>`);
    await page.act('page_click', { selector: '#c' });
    expect(await page.js('c.checked')).toBe(true);
    expect(await page.refused('page_click', { selector: '#d' })).toMatchObject({
      error: expect.stringMatching(/disabled/),
    });
    await page.close();
  });

  it('in a frame that its page scales, with a border and padding', async () => {
    const page = await open(`<div style="width:400px;height:300px;overflow:hidden"><iframe
      style="width:800px;height:600px;border:10px solid;padding:30px;transform:scale(.5);transform-origin:0 0"
      srcdoc="<button id=b style='position:absolute;left:600px;top:450px' onclick='parent.document.title = 1'>B</button>"></iframe></div>`);
    expect((await page.act('page_click', { selector: '#b' })).changes).toMatchObject({ title: '1' });
    await page.close();
  });

  it('the areas of an image map are clicked where the image shows them, those of no image are not', async () => {
    const image = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="300" height="100"/>')}`;
    const page =
      await open(`<div style="height:2000px"></div><img usemap="#m" src="${image}" width=300 height=100 style="padding:9px">
      <map name=m><area id=rect coords="0,0,90,90" href="#rect"><area id=circle shape=circle coords="150,50,40" href="#circle">
      <area id=poly shape=poly coords="200,0,290,0,290,90" href="#poly"></map>
      <map name=none><area id=lost coords="0,0,9,9" href="#lost"></map>`);
    for (const id of ['rect', 'circle', 'poly']) {
      const { url } = await page.act('page_click', { selector: `#${id}` });
      expect(url).toBe(world.site.url(`${page.path}#${id}`));
    }
    expect(await page.refused('page_click', { selector: '#lost' })).toMatchObject({
      error_code: 'element_not_actionable',
    });
    await page.close();
  });

  it('an option is not clicked: page_select is named', async () => {
    const page = await open('<select multiple id=s><option id=o>A<option>B</select>');
    expect(await page.refused('page_click', { selector: '#o' })).toEqual({
      error_code: 'element_not_actionable',
      error: expect.stringMatching(/page_select on their list, <select id="s"/),
    });
    await page.close();
  });

  it('a link to a download says that no page came; the tab that Chrome closes again is not told', async () => {
    world.site.serve('/file.bin', (_request, response) => {
      response.writeHead(200, { 'content-disposition': 'attachment; filename="file.bin"' });
      response.end('content');
    });
    const page = await open('<a id=a href=/file.bin>A</a><a id=b href=/file.bin target=_blank>B</a>');
    expect((await page.act('page_click', { selector: '#a' })).changes).toMatchObject({
      load_failed: expect.stringMatching(/^net::ERR_ABORTED: no page came. It is a download/),
    });
    expect((await page.act('page_click', { selector: '#b' })).changes).not.toHaveProperty('new_tabs');
    await page.close();
  });

  it('a form whose action is a script is sent to the page, unless the page prevents it', async () => {
    const page =
      await open(`<form action="javascript:void (document.title = 'sent ' + i.value)"><input id=i value=1>
      <button id=b>Send</button></form>`);
    expect((await page.act('page_click', { selector: '#b' })).changes).toMatchObject({ title: 'sent 1' });
    await page.js('i.value = 2');
    expect((await page.act('page_press', { selector: '#i', key: 'Enter' })).changes).toMatchObject({
      title: 'sent 2',
    });
    await page.js('i.form.onsubmit = () => false; document.title = "kept"');
    expect((await page.act('page_click', { selector: '#b' })).changes).not.toHaveProperty('title');
    await page.close();
  });
});

describe('page_fill', () => {
  it('a controlled input hears the change and has the last word', async () => {
    const page = await open(CONTROLLED);
    expect(await page.act('page_fill', { selector: '#controlled', value: 'abc' })).toMatchObject({
      value: 'ABC',
    });
    expect(await page.js('[state, controlled.value]')).toEqual(['ABC', 'ABC']);
    await page.act('page_press', { selector: '#controlled', text: 'd' });
    expect(await page.js('state')).toBe('ABCD');
    await page.close();
  });

  it('the events of a text field, also in a tab that is not shown', async () => {
    const page = await open('<input id=a value=old><input id=b>');
    await page.act('page_fill', { selector: '#a', value: 'new' });
    expect(await page.heard()).toEqual(['focus#a', 'beforeinput#a', 'input#a', 'change#a']);
    await page.act('page_fill', { selector: '#b', value: 'x' });
    expect(await page.heard()).toEqual(['blur#a', 'focus#b', 'beforeinput#b', 'input#b', 'change#b']);
    await page.close();
  });

  it.each([
    ['<input id=f type=date>', '31.1.2026', /YYYY-MM-DD/],
    ['<input id=f type=time>', 'noon', /hh:mm/],
    ['<input id=f type=number>', 'twelve', /a number/],
    ['<input id=f type=color>', 'reddish', /#rrggbb/],
    ['<input id=f type=range max=10>', '11', /between its min and max/],
    ['<input id=f maxlength=3>', 'four', /at most 3/],
    ['<input id=f>', 'two\nlines', /single line/],
    ['<input id=f type=checkbox>', 'yes', /true or false/],
  ])('%s refuses %j before anything is touched', async (field, value, sentence) => {
    const page = await open(field);
    expect(await page.refused('page_fill', { selector: '#f', value })).toEqual({
      error_code: 'invalid_input',
      error: expect.stringMatching(sentence),
    });
    expect(await page.heard()).toEqual([]);
    await page.close();
  });

  it.each([
    ['<input id=f readonly>', /read-only/],
    ['<input id=f type=file>', /only by a person/],
    ['<select id=f><option>a</select>', /page_select/],
    ['<button id=f>b</button>', /takes no text/],
    [
      '<input id=f><dialog id=d>Wait</dialog><script>d.showModal()</script>',
      /cannot take the focus: <dialog id="d"/,
    ],
  ])('%s is not filled', async (field, sentence) => {
    const page = await open(field);
    expect(await page.refused('page_fill', { selector: '#f', value: 'x' })).toEqual({
      error_code: 'element_not_actionable',
      error: expect.stringMatching(sentence),
    });
    await page.close();
  });

  it('an editor that takes its text from beforeinput gets it, and inserts it itself', async () => {
    const page = await open(`<div id=editor contenteditable>old</div><script>
      editor.addEventListener('beforeinput', (event) => {
        event.preventDefault();
        const [range] = event.getTargetRanges();
        window.model = [event.inputType, event.data, range.endOffset - range.startOffset];
        editor.textContent = event.data;
      });
    </script>`);
    expect(await page.act('page_fill', { selector: '#editor', value: 'new' })).toMatchObject({
      value: 'new',
    });
    expect(await page.js('model')).toEqual(['insertText', 'new', 1]);
    await page.close();
  });

  it('an editor that is a whole page, as in a frame: by attribute or by designMode', async () => {
    const page = await open(`<iframe srcdoc="<body contenteditable id=whole><p id=p>old"></iframe>
      <iframe id=f></iframe><script>
        f.contentDocument.designMode = 'on';
        f.contentDocument.body.innerHTML = '<p id=q>old';
      </script>`);
    for (const selector of ['#whole', '#p', '#q']) {
      expect(await page.act('page_fill', { selector, value: 'new' }), selector).toMatchObject({
        value: 'new',
      });
    }
    await page.act('page_press', { selector: '#whole', key: 'End' });
    await page.act('page_press', { text: '!' });
    expect(await page.js('[0, 1].map((one) => frames[one].document.body.innerText.trim())')).toEqual([
      'new!',
      'new',
    ]);
    await page.close();
  });

  it('a click or a ref in an editor says where the text goes', async () => {
    const page = await open('<div id=e contenteditable><p id=p>one</p><p id=q>two</p></div>');
    await page.act('page_press', { selector: '#q', text: '!' });
    expect(await page.js('e.innerText')).toBe('one\n\ntwo!');
    await page.act('page_click', { selector: '#p' });
    await page.act('page_press', { text: '?' });
    expect(await page.js('e.innerText')).toBe('one?\n\ntwo!');
    await page.close();
  });

  it('what a page makes of it a moment later is what is told: taken back, put right, drawn anew', async () => {
    const page = await open(`<input id=i><input id=c type=checkbox><select id=s><option>a<option>b</select>
      <div id=w><input id=n></div><script>
        const later = (work) => () => Promise.resolve().then(work);
        i.oninput = later(() => { i.value = i.value.toUpperCase() });
        c.onchange = later(() => { c.checked = false });
        s.onchange = later(() => { s.value = 'a' });
        n.oninput = () => { w.innerHTML = '<input id=n value=other>' };
      </script>`);
    expect(await page.act('page_fill', { selector: '#i', value: 'abc' })).toMatchObject({ value: 'ABC' });
    expect(await page.act('page_press', { selector: '#i', text: 'd' })).toMatchObject({ value: 'ABCD' });
    expect(await page.act('page_fill', { selector: '#c', value: true })).toMatchObject({ checked: false });
    expect(await page.act('page_select', { selector: '#s', value: 'b' })).toMatchObject({
      selected: [{ value: 'a' }],
    });
    expect(await page.act('page_fill', { selector: '#n', value: 'x' })).not.toHaveProperty('value');
    await page.close();
  });

  it('a field that its page replaces when it gets the focus: nothing was entered, and that is said', async () => {
    const field = '<input id=i onfocus="again(this)">';
    const list = '<select id=s onfocus="again(this)"><option>a<option>b</select>';
    const page = await open(
      `<script>function again(one) { one.outerHTML = one.outerHTML }</script>${field}${list}`,
    );
    for (const [tool, input] of [
      ['page_fill', { selector: '#i', value: 'x' }],
      ['page_press', { selector: '#i', text: 'x' }],
      ['page_select', { selector: '#s', value: 'b' }],
    ] as const) {
      expect(await page.refused(tool, input), tool).toEqual({
        error_code: 'element_not_actionable',
        error: expect.stringMatching(/put another element in the place .* Nothing was entered/),
      });
    }
    await page.close();
  });

  it('a box below an open modal dialog is out of reach', async () => {
    const page = await open(
      '<input id=c type=checkbox><dialog id=d>Wait<input id=in type=checkbox></dialog><script>d.showModal()</script>',
    );
    expect(await page.refused('page_fill', { selector: '#c', value: true })).toEqual({
      error_code: 'element_not_actionable',
      error: expect.stringMatching(/<dialog id="d"> .* is open above it/),
    });
    expect(await page.act('page_fill', { selector: '#in', value: true })).toMatchObject({ checked: true });
    await page.close();
  });
});

describe('page_select', () => {
  it('by value, label, index; several; what does not exist is named', async () => {
    const page =
      await open(`<select id=one><option value=a>Alpha<option value=b>Beta<option value=c disabled>Gamma</select>
      <select id=many multiple><option selected>1<option>2<option>3</select>`);
    const chosen = async (input: JsonObject): Promise<unknown> =>
      (await page.act('page_select', input)).selected;
    expect(await chosen({ selector: '#one', value: 'b' })).toEqual([{ value: 'b', label: 'Beta', index: 1 }]);
    expect(await page.heard()).toEqual(['focus#one', 'input#one', 'change#one']);
    expect(await chosen({ selector: '#one', label: 'Alpha' })).toMatchObject([{ value: 'a' }]);
    expect(await chosen({ selector: '#many', index: [1, 2] })).toMatchObject([
      { value: '2' },
      { value: '3' },
    ]);
    expect(await chosen({ selector: '#many', value: [] })).toEqual([]);
    expect(await page.refused('page_select', { selector: '#one', label: 'Delta' })).toEqual({
      error_code: 'invalid_input',
      error: expect.stringContaining('"Alpha", "Beta", "Gamma"'),
    });
    expect(await page.refused('page_select', { selector: '#one', value: 'c' })).toMatchObject({
      error_code: 'element_not_actionable',
    });
    await page.close();
  });
});

describe('page_press', () => {
  it('types, edits, moves the caret and the focus', async () => {
    const page = await open('<input id=a><textarea id=b></textarea><div id=c contenteditable></div>');
    const press = (input: JsonObject): Promise<JsonObject> => page.act('page_press', input);
    expect(await press({ selector: '#a', text: 'abd' })).toMatchObject({ value: 'abd' });
    await press({ key: 'ArrowLeft' });
    expect(await press({ text: 'c' })).toMatchObject({ value: 'abcd' });
    expect(await press({ key: 'Backspace', repeat: 2 })).toMatchObject({ value: 'ad' });
    await press({ key: 'ControlOrMeta+a' });
    expect(await press({ key: 'Delete' })).toMatchObject({ value: '' });
    expect((await press({ key: 'Tab' })).changes).toMatchObject({ focus: { element: '<textarea id="b">' } });
    expect(await press({ text: 'x\ny' })).toMatchObject({ value: 'x\ny' });
    await press({ key: 'Tab' });
    await press({ text: 'rich' });
    expect(await page.js('c.textContent')).toBe('rich');
    expect((await press({ key: 'Shift+Tab' })).changes).toMatchObject({
      focus: { element: '<textarea id="b">' },
    });
    await page.close();
  });

  it('Enter submits by the button, Space presses, arrows choose, a prevented key does nothing', async () => {
    const page = await open(`<form id=f onsubmit="event.preventDefault(); window.by = event.submitter?.id">
        <input id=i><button id=ok>OK</button></form>
      <input id=deaf onkeydown="event.preventDefault()">
      <button id=b onclick="window.pressed = true">B</button>
      <select id=s><option>one<option>two<option>three</select>
      <input type=radio name=r id=r1 checked><input type=radio name=r id=r2>
      <input type=range id=range max=10 value=5>`);
    const press = (input: JsonObject): Promise<JsonObject> => page.act('page_press', input);
    await press({ selector: '#i', key: 'Enter' });
    expect(await page.js('by')).toBe('ok');
    expect(await press({ selector: '#deaf', text: 'x' })).toMatchObject({ value: '' });
    await press({ selector: '#b', key: 'Space' });
    expect(await page.js('pressed')).toBe(true);
    await press({ selector: '#s', key: 'ArrowDown', repeat: 2 });
    await press({ selector: '#r1', key: 'ArrowDown' });
    await press({ selector: '#range', key: 'ArrowUp' });
    expect(await page.js('[s.value, r2.checked, range.value]')).toEqual(['three', true, '6']);
    await page.close();
  });

  it('a line break of two characters is one Enter; Escape passes over what stays open', async () => {
    const page = await open(
      `<textarea id=t></textarea><dialog id=d>D</dialog><p popover=manual id=toast>Saved</p>`,
    );
    expect(await page.act('page_press', { selector: '#t', text: 'a\r\nb' })).toMatchObject({ value: 'a\nb' });
    await page.js('d.showModal(); toast.showPopover()');
    await page.act('page_press', { key: 'Escape' });
    expect(await page.js('[d.open, toast.matches(":popover-open")]')).toEqual([false, true]);
    await page.js('d.setAttribute("closedby", "none"); d.showModal()');
    await page.act('page_press', { key: 'Escape' });
    expect(await page.js('d.open')).toBe(true);
    await page.close();
  });
});

describe('page_hover and page_scroll', () => {
  it('the page hears the pointer come and go', async () => {
    const page = await open(`<p id=a>A</p><p id=b>B</p><script>
      for (const type of ['mouseenter', 'mouseleave', 'pointermove']) for (const one of [a, b])
        one.addEventListener(type, () => heard.push(type + '#' + one.id));
    </script>`);
    await page.act('page_hover', { selector: '#a' });
    expect(await page.heard()).toEqual(['mouseenter#a', 'pointermove#a']);
    await page.act('page_hover', { selector: '#b' });
    expect(await page.heard()).toEqual(['mouseleave#a', 'mouseenter#b', 'pointermove#b']);
    await page.close();
  });

  it('the page, a part of it, an element; scroll handlers run also when the tab is not shown', async () => {
    const page = await open(`<div id=box style="height:100px;overflow:auto"><div style="height:900px">
        <p id=in>in</p></div></div><div style="height:5000px"></div><p id=end>end</p>
      <script>addEventListener('scroll', () => { window.scrolls = (window.scrolls ?? 0) + 1 })</script>`);
    const scroll = (input: JsonObject): Promise<JsonObject> => page.act('page_scroll', input);
    expect(await scroll({ by_y: 300 })).toMatchObject({ moved: true, scroll: { x: 0, y: 300 } });
    const bottom = (await scroll({ to: 'bottom' })).scroll as { y: number; max_y: number };
    expect(bottom.y).toBe(bottom.max_y);
    expect(await scroll({ to: 'bottom' })).toMatchObject({ moved: false });
    expect(await page.js('scrolls')).toBeGreaterThanOrEqual(2);
    await scroll({ selector: '#in', by_y: 50 });
    expect(await page.js('box.scrollTop')).toBe(50);
    await scroll({ selector: '#end' });
    expect(await page.js('end.getBoundingClientRect().bottom <= innerHeight')).toBe(true);
    expect(await page.refused('page_scroll', {})).toMatchObject({ error_code: 'invalid_input' });
    await page.close();
  });
});

describe('page_wait', () => {
  it('text, its end, an element, the address, idle', async () => {
    const page = await open(`<p id=p>loading</p><script>
      setTimeout(() => { p.textContent = 'all  done' }, 400);
      setTimeout(() => { p.remove(); history.pushState({}, '', '/pushed-later') }, 4000);
    </script>`);
    const wait = (input: JsonObject): Promise<JsonObject> => page.act('page_wait', input);
    expect(await wait({ text: 'all done' })).toMatchObject({
      tab_id: page.tab_id,
      waited_ms: expect.any(Number),
    });
    await wait({ text_gone: 'all done' });
    await wait({ selector: '#p', state: 'detached' });
    expect(await wait({ url: '*/pushed-later' })).toMatchObject({ url: world.site.url('/pushed-later') });
    await wait({ idle: 'dom' });
    await wait({ idle: 'network' });
    await wait({ idle: 'load' });
    await page.close();
  });

  it('when the time is up the sentence says what did not come', async () => {
    const page = await open('<p>here</p>');
    const late = await page.refused('page_wait', { text: 'never', timeout_ms: 500 });
    expect(late).toEqual({ error_code: 'timeout', error: expect.stringMatching(/"never" is not shown/) });
    expect(await page.refused('page_wait', { selector: '#x', timeout_ms: 300 })).toMatchObject({
      error_code: 'timeout',
    });
    await page.close();
  });

  it('what is hidden in a shadow tree is not shown; closed trees and the fields of a page are', async () => {
    const page =
      await open(`<div id=o></div><div id=c></div><input value="Anna"><input hidden value="Berta"><script>
      o.attachShadow({ mode: 'open' }).innerHTML =
        '<style>.red{}</style><p hidden>Failed</p><div style="display:contents"><p>Fine</p></div>';
      c.attachShadow({ mode: 'closed' }).innerHTML = '<p>Inside</p>';
    </script>`);
    for (const text of ['Fine', 'Inside', 'Anna']) await page.act('page_wait', { text, timeout_ms: 2_000 });
    for (const text_gone of ['Failed', '.red', 'Berta'])
      await page.act('page_wait', { text_gone, timeout_ms: 2_000 });
    await page.close();
  });
});

describe('page_evaluate', () => {
  it('a value too large for any answer does not leave the page: it would end the process of the extension', async () => {
    const page = await open('<p>p</p>');
    const large = `'x'.repeat(2 ** 28)`;
    const lies = `Object.prototype.then = (done) => done(${large}); Object.defineProperty = Object.assign = () => ({ x: ${large} });`;
    for (const expression of [large, `[{ a: { b: ${large} } }]`, `({ [${large}]: 1 })`]) {
      expect(await page.refused('page_evaluate', { expression })).toMatchObject({
        error_code: 'output_too_large',
      });
    }
    expect(await page.refused('page_evaluate', { expression: `throw ${large}` })).toMatchObject({
      error_code: 'page_script_failed',
    });
    expect(await page.act('page_evaluate', { expression: `${lies} ({ a: 1 }).a` })).toMatchObject({
      result: 1,
    });
    await page.close();
  });

  it('values, promises, statements, and what JSON cannot hold', async () => {
    const page = await open('<p id=p>text</p><script>const secret = 7</script>');
    const evaluate = async (expression: string): Promise<unknown[]> => {
      const { type, result } = await page.act('page_evaluate', { expression });
      return [type, result];
    };
    expect(await evaluate('secret * 6')).toEqual(['number', 42]);
    expect(await evaluate('null')).toEqual(['null', null]);
    expect(await evaluate('undefined')).toEqual(['undefined', null]);
    expect(await evaluate('NaN')).toEqual(['number', 'NaN']);
    expect(await evaluate('({ a: [1, { b: null }], f() {} })')).toEqual(['object', { a: [1, { b: null }] }]);
    expect(await evaluate('{ a: 1 }')).toEqual(['object', { a: 1 }]);
    expect(await evaluate('await Promise.resolve("later") // so')).toEqual(['string', 'later']);
    expect(await evaluate('let x = 2; x += 3; x')).toEqual(['number', 5]);
    expect(await evaluate('const o = {}; o.o = o; o')).toEqual(['object', { o: '[circular]' }]);
    expect(await evaluate('document.querySelector("p")')).toEqual(['object', '[element p#p]']);
    const { result } = await page.act('page_evaluate', { selector: '#p', expression: 'element.textContent' });
    expect(result).toBe('text');
    await page.close();
  });

  it('the objects of the browser say what they are, and those of another frame too', async () => {
    const page = await open(
      '<p id=p class="a b" style="width:9px">P</p><iframe id=f srcdoc="<p id=q>"></iframe>',
    );
    expect(await page.js('p.getBoundingClientRect()')).toMatchObject({ width: 9 });
    expect(await page.js('p.classList')).toEqual(['a', 'b']);
    expect(await page.js('new URLSearchParams("a=1&a=2")')).toEqual([
      ['a', '1'],
      ['a', '2'],
    ]);
    expect(await page.js('({ toJSON() { return { x: 1 } } })')).toEqual({ x: 1 });
    expect(await page.js('f.contentDocument.querySelector("p")')).toBe('[element p#q]');
    expect(await page.js('[new Blob(["x"]), {}, Object.create(null), document.body.dataset]')).toEqual([
      '[object Blob]',
      {},
      {},
      {},
    ]);
    const foreign = await open(`<iframe src="${elsewhere.url('/welcome')}"></iframe>`);
    expect(await foreign.js('({ there: frames[0], a: 1 })')).toMatchObject({ a: 1 });
    await foreign.close();
    await page.close();
  });

  it('what the script throws is page_script_failed with its message', async () => {
    const page = await open('');
    for (const expression of ['missing.thing', 'Promise.reject(new Error("no thing"))', 'let let = 1']) {
      expect(await page.refused('page_evaluate', { expression })).toEqual({
        error_code: 'page_script_failed',
        error: expect.stringMatching(/The script failed: \w*Error: /),
      });
    }
    expect(await page.refused('page_evaluate', { expression: 'new Promise(() => {})' })).toMatchObject({
      error_code: 'timeout',
    });
    await page.close();
  });

  it('a strict CSP: page_script_failed that says so, told apart from null; the other tools work', async () => {
    const page = await open('<button id=b>B</button><input id=i>', {
      'content-security-policy': "default-src 'none'",
    });
    expect(await page.refused('page_evaluate', { expression: 'null' })).toEqual({
      error_code: 'page_script_failed',
      error: expect.stringMatching(/CSP/),
    });
    expect(await page.act('page_fill', { selector: '#i', value: 'x' })).toMatchObject({ value: 'x' });
    expect((await page.act('page_click', { selector: '#b' })).changes).toMatchObject({
      focus: expect.anything(),
    });
    await page.close();
  });
});

describe('pages that make it hard', () => {
  it('built-ins overridden: the page agent and evaluate do not lean on them', async () => {
    const page = await open(`<script>
      Array.prototype.map = Array.prototype.push = Array.prototype.flatMap = () => { throw new Error('mine'); };
      JSON.stringify = JSON.parse = () => 'mine';
      Element.prototype.getBoundingClientRect = () => { throw new Error('mine'); };
      document.elementFromPoint = () => null;
      window.heard = [];
    </script><button id=b onclick="document.title = 'pressed'">B</button>
    <form id=f><input name=id><input name=parentNode><input name=matches><button id=in type=button onclick="document.title = 'in'">In</button></form>`);
    expect((await page.act('page_click', { selector: '#b' })).changes).toMatchObject({ title: 'pressed' });
    expect((await page.act('page_click', { selector: '#in' })).changes).toMatchObject({ title: 'in' });
    expect(await page.js('[1, { a: "b" }]')).toEqual([1, { a: 'b' }]);
    await page.close();
  });

  it('a sandboxed frame without scripts', async () => {
    const page = await open(
      `<iframe sandbox srcdoc="<label><input id=box type=checkbox> Box</label>"></iframe>`,
    );
    expect(await page.act('page_fill', { selector: '#box', value: true })).toMatchObject({ checked: true });
    expect(await page.act('page_fill', { selector: '#box', value: true })).toMatchObject({ checked: true });
    await page.close();
  });

  it('an act that never ends keeps the deadline', async () => {
    const page = await open(
      `<button id=b onclick="ever(() => { document.body.dataset.n = Math.random() })">B</button>`,
    );
    expect(await page.act('page_click', { selector: '#b' }, 2_500)).toMatchObject({ settled: false });
    await page.close();
  });
});
