/** `console_read` and `console_watch` (os-interface.md, Live output) in a real Chrome: nothing lost, nothing twice. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/protocol/json';
import { EXTENSION_ORIGIN } from './harness/agent-browser';
import type { CdpSession } from './harness/cdp';
import { isolatedWorld } from './harness/isolated-world';
import { html } from './harness/site';
import { call, inServiceWorker, listTabs, openTab, refusal, serveAlert } from './harness/tool-calls';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

interface Event extends JsonObject {
  seq: number;
  kind: string;
  level: string;
  text: string;
  url: string;
  frame_id: number;
}

interface Answer extends JsonObject {
  tab_id: number;
  items: { type: string; seq: number; events?: Event[] }[];
  after: number;
  more: boolean;
  dropped: number;
}

let world: World;

const page = (title: string, script = ''): string =>
  `<!doctype html><title>${title}</title><script>${script}</script><p>${title}`;

beforeAll(async () => {
  world = await createWorld();
  const { site } = world;
  site.serve('/quiet', page('quiet'));
  site.serve('/early', page('early', `console.log('in the head of early')`));
  site.serve(
    '/leaving',
    page(
      'leaving',
      `addEventListener('pagehide', () => console.log('in pagehide'));
       addEventListener('beforeunload', () => console.log('in beforeunload'))`,
    ),
  );
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

afterEach(() => {
  expect(world.relay.violations).toEqual([]);
});

async function read(tab_id: number, input: JsonObject = {}): Promise<Answer> {
  return (await call(world, 'console_read', { tab_id, ...input })) as Answer;
}

/** Everything behind a number, in as many answers as it takes. */
async function readAll(
  tab_id: number,
  after = 0,
): Promise<{ events: Event[]; after: number; dropped: number }> {
  const events: Event[] = [];
  let dropped = 0;
  for (;;) {
    const answer = await read(tab_id, { after });
    events.push(...answer.items.flatMap((item) => item.events ?? []));
    dropped += answer.dropped;
    after = answer.after;
    if (!answer.more) return { events, after, dropped };
  }
}

const texts = (events: Event[], kind = 'console'): string[] =>
  events.filter((event) => event.kind === kind).map(({ text }) => text);

/** Attached to the page of a tab that shows `path`. */
async function attach(path: string): Promise<CdpSession> {
  const target = await until('the page is there', async () =>
    (await world.browser.targets()).find((one) => one.type === 'page' && one.url === world.site.url(path)),
  );
  return world.browser.connection.attach(target.targetId);
}

