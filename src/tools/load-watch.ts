/**
 * Waits for a tab's navigation to end. It listens before the navigation is asked for, so that no event is
 * lost, and only while there is something to wait for, so that ordinary browsing never wakes the worker.
 */
import type { Browser, Tabs, WebRequest } from 'webextension-polyfill';
import { AgentError } from '../protocol/errors';
import { type LoadEnd, type LoadEvent, LoadProgress, type LoadStart } from './load-progress';
import { netFailure, noPage } from './navigation-errors';
import type { SetTimer } from './timing';

export interface LoadPlan extends LoadStart {
  /** The tab that navigates; null when `navigate` makes it. */
  tab_id: number | null;
  signal: AbortSignal;
}

export interface Loaded {
  /** Another than the one that began when Chrome replaced the tab meanwhile. */
  tab_id: number;
  /** Null where Chrome tells none: about:blank, fragments, restored pages, pages served by their own worker. */
  http_status: number | null;
}

export interface LoadWatch {
  /**
   * Runs `navigate`, which gives the command to Chrome and returns the tab's id, and waits until the page is
   * loaded. `fail` ends the wait for a reason found later. Server errors are loaded pages. Rejects with
   * `navigation_failed`, `tab_not_found` (the tab was closed), what `navigate` throws, or the signal's reason.
   */
  load(plan: LoadPlan, navigate: (fail: (reason: AgentError) => void) => Promise<number>): Promise<Loaded>;
}

export interface LoadWatchOptions {
  browser: Browser;
  /** Milliseconds, monotonic. */
  now(): number;
  setTimer: SetTimer;
}

/** How often the tab is looked at while it loads. */
const LOOK_EVERY_MS = 200;

const MAIN_FRAME: WebRequest.RequestFilter = {
  urls: ['http://*/*', 'https://*/*'],
  types: ['main_frame'],
};

/** Chrome's own, unknown to the polyfill's types: pages rendered in advance have main-frame requests too. */
interface FrameDetails {
  documentLifecycle?: string;
  frameType?: string;
}

/** Hears of every tab's events; a load picks its own. */
type Hear = (tab_id: number, event: LoadEvent) => void;

export function createLoadWatch({ browser, now, setTimer }: LoadWatchOptions): LoadWatch {
  const loads = new Set<RunningLoad>();
  const hear: Hear = (tab_id, event) => {
    for (const load of [...loads]) load.hear(tab_id, event);
  };
  const events = createEvents(browser, hear, (added, removed) => {
    for (const load of loads) load.replaced(added, removed);
  });

  return {
    async load(plan, navigate) {
      plan.signal.throwIfAborted();
      const load = new RunningLoad(plan, now);
      if (loads.size === 0) events.listen();
      loads.add(load);
      const onAbort = (): void => load.fail(plan.signal.reason);
      plan.signal.addEventListener('abort', onAbort);
      let stopLooking = (): void => {};
      const look = async (): Promise<void> => {
        if (!loads.has(load) || load.tab_id === null) return;
        const tab = await browser.tabs.get(load.tab_id).catch(() => null);
        if (tab) load.hear(load.tab_id, lookAt(tab));
        if (loads.has(load)) stopLooking = setTimer(look, LOOK_EVERY_MS);
      };
      try {
        load.follow(await Promise.race([navigate((reason) => load.fail(reason)), load.failed]));
        stopLooking = setTimer(look, LOOK_EVERY_MS);
        const end = await load.ended;
        return { tab_id: load.tab_id as number, http_status: httpStatus(end) };
      } finally {
        loads.delete(load);
        if (loads.size === 0) events.stop();
        plan.signal.removeEventListener('abort', onAbort);
        stopLooking();
      }
    },
  };
}

/** The status of a load that succeeded; throws what the other ends mean. */
function httpStatus(end: LoadEnd): number | null {
  switch (end.end) {
    case 'loaded':
      return end.http_status;
    case 'net_error':
      throw netFailure(end.error);
    case 'removed':
      throw new AgentError('tab_not_found', 'The tab was closed while its page was loading.');
    default:
      throw noPage(end.end);
  }
}

function lookAt(tab: Tabs.Tab): LoadEvent {
  return {
    type: 'look',
    url: tab.url ?? '',
    loading: tab.status === 'loading',
    pending_url: Boolean(tab.pendingUrl),
  };
}

