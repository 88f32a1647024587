/**
 * The token is nowhere but where it must be (wire.md §1, §6; case 1): in `storage.local`, in the handshake's
 * protocol header, and in the uploads' Authorization header to the relay. One rich scenario is lived through
 * while everything is written down; then all of it is searched for every token, and for parts of them.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LoggedRequest } from '../fake-relay/traffic';
import { EXTENSION_ID, EXTENSION_ORIGIN } from './harness/agent-browser';
import type { CdpSession } from './harness/cdp';
import { type Evaluate, isolatedWorld } from './harness/isolated-world';
import { until } from './harness/until';
import { type Testimony, type Witness, witness } from './harness/witness';
import { createWorld, type World } from './harness/world';

const POPUP = 'src/ui/popup/popup.html';
const ACTIVITY = 'src/ui/activity/activity.html';
/** Short enough to catch a token that was cut, long enough to be nobody else's. */
const PART_LENGTH = 12;
const PROTOCOL_HEADER = 'sec-websocket-protocol';

let world: World;
let heard: Witness;
let popup: CdpSession;
let tab: CdpSession;
let contentScript: Evaluate;

/** Every token that was ever pasted, good or bad. */
const secrets = new Set<string>();
/** What pages showed and messages answered, by what it was. */
const seen: { what: string; text: string }[] = [];
const siteRequests: { url: string; headers: IncomingHttpHeaders }[] = [];

function secret(text = `leak_${randomBytes(24).toString('base64url')}`): string {
  secrets.add(text);
  return text;
}

/** Every text by which a token, whole or in part, plain or coded, would be recognised. */
function needles(): string[] {
  const found = new Set<string>();
  for (const whole of secrets) {
    const random = whole.slice(whole.indexOf('_') + 1);
    for (let at = 0; at + PART_LENGTH <= random.length; at += PART_LENGTH / 2) {
      found.add(random.slice(at, at + PART_LENGTH));
    }
    for (const shift of ['', 'x', 'xx']) {
      const coded = Buffer.from(shift + random).toString('base64');
      found.add(coded.slice(4, 4 + 2 * PART_LENGTH));
    }
    found.add(
      Buffer.from(random)
        .toString('hex')
        .slice(0, 2 * PART_LENGTH),
    );
    found.add([...random].reverse().join('').slice(0, PART_LENGTH));
  }
  return [...found];
}

function holdsToken(text: string): boolean {
  return needles().some((needle) => text.includes(needle));
}

/** Only the names of what leaks are told: a failed test must not print tokens either. */
function leaksAmong<T>(
  things: readonly T[],
  name: (thing: T) => string,
  text: (thing: T) => string,
): string[] {
  const all = needles();
  const leaking = things.filter((thing) => {
    const searched = text(thing);
    return all.some((needle) => searched.includes(needle));
  });
  return leaking.map(name);
}

function note(what: string, value: unknown): void {
  seen.push({ what, text: typeof value === 'string' ? value : (JSON.stringify(value) ?? '') });
}

/** What the popup and the activity page show now. */
async function look(what: string): Promise<void> {
  const activity = await world.browser.extensionPage(ACTIVITY);
  for (const [name, page] of Object.entries({ popup, activity })) {
    note(`${name}, ${what}`, await page.evaluate('document.documentElement.outerHTML'));
    note(`title of ${name}, ${what}`, await page.evaluate('document.title'));
  }
  note(`tooltip, ${what}`, await popup.evaluate('chrome.action.getTitle({})'));
  await activity.close();
}

async function shows(state: string): Promise<void> {
  await until(`the popup shows ${state}`, () =>
    popup.evaluate<boolean>(`document.querySelector('main')?.dataset.state === ${JSON.stringify(state)}`),
  );
  await look(state);
}

/** Pastes into the popup's box and presses Connect. */
async function paste(text: string): Promise<void> {
  await until('the paste box is there', () =>
    popup.evaluate<boolean>(`!!document.querySelector('textarea')`),
  );
  await popup.evaluate(`{
    const box = document.querySelector('textarea');
    box.value = ${JSON.stringify(text)};
    box.dispatchEvent(new InputEvent('input', { bubbles: true }));
    box.form.requestSubmit();
  }`);
}

