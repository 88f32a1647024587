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
import { openPopup } from './platform/popup';
import { hideQuestion, onQuestionNotification, showQuestion } from './platform/question-notifications';
import { reconfigureRelayHost, reviveRelayHost } from './platform/relay-host-watch';
import { bodyKey } from './router/body-key';
import { createConfirmation } from './router/confirmation';
import { createDial } from './router/dial';
import { createDispatch } from './router/dispatch';
import { followUrlRules } from './router/follow-url-rules';
import { createHandshakeStatus } from './router/handshake-status';
import { createLastPicture } from './router/last-picture';
import { createLedger } from './router/ledger-store';
import { createQuestionStore } from './router/question-store';
import { remembered } from './router/remembered';
import { createRouter } from './router/router';
import { createSessionEpoch } from './router/session-epoch';
import { followToolPolicy } from './router/tool-policy';
import { isLogged } from './settings/log-level';
import type { LogLevel } from './settings/managed-policy';
import { createSettings } from './settings/settings-store';
import { createCaptureQueue } from './tools/capture-queue';
import { createLoadWatch } from './tools/load-watch';
import { createPictureStore } from './tools/picture-store';
import { callPage } from './tools/question-page';
import { fitWithin, reencode } from './tools/re-encode';
import { findTool, TOOLS } from './tools/registry';
import { longTimer, type SetTimer } from './tools/timing';
import { createVisibleCapture } from './tools/visible-capture';
import { buttonFor } from './ui/button-state';
import { createTexts } from './ui/i18n';
import { questionNotification } from './ui/question-words';

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
const urls = followUrlRules(settings, new URL(browser.runtime.getURL('')).origin);
const facts = remembered(readAgentFacts);
const handshakes = createHandshakeStatus(setTimer);
const handshakeWatch = createHandshakeWatch(handshakes.take);
const pictures = createPictureStore({ now, newId, setTimer });
const captures = createCaptureQueue({
  now: monotonic,
  setTimer,
  captureVisible: createVisibleCapture(browser, now),
});
const loads = createLoadWatch({ browser, now: monotonic, setTimer });
let screen: ScreenFacts | null = null;
let log_level: LogLevel = 'info';

const texts = createTexts(browser.i18n);
const confirmation = createConfirmation({
  store: createQuestionStore(browser.storage.session),
  show: (question) => showQuestion(questionNotification(question, now(), texts)),
  hide: hideQuestion,
  changed: () => report('button', showButton()),
  newId,
  now,
  setTimer: longTimer(setTimer),
});

const dispatch = createDispatch({
  ledger,
  findTool,
  validators,
  policy,
  surroundings: async () => ({
    browser,
    facts: await facts(),
    urls: await urls(),
    captures,
    pictures,
    loads,
    reencode,
    screen,
  }),
  confirmation,
  page: async (tool, input) => {
    const { enrollment } = await settings.glance();
    return callPage(tool, input, browser, enrollment?.token ?? null);
  },
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
  debug: (line) => {
    if (isLogged('debug', log_level)) console.debug(line);
  },
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

let connection: ConnectionState | null = null;

/** What the button says: what waits for the person comes first. */
async function showButton(): Promise<void> {
  const { length } = await confirmation.waiting();
  connection ??= (await send('relay.connection', {})).connection;
  await showOnButton(buttonFor(connection, length, now(), texts));
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
    showConnection: (state) => {
      connection = state;
      return showButton();
    },
    confirmation,
    tools: TOOLS,
    ensureOffscreen,
    version: browser.runtime.getManifest().version,
  }),
);

settings.onChanged(() => {
  report('reconfigure', reconfigureRelayHost());
  report('log level', followLogLevel());
});

onQuestionNotification({
  answered: (question_id, allow) => report('answer', confirmation.answer(question_id, allow)),
  opened: () => report('popup', openPopup()),
});

onAlarm({
  watch: () => {
    report('watch', reviveRelayHost());
    report('questions', confirmation.sweep());
  },
  sweep: () => report('sweep', sweep()),
});
browser.runtime.onInstalled.addListener(begin);
browser.runtime.onStartup.addListener(begin);

// They take a moment, and whatever the worker was woken for is likely to need them.
facts().catch(() => undefined);
policy().catch(() => undefined);
urls().catch(() => undefined);
report('log level', followLogLevel());

/** Behind whatever the worker was woken for: that came from a relay host that is there. */
const START_DELAY_MS = 1_000;
setTimer(() => report('start', start()), START_DELAY_MS);

function begin(): void {
  report('start', start());
  report('sweep', sweep());
}

async function start(): Promise<void> {
  await Promise.all([ensureAlarms(), ensureOffscreen()]);
  await confirmation.sweep();
  ({ connection } = await send('relay.connection', {}));
  await showButton();
}

async function followLogLevel(): Promise<void> {
  ({ log_level } = (await settings.glance()).policy);
}

async function sweep(): Promise<void> {
  await Promise.all([ledger.sweep(), pictures.sweep()]);
}

/** Nobody waits for these; only the kind of a failure is told. */
function report(what: string, work: Promise<unknown>): void {
  work.catch((thrown) => console.error(`${what} failed:`, thrown instanceof Error ? thrown.name : ''));
}
