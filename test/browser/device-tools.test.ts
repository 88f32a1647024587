/** Downloads, clipboard, notifications and the OS interface (tools.md, os-interface.md) in a real Chrome. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { osInterface } from '../../scripts/os-interface';
import type { JsonObject } from '../../src/protocol/json';
import { TOOLS } from '../../src/tools/registry';
import { call, inServiceWorker, listTabs, openTab, refusal } from './harness/tool-calls';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

let world: World;
/** Chrome downloads into the home of whoever starts it. */
let home: string;
let homeBefore: string | undefined;
const endless: ServerResponse[] = [];

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'endue-home-'));
  homeBefore = process.env.HOME;
  process.env.HOME = home;
  world = await createWorld();
  for (const name of ['download_start', 'download_list']) {
    await world.browser.message('permissions.set', { name, permission: 'allow' });
  }
  const { site } = world;
  const file = (text: string) => (_request: unknown, response: ServerResponse) => {
    response.writeHead(200, {
      'content-type': 'text/plain',
      'content-disposition': 'attachment; filename=served.txt',
    });
    response.end(text);
  };
  site.serve('/file', file('served'));
  site.serve('/moved', (_request, response) => response.writeHead(302, { location: '/file' }).end());
  site.serve('/slow', (_request, response) => {
    endless.push(response);
    response.writeHead(200, { 'content-type': 'application/zip', 'content-length': '1000000' });
    response.write(Buffer.alloc(400_000));
  });
});

afterAll(async () => {
  for (const response of endless) response.destroy();
  await world?.[Symbol.asyncDispose]();
  if (homeBefore === undefined) delete process.env.HOME;
  else process.env.HOME = homeBefore;
  rmSync(home, { recursive: true, force: true });
});

afterEach(() => {
  expect(world.relay.violations).toEqual([]);
});

const downloaded = (name: string): string => join(home, 'Downloads', name);
const start = (input: JsonObject): Promise<JsonObject> => call(world, 'download_start', input);

describe('download_start and download_list', () => {
  it('waits for the end when it is asked to: the file is there, under the name that was asked for', async () => {
    const done = await start({ url: world.site.url('/moved'), filename: 'a/b.txt', wait: true });
    expect(done).toMatchObject({
      state: 'complete',
      filename: 'b.txt',
      url: world.site.url('/file'),
      bytes_received: 6,
      total_bytes: 6,
      reason: null,
      danger: 'safe',
    });
    expect(readFileSync(downloaded('a/b.txt'), 'utf8')).toBe('served');
    expect(JSON.stringify(done)).not.toContain(home);
    const { downloads } = await call(world, 'download_list', { download_id: done.download_id ?? null });
    expect(downloads).toEqual([done]);
  });

  it('the name of the server without another one; a second file of a name gets a number, or takes its place', async () => {
    expect(await start({ url: world.site.url('/file'), wait: true })).toMatchObject({
      filename: 'served.txt',
    });
    expect(await start({ url: world.site.url('/file'), wait: true })).toMatchObject({
      filename: 'served (1).txt',
    });
    const over = await start({
      url: 'data:text/plain,in%20its%20place',
      filename: 'served.txt',
      conflict: 'overwrite',
      wait: true,
    });
    expect(over).toMatchObject({ state: 'complete', filename: 'served.txt' });
    expect(readFileSync(downloaded('served.txt'), 'utf8')).toBe('in its place');
  });

  it('without waiting it answers at once; the list follows it; calling off the request calls off the download', async () => {
    const begun = await start({ url: world.site.url('/slow'), filename: 'slow.zip' });
    expect(begun).toMatchObject({ state: 'in_progress', filename: 'slow.zip', total_bytes: 1_000_000 });
    const { downloads } = await call(world, 'download_list', { state: 'in_progress' });
    expect(downloads).toMatchObject([{ download_id: begun.download_id, bytes_received: expect.any(Number) }]);
    const late = await refusal(
      world,
      'download_start',
      { url: world.site.url('/slow'), filename: 'late.zip', wait: true },
      { timeout_ms: 2_000 },
    );
    expect(late.error_code).toBe('timeout');
    await until('it is called off', async () => {
      const { downloads: all } = await call(world, 'download_list', { state: 'in_progress' });
      return (all as JsonObject[]).length === 1;
    });
    expect(existsSync(downloaded('late.zip'))).toBe(false);
  });

  it('a server that refuses is told as interrupted, with the reason', async () => {
    expect(await start({ url: world.site.url('/nothing-there'), wait: true })).toMatchObject({
      state: 'interrupted',
      reason: expect.stringMatching(/^SERVER_/),
    });
  });

  it.each([
    ['file:///etc/passwd', 'page_restricted'],
    ['chrome://settings', 'page_restricted'],
    ['javascript:alert(1)', 'page_restricted'],
    ['blob:https://a.test/0', 'invalid_input'],
    ['report.pdf', 'invalid_input'],
  ])('%s is %s', async (url, code) => {
    expect((await refusal(world, 'download_start', { url })).error_code).toBe(code);
  });

  it.each(['../x', '/x', 'a/../../x', 'C:\\x', 'a//b', 'con.txt', 'x.', '.ssh', 'a\u202eb'])(
    'the name %j is refused',
    async (filename) => {
      const refused = await refusal(world, 'download_start', { url: 'data:,x', filename });
      expect(refused.error_code).toBe('path_invalid');
    },
  );
});