async function refused(what: string, text: string, problem: string): Promise<void> {
  const reply = await world.browser.message('enrollment.save', { text });
  note(`the answer to a paste: ${what}`, reply);
  expect(reply, what).toEqual({ saved: false, problem });
  await paste(text);
  await until('the popup says what is wrong', () =>
    popup.evaluate<boolean>(`document.querySelector('#paste-note')?.dataset.wrong === 'true'`),
  );
  await look(what);
}

beforeAll(async () => {
  world = await createWorld({ enrolled: false });
  const { browser, site, relay, device } = world;
  heard = await witness(browser);
  site.serve('/page', (request, response) => {
    siteRequests.push({ url: request.url ?? '', headers: request.headers });
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(NOISE);
  });
  popup = await browser.extensionPage(POPUP);
  await shows('not_enrolled');
  await pasteBadly();
  await enroll();
  await listenInPage();
  await failHandshakes();
  await work();
  await beStopped();
  for (const type of ['overview.get', 'activity.list', 'relay.diagnostics', 'relay.connection'] as const) {
    note(type, await browser.message(type, {}));
  }
  expect(relay.connections.length).toBeGreaterThan(1);
  expect(device.online).toBe(true);
}, 240_000);

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

/** A PNG of it is over the default `max_inline_bytes`, and not by much: all of it is searched. */
const NOISE = `<!doctype html><title>noise</title><style>body{margin:0}</style><canvas id="c" width="360" height="280"></canvas>
  <script>const x=c.getContext('2d'),d=x.createImageData(360,280);
  for(let i=0;i<d.data.length;i+=65536)crypto.getRandomValues(new Uint8Array(d.data.buffer,i,Math.min(65536,d.data.length-i)));
  for(let i=3;i<d.data.length;i+=4)d.data[i]=255;x.putImageData(d,0,0)</script>`;

async function pasteBadly(): Promise<void> {
  const { endpoint } = world.device.enrollment;
  const json = (enrollment: object): string => JSON.stringify(enrollment);
  await refused('token alone', json({ token: secret() }), 'endpoint_missing');
  await refused('http', json({ endpoint: 'http://127.0.0.1:9/x', token: secret() }), 'endpoint_wrong_scheme');
  await refused('not secure', `ws://relay.test/x?token=${secret()}`, 'endpoint_not_secure');
  await refused(
    'user info',
    json({ endpoint: `wss://${secret()}@relay.test/`, token: secret() }),
    'endpoint_user_info',
  );
  await refused('fragment', `wss://relay.test/#${secret()}`, 'endpoint_fragment');
  await refused('two tokens', `${endpoint} ${secret()} ${secret()}`, 'ambiguous');
  for (const odd of ['/', ' ', '=', '"', '@', ',', 'é', '\u0000', '\n']) {
    const token = `${secret()}${odd}${secret()}`;
    await refused(`a token with ${JSON.stringify(odd)}`, json({ endpoint, token }), 'token_not_sendable');
  }
  expect(world.relay.handshakes).toEqual([]);
}

async function enroll(): Promise<void> {
  const { relay, device } = world;
  relay.fault({ fault: 'stall_handshake', times: 1 });
  secret(device.enrollment.token);
  await paste(JSON.stringify({ data: { id: device.id, enrollment: device.enrollment } }));
  await shows('connecting');
  await world.browser.message('pause.set', { paused: true });
  await shows('paused');
  relay.fault({ fault: 'no_handshake_calls', times: 1 });
  await world.browser.message('pause.set', { paused: false });
  await shows('handshaking');
  relay.disconnect(device, 1011);
  await shows('waiting');
  await relay.waitForOnline(device);
  await shows('online');
}

