/**
 * The rules of the socket (wire.md §2–§6, §8) against the built extension in a real Chromium; a TCP proxy
 * makes the faults of the network.
 */
import { createHash, randomUUID } from 'node:crypto';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/protocol/json';
import type { LoggedRequest } from '../fake-relay/traffic';
import { acks, request, responses } from './harness/frames';
import { serveSlowPage } from './harness/slow-page';
import { until } from './harness/until';
import { createWorld, type World, type WorldOptions } from './harness/world';

let own: World | undefined;
let shared: World | undefined;

/** A world of the test's own. */
async function start(options: WorldOptions = {}): Promise<World> {
  own = await createWorld(options);
  return own;
}

/** The world most tests share, each with a device and an enrollment of its own: no test feels the one before. */
async function startShared(relay_config: JsonObject = {}): Promise<World> {
  shared ??= await createWorld({ enrolled: false });
  const { relay, browser } = shared;
  relay.clearFaults();
  relay.settings.relay_config = relay_config;
  shared.site.visits.length = 0;
  const device = relay.createDevice();
  await browser.enroll(device.enrollment);
  await relay.waitForOnline(device);
  const { site, proxy } = shared;
  return { ...shared, relay, browser, site, proxy, device };
}

afterEach(async () => {
  await own?.[Symbol.asyncDispose]();
  own = undefined;
});

afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
});

function uploads({ relay }: World): LoggedRequest[] {
  return relay.requests.filter(({ method }) => method === 'PUT');
}

async function stateIs({ browser }: World, state: string): Promise<void> {
  await until(`the connection is ${state}`, async () => (await browser.connectionState())?.state === state);
}

describe('wire.md §2 and §3: connecting', () => {
  it('offers the two protocols, puts the token in no URL, and sends ready first', async () => {
    const { relay, device } = await start();
    const [handshake] = relay.handshakes;
    expect(handshake?.headers['sec-websocket-protocol']).toBe(
      `endue-os.v1, endue-os.token.${device.enrollment.token}`,
    );
    expect(handshake?.url).not.toContain(device.enrollment.token);
    const ready = relay.received[0]?.json as JsonObject;
    expect(ready.type).toBe('ready');
    expect(ready.capabilities).toEqual(
      expect.arrayContaining(['concurrency:4', 'ping_interval:20', 'ack', 'progress', 'blob_upload']),
    );
    expect(ready.capabilities).toContain('workspace_storage_path_v1');
    expect(ready.tools).toEqual(expect.arrayContaining(['describe_tools', 'workspace_info', 'screenshot']));
    expect(relay.violations).toEqual([]);
  });

  it('another selected protocol is a failed attempt, and the next one succeeds', async () => {
    const w = await start({ enrolled: false });
    w.relay.fault({ fault: 'subprotocol', answer: 'none', times: 1 });
    await w.browser.enroll(w.device.enrollment);
    await w.relay.waitForOnline(w.device);
    expect(w.relay.handshakes.length).toBe(2);
    expect(w.relay.violations).toEqual([]);
  });

  it('needs no relay_config', async () => {
    const w = await start({ enrolled: false });
    w.relay.fault({ fault: 'no_relay_config' });
    await w.browser.enroll(w.device.enrollment);
    await w.relay.waitForOnline(w.device);
    await stateIs(w, 'online');
  });

  it('session_epoch survives the service worker and the offscreen document, not a restart', async () => {
    const w = await start();
    const epoch = (await w.relay.waitForOnline(w.device)).epoch;
    const page = await w.browser.extensionPage();
    await w.browser.killServiceWorker(page);
    await w.browser.message('offscreen.ensure', {});
    const worker = await w.browser.serviceWorker();
    await worker.evaluate('chrome.offscreen.closeDocument()');
    await worker.detach();
    await w.browser.message('offscreen.ensure', {});
    expect((await w.relay.waitForOnline(w.device, { after: 1 })).epoch).toBe(epoch);
    await w.browser.kill();
    await w.relaunch();
    expect((await w.relay.waitForOnline(w.device, { after: 2 })).epoch).not.toBe(epoch);
  });
});

