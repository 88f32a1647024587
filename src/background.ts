/**
 * The service worker: the router, wired to the browser. Everything that Chrome may wake it for is registered
 * in this first turn. It may die between any two awaits and keeps nothing that it could not lose.
 */
import { readAgentFacts } from './platform/agent-facts';
import { ensureAlarms, onAlarm } from './platform/alarms';
import { sendBody } from './platform/answer-channel';
import { recallLostStorages, rememberLostStorages, showOnButton } from './platform/badge';
import { browser } from './platform/browser';
import { onConsoleNews } from './platform/console-news';
import { createHandshakeWatch } from './platform/handshake-watch';
import { readJobBody, removeJobBody, sweepJobBodies } from './platform/job-bodies';
import type {
  ConnectionState,
  GrantMessages,
  RouterMessages,
  ScreenFacts,
  StorageOverview,
} from './platform/messages';
import { send, serve } from './platform/messaging';
import { ensureOffscreen } from './platform/offscreen-lifetime';
import { goToTab, ownTabs, recallTabs, rememberTabs } from './platform/own-tabs';
import { openPopup } from './platform/popup';
import { hideQuestion, onQuestionNotification, showQuestion } from './platform/question-notifications';
import { reconfigureRelayHost, reviveRelayHost } from './platform/relay-host-watch';
import { padStorageLog } from './platform/torn-logs';
import { asBlob } from './protocol/content';
import { createConfirmation } from './router/confirmation';
import { createDial } from './router/dial';
import { createDispatch } from './router/dispatch';
import { followUrlRules } from './router/follow-url-rules';
import { createGrants, GRANTS_SETTLE_MS } from './router/grants';
import { createHandshakeStatus } from './router/handshake-status';
import { createLastPicture } from './router/last-picture';
import { createLedger } from './router/ledger-store';
import { createQuestionStore } from './router/question-store';
import { remembered } from './router/remembered';
import { createRouter } from './router/router';
import { createSessionEpoch } from './router/session-epoch';
import { createStorageJobs } from './router/storage-jobs';
import { followStoragePolicy } from './router/storage-policy';
import { createTakeUpdate } from './router/take-update';
import { followToolPolicy } from './router/tool-policy';
import { isLogged } from './settings/log-level';
import type { LogLevel } from './settings/managed-policy';
import { createSettings } from './settings/settings-store';
import { applyStoragePolicy, noteKept } from './storage/attachments';
import { createCaptureQueue } from './tools/capture-queue';
import { createConsoleCapture } from './tools/console-capture';
import { createConsoleStore } from './tools/console-store';
import { createLoadWatch } from './tools/load-watch';
import { createPictureStore } from './tools/picture-store';
import { questionDetails } from './tools/question-details';
import { callPage } from './tools/question-page';
import { fitWithin, reencode } from './tools/re-encode';
import { findTool, TOOLS } from './tools/registry';
import { createTextShelf } from './tools/text-shelf';
import { longTimer, type SetTimer } from './tools/timing';
import { createVisibleCapture } from './tools/visible-capture';
import { buttonFor } from './ui/button-words';
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
const ledger = createLedger({ run, now });
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
const textShelf = createTextShelf({ storage: browser.storage.session, now, newId });
const loads = createLoadWatch({ browser, now: monotonic, setTimer });
let attached: StorageOverview[] | null = null;
const storageJobs = createStorageJobs({
  send,
  bodies: { read: readJobBody, remove: removeJobBody },
  told: () => attached,
  newId,
  wait: (ms) => new Promise((resolve) => setTimer(() => resolve(), ms)),
});
const sessionEpoch = createSessionEpoch(browser.storage.session, newId);
const consoles = createConsoleCapture({
  browser,
  store: createConsoleStore({ sessionEpoch, now }),
  now,
  setTimer,
  onNews: onConsoleNews,
});
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
  policy,
  surroundings: async () => ({
    browser,
    facts: await facts(),
    urls: await urls(),
    captures,
    pictures,
    loads,
    reencode,
    setTimer,
    texts: textShelf,
    screen,
    storage: storageJobs.service,
    console: consoles,
    writeClipboard: async (text) => {
      await ensureOffscreen();
      return (await send('clipboard.write', { text: JSON.stringify(text) })).written;
    },
    osInterface: async () => (await fetch(browser.runtime.getURL('os-interface.json'))).json(),
    wait: (ms) =>
      new Promise<void>((resolve) => {
        setTimer(resolve, ms);
      }),
  }),
  newBodyKey: newId,
  sendBody,
  confirmation,
  page: async (tool, input) => {
    const { enrollment } = await settings.glance();
    return callPage(tool, input, browser, enrollment?.token ?? null);
  },
  details: async ({ name }, input) => {
    const { enrollment } = await settings.glance();
    return questionDetails(name, input, enrollment?.token ?? null);
  },
  progress: (id, progress) => {
    send('relay.progress', { id: JSON.stringify(id), progress }).catch(() => undefined);
  },
  handover: storageJobs.handover,
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
  sessionEpoch,
});

