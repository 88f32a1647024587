/**
 * What an action sets in motion around its page, as Chrome tells it: loads, requests, new tabs, the end of the
 * tab. It listens only while an action is under way, so that ordinary browsing never wakes the worker.
 */
import type { Browser, Tabs, WebNavigation, WebRequest } from 'webextension-polyfill';

export interface NewTab {
  tab_id: number;
  url: string;
}

export interface EffectWatch {
  readonly log: EffectLog;
  stop(): void;
}

type FrameEvent = Pick<WebNavigation.OnBeforeNavigateDetailsType, 'tabId' | 'frameId' | 'url'> & {
  documentLifecycle?: string;
};

/** The events of one tab, added up. Pure. */
export class EffectLog {
  /** The tab was closed. */
  closed = false;
  /** Another document came into the main frame. */
  navigated = false;
  /** Why the main frame's last load came to nothing, in Chrome's words (net::ERR_…), or null. */
  failed: string | null = null;
  readonly new_tabs: NewTab[] = [];
  /** Grows with everything that happens. */
  events = 0;
  private readonly loading = new Map<number, string>();
  private readonly requests = new Set<string>();

  /** The main frame is on its way to another document, or still loading it. */
  get isNavigating(): boolean {
    return this.loading.has(0);
  }

  /** Frames that load, and requests whose answer may change the page. */
  get isBusy(): boolean {
    return this.loading.size > 0 || this.requests.size > 0;
  }

  begin(frame_id: number, url: string): void {
    this.events += 1;
    this.loading.set(frame_id, url);
    if (frame_id === 0) this.failed = null;
  }

  commit(frame_id: number): void {
    this.events += 1;
    if (frame_id !== 0) return;
    this.navigated = true;
    // What the old document was still waiting for went with it.
    this.requests.clear();
    for (const id of [...this.loading.keys()]) if (id !== 0) this.loading.delete(id);
  }

  complete(frame_id: number): void {
    this.events += 1;
    this.loading.delete(frame_id);
  }

  /** A load that was given up for a newer one of the same frame is no end. */
  fail(frame_id: number, url: string, error: string): void {
    if (this.loading.get(frame_id) !== url) return;
    this.complete(frame_id);
    if (frame_id === 0) this.failed = error;
  }

  request(id: string): void {
    this.events += 1;
    this.requests.add(id);
  }

  answered(id: string): void {
    if (this.requests.delete(id)) this.events += 1;
  }

  opened(tab: NewTab): void {
    this.events += 1;
    this.new_tabs.push(tab);
  }
}

const AWAITED: WebRequest.ResourceType[] = ['xmlhttprequest', 'script', 'sub_frame'];

export function watchEffects({ webNavigation, webRequest, tabs }: Browser, tab_id: number): EffectWatch {
  const log = new EffectLog();
  const isOurs = ({ tabId, documentLifecycle }: Omit<FrameEvent, 'frameId' | 'url'>): boolean =>
    tabId === tab_id && (documentLifecycle ?? 'active') !== 'prerender';
  const onBegin = (details: FrameEvent): void => {
    if (isOurs(details)) log.begin(details.frameId, details.url);
  };
  const onCommit = (details: FrameEvent): void => {
    if (isOurs(details)) log.commit(details.frameId);
  };
  const onComplete = (details: FrameEvent): void => {
    if (isOurs(details)) log.complete(details.frameId);
  };
  const onFail = (details: FrameEvent & { error?: string }): void => {
    if (isOurs(details)) log.fail(details.frameId, details.url, details.error ?? '');
  };
  const onTarget = ({
    sourceTabId,
    tabId,
    url,
  }: WebNavigation.OnCreatedNavigationTargetDetailsType): void => {
    if (sourceTabId === tab_id) log.opened({ tab_id: tabId, url });
  };
  const onRequest = ({ requestId }: WebRequest.OnBeforeRequestDetailsType): undefined => {
    log.request(requestId);
  };
  const onAnswer = ({ requestId }: { requestId: string }): void => log.answered(requestId);
  const onRemoved = (removed: number, _info: Tabs.OnRemovedRemoveInfoType): void => {
    if (removed !== tab_id) return;
    log.closed = true;
    log.events += 1;
  };
  const filter: WebRequest.RequestFilter = { urls: ['<all_urls>'], types: AWAITED, tabId: tab_id };

  webNavigation.onBeforeNavigate.addListener(onBegin);
  webNavigation.onCommitted.addListener(onCommit);
  webNavigation.onCompleted.addListener(onComplete);
  webNavigation.onErrorOccurred.addListener(onFail);
  webNavigation.onCreatedNavigationTarget.addListener(onTarget);
  webRequest.onBeforeRequest.addListener(onRequest, filter);
  webRequest.onCompleted.addListener(onAnswer, filter);
  webRequest.onErrorOccurred.addListener(onAnswer, filter);
  tabs.onRemoved.addListener(onRemoved);
  return {
    log,
    stop() {
      webNavigation.onBeforeNavigate.removeListener(onBegin);
      webNavigation.onCommitted.removeListener(onCommit);
      webNavigation.onCompleted.removeListener(onComplete);
      webNavigation.onErrorOccurred.removeListener(onFail);
      webNavigation.onCreatedNavigationTarget.removeListener(onTarget);
      webRequest.onBeforeRequest.removeListener(onRequest);
      webRequest.onCompleted.removeListener(onAnswer);
      webRequest.onErrorOccurred.removeListener(onAnswer);
      tabs.onRemoved.removeListener(onRemoved);
    },
  };
}
