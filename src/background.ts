/**
 * The service worker: the router, wired to the browser. Everything that Chrome may wake it for is registered
 * in this first turn. It may die between any two awaits and keeps nothing that it could not lose.
 */
import validators from 'virtual:tool-validators';
import { readAgentFacts } from './platform/agent-facts';
import { ensureAlarms, onAlarm } from './platform/alarms';
import { bodyKeys, putBody, removeBodies } from './platform/answer-bodies';
import { showOnButton } from './platform/badge';
import { browser } from './platform/browser';
import { createHandshakeWatch } from './platform/handshake-watch';
import type { ConnectionState, RouterMessages, ScreenFacts } from './platform/messages';
import { send, serve } from './platform/messaging';
import { ensureOffscreen } from './platform/offscreen-lifetime';
import { reconfigureRelayHost, reviveRelayHost } from './platform/relay-host-watch';
import { bodyKey } from './router/body-key';
import { createDial } from './router/dial';
import { createDispatch } from './router/dispatch';
import { createHandshakeStatus } from './router/handshake-status';
import { createLastPicture } from './router/last-picture';
import { createLedger } from './router/ledger-store';
import { remembered } from './router/remembered';
import { createRouter } from './router/router';
import { createSessionEpoch } from './router/session-epoch';
import { followToolPolicy } from './router/tool-policy';
import { createSettings } from './settings/settings-store';
import { createCaptureQueue } from './tools/capture-queue';
import { createLoadWatch } from './tools/load-watch';
import { createPictureStore } from './tools/picture-store';
import { fitWithin, reencode } from './tools/re-encode';
import { findTool, TOOLS } from './tools/registry';
import { createTextShelf } from './tools/text-shelf';
import type { SetTimer } from './tools/timing';
import { createVisibleCapture } from './tools/visible-capture';
import { badgeFor, connectionAnnouncement } from './ui/connection-sentence';
import { createTexts } from './ui/i18n';

/** This instance of the worker: what another one began and did not end was cut off. */
const run = crypto.randomUUID();
const newId = () => crypto.randomUUID();
const now = () => Date.now();
const monotonic = () => performance.now();
const setTimer: SetTimer = (callback, delay_ms) => {
  const timer = setTimeout(callback, delay_ms);
  return () => clearTimeout(timer);
};

/** Twice the width of the popup: sharp on a fine screen. */
const SHOWN_PICTURE = { max_width: 720, max_height: 720 };

// First: opening its database takes longest, and every request waits for it.
const ledger = createLedger({ run, now, bodies: { bodyKeys, removeBodies } });
const settings = createSettings({ browser });
const policy = followToolPolicy(settings, TOOLS);
const facts = remembered(readAgentFacts);
const handshakes = createHandshakeStatus(setTimer);
const handshakeWatch = createHandshakeWatch(handshakes.take);
const pictures = createPictureStore({ now, newId, setTimer });
const captures = createCaptureQueue({
  now: monotonic,
  setTimer,
  captureVisible: createVisibleCapture(browser, now),
});
const texts = createTextShelf({ storage: browser.storage.session, now, newId });
const loads = createLoadWatch({ browser, now: monotonic, setTimer });
let screen: ScreenFacts | null = null;

const dispatch = createDispatch({
  ledger,
  findTool,
  validators,
  policy,
  surroundings: async () => ({
    browser,
    facts: await facts(),
    captures,
    pictures,
    loads,
    reencode,
    setTimer,
    urls: { mayEnter: () => true },
    texts,
    screen,
  }),
  bodies: { newKey: () => bodyKey(now(), newId()), putBody, removeBodies },
  progress: (id, progress) => {
    send('relay.progress', { id: JSON.stringify(id), progress }).catch(() => undefined);
  },
  isAlive: () =>
    browser.runtime.getPlatformInfo().then(
      () => true,
      () => false,
    ),
  now,
  setTimer,
  log: (line) => console.error(line),
});

const dial = createDial({
  settings,
  handshakes,
  watch: handshakeWatch.follow,
  facts,
  policy,
  tools: TOOLS,
  sessionEpoch: createSessionEpoch(browser.storage.session, newId),
});

const { t, locale } = createTexts(browser.i18n);

/** Without the seconds of a wait, which nobody would count down here. */
function show(connection: ConnectionState): Promise<void> {
  const { text, needs_person } = badgeFor(connection);
  const tooltip = connectionAnnouncement(connection, now(), t, locale);
  return showOnButton({ text, urgent: needs_person, tooltip });
}

serve<RouterMessages>(
  createRouter({
    dispatch,
    sawScreen: (seen) => {
      screen = seen;
    },
    dial,
    settings,
    listActivity: ledger.activity,
    lastPicture: createLastPicture({
      find: pictures.last,
      shrink: ({ blob, width, height }) =>
        reencode(blob, {
          mime_type: 'image/jpeg',
          quality: 80,
          ...fitWithin({ width, height }, SHOWN_PICTURE),
        }),
    }),
    clearPictures: pictures.clear,
    showConnection: show,
    ensureOffscreen,
    version: browser.runtime.getManifest().version,
  }),
);

settings.onChanged(() => report('reconfigure', reconfigureRelayHost()));

onAlarm({
  watch: () => report('watch', reviveRelayHost()),
  sweep: () => report('sweep', sweep()),
});
browser.runtime.onInstalled.addListener(begin);
browser.runtime.onStartup.addListener(begin);

// They take a moment, and whatever the worker was woken for is likely to need them.
facts().catch(() => undefined);
policy().catch(() => undefined);

/** Behind whatever the worker was woken for: that came from a relay host that is there. */
const START_DELAY_MS = 1_000;
setTimer(() => report('start', start()), START_DELAY_MS);

function begin(): void {
  report('start', start());
  report('sweep', sweep());
}

async function start(): Promise<void> {
  await Promise.all([ensureAlarms(), ensureOffscreen()]);
  const { connection } = await send('relay.connection', {});
  await show(connection);
}

async function sweep(): Promise<void> {
  await Promise.all([ledger.sweep(), pictures.sweep()]);
}

/** Nobody waits for these; only the kind of a failure is told. */
function report(what: string, work: Promise<void>): void {
  work.catch((thrown) => console.error(`${what} failed:`, thrown instanceof Error ? thrown.name : ''));
}
