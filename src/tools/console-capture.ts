/**
 * Listens to the consoles of the tabs that were asked for (os-interface.md, Live output), without the debugger
 * API and its bar. Chrome puts scripts into a page before the page's own only when they are registered, and
 * registers them for addresses, not for tabs: so while any tab is listened to, every new document gets them,
 * and those of other tabs are told that nobody listens, and put everything back. What they hear is taken in
 * by `console-intake.ts`, in the offscreen document.
 */
import type { Browser, Tabs } from 'webextension-polyfill';
import { CONSOLE_LATE, CONSOLE_RELAY, type RelayWorld } from '../page/console-relay-world';
import { AgentError } from '../protocol/errors';
import type { LogEvent, LogReading, ReadRules } from './console-log';
import type { ConsoleStore } from './console-store';
import type { SetTimer } from './timing';

export interface ConsoleCapture {
  /**
   * From now on the tab's console is kept; what is heard already is kept when this resolves. Throws
   * `page_restricted` where no script may run, before anything was begun.
   */
  listen(tab: Tabs.Tab & { id: number }, signal: AbortSignal): Promise<void>;
  /** Null when nothing of the tab is kept. Throws `unavailable` for a number that is not of its log. */
  read(tab_id: number, after: number | undefined, rules: ReadRules): Promise<LogReading | null>;
  /** True when something of the tab is kept, closed or not. */
  isKept(tab_id: number): Promise<boolean>;
  /**
   * `came` resolves when, from this call on, the tab's console got something new or the tab closed, and at the
   * latest after `within_ms`. Rejects with the signal. `stop` must be called.
   */
  change(tab_id: number, within_ms: number, signal: AbortSignal): { came: Promise<void>; stop(): void };
  /** Chrome gave a tab another id. */
  replaced(added: number, removed: number): Promise<void>;
  /** Removes the logs of tabs that are gone, and ends the listening nobody has asked about for an hour. */
  sweep(): Promise<void>;
}

export interface ConsoleCaptureOptions {
  browser: Browser;
  store: ConsoleStore;
  /** Epoch milliseconds. */
  now(): number;
  setTimer: SetTimer;
  /** Calls `hear` with the tab of every event that is taken in, until what it returns is called. */
  onNews(hear: (tab_id: number) => void): () => void;
}

export const RELAY_SCRIPT = 'console-relay.js';
export const HOOK_SCRIPT = 'console-hook.js';
/** A page that shows a dialog, or whose first navigation is pending, never answers. */
const PAGE_ANSWERS_MS = 1_500;
/** An event of which the news did not come is found by then. */
const LOOK_EVERY_MS = 5_000;
const UNREAD_KEPT_MS = 60 * 60 * 1000;

const SCRIPTS: chrome.scripting.RegisteredContentScript[] = [
  { id: 'console-relay', js: [RELAY_SCRIPT], world: 'ISOLATED' },
  { id: 'console-hook', js: [HOOK_SCRIPT], world: 'MAIN' },
].map((script) => ({
  ...script,
  world: script.world as chrome.scripting.ExecutionWorld,
  matches: ['<all_urls>'],
  allFrames: true,
  matchOriginAsFallback: true,
  runAt: 'document_start',
  persistAcrossSessions: false,
}));