let connection: ConnectionState | null = null;

/** What the button says: what waits for the person comes first. */
async function showButton(): Promise<void> {
  const [questions, lost] = await Promise.all([confirmation.waiting(), recallLostStorages()]);
  connection ??= (await send('relay.connection', {})).connection;
  await showOnButton(buttonFor({ connection, questions: questions.length, lost, now: now(), texts }));
}

async function listStorages(): Promise<StorageOverview[]> {
  const { storages } = await send('storages.list', {});
  if (storages === null) throw new Error('the storage worker did not answer');
  return storages;
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimer(resolve, ms));
const grants = createGrants({
  listStorages,
  noteKept,
  ownTabs,
  goTo: goToTab,
  release: async () => (await send('storages.release', {})).released,
  remember: rememberTabs,
  recall: recallTabs,
  wait,
});

serve<RouterMessages>(
  createRouter({
    dispatch,
    sawScreen: (seen) => {
      screen = seen;
    },
    sawStorages: (told) => {
      attached = told;
    },
    dial,
    settings,
    listActivity: ledger.activity,
    lastPicture: createLastPicture({
      find: pictures.last,
      shrink: ({ content, mime_type, width, height }) =>
        reencode(asBlob(content, mime_type), {
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

serve<GrantMessages>({
  'grants.leave': async ({ tab, url }) => ({ leaving: await grants.leave({ id: tab, url }) }),
  async 'grants.look'() {
    // A page tells that it closes before it is closed.
    await wait(GRANTS_SETTLE_MS);
    await lookAtStorages();
    return {};
  },
});

settings.onChanged(() => {
  report('reconfigure', reconfigureRelayHost());
  report('log level', followLogLevel());
});

onQuestionNotification({
  answered: (question_id, allow) => report('answer', confirmation.answer(question_id, allow)),
  opened: () => report('popup', openPopup()),
});

followStoragePolicy({
  settings,
  apply: applyStoragePolicy,
  applied() {
    send('storages.changed', {}).catch(() => undefined);
    report('Storages', lookAtStorages());
  },
  setTimer,
});

browser.tabs.onReplaced.addListener((added, removed) =>
  report('replaced', consoles.replaced(added, removed)),
);

const takeUpdate = createTakeUpdate({
  session: browser.storage.session,
  now,
  async isBusy() {
    const { diagnostics } = await send('relay.diagnostics', {});
    return diagnostics.queued + diagnostics.running > 0;
  },
  reload: () => browser.runtime.reload(),
});
browser.runtime.onUpdateAvailable.addListener(() => report('update', takeUpdate.ready()));

onAlarm({
  watch() {
    report('update', takeUpdate.look());
    report('watch', reviveRelayHost());
    report('questions', confirmation.sweep());
    report('Storages', lookAtStorages());
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
  report('storage log', padStorageLog(browser.storage.local));
  report('start', start());
  report('sweep', sweep());
}

async function start(): Promise<void> {
  await Promise.all([ensureAlarms(), ensureOffscreen()]);
  await confirmation.sweep();
  await grants.bringBack();
  ({ connection } = await send('relay.connection', {}));
  await showButton();
  await lookAtStorages();
}

async function lookAtStorages(): Promise<void> {
  await grants.look();
  const lost = (await listStorages()).filter(({ permission }) => permission === 'lost');
  await rememberLostStorages(lost.map(({ name }) => name));
  await showButton();
}

async function followLogLevel(): Promise<void> {
  ({ log_level } = (await settings.glance()).policy);
}

async function sweep(): Promise<void> {
  await Promise.all([ledger.sweep(), pictures.sweep(), consoles.sweep(), sweepJobBodies(now())]);
}

/** Nobody waits for these; only the kind of a failure is told. */
function report(what: string, work: Promise<unknown>): void {
  work.catch((thrown) => console.error(`${what} failed:`, thrown instanceof Error ? thrown.name : ''));
}
