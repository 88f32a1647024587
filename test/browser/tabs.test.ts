/** The tab tools (tools.md, Common shapes) in a real Chrome: where tabs go, and every way they do not. */
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/protocol/json';
import type { CdpSession } from './harness/cdp';
import { html } from './harness/site';
import {
  call,
  inServiceWorker,
  type ListedTab,
  listTabs,
  openTab,
  refusal,
  serveAlert,
} from './harness/tool-calls';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

let world: World;
/** Answers that never come to their end; ended after the tests. */
const endless: ServerResponse[] = [];

function page(title: string): string {
  return `<!doctype html><title>${title}</title><p style="height:3000px">${title}</p><p id="below">below`;
}

beforeAll(async () => {
  world = await createWorld();
  const { site } = world;
  for (const name of ['one', 'two', 'three']) site.serve(`/${name}`, page(name));
  for (const status of [404, 500]) site.serve(`/${status}`, html(page(`status ${status}`), status));
  site.serve('/redirected', (_request, response) =>
    response.writeHead(302, { location: '/redirected-again' }).end(),
  );
  site.serve('/redirected-again', (_request, response) =>
    response.writeHead(307, { location: '/one' }).end(),
  );
  site.serve(
    '/script-redirected',
    `<!doctype html><title>on</title><script>location.replace('/two')</script>`,
  );
  site.serve('/no-content', (_request, response) => response.writeHead(204).end());
  site.serve('/download', (_request, response) => {
    response.writeHead(200, {
      'content-type': 'application/zip',
      'content-disposition': 'attachment; filename=a.zip',
    });
    response.end('PK');
  });
  site.serve('/never', (_request, response) => {
    endless.push(response);
  });
  site.serve('/half', (_request, response) => {
    endless.push(response);
    response.writeHead(200, { 'content-type': 'text/html' });
    response.write('<!doctype html><title>half</title><p>the rest never comes');
  });
  site.serve(
    '/asks',
    `<!doctype html><title>asks</title><script>onbeforeunload = (event) => event.preventDefault()</script>`,
  );
});

afterAll(async () => {
  for (const response of endless) response.destroy();
  await world?.[Symbol.asyncDispose]();
});

afterEach(() => {
  expect(world.relay.violations).toEqual([]);
});

const url = (path: string): string => world.site.url(path);
const open = (path: string, input: JsonObject = {}): Promise<number> => openTab(world, path, input);

async function tab(tab_id: number): Promise<ListedTab | undefined> {
  return (await listTabs(world)).find((listed) => listed.tab_id === tab_id);
}

function navigate(tab_id: number, input: JsonObject, timeout_ms?: number): Promise<JsonObject> {
  return call(world, 'tab_navigate', { tab_id, ...input }, timeout_ms === undefined ? {} : { timeout_ms });
}

/** Attached to the page of a tab that shows `path`. */
async function attach(path: string): Promise<CdpSession> {
  const target = await until('the page is there', async () =>
    (await world.browser.targets()).find((one) => one.type === 'page' && one.url === url(path)),
  );
  return world.browser.connection.attach(target.targetId);
}