describe('clipboard_write', () => {
  it('writes from the background, exactly the text, and moves no focus', async () => {
    const tab_id = await openTab(world, '/welcome', { active: true });
    const before = await listTabs(world);
    const text = '두 줄\n<b>&amp;</b>\ttab "quoted" 🎉';
    expect(await call(world, 'clipboard_write', { text })).toEqual({
      bytes: new TextEncoder().encode(text).length,
    });
    expect(await listTabs(world)).toEqual(before);
    const target = await until('the page is there', async () =>
      (await world.browser.targets()).find(({ url }) => url === world.site.url('/welcome')),
    );
    const page = await world.browser.connection.attach(target.targetId);
    await world.browser.connection.send('Browser.grantPermissions', {
      permissions: ['clipboardReadWrite', 'clipboardSanitizedWrite'],
    });
    await page.send('Page.bringToFront');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(text);
    await page.detach();
    await call(world, 'tab_close', { tab_id });
  });
});

describe('notify', () => {
  it('shows plain text, marked as the platform’s', async () => {
    const shown = await call(world, 'notify', { title: '<b>Done</b>', message: 'All 3 files are saved.' });
    expect(shown).toEqual({ notification_id: expect.stringMatching(/^notify:/), shown: true });
    const all = await inServiceWorker<JsonObject>(world, 'chrome.notifications.getAll()');
    expect(Object.keys(all)).toContain(shown.notification_id);
  });
});

describe('os-interface.md', () => {
  it('os_capabilities lists the types of the registry, with what is unsupported and the limits', async () => {
    const told = await call(world, 'os_capabilities');
    const { types, unsupported } = osInterface(TOOLS);
    expect(told).toMatchObject({ interface_version: '1.0', kind: 'chrome', unsupported });
    expect(told.types).toEqual(types);
    expect(told.policy).toEqual({ managed: false, blocked_types: [] });
    expect(told.limits).toEqual((await call(world, 'workspace_info')).limits);
  });

  it('a type is its tool: the same result, the same refusals', async () => {
    const tab_id = await openTab(world, '/welcome', { active: true });
    const listed = await call(world, 'os_execute', { type: 'tab.list' });
    expect(listed).toEqual({
      interface_version: '1.0',
      type: 'tab.list',
      result: { tabs: await listTabs(world) },
    });
    const picture = await call(world, 'os_execute', {
      type: 'screen.capture',
      input: { deliver_image: true },
    });
    const result = picture.result as JsonObject;
    expect(Object.keys(picture)).toEqual(['interface_version', 'type', 'result']);
    expect(Object.keys(result)).toContain('image_base64' in result ? 'image_base64' : 'image_blob');
    for (const [type, tool, input] of [
      ['tab.close', 'tab_close', { tab_id: 999_999 }],
      ['tab.open', 'tab_open', { url: 'file:///x' }],
      ['console.read', 'console_read', { tab_id, after: 77 }],
    ] as const) {
      const byType = await refusal(world, 'os_execute', { type, input });
      expect(byType, type).toEqual(await refusal(world, tool, input));
    }
    expect(await refusal(world, 'os_execute', { type: 'tab.open', input: { uri: 'x' } })).toEqual({
      error_code: 'invalid_input',
      error: 'input.input lacks the field "url" and has an unknown field "uri". Did you mean "url"?',
    });
    await call(world, 'tab_close', { tab_id });
  });

  it('an unknown type names near ones; an unsupported one says why', async () => {
    expect(await refusal(world, 'os_execute', { type: 'tabs.open' })).toEqual({
      error_code: 'invalid_input',
      error: expect.stringMatching(/no type "tabs\.open"\. Near are tab\.open/),
    });
    expect(await refusal(world, 'os_execute', { type: 'process.start' })).toEqual({
      error_code: 'invalid_input',
      error: expect.stringContaining('A browser runs no processes'),
    });
    expect((await refusal(world, 'os_execute', { type: '__proto__' })).error_code).toBe('invalid_input');
  });
});
