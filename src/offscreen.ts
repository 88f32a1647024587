/** The offscreen document: the relay host, wired to the browser. Only `chrome.runtime` exists here. */
import { readBody, receiveBodies } from './platform/answer-bodies';
import { browser } from './platform/browser';
import { copyText } from './platform/clipboard';
import { serveConsoles } from './platform/console-feed';
import { tellConsoleNews } from './platform/console-news';
import { CONNECTION_PORT, type RelayMessages } from './platform/messages';
import { isFromOwnContext, send, serve } from './platform/messaging';
import { DEFAULT_MAX_INLINE_BYTES } from './protocol/limits';
import { base64, prepareBase64, sha256 } from './relay/browser-bytes';
import type { Clock } from './relay/clock';
import { decodeInBrowser, shrinkPicture } from './relay/picture-shrink';
import { RelayHost } from './relay/relay-host';
import { createBrowserSocket } from './relay/socket';
import { createConsoleIntake } from './tools/console-intake';
import { createConsoleStore } from './tools/console-store';

const clock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(run, ms) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

const host = new RelayHost({
  createSocket: createBrowserSocket,
  router: send,
  readBody,
  shrink: (blob, maxBytes) => shrinkPicture(blob, maxBytes, decodeInBrowser),
  clock,
  random: Math.random,
  fetch: (input, init) => fetch(input, init),
  sha256,
  base64,
  network: navigator.onLine,
  screen: () => ({ width: screen.width, height: screen.height, scale: devicePixelRatio }),
});

receiveBodies((blob) => {
  // What is larger is uploaded as it is.
  if (blob.size <= DEFAULT_MAX_INLINE_BYTES) prepareBase64(blob);
});
serve<RelayMessages>({
  'relay.reconfigure': async () => {
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
    tellNews: tellConsoleNews,
  }),
  clock,
);

addEventListener('online', () => host.networkChanged(true));
addEventListener('offline', () => host.networkChanged(false));

host.start();