/** A content script of the extension itself, which hears whatever a page could. */
async function listenInPage(): Promise<void> {
  const { browser, site } = world;
  tab = await browser.openPage(site.url('/page'));
  await until('the page is loaded', () => tab.evaluate<boolean>(`document.title === 'noise'`));
  await popup.evaluate(`chrome.tabs.query({ title: 'noise' }).then(([tab]) =>
    chrome.scripting.executeScript({ target: { tabId: tab.id }, func: () => undefined }))`);
  contentScript = await isolatedWorld(tab, EXTENSION_ORIGIN);
  await contentScript(`{
    globalThis.heard = [];
    chrome.runtime.onMessage.addListener((message) => void heard.push(message));
    chrome.runtime.onConnect.addListener((port) => port.onMessage.addListener((message) => heard.push(message)));
    addEventListener('message', ({ data }) => heard.push(data));
    chrome.storage.onChanged.addListener((changes, area) => heard.push({ area, changes }));
  }`);
}

async function failHandshakes(): Promise<void> {
  const { relay, device } = world;
  relay.fault({ fault: 'subprotocol', answer: 'token', times: 1 });
  relay.fault({ fault: 'subprotocol', answer: 'somebody-else', times: 1 });
  relay.fault({ fault: 'subprotocol', answer: 'none', times: 1 });
  relay.fault({ fault: 'refuse_handshake', status: 403, times: 1 });
  relay.fault({ fault: 'refuse_handshake', status: 503, times: 1 });
  const before = device.connections.length;
  const dials = relay.handshakes.length;
  relay.disconnect(device, 1006);
  await until('every handshake was tried', async () => {
    await world.browser.message('relay.retry_now', {});
    return relay.handshakes.length >= dials + 6;
  });
  await relay.waitForOnline(device, { after: before });
  relay.disconnect(device, 1012);
  await shows('replaced');
  await world.browser.message('relay.retry_now', {});
  await shows('online');
}

async function work(): Promise<void> {
  const { relay, device, site } = world;
  const picture = { deliver_image: true, format: 'png' };
  const online = await relay.waitForOnline(device);
  expect((await relay.command(device, { command: 'tab_list' })).status).toBe('ok');
  await relay.command(device, { command: 'tab_open', input: { url: site.url('/page'), active: true } });
  const shot = await relay.command(device, { command: 'screenshot', input: picture });
  expect(shot.output).toHaveProperty('image_blob');
  for (const answer of ['redirect', 'wrong_sha256', 'cut'] as const) {
    relay.fault({ fault: 'blob', answer, times: 1 });
    expect((await relay.command(device, { command: 'screenshot', input: picture })).status).toBe('ok');
  }
  relay.clearFaults('blob');
  // An address that is not the relay's: it is ignored.
  relay.send(device, { type: 'relay_config', blob_upload_url: site.url('/steal') });
  expect((await relay.command(device, { command: 'screenshot', input: picture })).status).toBe('ok');
  for (const command of ['app_launch', 'tab_close', 'tab_navigate']) {
    note(
      command,
      await relay.command(device, { command, input: { tab_id: 999_999, url: 'http://127.0.0.1:9/' } }),
    );
  }
  relay.send(device, '{"type":"nonsense"');
  relay.send(device, Buffer.from([1, 2, 3]));
  expect(device.connection).toBe(online);
  await look('online after work');
}

/** The end of the token, then another one that was pasted inside the endpoint's query. */
async function beStopped(): Promise<void> {
  const { relay, device } = world;
  relay.rotate(device);
  await shows('token_stopped');
  const { endpoint, token } = device.enrollment;
  const before = device.connections.length;
  await paste(`${endpoint}?kept=1&token=${encodeURIComponent(secret(token))}`);
  await relay.waitForOnline(device, { after: before });
  await shows('online');
}