describe('console_read', () => {
  it('begins at the first call, says that what was before is not known, and goes on behind a number', async () => {
    const tab_id = await openTab(world, '/early');
    const first = await read(tab_id);
    expect(first.items).toHaveLength(1);
    const [mark] = first.items[0]?.events ?? [];
    expect(mark).toMatchObject({ kind: 'capture', text: expect.stringMatching(/before is not known/) });
    const session = await attach('/early');
    await session.evaluate(`console.log('one', 1, { a: [1, 'x'] }); console.warn('two'); undefined`);
    const { events, after } = await readAll(tab_id, first.after);
    expect(events).toMatchObject([
      {
        kind: 'console',
        level: 'log',
        text: 'one 1 {a: [1, "x"]}',
        url: world.site.url('/early'),
        frame_id: 0,
      },
      { kind: 'console', level: 'warn', text: 'two' },
    ]);
    expect(events.map(({ seq }) => seq)).toEqual([first.after + 1, first.after + 2]);
    expect(await read(tab_id, { after })).toMatchObject({ items: [], after, more: false, dropped: 0 });
    expect((await read(tab_id, { after: first.after + 1 })).items[0]?.events).toMatchObject([
      { text: 'two' },
    ]);
    expect((await read(tab_id, { levels: ['warn'] })).items[0]?.events).toMatchObject([{ text: 'two' }]);
    await session.close();
  });

  it('nothing is lost when the tab navigates: the first script of a document and its last word', async () => {
    const tab_id = await openTab(world, '/leaving');
    await read(tab_id);
    for (const path of ['/early', '/leaving', '/early', '/quiet']) {
      await call(world, 'tab_navigate', { tab_id, url: world.site.url(path) });
    }
    const { events } = await readAll(tab_id);
    expect(texts(events)).toEqual([
      'in beforeunload',
      'in pagehide',
      'in the head of early',
      'in beforeunload',
      'in pagehide',
      'in the head of early',
    ]);
    expect(texts(events, 'navigation')).toContain(world.site.url('/early'));
    await call(world, 'tab_close', { tab_id });
  });

  it('nor when the service worker sleeps while a page leaves by itself', async () => {
    const tab_id = await openTab(world, '/leaving');
    await read(tab_id);
    await call(world, 'tab_navigate', { tab_id, action: 'reload' });
    const { after } = await readAll(tab_id);
    const session = await attach('/leaving');
    const own = await world.browser.extensionPage();
    await world.browser.killServiceWorker(own);
    await until('the worker is gone', async () => !(await world.browser.serviceWorkerTarget()));
    await session.evaluate(`console.log('last'); location.href = '/early'; undefined`);
    await until('it is there', async () =>
      (await world.browser.targets()).some(({ url }) => url === world.site.url('/early')),
    );
    await own.close();
    const { events } = await readAll(tab_id, after);
    expect(texts(events)).toEqual(['last', 'in beforeunload', 'in pagehide', 'in the head of early']);
    await call(world, 'tab_close', { tab_id });
  });

  it('the errors of a page, and the frames in it, of any origin', async () => {
    const other = `http://localhost:${world.site.port}`;
    world.site.serve('/inner', page('inner', `console.log('from the other origin')`));
    world.site.serve(
      '/errors',
      html(`<!doctype html><title>errors</title>
        <script>setTimeout(() => { throw new TypeError('thrown late') })</script>
        <script>Promise.reject(new Error('nobody caught it'))</script>
        <img src="/missing.png">
        <iframe src="${other}/inner"></iframe>
        <iframe srcdoc="<script>console.log('from srcdoc')</script>"></iframe>
        <iframe sandbox="allow-scripts" srcdoc="<script>console.log('from a sandbox')</script>"></iframe>
        <iframe src="about:blank" id="blank"></iframe>
        <script>blank.contentWindow.eval('console.log("from about:blank")')</script>`),
    );
    world.site.serve('/csp', (request, response) => {
      response.setHeader('content-security-policy', `default-src 'self' 'unsafe-inline'; script-src 'self'`);
      html(
        `<!doctype html><title>csp</title><script>console.log('never')</script><script src="/own.js"></script>`,
      )(request, response);
    });
    world.site.serve('/own.js', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/javascript' });
      response.end(`console.log('own'); fetch('http://localhost:1/').catch(() => {})`);
    });
    const tab_id = await openTab(world, '/quiet');
    await read(tab_id);
    await call(world, 'tab_navigate', { tab_id, url: world.site.url('/errors') });
    const found = await until('everything was said', async () => {
      const { events } = await readAll(tab_id);
      return texts(events).length >= 4 && events;
    });
    expect(texts(found).sort()).toEqual([
      'from a sandbox',
      'from about:blank',
      'from srcdoc',
      'from the other origin',
    ]);
    expect(texts(found, 'error')).toEqual([expect.stringMatching(/^Uncaught TypeError: thrown late\n +at /)]);
    expect(texts(found, 'rejection')).toEqual([
      expect.stringMatching(/^Uncaught \(in promise\) Error: nobody caught it\n +at /),
    ]);
    expect(texts(found, 'resource')).toEqual(['Failed to load <img> /missing.png']);
    expect(found.find(({ text }) => text === 'from the other origin')).toMatchObject({
      url: `${other}/inner`,
      frame_id: expect.any(Number),
      source: expect.stringMatching(/\/inner:\d+:\d+$/),
    });
    await call(world, 'tab_navigate', { tab_id, url: world.site.url('/csp') });
    const strict = await until('the policy was broken twice', async () => {
      const { events } = await readAll(tab_id);
      return texts(events, 'csp').length >= 2 && events;
    });
    expect(texts(strict, 'csp')).toEqual([
      'Content Security Policy: script-src-elem blocked inline',
      'Content Security Policy: connect-src blocked http://localhost:1/',
    ]);
    expect(texts(strict)).toContain('own');
    expect(texts(strict)).not.toContain('never');
    await call(world, 'tab_close', { tab_id });
  });

  it('a page that changes every built-in is heard all the same', async () => {
    world.site.serve(
      '/hostile',
      page(
        'hostile',
        `JSON.stringify = () => 'forged'; JSON.parse = () => ({});
         for (const name of ['push', 'map', 'slice', 'join', 'splice']) Array.prototype[name] = () => { throw name };
         for (const name of ['slice', 'indexOf', 'trim', 'lastIndexOf']) String.prototype[name] = () => 'forged';
         Object.prototype.toJSON = () => 'forged'; Object.assign = Object.keys = () => { throw 2 };
         EventTarget.prototype.dispatchEvent = () => { throw 3 };
         Reflect.apply = () => { throw 4 }; Date.now = () => 0; CustomEvent = Proxy = Error = null;
         Array.prototype[Symbol.iterator] = () => { throw 1 };
         console.log('still', { here: [1, 2] });
         const own = console.log; console.log = (...args) => own('wrapped', args[0]);
         console.log('twice');
         console.log({ get evil() { document.title = 'a getter ran'; return 1 } });`,
      ),
    );
    const tab_id = await openTab(world, '/quiet');
    await read(tab_id);
    await call(world, 'tab_navigate', { tab_id, url: world.site.url('/hostile') });
    const { events } = await readAll(tab_id);
    expect(texts(events)).toEqual(['still {here: [1, 2]}', 'wrapped twice', 'wrapped {evil: (…)}']);
    expect(Math.abs(Date.now() - Number(events.at(-1)?.at))).toBeLessThan(60_000);
    await call(world, 'tab_close', { tab_id });
  });

  it('a flood arrives whole and in order, by several answers', async () => {
    world.site.serve(
      '/flood',
      page('flood', `for (let n = 0; n < 5000; n += 1) console.log(n + ' ' + 'x'.repeat(100))`),
    );
    const tab_id = await openTab(world, '/quiet');
    await read(tab_id);
    await call(world, 'tab_navigate', { tab_id, url: world.site.url('/flood') });
    const { events, dropped } = await readAll(tab_id);
    const numbers = texts(events).map((text) => Number(text.split(' ')[0]));
    expect(numbers).toEqual(Array.from({ length: 5000 }, (_, n) => n));
    expect(dropped).toBe(0);
    await call(world, 'tab_close', { tab_id });
  });

  it('one that stops the service worker again and again loses and repeats nothing', async () => {
    const tab_id = await openTab(world, '/quiet', { active: true });
    await read(tab_id);
    await call(world, 'tab_navigate', { tab_id, url: world.site.url('/quiet') });
    const session = await attach('/quiet');
    const own = await world.browser.extensionPage();
    await session.evaluate(`globalThis.n = 0; void setInterval(() => { if (n < 600) console.log(n++) }, 4)`);
    for (let kills = 0; kills < 6; kills += 1) {
      await world.browser.killServiceWorker(own);
      await until('it said some more', () =>
        session.evaluate<boolean>(`n > ${(kills + 1) * 90} || n === 600`),
      );
    }
    await until('everything is said', () => session.evaluate<boolean>('n === 600'));
    const { events, dropped } = await readAll(tab_id);
    expect(texts(events).map(Number)).toEqual(Array.from({ length: 600 }, (_, n) => n));
    expect(dropped).toBe(0);
    await own.close();
    await session.close();
  });

  it('goes on when Chrome puts a tab away and gives it another id', async () => {
    const tab_id = await openTab(world, '/early');
    await read(tab_id);
    const { after } = await readAll(tab_id);
    const again = await inServiceWorker<number>(world, `chrome.tabs.discard(${tab_id}).then(({ id }) => id)`);
    const asleep = await read(again, { after });
    expect(asleep).toMatchObject({ items: [], dropped: 0 });
    await call(world, 'tab_navigate', { tab_id: again, action: 'reload' });
    expect(texts((await readAll(again, after)).events)).toEqual(['in the head of early']);
    if (again !== tab_id) {
      expect((await refusal(world, 'console_read', { tab_id, after })).error_code).toBe('tab_not_found');
    }
    await call(world, 'tab_close', { tab_id: again });
  });

  it('goes on in a page that was left and comes back', async () => {
    world.site.serve(
      '/back',
      page('back', `addEventListener('pageshow', () => setTimeout(() => console.log('shown')))`),
    );
    const tab_id = await openTab(world, '/back');
    await read(tab_id);
    await call(world, 'tab_navigate', { tab_id, action: 'reload' });
    await call(world, 'tab_navigate', { tab_id, url: world.site.url('/quiet') });
    await call(world, 'tab_navigate', { tab_id, action: 'back' });
    await until('it was shown twice', async () => texts((await readAll(tab_id)).events).length >= 2);
    const { events, dropped } = await readAll(tab_id);
    expect([texts(events), dropped]).toEqual([['shown', 'shown'], 0]);
    await call(world, 'tab_close', { tab_id });
  });

  it('restricted pages are refused, a dialog holds nobody up, a tab that never was is not found', async () => {
    const version = await inServiceWorker<number>(
      world,
      `chrome.tabs.create({ url: 'chrome://version', active: false }).then(({ id }) => id)`,
    );
    await until('it is loaded', async () =>
      (await listTabs(world)).some(
        ({ tab_id, url, status }) =>
          tab_id === version && url.startsWith('chrome://') && status === 'complete',
      ),
    );
    expect((await refusal(world, 'console_read', { tab_id: version })).error_code).toBe('page_restricted');
    await call(world, 'tab_close', { tab_id: version });
    const alert = serveAlert(world, '/alert');
    const dialog = await inServiceWorker<number>(
      world,
      `chrome.tabs.create({ url: '${world.site.url('/alert')}' }).then(({ id }) => id)`,
    );
    await alert.isOpen();
    expect((await read(dialog)).items).toHaveLength(1);
    expect((await refusal(world, 'console_read', { tab_id: 987_654 })).error_code).toBe('tab_not_found');
  });

  it('the tabs that nobody asked for are left as they were, and their consoles are not kept', async () => {
    const asked = await openTab(world, '/quiet');
    await read(asked);
    const other = await openTab(world, '/early');
    const session = await attach('/early');
    await until('its console is its own again', () =>
      session.evaluate<boolean>(`(() => {
        try { throw new Error() } catch {}
        let stack = '';
        console.debug({ get x() { return 1 }, toString() {} });
        const probe = new Proxy({}, { ownKeys() { stack = new Error().stack; return [] } });
        console.debug(probe);
        return !stack.includes('chrome-extension:');
      })()`),
    );
    const first = await read(other);
    expect(first.items.flatMap(({ events = [] }) => events)).toMatchObject([{ kind: 'capture' }]);
    await session.evaluate(`console.log('now it is asked for'); undefined`);
    expect(texts((await readAll(other)).events)).toEqual(['now it is asked for']);
    await session.close();
    await call(world, 'tab_close', { tab_id: asked });
  });
});