describe('wire.md §5 rule 6: stop', () => {
  it.each(['4001', '401'])(
    'never dials again after %s, also after a restart, until another token comes',
    async (how) => {
      const w = await start();
      if (how === '401') {
        w.relay.fault({ fault: 'refuse_handshake', status: 401 });
        w.relay.disconnect(w.device, 1006);
      } else w.relay.revoke(w.device);
      await stateIs(w, 'token_stopped');
      w.relay.clearFaults();
      const dialed = w.relay.handshakes.length;
      await w.browser.message('relay.retry_now', {});
      await w.browser.close();
      await w.relaunch();
      await stateIs(w, 'token_stopped');
      expect(w.relay.handshakes.length).toBe(dialed);
      w.relay.rotate(w.device);
      await w.browser.enroll(w.device.enrollment);
      await w.relay.waitForOnline(w.device, { after: 1 });
    },
  );

  it('another refusal of the handshake is not the end', async () => {
    const w = await start({ enrolled: false });
    w.relay.fault({ fault: 'refuse_handshake', status: 403, times: 1 });
    w.relay.fault({ fault: 'refuse_handshake', status: 500, times: 1 });
    await w.browser.enroll(w.device.enrollment);
    await w.relay.waitForOnline(w.device);
    expect(w.relay.handshakes.length).toBe(3);
  });
});

describe('wire.md §5 rule 7: reconnecting', () => {
  it.each([1000, 1001, 1006, 1011, 4000, 4008])(
    'comes back after close %i, no sooner than 1 s',
    async (code) => {
      const w = await startShared();
      const closed = w.relay.now();
      w.relay.disconnect(w.device, code);
      const again = await w.relay.waitForOnline(w.device, { after: 1 });
      expect(again.opened_at - closed).toBeGreaterThanOrEqual(1_000);
      expect(w.relay.violations).toEqual([]);
    },
  );

  it('comes back when the network cuts the line', async () => {
    const w = await start({ proxied: true });
    w.proxy.cut();
    await w.relay.waitForOnline(w.device, { after: 1 });
  });

  it('waits more than 60 s after 1012, shows it, and a person can retry now', async () => {
    const w = await startShared();
    const before = Date.now();
    w.relay.disconnect(w.device, 1012);
    await stateIs(w, 'replaced');
    const state = await w.browser.connectionState();
    if (state?.state !== 'replaced') throw new Error('not replaced');
    expect(state.until - before).toBeGreaterThan(60_000);
    expect(state.until - Date.now()).toBeLessThanOrEqual(90_000);
    await w.browser.message('relay.retry_now', {});
    await w.relay.waitForOnline(w.device, { after: 1 });
  });
});

describe('wire.md §5: one socket, one offscreen document', () => {
  it('racing creations make one offscreen document and one connection', async () => {
    const w = await start({ enrolled: false });
    await w.browser.enroll(w.device.enrollment);
    const page = await w.browser.extensionPage();
    await page.evaluate(
      `Promise.all(Array.from({ length: 20 }, () => chrome.runtime.sendMessage({ type: 'offscreen.ensure', input: {} })))`,
    );
    await w.relay.waitForOnline(w.device);
    expect(await w.browser.offscreenTargets()).toHaveLength(1);
    expect(w.relay.connections).toHaveLength(1);
  });
});