describe('wire.md §1: the token is nowhere but where it must be', () => {
  it('and the search would find it: it is in the protocol header of every handshake', () => {
    const { handshakes } = world.relay;
    expect(handshakes.length).toBeGreaterThan(8);
    for (const { headers } of handshakes) expect(holdsToken(String(headers[PROTOCOL_HEADER]))).toBe(true);
    for (const whole of secrets) {
      expect(holdsToken(`x${whole.slice(7, -7)}x`)).toBe(true);
      expect(holdsToken(Buffer.from(`Bearer ${whole}`).toString('base64'))).toBe(true);
    }
  });

  it('in no frame', () => {
    const frames = world.relay.received;
    expect(frames.length).toBeGreaterThan(20);
    expect(
      leaksAmong(
        frames,
        ({ json }) => JSON.stringify((json as { type?: string })?.type),
        ({ text, binary }) => text ?? String(binary),
      ),
    ).toEqual([]);
  });

  it('in no request to the relay beside the two headers, and in no address', () => {
    const { requests } = world.relay;
    const puts = requests.filter(({ method }) => method === 'PUT');
    expect(puts.length).toBeGreaterThan(3);
    for (const { headers } of puts) expect(holdsToken(String(headers.authorization))).toBe(true);
    const rest = ({ url, headers, upgrade, method }: LoggedRequest): string => {
      const { [PROTOCOL_HEADER]: protocol, authorization, ...others } = headers;
      return JSON.stringify([
        url,
        others,
        upgrade ? authorization : protocol,
        method === 'PUT' ? '' : authorization,
      ]);
    };
    expect(leaksAmong(requests, ({ method, url }) => `${method} ${url.length}`, rest)).toEqual([]);
    expect(requests.at(-1)?.url).toBeDefined();
    expect(world.relay.handshakes.at(-1)?.url).toMatch(/\?kept=1$/);
    expect(
      leaksAmong(
        world.relay.blobs,
        () => 'a blob',
        ({ bytes }) => bytes.toString('latin1'),
      ),
    ).toEqual([]);
  });

  it('in no request to a web site', () => {
    expect(siteRequests.length).toBeGreaterThan(0);
    expect(
      leaksAmong(
        siteRequests,
        () => 'a request',
        (request) => JSON.stringify(request),
      ),
    ).toEqual([]);
    expect(world.site.visits).not.toContain('/steal');
  });

  it('in no console, log, error, address or navigation of any context', () => {
    const of = (event: string): Testimony[] => heard.heard.filter((testimony) => testimony.event === event);
    // The witness was there: it heard the failed handshakes, the uploads and the frames.
    expect(of('Log.entryAdded').some(({ text }) => text.includes('WebSocket'))).toBe(true);
    expect(of('Network.webSocketCreated').length).toBeGreaterThan(8);
    expect(of('Network.webSocketFrameSent').length).toBeGreaterThan(20);
    expect(of('Network.requestWillBeSent').some(({ text }) => text.includes('/relay/blobs/'))).toBe(true);
    const leaking = leaksAmong(heard.heard, ({ event }) => event, withoutRightfulHeaders);
    expect([...new Set(leaking)]).toEqual([]);
  });

  it('in no state of the popup and the activity page, and in no answer of the extension', () => {
    expect(seen.length).toBeGreaterThan(30);
    expect(seen.every(({ text }) => text.length > 0)).toBe(true);
    expect(
      leaksAmong(
        seen,
        ({ what }) => what,
        ({ text }) => text,
      ),
    ).toEqual([]);
  });

  it('in no storage of the extension but storage.local', async () => {
    const local = await popup.evaluate('chrome.storage.local.get(null)');
    expect(holdsToken(JSON.stringify(local))).toBe(true);
    const areas = await popup.evaluate<Record<string, string>>(READ_STORAGES);
    expect(Object.keys(areas)).toEqual(expect.arrayContaining(['endue-ledger', 'endue-pictures']));
    expect(areas['endue-ledger']?.length).toBeGreaterThan(1_000);
    expect(
      leaksAmong(
        Object.entries(areas),
        ([name]) => name,
        ([, text]) => text,
      ),
    ).toEqual([]);
  });

  it('in nothing that a content script, even its own, can read or hear', async () => {
    for (const area of ['local', 'session']) {
      expect(
        await contentScript(`chrome.storage.${area}.get(null).then(() => 'read', () => 'refused')`),
      ).toBe('refused');
    }
    note('heard by a content script', await contentScript('JSON.stringify(heard)'));
    note('page', await tab.evaluate('document.documentElement.outerHTML + JSON.stringify(history.state)'));
    expect(
      leaksAmong(
        seen.slice(-2),
        ({ what }) => what,
        ({ text }) => text,
      ),
    ).toEqual([]);
  });

  it('when it is forgotten, not in storage.local either', async () => {
    await world.browser.message('enrollment.forget', {});
    const local = await popup.evaluate('chrome.storage.local.get(null)');
    expect(holdsToken(JSON.stringify(local))).toBe(false);
    await shows('not_enrolled');
    expect(
      leaksAmong(
        seen.slice(-5),
        ({ what }) => what,
        ({ text }) => text,
      ),
    ).toEqual([]);
  });

  it('in no file of the profile but those of storage.local', async () => {
    expect(world.relay.violations).toEqual([]);
    heard.stop();
    await world.browser.close();
    const { profile } = world.browser;
    const files = readdirSync(profile, { recursive: true, encoding: 'utf8' }).filter((name) =>
      statSync(join(profile, name), { throwIfNoEntry: false })?.isFile(),
    );
    const leaking = leaksAmong(
      files,
      (name) => name,
      (name) => readFileSync(join(profile, name), 'latin1'),
    );
    const own = join('Default', 'Local Extension Settings', EXTENSION_ID);
    // What was forgotten stays in there until the database tidies up, so the search did find something.
    expect(leaking).not.toEqual([]);
    expect(leaking.filter((name) => relative(own, name).startsWith('..'))).toEqual([]);
  });
});