/** A port at which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('tab_list', () => {
  it('has the shape of tools.md, a window_id narrows it, and an unknown one is named', async () => {
    const tab_id = await open('/one');
    const listed = await tab(tab_id);
    expect(listed).toEqual({
      tab_id,
      window_id: expect.any(Number),
      index: expect.any(Number),
      active: false,
      title: 'one',
      url: url('/one'),
      status: 'complete',
      discarded: false,
      pinned: false,
      audible: false,
    });
    const { tabs } = await call(world, 'tab_list', { window_id: listed?.window_id as number });
    expect(tabs).toEqual(await listTabs(world));
    for (const window_id of [987_654_321, 99_999_999_999]) {
      const refused = { error_code: 'invalid_input', error: expect.stringContaining('window_id') };
      expect(await refusal(world, 'tab_list', { window_id })).toMatchObject(refused);
      expect(await refusal(world, 'tab_open', { url: 'about:blank', window_id })).toMatchObject(refused);
    }
  });
});

describe('tab_open', () => {
  it.each([
    ['/one', '/one', 'one', 200],
    ['/redirected', '/one', 'one', 200],
    ['/404', '/404', 'status 404', 404],
    ['/500', '/500', 'status 500', 500],
  ])(
    '%s: answers after the load with the final address, title and status',
    async (path, end, title, http_status) => {
      expect(await call(world, 'tab_open', { url: url(path) })).toEqual({
        tab_id: expect.any(Number),
        window_id: expect.any(Number),
        url: url(end),
        title,
        http_status,
      });
    },
  );

  it('about:blank has no status', async () => {
    const output = await call(world, 'tab_open', { url: 'about:blank' });
    expect(output).toMatchObject({ url: 'about:blank', http_status: null });
    await call(world, 'tab_close', { tab_id: output.tab_id as number });
  });

  it.each(['/download', '/no-content', 'refused'])(
    '%s: an answer that says why, and no tab stays',
    async (path) => {
      const before = (await listTabs(world)).map(({ tab_id }) => tab_id);
      const address = path === 'refused' ? `http://127.0.0.1:${await closedPort()}/` : url(path);
      const { relay, device } = world;
      const answer = await relay.command(device, { command: 'tab_open', input: { url: address } });
      const left = (await listTabs(world)).filter(({ tab_id }) => !before.includes(tab_id));
      if (answer.status === 'ok') {
        // "No content" is an answer of the server: the tab is there, and empty.
        expect(path).toBe('/no-content');
        expect(answer.output?.http_status).toBe(204);
        expect(left.map(({ tab_id }) => tab_id)).toEqual([answer.output?.tab_id]);
      } else {
        expect(path).not.toBe('/no-content');
        expect(answer.error_code).toBe('navigation_failed');
        expect(answer.error).toMatch(path === 'refused' ? /refused/ : /download/);
        expect(left).toEqual([]);
      }
    },
  );
});

describe('tab_navigate', () => {
  let tab_id: number;

  beforeEach(async () => {
    tab_id = await open('/one');
  });

  afterEach(async () => {
    if (await tab(tab_id)) await call(world, 'tab_close', { tab_id });
  });

  it.each([
    ['/two', '/two', 'two', 200],
    ['/redirected', '/one', 'one', 200],
    ['/404', '/404', 'status 404', 404],
    ['/500', '/500', 'status 500', 500],
  ])('to %s: answers with the final address, title and status', async (path, end, title, http_status) => {
    expect(await navigate(tab_id, { url: url(path) })).toEqual({ tab_id, url: url(end), title, http_status });
    expect(await tab(tab_id)).toMatchObject({ url: url(end), title, status: 'complete' });
  });

  it('a page that sends the tab on by script ends at one of the two, loaded', async () => {
    const output = await navigate(tab_id, { url: url('/script-redirected') });
    expect([url('/two'), url('/script-redirected')]).toContain(output.url);
    expect(output.http_status).toBe(200);
    await until('the tab is where the page sent it', async () => (await tab(tab_id))?.url === url('/two'));
  });

  it('back, forward and reload', async () => {
    await navigate(tab_id, { url: url('/two') });
    await navigate(tab_id, { url: url('/500') });
    expect(await navigate(tab_id, { action: 'back' })).toMatchObject({ url: url('/two'), title: 'two' });
    expect(await navigate(tab_id, { action: 'back' })).toMatchObject({ url: url('/one'), title: 'one' });
    expect(await navigate(tab_id, { action: 'forward' })).toMatchObject({ url: url('/two'), title: 'two' });
    world.site.serve('/two', page('two, renewed'));
    expect(await navigate(tab_id, { action: 'reload' })).toEqual({
      tab_id,
      url: url('/two'),
      title: 'two, renewed',
      http_status: 200,
    });
    world.site.serve('/two', page('two'));
  });

  it('back from the first page and forward from the last say that nothing is there', async () => {
    for (const action of ['back', 'forward']) {
      expect(await refusal(world, 'tab_navigate', { tab_id, action })).toMatchObject({
        error_code: 'navigation_failed',
      });
    }
    expect(await tab(tab_id)).toMatchObject({ url: url('/one'), title: 'one' });
  });

  it('to a place within the page, there and back, without a load', async () => {
    const visits = () => world.site.visits.filter((path) => path === '/one').length;
    const before = visits();
    const there = await navigate(tab_id, { url: url('/one#below') });
    expect(there).toEqual({ tab_id, url: url('/one#below'), title: 'one', http_status: null });
    expect(await navigate(tab_id, { action: 'back' })).toMatchObject({ url: url('/one'), http_status: null });
    expect(await navigate(tab_id, { action: 'forward' })).toMatchObject({ url: url('/one#below') });
    expect(await navigate(tab_id, { url: url('/one#below') })).toMatchObject({ url: url('/one#below') });
    expect(visits()).toBe(before);
  });

  it('connection refused is navigation_failed with the reason, and the tab can go on', async () => {
    const refused = await refusal(world, 'tab_navigate', {
      tab_id,
      url: `http://127.0.0.1:${await closedPort()}/`,
    });
    expect(refused).toMatchObject({
      error_code: 'navigation_failed',
      error: expect.stringContaining('ERR_CONNECTION_REFUSED'),
    });
    expect(await navigate(tab_id, { url: url('/two') })).toMatchObject({
      url: url('/two'),
      http_status: 200,
    });
  });

  it('a download is navigation_failed, and the tab stays where it is', async () => {
    expect(await refusal(world, 'tab_navigate', { tab_id, url: url('/download') })).toMatchObject({
      error_code: 'navigation_failed',
      error: expect.stringContaining('download'),
    });
    expect(await tab(tab_id)).toMatchObject({ url: url('/one'), title: 'one', status: 'complete' });
  });

  it('204 is an answer, and the tab stays where it is', async () => {
    expect(await navigate(tab_id, { url: url('/no-content') })).toEqual({
      tab_id,
      url: url('/one'),
      title: 'one',
      http_status: 204,
    });
  });

  it.each(['/never', '/half'])('%s: a tab closed meanwhile is tab_not_found', async (path) => {
    const visits = world.site.visits.length;
    const going = refusal(world, 'tab_navigate', { tab_id, url: url(path) });
    await until('the page is asked for', () => world.site.visits.indexOf(path, visits) >= 0);
    await call(world, 'tab_close', { tab_id });
    expect(await going).toMatchObject({ error_code: 'tab_not_found' });
  });

  it.each(['/never', '/half'])(
    '%s: a load that never ends is timeout by its deadline; others work',
    async (path) => {
      const visits = world.site.visits.length;
      const going = refusal(world, 'tab_navigate', { tab_id, url: url(path) }, { timeout_ms: 3_000 });
      await until('the page is asked for', () => world.site.visits.indexOf(path, visits) >= 0);
      const other = await open('/two');
      expect(await navigate(other, { url: url('/three') })).toMatchObject({ title: 'three' });
      await call(world, 'tab_close', { tab_id: other });
      expect(await going).toMatchObject({ error_code: 'timeout' });
      // A tab that still loads may be sent elsewhere.
      expect(await navigate(tab_id, { url: url('/two') })).toMatchObject({
        url: url('/two'),
        http_status: 200,
      });
    },
  );

  it('without tab_id means the active tab of the last focused window', async () => {
    await call(world, 'tab_activate', { tab_id });
    expect(await call(world, 'tab_navigate', { url: url('/three') })).toMatchObject({
      tab_id,
      title: 'three',
    });
  });
});

describe('what is refused before anything happens', () => {
  const ADDRESSES: [string, string][] = [
    ['javascript:alert(1)', 'page_restricted'],
    ['file:///etc/passwd', 'page_restricted'],
    ['chrome://settings/', 'page_restricted'],
    ['data:text/html,hi', 'page_restricted'],
    ['view-source:http://127.0.0.1/', 'page_restricted'],
    ['blob:http://127.0.0.1/x', 'page_restricted'],
    ['example.com', 'invalid_input'],
    ['127.0.0.1:8080/x', 'invalid_input'],
    ['http://', 'invalid_input'],
    ['http://a b/', 'invalid_input'],
    ['', 'invalid_input'],
  ];

  it.each(ADDRESSES)('%j is %s for tab_open and tab_navigate', async (address, error_code) => {
    const before = await listTabs(world);
    for (const command of ['tab_open', 'tab_navigate']) {
      const refused = await refusal(world, command, { url: address });
      expect(refused.error_code).toBe(error_code);
      if (error_code === 'invalid_input') expect(refused.error).toContain('url');
    }
    expect(await listTabs(world)).toEqual(before);
  });

  it.each([
    ['tab_list', { windows: 1 }, 'windows'],
    ['tab_open', { url: 'http://127.0.0.1/', background: true }, 'background'],
    ['tab_close', { tab_id: 1, force: true }, 'force'],
    ['tab_activate', { tab_id: 1, focus: true }, 'focus'],
    ['tab_navigate', { url: 'http://127.0.0.1/', timeout: 5 }, 'timeout'],
    ['screenshot', { full_page: true }, 'full_page'],
    ['tab_close', {}, 'tab_id'],
    ['tab_activate', { tab_id: '5' }, 'tab_id'],
    ['tab_navigate', { url: 'http://127.0.0.1/', action: 'back' }, 'url'],
    ['tab_navigate', { action: 'sideways' }, 'action'],
  ] as [string, JsonObject, string][])(
    '%s %j is invalid_input that names %s',
    async (command, input, name) => {
      const refused = await refusal(world, command, input);
      expect(refused.error_code).toBe('invalid_input');
      expect(refused.error).toContain(name);
    },
  );

  it.each(['tab_close', 'tab_activate', 'tab_navigate'])(
    '%s of a tab that is not there is tab_not_found',
    async (command) => {
      const input = { tab_id: 987_654_321, ...(command === 'tab_navigate' ? { action: 'reload' } : {}) };
      expect(await refusal(world, command, input)).toMatchObject({ error_code: 'tab_not_found' });
    },
  );
});

describe('focus', () => {
  it('is moved by tab_activate alone, to a tab of the same or another window', async () => {
    const first = await open('/one', { active: true });
    const other = await world.browser.openPage(url('/two'), { newWindow: true });
    const there = await until('the other window is there', async () =>
      (await listTabs(world)).find((listed) => listed.url === url('/two') && listed.active),
    );
    const window_id = (await tab(first))?.window_id as number;
    expect(there.window_id).not.toBe(window_id);
    /** The tab a person looks at: what a picture would show that names no tab. */
    const inFront = async () => ((await call(world, 'screenshot')).tab as { tab_id: number }).tab_id;
    await call(world, 'tab_activate', { tab_id: there.tab_id });
    expect(await inFront()).toBe(there.tab_id);

    const behind = await open('/three', { window_id });
    expect((await tab(first))?.active).toBe(true);
    const shown = await open('/three', { window_id, active: true });
    expect((await tab(shown))?.active).toBe(true);
    await navigate(behind, { url: url('/one') });
    await navigate(behind, { action: 'back' });
    await call(world, 'tab_close', { tab_id: behind });
    await call(world, 'screenshot', { tab_id: shown });
    const here = await open('/one');
    expect((await tab(here))?.window_id).toBe(there.window_id);
    expect(await inFront()).toBe(there.tab_id);

    await call(world, 'tab_activate', { tab_id: here });
    expect(await inFront()).toBe(here);
    await call(world, 'tab_activate', { tab_id: first });
    expect(await inFront()).toBe(first);
    await call(world, 'tab_close', { tab_id: here });
    await other.close();
  });
});