describe('wire.md §5 rules 3 to 5: pairing, once, cancel, deadlines', () => {
  it('rule 3: answers leave in the order in which work ends', async () => {
    const w = await startShared();
    const slow = serveSlowPage(w, '/slow');
    const first = w.relay.startCommand(w.device, {
      command: 'tab_open',
      input: { url: w.site.url('/slow') },
    });
    const second = await w.relay.command(w.device, { command: 'workspace_info' });
    expect(second.status).toBe('ok');
    expect(first.status).toBe('running');
    slow.release();
    expect((await first.finished).status).toBe('ok');
  });

  it('rule 4: the same id and input again: acked again, the stored answer, no second run', async () => {
    const w = await startShared();
    const frame = request('again', 'tab_open', { url: w.site.url('/welcome') });
    w.relay.send(w.device, frame);
    await w.relay.until(() => responses(w, 'again').length === 1, 'the answer');
    w.relay.send(w.device, { ...frame, timeout_ms: 12_345, input: { url: w.site.url('/welcome') } });
    await w.relay.until(() => responses(w, 'again').length === 2, 'the stored answer');
    const [one, two] = responses(w, 'again');
    expect(two).toEqual(one);
    expect(acks(w, 'again')).toHaveLength(2);
    expect(w.site.visits.filter((path) => path === '/welcome')).toHaveLength(1);
  });

  it('rule 4: the same id with another input is a conflict and disturbs nothing', async () => {
    const w = await startShared();
    const slow = serveSlowPage(w, '/slow');
    w.relay.send(w.device, request('one-id', 'tab_open', { url: w.site.url('/slow') }));
    await until('the page is asked for', () => w.site.visits.includes('/slow'));
    w.relay.send(w.device, request('one-id', 'tab_open', { url: w.site.url('/welcome') }));
    await w.relay.until(() => responses(w, 'one-id').length === 1, 'the conflict');
    slow.release();
    await w.relay.until(() => responses(w, 'one-id').length === 2, 'the first answer');
    expect(responses(w, 'one-id').map((frame) => ('error_code' in frame ? frame.error_code : 'ok'))).toEqual([
      'request_id_conflict',
      'ok',
    ]);
    expect(w.site.visits).not.toContain('/welcome');
  });

  it('rule 4: what was answered before a restart of the browser is answered the same, and not run', async () => {
    const w = await start();
    const frame = request('kept', 'tab_open', { url: w.site.url('/welcome') });
    w.relay.send(w.device, frame);
    await w.relay.until(() => responses(w, 'kept').length === 1, 'the answer');
    await w.browser.kill();
    await w.relaunch();
    await w.relay.waitForOnline(w.device, { after: 1 });
    w.relay.send(w.device, frame);
    await w.relay.until(() => responses(w, 'kept').length === 2, 'the stored answer');
    const [one, two] = responses(w, 'kept');
    expect(two).toEqual(one);
    expect(w.site.visits.filter((path) => path === '/welcome')).toHaveLength(1);
  });

  it('a request larger than Chrome carries between contexts is answered at once, and its id is used up', async () => {
    const w = await start();
    const ask = (text: string) => w.relay.send(w.device, request('huge', 'clipboard_write', { text }));
    ask('y'.repeat(70 * 1024 * 1024));
    await w.relay.until(() => responses(w, 'huge').length === 1, 'the answer');
    ask('y');
    await w.relay.until(() => responses(w, 'huge').length === 2, 'the other answer');
    expect(responses(w, 'huge').map((frame) => 'error_code' in frame && frame.error_code)).toEqual([
      'invalid_request',
      'request_id_conflict',
    ]);
  });

  it('rule 5: a cancelled request is answered; an unknown id is nothing', async () => {
    const w = await startShared();
    serveSlowPage(w, '/slow');
    const command = w.relay.startCommand(w.device, {
      command: 'tab_open',
      input: { url: w.site.url('/slow') },
    });
    await w.relay.until(() => command.status === 'running', 'the ack');
    w.relay.send(w.device, { type: 'cancel_request', id: 'nobody' });
    w.relay.cancel(w.device, command.id);
    expect(await command.finished).toMatchObject({ status: 'error', error_code: 'cancelled' });
    expect(responses(w, 'nobody')).toEqual([]);
  });

  it('a deadline that passes is answered timeout', async () => {
    const w = await startShared();
    serveSlowPage(w, '/slow');
    const response = await w.relay.command(w.device, {
      command: 'tab_open',
      input: { url: w.site.url('/slow') },
      timeout_ms: 1_500,
    });
    expect(response).toMatchObject({ status: 'error', error_code: 'timeout' });
  });

  it('max_concurrency limits what runs; the rest is acked at once and waits in order', async () => {
    const w = await startShared({ max_concurrency: 2 });
    const pages = ['/a', '/b', '/c', '/d'].map((path) => ({ path, ...serveSlowPage(w, path) }));
    const commands = pages.map(({ path }) =>
      w.relay.startCommand(w.device, { command: 'tab_open', input: { url: w.site.url(path) } }),
    );
    await w.relay.until(() => commands.every(({ status }) => status === 'running'), 'four acks');
    await until('two pages are asked for', () => w.site.visits.length >= 2);
    await w.relay.command(w.device, { command: 'workspace_info', timeout_ms: 1_000 }).catch(() => undefined);
    expect([...w.site.visits].sort()).toEqual(['/a', '/b']);
    for (const { path, release } of pages) {
      await until(`${path} is asked for`, () => w.site.visits.includes(path));
      release();
    }
    const answers = await Promise.all(commands.map(({ finished }) => finished));
    expect(answers.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok']);
    expect(w.site.visits.filter((path) => path !== '/favicon.ico')).toEqual(['/a', '/b', '/c', '/d']);
  });

  it('an answer that could not be sent is kept and leaves once after the reconnection', async () => {
    const w = await start({ proxied: true });
    const slow = serveSlowPage(w, '/slow');
    w.relay.send(w.device, request('late', 'tab_open', { url: w.site.url('/slow') }));
    await w.relay.until(() => acks(w, 'late').length === 1, 'the ack');
    await until('the page is asked for', () => w.site.visits.includes('/slow'));
    w.proxy.refuse();
    w.proxy.cut();
    slow.release();
    await until('the tab has loaded', async () =>
      (await w.browser.targets()).some(({ url, type }) => type === 'page' && url.endsWith('/slow')),
    );
    w.proxy.refuse(false);
    await w.relay.waitForOnline(w.device, { after: 1 });
    await w.relay.until(() => responses(w, 'late').length === 1, 'the kept answer');
    await w.relay.command(w.device, { command: 'workspace_info' });
    expect(responses(w, 'late')).toHaveLength(1);
    expect(responses(w, 'late')[0]?.status).toBe('ok');
  });
});

describe('wire.md §6: blobs', () => {
  /** A page whose picture does not compress: a PNG of it is far over 256 KiB. */
  async function showNoise(w: World): Promise<void> {
    w.site.serve(
      '/noise',
      `<!doctype html><title>noise</title><style>body{margin:0}</style><canvas id="c" width="1200" height="700"></canvas>
       <script>const x=c.getContext('2d'),d=x.createImageData(1200,700);
       for(let i=0;i<d.data.length;i+=65536)crypto.getRandomValues(new Uint8Array(d.data.buffer,i,Math.min(65536,d.data.length-i)));
       for(let i=3;i<d.data.length;i+=4)d.data[i]=255;x.putImageData(d,0,0)</script>`,
    );
    const opened = await w.relay.command(w.device, {
      command: 'tab_open',
      input: { url: w.site.url('/noise'), active: true },
    });
    expect(opened.status).toBe('ok');
  }

  async function shoot(w: World, id: string = randomUUID()): Promise<JsonObject> {
    const response = await w.relay.command(w.device, {
      id,
      command: 'screenshot',
      input: { deliver_image: true, format: 'png' },
    });
    if (response.status === 'error') throw new Error(response.error);
    return response.output ?? {};
  }

  it('binary over max_inline_bytes is uploaded first, to the socket’s origin, with the token in a header', async () => {
    const w = await startShared();
    await showNoise(w);
    const output = await shoot(w, 'a/../b?#%2e é');
    const blob = w.relay.blobs.at(-1);
    if (!blob) throw new Error('no blob came');
    expect(output.image_base64).toBeUndefined();
    expect(output.image_blob).toMatchObject({
      mime_type: 'image/png',
      size: blob.bytes.length,
      sha256: createHash('sha256').update(blob.bytes).digest('hex'),
    });
    const put = uploads(w).at(-1);
    expect(put?.headers.authorization).toBe(`Bearer ${w.device.enrollment.token}`);
    expect(put?.headers.cookie).toBeUndefined();
    expect(put?.url).toContain(`/${encodeURIComponent('a/../b?#%2e é')}/`);
    expect(w.relay.violations).toEqual([]);
  });

  it('small binary stays inline', async () => {
    const w = await startShared({ max_inline_bytes: 6 * 1024 * 1024 });
    await showNoise(w);
    const output = await shoot(w);
    expect(output.image_blob).toBeUndefined();
    const bytes = Buffer.from(String(output.image_base64), 'base64');
    expect(bytes.subarray(1, 4).toString()).toBe('PNG');
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([output.width, output.height]);
  });

  it.each(['wrong_sha256', 'wrong_size', 'redirect', 'not_json'] as const)(
    'an upload answered with %s falls back to an inline picture',
    async (answer) => {
      const w = await startShared();
      await showNoise(w);
      w.relay.fault({ fault: 'blob', answer });
      const output = await shoot(w);
      expect(output.image_blob).toBeUndefined();
      expect(String(output.image_base64).length).toBeGreaterThan(262_144);
      expect(w.relay.violations).toEqual([]);
    },
  );

  it('429 with Retry-After and 503 are tried again, 3 attempts in all', async () => {
    const w = await startShared();
    await showNoise(w);
    const before = w.relay.blobAttempts.length;
    w.relay.fault({ fault: 'blob', answer: { status: 429, retry_after: '1' }, times: 1 });
    w.relay.fault({ fault: 'blob', answer: { status: 503 }, times: 1 });
    const output = await shoot(w);
    expect(output.image_blob).toBeDefined();
    expect(w.relay.blobAttempts).toHaveLength(before + 3);
    w.relay.fault({ fault: 'blob', answer: { status: 503 } });
    const inline = await shoot(w);
    expect(inline.image_base64).toBeDefined();
    expect(w.relay.blobAttempts).toHaveLength(before + 6);
  });

  it.each(['.', '..', '\ud83d'])('§8: the binary of id %j never reaches a URL', async (id) => {
    const w = await startShared();
    await showNoise(w);
    const before = uploads(w).length;
    const output = await shoot(w, id);
    expect(output.image_base64).toBeDefined();
    expect(uploads(w)).toHaveLength(before);
  });

  it('a blob_upload_url of another origin is ignored', async () => {
    const w = await startShared({ blob_upload_url: 'http://127.0.0.1:9/steal' });
    await showNoise(w);
    expect((await shoot(w)).image_blob).toBeDefined();
    expect(w.relay.violations).toEqual([]);
  });
});