/** One load that is waited for. */
class RunningLoad {
  tab_id: number | null;
  readonly ended: Promise<LoadEnd>;
  /** Rejects when the load failed for a reason that no event told; never resolves. */
  readonly failed: Promise<never>;
  private readonly progress: LoadProgress;
  /** What happened in any tab before it was known which one is meant. */
  private unclaimed: { tab_id: number; event: LoadEvent }[] = [];
  private end: (end: LoadEnd) => void = () => {};
  fail: (reason: unknown) => void = () => {};

  constructor(
    plan: LoadPlan,
    private readonly now: () => number,
  ) {
    this.tab_id = plan.tab_id;
    this.progress = new LoadProgress(plan);
    this.failed = new Promise((_resolve, reject) => {
      this.fail = reject;
    });
    const ended = new Promise<LoadEnd>((resolve) => {
      this.end = resolve;
    });
    this.ended = Promise.race([ended, this.failed]);
    // Both are awaited only on the way that leads there.
    this.failed.catch(() => {});
    this.ended.catch(() => {});
  }

  hear(tab_id: number, event: LoadEvent): void {
    if (this.tab_id === null) {
      this.unclaimed.push({ tab_id, event });
    } else if (tab_id === this.tab_id) {
      const end = this.progress.step(event, this.now());
      if (end) this.end(end);
    }
  }

  follow(tab_id: number): void {
    if (this.tab_id !== null) return;
    this.tab_id = tab_id;
    for (const { tab_id: of, event } of this.unclaimed) this.hear(of, event);
    this.unclaimed = [];
  }

  replaced(added: number, removed: number): void {
    if (this.tab_id === removed) this.tab_id = added;
  }
}

function createEvents(
  browser: Browser,
  hear: Hear,
  replaced: (added: number, removed: number) => void,
): { listen(): void; stop(): void } {
  const isOfTab = (details: { tabId: number } & FrameDetails): boolean =>
    details.tabId >= 0 &&
    details.documentLifecycle !== 'prerender' &&
    (details.frameType ?? 'outermost_frame') === 'outermost_frame';
  const onRequest = (details: WebRequest.OnBeforeRequestDetailsType & FrameDetails): undefined => {
    if (isOfTab(details)) hear(details.tabId, { type: 'request', request_id: details.requestId });
  };
  const onResponse = (details: WebRequest.OnResponseStartedDetailsType & FrameDetails): void => {
    const { requestId: request_id, statusCode: http_status } = details;
    if (isOfTab(details)) hear(details.tabId, { type: 'response', request_id, http_status });
  };
  const onError = (details: WebRequest.OnErrorOccurredDetailsType & FrameDetails): void => {
    const { requestId: request_id, error } = details;
    if (isOfTab(details)) hear(details.tabId, { type: 'request_failed', request_id, error });
  };
  const onUpdated = (tabId: number, change: Tabs.OnUpdatedChangeInfoType, tab: Tabs.Tab): void => {
    // A discarded tab that comes back to life says "loading" too, before it navigates.
    if (change.discarded !== undefined) return;
    if (change.status === 'loading') hear(tabId, { type: 'loading', url: change.url ?? tab.url ?? '' });
    if (change.status === 'complete') hear(tabId, { type: 'complete' });
  };
  const onRemoved = (tabId: number): void => hear(tabId, { type: 'removed' });

  return {
    listen() {
      browser.webRequest.onBeforeRequest.addListener(onRequest, MAIN_FRAME);
      browser.webRequest.onResponseStarted.addListener(onResponse, MAIN_FRAME);
      browser.webRequest.onErrorOccurred.addListener(onError, MAIN_FRAME);
      browser.tabs.onUpdated.addListener(onUpdated);
      browser.tabs.onRemoved.addListener(onRemoved);
      browser.tabs.onReplaced.addListener(replaced);
    },
    stop() {
      browser.webRequest.onBeforeRequest.removeListener(onRequest);
      browser.webRequest.onResponseStarted.removeListener(onResponse);
      browser.webRequest.onErrorOccurred.removeListener(onError);
      browser.tabs.onUpdated.removeListener(onUpdated);
      browser.tabs.onRemoved.removeListener(onRemoved);
      browser.tabs.onReplaced.removeListener(replaced);
    },
  };
}