export function createConsoleCapture({
  browser,
  store,
  now,
  setTimer,
  onNews,
}: ConsoleCaptureOptions): ConsoleCapture {
  // The polyfill does not know these two.
  const scripting = browser.scripting as unknown as typeof chrome.scripting;

  const word = (text: string): LogEvent => ({
    at: now(),
    kind: 'capture',
    level: 'info',
    text,
    url: '',
    frame_id: 0,
  });

  async function register(): Promise<void> {
    const known = new Set((await scripting.getRegisteredContentScripts()).map(({ id }) => id));
    const missing = SCRIPTS.filter(({ id }) => !known.has(id));
    // Another call may have been faster: what counts is that they are there.
    if (missing.length > 0) await scripting.registerContentScripts(missing).catch(() => undefined);
  }

  async function unregister(): Promise<void> {
    await scripting.unregisterContentScripts({ ids: SCRIPTS.map(({ id }) => id) }).catch(() => undefined);
  }

  /** Puts the scripts into the documents that are there. Rejects with Chrome's reason. */
  async function attach(tab_id: number): Promise<void> {
    const found = await scripting.executeScript({
      target: { tabId: tab_id, allFrames: true },
      injectImmediately: true,
      func: prepareDocument,
      args: [CONSOLE_RELAY, CONSOLE_LATE],
    });
    const documentIds = found.flatMap(({ documentId, result }) => (result === 'new' ? [documentId] : []));
    if (documentIds.length === 0) return;
    const target = { tabId: tab_id, documentIds };
    for (const [file, world] of [
      [RELAY_SCRIPT, 'ISOLATED'],
      [HOOK_SCRIPT, 'MAIN'],
    ] as const) {
      await scripting
        .executeScript({ target, injectImmediately: true, files: [file], world })
        .catch(() => undefined);
    }
  }

  /** Has the documents send what they have heard. */
  async function flush(tab_id: number): Promise<void> {
    await scripting.executeScript({
      target: { tabId: tab_id, allFrames: true },
      injectImmediately: true,
      func: flushDocument,
      args: [CONSOLE_RELAY],
    });
  }

  /** Waits for a page no longer than is good; rejects with the signal. */
  async function within<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const stop = setTimer(() => resolve(null), PAGE_ANSWERS_MS);
      const onAbort = (): void => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      work.then(resolve, reject).finally(() => {
        stop();
        signal.removeEventListener('abort', onAbort);
      });
    });
  }

  return {
    async listen(tab, signal) {
      const head = await store.head(tab.id);
      const hasPage = !tab.discarded && tab.status !== 'unloaded';
      if (!head?.capturing) await refuseRestricted(scripting, tab, hasPage, (work) => within(work, signal));
      await register();
      const { begun } = await store.begin(tab.id, word(head ? BEGUN_AGAIN : BEGUN));
      if (!hasPage) return;
      // Where no script may run there is nothing to hear; the next document may be another.
      const heard = (begun ? attach(tab.id) : flush(tab.id)).catch(() => undefined);
      await within(heard, signal);
    },
    read: (tab_id, after, rules) => store.read(tab_id, after, rules),
    isKept: async (tab_id) => (await store.head(tab_id)) !== null,
    change(tab_id, within_ms, signal) {
      let wake = (): void => {};
      let refuse = (_reason: unknown): void => {};
      const came = new Promise<void>((resolve, reject) => {
        wake = resolve;
        refuse = reject;
      });
      came.catch(() => undefined);
      const onAbort = (): void => refuse(signal.reason);
      const onRemoved = (removed: number): void => {
        if (removed === tab_id) wake();
      };
      const stopTimer = setTimer(() => wake(), Math.max(0, Math.min(within_ms, LOOK_EVERY_MS)));
      const stopNews = onNews((of) => {
        if (of === tab_id) wake();
      });
      browser.tabs.onRemoved.addListener(onRemoved);
      signal.addEventListener('abort', onAbort);
      return {
        came,
        stop() {
          stopTimer();
          stopNews();
          browser.tabs.onRemoved.removeListener(onRemoved);
          signal.removeEventListener('abort', onAbort);
        },
      };
    },
    async replaced(added, removed) {
      await store.move(removed, added);
    },
    async sweep() {
      const open = new Set((await browser.tabs.query({})).map(({ id }) => id));
      let capturing = 0;
      for (const head of await store.heads()) {
        const unread = head.read_at + UNREAD_KEPT_MS <= now();
        if (!open.has(head.tab_id)) {
          if (unread) await store.remove(head.tab_id);
        } else if (head.capturing && unread) await store.end(head.tab_id, word(ENDED));
        else if (head.capturing) capturing += 1;
      }
      if (capturing === 0) await unregister();
    },
  };
}

const BEGUN = 'The agent listens from here on. What the console said before is not known.';
const BEGUN_AGAIN = 'The agent listens again. What the console said in between is not known.';
const ENDED = 'Nobody asked for an hour: the agent no longer listens.';

/** Throws `page_restricted` when Chrome keeps extensions off the page that is there. */
async function refuseRestricted(
  scripting: typeof chrome.scripting,
  tab: Tabs.Tab & { id: number },
  hasPage: boolean,
  within: <T>(work: Promise<T>) => Promise<T | null>,
): Promise<void> {
  // An empty tab is about to become something else.
  if (!hasPage || !tab.url || tab.url === 'about:blank') return;
  const refused = await within(
    scripting.executeScript({ target: { tabId: tab.id }, injectImmediately: true, func: () => null }).then(
      () => false,
      (thrown: unknown) => isRefusal(thrown),
    ),
  );
  if (refused) throw new AgentError('page_restricted', 'Chrome does not let extensions listen to this page.');
}

/** Chrome's words for pages that are its own; a page that went meanwhile, or an error page, is no such thing. */
function isRefusal(thrown: unknown): boolean {
  return (
    thrown instanceof Error &&
    /cannot access|cannot be scripted|must request permission/i.test(thrown.message)
  );
}

/** Runs in the isolated world. `new`: the scripts are not there yet. */
function prepareDocument(relay_name: string, late_name: string): 'new' | 'known' {
  const world = globalThis as unknown as Record<string, unknown>;
  const relay = world[relay_name] as RelayWorld['endueConsoleRelay'];
  if (relay) {
    relay.resume();
    return 'known';
  }
  world[late_name] = true;
  return 'new';
}

/** Runs in the isolated world. */
async function flushDocument(relay_name: string): Promise<null> {
  const world = globalThis as unknown as Record<string, unknown>;
  await (world[relay_name] as RelayWorld['endueConsoleRelay'])?.flush();
  return null;
}
