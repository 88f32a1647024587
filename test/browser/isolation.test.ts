/**
 * Nobody else commands the extension (design.md): a web page, a content script (its own too) or another
 * extension gets no answer and changes nothing; web pages can load none of its files; its pages run under its
 * own policy, which refuses code from text.
 */
import { readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONNECTION_PORT, type MessageMap } from '../../src/platform/messages';
import { EXTENSION_DIRECTORY, EXTENSION_ID, EXTENSION_ORIGIN } from './harness/agent-browser';
import type { CdpSession } from './harness/cdp';
import { type Evaluate, isolatedWorld } from './harness/isolated-world';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

const STRANGER_DIRECTORY = fileURLToPath(new URL('fixtures/stranger', import.meta.url));
const PAGES = ['src/ui/popup/popup.html', 'src/ui/activity/activity.html', 'src/ui/settings/settings.html'];

let world: World;
let page: CdpSession;
/** A question that nobody answers: forged answers must not count. */
let waiting: string;

beforeAll(async () => {
  world = await createWorld({ browser: { extension: `${EXTENSION_DIRECTORY},${STRANGER_DIRECTORY}` } });
  await world.browser.message('permissions.set', { name: 'tab_close', permission: 'ask' });
  world.relay.startCommand(world.device, {
    command: 'tab_close',
    input: { tab_id: 987_654 },
    timeout_ms: 3_600_000,
  });
  waiting = await until('a question waits', async () => {
    const { questions } = await world.browser.message('overview.get', {});
    return questions[0]?.question_id;
  });
  page = await world.browser.openPage(world.site.url('/welcome'));
  await until('the page is loaded', () => page.evaluate<boolean>(`document.readyState === 'complete'`));
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

/** Every message there is, each in a form that would show if it were obeyed. */
function messages(): { [T in keyof MessageMap]: MessageMap[T]['in'] } {
  const { endpoint } = world.device.enrollment;
  const run = {
    platform: new URL(endpoint).origin,
    id: 'stolen',
    command: 'tab_open',
    input: { url: world.site.url('/stolen') },
    malformed: null,
    invalid: null,
    key: 'stolen',
    input_hash: 'stolen',
  };
  const request = JSON.stringify(run);
  return {
    'dial.prepare': {},
    'dial.handshake_status': {},
    'dial.token_stopped': { enrollment_id: `${'0'.repeat(16)}.${'0'.repeat(64)}` },
    'request.run': {
      request,
      remaining_ms: 5_000,
      screen: { width: 1, height: 1, scale: 1 },
      storages: null,
    },
    'request.settle': { request: JSON.stringify({ ...run, id: 'settled' }), code: 'cancelled' },
    'request.cancel': { id: '"stolen"' },
    'connection.changed': { connection: { state: 'paused' } },
    'overview.get': {},
    'enrollment.save': { text: JSON.stringify({ endpoint, token: 'stranger' }) },
    'enrollment.forget': {},
    'pause.set': { paused: true },
    'activity.list': {},
    'urls.lists': {},
    'question.answer': { question_id: waiting, allow: true },
    'permissions.get': {},
    'permissions.set': { name: 'interact', permission: 'deny' },
    'offscreen.ensure': {},
    'relay.reconfigure': {},
    'relay.retry_now': {},
    'relay.connection': {},
    'relay.progress': { id: '"stolen"', progress: { completed: 1, total: null, unit: 'steps' } },
    'relay.diagnostics': {},
    'storages.list': {},
    'storages.changed': {},
    'storages.release': {},
    'storages.host': {},
    'storages.job': {
      host: null,
      platform: 'ws://stolen.test',
      key: 'stolen',
      job: JSON.stringify({ request_id: 'stolen', tool: 'file_list', input: { path: '' } }),
      begin: true,
      remaining_ms: 5_000,
    },
    'storages.cancel': { request_id: '"stolen"', code: 'cancelled' },
    'grants.leave': { tab: 1, url: 'about:blank' },
    'grants.look': {},
    'clipboard.write': { text: '"stolen"' },
  };
}

/** Everything that a message that was obeyed would have changed. */
async function state(): Promise<unknown> {
  const own = await world.browser.extensionPage(PAGES[1]);
  const { activity, ...overview } = await world.browser.message('overview.get', {});
  try {
    return {
      stored: await own.evaluate('chrome.storage.local.get(null)'),
      session: await own.evaluate('chrome.storage.session.get(null)'),
      badge: await own.evaluate('chrome.action.getBadgeText({})'),
      overview,
      // What waits takes longer and longer.
      activity: activity.map(({ duration_ms: _duration, ...entry }) => entry),
      connection: await world.browser.connectionState(),
      dials: world.relay.handshakes.length,
      connections: world.device.connections.length,
      frames: world.relay.received.filter(({ text }) => text !== '{"type":"ping"}').length,
      stolen: world.site.visits.includes('/stolen'),
      offscreen_documents: (await world.browser.offscreenTargets()).length,
    };
  } finally {
    await own.close();
  }
}

interface Tried {
  answers: unknown[];
  heard: unknown[];
}

/**
 * Sends every message and opens the connection's port, to the extension `to` or (null) to whoever listens in
 * the sender's own, and gives what came back.
 */
function attempt(evaluate: Evaluate, to: string | null): Promise<Tried> {
  const envelopes = Object.entries(messages()).map(([type, input]) => ({ type, input }));
  return evaluate<Tried>(`(async () => {
    const to = ${JSON.stringify(to)};
    const answers = [], heard = [];
    const port = to ? chrome.runtime.connect(to, { name: '${CONNECTION_PORT}' })
                    : chrome.runtime.connect({ name: '${CONNECTION_PORT}' });
    port.onMessage.addListener((message) => heard.push(message));
    port.onDisconnect.addListener(() => void chrome.runtime.lastError);
    for (const envelope of ${JSON.stringify(envelopes)}) {
      try {
        const answer = to ? await chrome.runtime.sendMessage(to, envelope) : await chrome.runtime.sendMessage(envelope);
        if (answer !== undefined && answer !== null) answers.push({ [envelope.type]: answer });
      } catch {}
    }
    port.disconnect();
    return { answers, heard };
  })()`);
}

async function isIgnored(evaluate: Evaluate, to: string | null): Promise<void> {
  const before = await state();
  expect(await attempt(evaluate, to)).toEqual({ answers: [], heard: [] });
  expect(await state()).toEqual(before);
  const alive = await world.relay.command(world.device, { command: 'workspace_info' });
  expect(alive.status).toBe('ok');
  expect(world.relay.violations).toEqual([]);
}

describe('design.md: nothing listens to others', () => {
  it('an own page is answered: what the others try does work', async () => {
    const own = await world.browser.extensionPage(PAGES[1]);
    const { heard } = await own.evaluate<Tried>(`new Promise((resolve) => {
      const port = chrome.runtime.connect({ name: '${CONNECTION_PORT}' });
      port.onMessage.addListener((message) => message && resolve({ answers: [], heard: [message] }));
    })`);
    expect(heard).toEqual([expect.objectContaining({ state: 'online' })]);
    expect(
      await own.evaluate(`chrome.runtime.sendMessage({ type: 'relay.diagnostics', input: {} })`),
    ).toMatchObject({ ok: true });
    await own.close();
  });

  it('another extension is ignored', async () => {
    const target = await until('the stranger runs', async () =>
      (await world.browser.targets()).find(
        ({ type, url }) => type === 'service_worker' && url.endsWith('/worker.js'),
      ),
    );
    const stranger = await world.browser.connection.attach(target.targetId);
    await isIgnored((expression) => stranger.evaluate(expression), EXTENSION_ID);
    await stranger.detach();
  });

  it('a content script of another extension is ignored', async () => {
    const target = await until('the stranger runs', async () =>
      (await world.browser.targets()).find(
        ({ type, url }) => type === 'service_worker' && url.endsWith('/worker.js'),
      ),
    );
    const inPage = await isolatedWorld(page, target.url.replace('/worker.js', ''));
    await isIgnored(inPage, EXTENSION_ID);
  });

  it('a content script of its own is ignored, and reads no storage', async () => {
    const worker = await world.browser.serviceWorker();
    await worker.evaluate(`chrome.tabs.query({ url: ${JSON.stringify(world.site.url('/welcome').replace(/:\d+/, ''))} })
      .then(([tab]) => chrome.scripting.executeScript({ target: { tabId: tab.id }, func: () => undefined }))`);
    await worker.detach();
    const inPage = await isolatedWorld(page, EXTENSION_ORIGIN);
    expect(await inPage('chrome.runtime.id')).toBe(EXTENSION_ID);
    await isIgnored(inPage, null);
    for (const area of ['local', 'session']) {
      const read = inPage(
        `chrome.storage.${area}.get(null).then((all) => Object.keys(all), () => 'refused')`,
      );
      expect(await read, area).toBe('refused');
    }
  });

  it('a web page is ignored', async () => {
    const before = await state();
    expect(await page.evaluate('typeof globalThis.chrome?.runtime?.sendMessage')).toBe('undefined');
    const envelopes = Object.entries(messages()).map(([type, input]) => ({ type, input }));
    const heard = await page.evaluate(`(async () => {
      const heard = [];
      const channel = new BroadcastChannel('${CONNECTION_PORT}');
      channel.onmessage = ({ data }) => heard.push(data);
      const own = new MessageChannel();
      own.port1.onmessage = ({ data }) => heard.push(data);
      for (const envelope of ${JSON.stringify(envelopes)}) {
        window.postMessage(envelope, '*');
        channel.postMessage(envelope);
        document.dispatchEvent(new CustomEvent(envelope.type, { detail: envelope }));
      }
      window.postMessage(${JSON.stringify(envelopes[0])}, '*', [own.port2]);
      return heard;
    })()`);
    expect(heard).toEqual([]);
    expect(await state()).toEqual(before);
  });
});

describe('design.md: web pages load nothing of the extension', () => {
  const files = readdirSync(EXTENSION_DIRECTORY, { recursive: true, encoding: 'utf8' })
    .map((name) => join(EXTENSION_DIRECTORY, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => `${EXTENSION_ORIGIN}/${relative(EXTENSION_DIRECTORY, path)}`);

  it('neither by fetch nor as a script, a picture or a style', async () => {
    expect(files.length).toBeGreaterThan(10);
    const loaded = await page.evaluate<string[]>(`(async () => {
      const loads = (element, attribute, url) => new Promise((resolve) => {
        element.onload = () => resolve(true);
        element.onerror = () => resolve(false);
        element[attribute] = url;
        if (element.tagName === 'LINK') element.rel = 'stylesheet';
        document.head.append(element);
      });
      const loaded = [];
      for (const url of ${JSON.stringify(files)}) {
        const ways = await Promise.all([
          fetch(url).then(() => true, () => false),
          fetch(url, { mode: 'no-cors' }).then(() => true, () => false),
          loads(document.createElement('script'), 'src', url),
          loads(new Image(), 'src', url),
          loads(document.createElement('link'), 'href', url),
        ]);
        if (ways.includes(true)) loaded.push(url);
      }
      return loaded;
    })()`);
    expect(loaded).toEqual([]);
  });

  it('nor in a frame or a window', async () => {
    const urls = files.filter((url) => url.endsWith('.html'));
    expect(urls).toContain(`${EXTENSION_ORIGIN}/src/offscreen.html`);
    const before = (await world.browser.targets()).map(({ targetId }) => targetId);
    await page.evaluate(`Promise.all(${JSON.stringify(urls)}.map((url) => new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.onload = resolve;
      frame.src = url;
      document.body.append(frame);
    })))`);
    // One gesture opens one window.
    for (const url of urls) await page.evaluate(`void window.open(${JSON.stringify(url)})`);
    const frames = await page.evaluate<boolean[]>(
      `[...document.querySelectorAll('iframe')].map(({ contentDocument }) => contentDocument === null)`,
    );
    expect(frames).toHaveLength(urls.length);
    const opened = (await world.browser.targets()).filter(
      ({ targetId, type }) => !before.includes(targetId) && ['page', 'iframe'].includes(type),
    );
    expect(opened.length).toBeGreaterThanOrEqual(urls.length);
    for (const { targetId } of opened) {
      const session = await world.browser.connection.attach(targetId);
      expect(await session.evaluate('location.protocol')).not.toBe('chrome-extension:');
      expect(await session.evaluate('typeof globalThis.chrome?.runtime?.id')).toBe('undefined');
      if (opened.some((other) => other.targetId === targetId && other.type === 'page')) await session.close();
    }
    const { frameTree } = (await page.send('Page.getFrameTree')) as {
      frameTree: { childFrames?: { frame: { url: string } }[] };
    };
    for (const { frame } of frameTree.childFrames ?? []) expect(frame.url).not.toMatch(/^chrome-extension:/);
    expect(await world.browser.offscreenTargets()).toHaveLength(1);
    expect(world.relay.connections).toHaveLength(1);
  });
});

describe('manifest: the content security policy', () => {
  /** What the page's console says about its policy. */
  async function watched(session: CdpSession): Promise<string[]> {
    const complaints: string[] = [];
    session.connection.on('Log.entryAdded', ({ entry }, sessionId) => {
      const { source, text } = entry as { source: string; text: string };
      if (
        sessionId === session.sessionId &&
        (source === 'security' || /content security policy/i.test(text))
      ) {
        complaints.push(text);
      }
    });
    // Tells what was logged before, too.
    await session.send('Log.enable');
    return complaints;
  }

  const evalInTurn = `new Promise((resolve) => setTimeout(() => {
    try { resolve(String((0, eval)('1 + 1'))); } catch (thrown) { resolve(thrown.name); }
  }))`;

  it.each([...PAGES, 'src/offscreen.html'])(
    '%s runs under it without breaking it, and eval is refused',
    async (path) => {
      const isOffscreen = path === 'src/offscreen.html';
      const session = isOffscreen ? await world.browser.offscreen() : await world.browser.extensionPage(path);
      const complaints = await watched(session);
      if (!isOffscreen) {
        await until('the page shows something', () =>
          session.evaluate<boolean>(`document.body.innerText.trim().length > 0`),
        );
      }
      expect(complaints).toEqual([]);
      expect(await session.evaluate(evalInTurn)).toBe('EvalError');
      await session.evaluate(`{
      const inline = document.createElement('script');
      inline.textContent = 'globalThis.ran = true';
      document.body.append(inline);
    }`);
      expect(await session.evaluate('globalThis.ran === true')).toBe(false);
      await until('the policy complains', () => complaints.length > 0);
      await (isOffscreen ? session.detach() : session.close());
    },
  );

  it('eval is refused in the service worker', async () => {
    const worker = await world.browser.serviceWorker();
    expect(await worker.evaluate(evalInTurn)).toBe('EvalError');
    await worker.detach();
  });

  it('made nothing break a rule of the wire', () => {
    expect(world.relay.violations).toEqual([]);
  });
});