describe('design.md: pages and content scripts command nothing', () => {
  it('a content script of its own can tell what the console of its own tab said, and nothing else', async () => {
    const watched = await openTab(world, '/quiet');
    await read(watched);
    world.site.serve('/speaker', page('speaker', `console.log('it speaks')`));
    const target = await openTab(world, '/speaker');
    const before = await readAll(watched);
    const session = await attach('/speaker');
    const inPage = await isolatedWorld(session, EXTENSION_ORIGIN);
    const event = { at: 1, kind: 'console', level: 'log', text: 'forged' };
    const forged = {
      type: 'console.events',
      first: 0,
      lost: 0,
      url: world.site.url('/speaker'),
      events: [event],
      tab_id: watched,
      tab: { id: watched },
    };
    /** What came back on the port, and whether it was closed. */
    const tell = (message: object): Promise<unknown> =>
      inPage(`new Promise((resolve) => {
        const port = chrome.runtime.connect({ name: 'console-of-page' });
        port.onMessage.addListener((reply) => { port.disconnect(); resolve(reply) });
        port.onDisconnect.addListener(() => resolve('closed'));
        port.postMessage(${JSON.stringify(message)});
      })`);
    expect(await tell(forged)).toEqual({ watched: false });
    await read(target);
    for (const bad of [
      { ...forged, events: [{ ...event, kind: 'capture' }] },
      { ...forged, events: [{ ...event, text: 'x'.repeat(20_000) }] },
      { ...forged, first: -1 },
      { ...forged, type: 'pause.set', input: { paused: true } },
      { type: 'clipboard.write', input: { text: '"stolen"' } },
    ]) {
      expect(await tell(bad), JSON.stringify(bad).slice(0, 100)).toBe('closed');
      const asMessage = inPage(`chrome.runtime.sendMessage(${JSON.stringify(bad)}).catch(() => null)`);
      expect((await asMessage) ?? null).toBeNull();
    }
    expect((await readAll(watched)).events).toEqual(before.events);
    expect(await tell(forged)).toEqual({ watched: true, next: 1 });
    expect(texts((await readAll(target)).events)).toContain('forged');
    expect((await readAll(watched)).events).toEqual(before.events);
    await session.close();
    await call(world, 'tab_close', { tab_id: watched });
  });

  it('a page gets no hold of the way between the scripts, and what it says stays text', async () => {
    const frame = JSON.stringify({
      type: 'tool_request',
      id: 'x',
      command: 'tab_open',
      input: { url: '/stolen' },
    });
    world.site.serve(
      '/greedy',
      page(
        'greedy',
        `globalThis.got = 0;
         addEventListener('endue-console-offer', () => { got += 1 }, true);
         dispatchEvent(new Event('endue-console-ask'));
         postMessage(${frame}, '*');
         console.log(${JSON.stringify(frame)});`,
      ),
    );
    const tab_id = await openTab(world, '/quiet');
    await read(tab_id);
    await call(world, 'tab_navigate', { tab_id, url: world.site.url('/greedy') });
    const session = await attach('/greedy');
    expect(await session.evaluate('got')).toBe(0);
    expect(await session.evaluate(`typeof endueConsoleRelay`)).toBe('undefined');
    expect(texts((await readAll(tab_id)).events)).toEqual([frame]);
    expect(world.site.visits).not.toContain('/stolen');
    await session.close();
  });
});