describe('hard pages', () => {
  /** A page that asks before it is left. Chrome lets it ask only after a person has done something there. */
  async function openAsking(): Promise<{ tab_id: number; session: CdpSession; asked: Promise<void> }> {
    const tab_id = await open('/asks', { active: true });
    const session = await attach('/asks');
    await session.send('Page.enable');
    for (const type of ['mousePressed', 'mouseReleased']) {
      await session.send('Input.dispatchMouseEvent', { type, x: 50, y: 50, button: 'left', clickCount: 1 });
    }
    const asked = new Promise<void>((resolve) => {
      session.connection.on('Page.javascriptDialogOpening', (_params, id) => {
        if (id === session.sessionId) resolve();
      });
    });
    return { tab_id, session, asked };
  }

  const answerDialog = (session: CdpSession, accept: boolean) =>
    session.send('Page.handleJavaScriptDialog', { accept });

  it('a page that asks before it is closed: timeout while nobody answers, closed when the person agrees', async () => {
    const { tab_id, session, asked } = await openAsking();
    const closing = refusal(world, 'tab_close', { tab_id }, { timeout_ms: 2_000 });
    await asked;
    expect(await tab(tab_id)).toBeDefined();
    expect(await navigate(await open('/one'), { url: url('/two') })).toMatchObject({ title: 'two' });
    expect(await closing).toMatchObject({ error_code: 'timeout' });
    const { relay, device } = world;
    const again = relay.startCommand(device, { command: 'tab_close', input: { tab_id } });
    await relay.until(() => again.status === 'running', 'the ack');
    // Asked twice, Chrome itself would close it over the head of the person.
    expect(await navigate(await open('/one'), { url: url('/three') })).toMatchObject({ title: 'three' });
    expect(await tab(tab_id)).toBeDefined();
    await answerDialog(session, true);
    expect(await again.finished).toMatchObject({ status: 'ok', output: { tab_id } });
    expect(await tab(tab_id)).toBeUndefined();
  });

  it('a page whose person chose to stay is asked again by the next tab_close', async () => {
    const { tab_id, session, asked } = await openAsking();
    expect(await refusal(world, 'tab_close', { tab_id }, { timeout_ms: 1_000 })).toMatchObject({
      error_code: 'timeout',
    });
    await asked;
    await answerDialog(session, false);
    expect(await tab(tab_id)).toMatchObject({ url: url('/asks') });
    const closing = call(world, 'tab_close', { tab_id });
    await until('the page asks again', () => answerDialog(session, true).catch(() => null));
    expect(await closing).toEqual({ tab_id });
  });

  it('a page that asks before it is left: navigation_failed when the person stays', async () => {
    const { tab_id, session, asked } = await openAsking();
    const going = refusal(world, 'tab_navigate', { tab_id, url: url('/one') });
    await asked;
    await answerDialog(session, false);
    expect(await going).toMatchObject({ error_code: 'navigation_failed' });
    expect(await tab(tab_id)).toMatchObject({ url: url('/asks') });
    const leaving = navigate(tab_id, { url: url('/one') });
    await until('the page asks again', () => answerDialog(session, true).catch(() => null));
    expect(await leaving).toMatchObject({ url: url('/one'), title: 'one' });
    await call(world, 'tab_close', { tab_id });
  });

  it('a page nobody has touched is closed without being asked', async () => {
    const tab_id = await open('/asks');
    expect(await call(world, 'tab_close', { tab_id })).toEqual({ tab_id });
    expect(await tab(tab_id)).toBeUndefined();
  });

  it('case 8: while a page shows an alert everything is answered by its deadline, and other tabs work', async () => {
    const alert = serveAlert(world, '/alert');
    const tab_id = await open('/alert', { active: true });
    await alert.isOpen();
    expect(await tab(tab_id)).toMatchObject({ url: url('/alert'), title: 'alert' });
    const { relay, device } = world;
    const back = await relay.command(device, {
      command: 'tab_navigate',
      input: { tab_id, action: 'back' },
      timeout_ms: 3_000,
    });
    expect(back).toMatchObject({
      status: 'error',
      error_code: expect.stringMatching(/^(timeout|navigation_failed)$/),
    });
    const other = await open('/one');
    expect(await navigate(other, { url: url('/two') })).toMatchObject({ title: 'two' });
    expect(world.site.visits).not.toContain('/alert/gone');
    expect(await navigate(tab_id, { url: url('/three') })).toMatchObject({
      title: 'three',
      http_status: 200,
    });
    await call(world, 'tab_close', { tab_id });
  });

  it('a tab with an alert can be closed', async () => {
    const alert = serveAlert(world, '/alert-2');
    const tab_id = await open('/alert-2', { active: true });
    await alert.isOpen();
    expect(await call(world, 'tab_close', { tab_id })).toEqual({ tab_id });
    expect(await tab(tab_id)).toBeUndefined();
  });

  it('a discarded tab is listed as such, wakes by tab_activate, and can be navigated', async () => {
    const discard = (tab_id: number) =>
      inServiceWorker<number>(world, `chrome.tabs.discard(${tab_id}).then(({ id }) => id)`);
    const tab_id = await discard(await open('/one'));
    expect(await tab(tab_id)).toMatchObject({
      discarded: true,
      url: url('/one'),
      title: 'one',
      status: 'unloaded',
    });
    const answered = await call(world, 'tab_activate', { tab_id });
    const woken = await until('the tab is awake', async () => {
      const listed = await tab(answered.tab_id as number);
      return listed?.discarded === false && listed.status === 'complete' ? listed : null;
    });
    expect(woken).toMatchObject({ active: true, url: url('/one'), title: 'one' });
    await open('/two', { active: true });

    const again = await discard(woken.tab_id);
    const output = await navigate(again, { url: url('/three') });
    expect(output).toMatchObject({ url: url('/three'), title: 'three', http_status: 200 });
    const third = await discard(output.tab_id as number);
    expect(await navigate(third, { action: 'reload' })).toMatchObject({ url: url('/three'), title: 'three' });
  });
});

describe('the last tab', () => {
  it.each(['one by one', 'all at once'])('closing the tabs %s keeps the browser up', async (how) => {
    await open('/one');
    const tab_ids = (await listTabs(world)).map(({ tab_id }) => tab_id);
    expect(tab_ids.length).toBeGreaterThan(1);
    const close = (tab_id: number) => call(world, 'tab_close', { tab_id });
    if (how === 'all at once') await Promise.all(tab_ids.map(close));
    else for (const tab_id of tab_ids) await close(tab_id);
    const left = await listTabs(world);
    expect(left).toHaveLength(1);
    expect(tab_ids).not.toContain(left[0]?.tab_id);
    expect(await navigate(left[0]?.tab_id as number, { url: url('/one') })).toMatchObject({ title: 'one' });
    const { window_id } = await call(world, 'tab_open', { url: url('/two') });
    expect(window_id).toBe(left[0]?.window_id);
  });
});
