/** The offscreen document: relay host and storage host, wired to the browser. Only `chrome.runtime` exists here. */
import validators, { input_fields, os_actions } from 'virtual:tool-validators';
import { receiveBodies } from './platform/answer-channel';
import { browser } from './platform/browser';
import { copyText } from './platform/clipboard';
import { serveConsoles } from './platform/console-feed';
import { tellConsoleNews } from './platform/console-news';
import { CONNECTION_PORT, type RelayMessages, type StorageMessages } from './platform/messages';
import { isFromOwnContext, send, serve } from './platform/messaging';
import { beginDatabaseLog } from './platform/torn-logs';
import { contentSize } from './protocol/content';
import { DEFAULT_MAX_INLINE_BYTES } from './protocol/limits';
import { requestNames } from './protocol/request-names';
import { base64, prepareBase64, sha256 } from './relay/browser-bytes';
import type { Clock } from './relay/clock';
import { decodeInBrowser, shrinkPicture } from './relay/picture-shrink';
import { RelayHost } from './relay/relay-host';
import { createBrowserSocket } from './relay/socket';
import { StorageHost, type WorkerLine } from './relay/storage-host';
import { readAnswerBody } from './router/ledger-database';
import { remembered } from './router/remembered';
import { urlRules } from './settings/url-rules';
import type { FromWorker } from './storage/worker-messages';
import { createConsoleIntake } from './tools/console-intake';
import { createConsoleStore } from './tools/console-store';
import { inputComplaints } from './tools/input-complaint';

const clock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(run, ms) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

const storages: StorageHost = new StorageHost({
  id: crypto.randomUUID(),
  spawn: spawnStorageWorker,
  endpoint: (platform) => host.endpointOf(platform),
  progress: (id, progress) => host.progress(id, progress),
  clock,
});

const received = receiveBodies((content) => {
  // What is larger is uploaded as it is.
  if (contentSize(content) <= DEFAULT_MAX_INLINE_BYTES) prepareBase64(content);
});

const host: RelayHost = new RelayHost({
  createSocket: createBrowserSocket,
  router: send,
  readBody: async (key, field) => {
    const body = received.take(key) ?? (await readAnswerBody(key));
    return body && Object.hasOwn(body, field) ? body[field] : undefined;
  },
  shrink: (blob, maxBytes) => shrinkPicture(blob, maxBytes, decodeInBrowser),
  clock,
  random: Math.random,
  fetch: (input, init) => fetch(input, init),
  sha256,
  base64,
  network: navigator.onLine,
  screen: () => ({ width: screen.width, height: screen.height, scale: devicePixelRatio }),
  storages,
  // Here and not in the service worker: that would load all of them at each of its many starts.
  names: requestNames,
  complain: inputComplaints(validators, os_actions, input_fields),
});

function spawnStorageWorker(heard: (message: FromWorker) => void, failed: () => void): WorkerLine {
  const worker = new Worker(new URL('./storage-worker.ts', import.meta.url), { type: 'module' });
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => heard(data);
  // What a job throws is its answer: an error that comes here was expected by nobody, and may have cost a job its end.
  worker.onerror = failed;
  worker.onmessageerror = failed;
  return { post: (message) => worker.postMessage(message), end: () => worker.terminate() };
}

const askUrlRules = async () => urlRules(await send('urls.lists', {}), location.origin);
let knownUrlRules = remembered(askUrlRules);

serve<RelayMessages>({
  'relay.reconfigure': async () => {
    knownUrlRules = remembered(askUrlRules);
    host.reconfigure();
    return {};
  },
  'relay.retry_now': async () => {
    host.retryNow();
    return {};
  },
  'relay.connection': async () => ({ connection: await host.connection() }),
  'relay.progress': async ({ id, progress }) => {
    host.progress(JSON.parse(id) as string, progress);
    return {};
  },
  'clipboard.write': async ({ text }) => ({ written: copyText(JSON.parse(text) as string) }),
  'relay.diagnostics': async () => ({ diagnostics: host.diagnostics() }),
});

serve<StorageMessages>({
  'storages.list': async () => ({ storages: await storages.list() }),
  'storages.changed': async () => {
    storages.changed();
    return {};
  },
  'storages.release': async () => ({ released: storages.release() }),
  'storages.host': async () => ({ host: storages.id }),
  'storages.job': (message) => storages.run(message),
  'storages.cancel': async ({ request_id, code }) => {
    storages.cancel(JSON.parse(request_id) as string, code);
    return {};
  },
});

browser.runtime.onConnect.addListener((port) => {
  if (port.name !== CONNECTION_PORT || !port.sender || !isFromOwnContext(port.sender)) return;
  // First of all that somebody is here: the state may take seconds to be known.
  port.postMessage(null);
  const stop = host.onConnection((connection) => port.postMessage(connection));
  port.onDisconnect.addListener(stop);
});

serveConsoles(
  createConsoleIntake({
    // A page is listened to only when the service worker has begun a log in this run of the browser.
    store: createConsoleStore({ sessionEpoch: null, now: clock.wall }),
    urls: () => knownUrlRules(),
    tellNews: tellConsoleNews,
  }),
  clock,
);

addEventListener('online', () => host.networkChanged(true));
addEventListener('offline', () => host.networkChanged(false));

// This document is made once in a run of the browser.
beginDatabaseLog(indexedDB).catch(() => undefined);
host.start();
storages.start();