/** An event without the two headers in which the token belongs. */
function withoutRightfulHeaders({ event, text }: Testimony): string {
  const params = JSON.parse(text) as {
    request?: { url?: string; headers?: Record<string, string> };
    headers?: Record<string, string>;
  };
  if (event === 'Network.webSocketWillSendHandshakeRequest') drop(params.request?.headers, PROTOCOL_HEADER);
  if (event === 'Network.requestWillBeSentExtraInfo') {
    // Handshakes and uploads; this event does not tell which address it is about.
    drop(params.headers, PROTOCOL_HEADER);
    if (params.headers?.[':path'] === undefined) drop(params.headers, 'authorization');
  }
  const isUpload = params.request?.url?.startsWith(`${world.relay.origin}/api/v1/relay/blobs/`);
  if (event === 'Network.requestWillBeSent' && isUpload) drop(params.request?.headers, 'authorization');
  // A handshake's answer repeats what was sent.
  if (event === 'Network.webSocketHandshakeResponseReceived') return '';
  return JSON.stringify(params);
}

function drop(headers: Record<string, string> | undefined, name: string): void {
  for (const key of Object.keys(headers ?? {})) {
    if (headers && key.toLowerCase() === name) delete headers[key];
  }
}

/** Evaluated in a page of the extension: every storage of its origin as text, by name. */
const READ_STORAGES = `(async () => {
  const areas = {
    'storage.session': JSON.stringify(await chrome.storage.session.get(null)),
    'storage.sync': JSON.stringify(await chrome.storage.sync.get(null)),
    sessionStorage: JSON.stringify(sessionStorage),
    localStorage: JSON.stringify(localStorage),
    cookies: document.cookie,
    caches: JSON.stringify(await caches.keys()),
    permissions: JSON.stringify(await chrome.permissions.getAll()),
    alarms: JSON.stringify(await chrome.alarms.getAll()),
  };
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const textOf = async (value) => {
    if (value instanceof Blob) return value.text();
    if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? '';
    return (await Promise.all(Object.entries(value).map(async ([key, part]) => key + (await textOf(part))))).join(' ');
  };
  for (const { name } of await indexedDB.databases()) {
    const database = await done(indexedDB.open(name));
    const texts = [name];
    for (const store of database.objectStoreNames) {
      const objects = database.transaction(store).objectStore(store);
      const [keys, values] = await Promise.all([done(objects.getAllKeys()), done(objects.getAll())]);
      texts.push(JSON.stringify(keys), await textOf(values));
    }
    database.close();
    areas[name] = texts.join(' ');
  }
  return areas;
})()`;