describe('console_watch', () => {
  it('waits for news, tells of none near the deadline, and ends when the tab is closed', async () => {
    const tab_id = await openTab(world, '/quiet');
    const { after } = await read(tab_id);
    const session = await attach('/quiet');
    const silent = await call(world, 'console_watch', { tab_id, after }, { timeout_ms: 2_000 });
    expect(silent).toMatchObject({ items: [], after, more: false });
    const waiting = call(world, 'console_watch', { tab_id, after }, { timeout_ms: 30_000 });
    await session.evaluate(`console.log('news'); undefined`);
    const news = (await waiting) as Answer;
    expect(news.items.flatMap(({ events = [] }) => events)).toMatchObject([{ text: 'news' }]);
    const last = call(world, 'console_watch', { tab_id, after: news.after }, { timeout_ms: 30_000 });
    await call(world, 'tab_close', { tab_id });
    expect((await last) as Answer).toMatchObject({
      items: [{ type: 'closed' }],
      after: news.after,
      more: false,
    });
    const rest = await read(tab_id, { after });
    expect(rest.items.map(({ type }) => type)).toEqual(['events', 'closed']);
  });

  it('goes on waiting when the service worker dies', async () => {
    const tab_id = await openTab(world, '/quiet');
    const { after } = await read(tab_id);
    const session = await attach('/quiet');
    const own = await world.browser.extensionPage();
    const waiting = call(world, 'console_watch', { tab_id, after }, { timeout_ms: 30_000 });
    await world.browser.killServiceWorker(own);
    await session.evaluate(`console.log('after its death'); undefined`);
    const news = (await waiting) as Answer;
    expect(texts(news.items.flatMap(({ events = [] }) => events))).toEqual(['after its death']);
    await own.close();
    await session.close();
  });
});

describe('os-interface.md: an old cursor is unavailable after a restart, never silently begun anew', () => {
  it('not even when the tab has the same id and its console says something again', async () => {
    const tab_id = await openTab(world, '/quiet');
    const { after } = await read(tab_id);
    expect(after).toBeGreaterThan(0);
    await world.browser.close();
    await world.relaunch();
    await world.relay.waitForOnline(world.device);
    const again = await openTab(world, '/early');
    expect((await refusal(world, 'console_read', { tab_id: again, after })).error_code).toBe('unavailable');
    const fresh = await read(again);
    expect(fresh.after).toBeGreaterThan(after);
    expect((await refusal(world, 'console_read', { tab_id: again, after })).error_code).toBe('unavailable');
    expect((await refusal(world, 'console_read', { tab_id: again, after: fresh.after + 1 })).error_code).toBe(
      'unavailable',
    );
  });
});
