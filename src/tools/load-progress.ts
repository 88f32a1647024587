/**
 * From the events of one tab to the end of one navigation. What Chrome was seen to do: a navigation over
 * http has a main-frame request; `status: loading` of `tabs.onUpdated` says that a document (or a fragment,
 * or a pushed state) was committed, `complete` that the tab is done after a commit. Restored pages,
 * fragments and about:blank have no request. Downloads, 204s and redirects to other programs have no commit
 * and sometimes no further event: that they are over shows only by looking at the tab. Pure.
 */
import { hasFragment, isSameDocument } from './addresses';

/** `open`: a new tab; `address`: to an address; `history`: back or forward; `reload`. */
export type LoadKind = 'open' | 'address' | 'history' | 'reload';

export interface LoadStart {
  kind: LoadKind;
  /** What the tab showed; empty for a new one. */
  from_url: string;
  /** Where it goes, if that is known. */
  to_url: string | null;
}

export type LoadEvent =
  /** A main-frame request began, or was redirected. */
  | { type: 'request'; request_id: string }
  | { type: 'response'; request_id: string; http_status: number }
  /** `error` as webRequest names it. */
  | { type: 'request_failed'; request_id: string; error: string }
  | { type: 'loading'; url: string }
  | { type: 'complete' }
  | { type: 'removed' }
  /** A look at the tab, taken every now and then after Chrome accepted the command. */
  | { type: 'look'; url: string; loading: boolean; pending_url: boolean };

export type LoadEnd =
  | { end: 'loaded'; http_status: number | null }
  | { end: 'net_error'; error: string }
  | { end: 'download' }
  | { end: 'stopped' }
  | { end: 'nothing_there' }
  | { end: 'removed' };

/** A tab that is idle for this long after a sign of the navigation has ended it. Two looks, not one. */
export const SETTLED_MS = 150;
/** The same without any sign: Chrome may be slow to begin. */
export const SILENCE_MS = 1_500;

const ABORTED = 'net::ERR_ABORTED';

interface PendingRequest {
  id: string;
  /** Null until the final response's head came. */
  http_status: number | null;
  aborted: boolean;
}

export class LoadProgress {
  /** The navigation that is under way. */
  private request: PendingRequest | null = null;
  private net_error: string | null = null;
  private committed = false;
  private http_status: number | null = null;
  private had_sign = false;
  private had_pending_url: boolean;
  private idle_since: number | null = null;

  constructor(private readonly start: LoadStart) {
    // Chrome has the pending address before it accepts the command; the first look may come after it is gone.
    this.had_pending_url = start.kind === 'address';
  }

  /** Takes one event at `at` (milliseconds, monotonic); non-null when the navigation has ended. */
  step(event: LoadEvent, at: number): LoadEnd | null {
    if (event.type === 'look') return this.look(event, at);
    this.idle_since = null;
    this.had_sign = true;
    switch (event.type) {
      case 'request':
        // The latest one counts: a page may send the tab on, a person may go elsewhere.
        if (this.request?.id !== event.request_id) {
          this.request = { id: event.request_id, http_status: null, aborted: false };
          this.net_error = null;
        }
        return null;
      case 'response':
        if (this.request?.id !== event.request_id) return null;
        this.request.http_status = event.http_status;
        return this.committed ? null : noContent(event.http_status);
      case 'request_failed':
        return this.requestFailed(event.request_id, event.error);
      case 'loading':
        return this.commit(event.url);
      case 'complete':
        return this.committed ? this.loaded() : null;
      case 'removed':
        return this.removed();
    }
  }

  private requestFailed(request_id: string, error: string): null {
    if (this.request?.id !== request_id) return null;
    // Aborted may mean superseded: what comes next, or the next look, tells.
    if (error === ABORTED) this.request.aborted = true;
    else this.net_error = error;
    return null;
  }

  private commit(url: string): LoadEnd | null {
    // Chrome's error page is there: the tab is at rest again.
    if (this.net_error !== null) return { end: 'net_error', error: this.net_error };
    const { request, start } = this;
    if (request) {
      // No document comes before its response: the old page changed its own address.
      if (request.http_status === null && !request.aborted) return null;
      this.http_status = request.http_status;
      this.request = null;
    } else if (!this.committed && isFragmentStep(start, url)) {
      return this.loaded();
    }
    this.committed = true;
    return null;
  }

  private removed(): LoadEnd {
    // Chrome closes a new tab that turns out to be a download.
    const is_download = this.start.kind === 'open' && !this.committed && this.request?.http_status != null;
    return { end: is_download ? 'download' : 'removed' };
  }

  private look(tab: { url: string; loading: boolean; pending_url: boolean }, at: number): LoadEnd | null {
    if (tab.pending_url) this.had_pending_url = true;
    // The old page may itself be loading for ever; then the pending address tells.
    const idle = !tab.loading || (!this.committed && this.had_pending_url && !tab.pending_url);
    if (!idle) {
      this.idle_since = null;
      return null;
    }
    this.idle_since ??= at;
    const enough = this.had_sign || this.had_pending_url ? SETTLED_MS : SILENCE_MS;
    return at - this.idle_since < enough ? null : this.settled(tab.url);
  }

  /** The tab is at rest, and nobody told that the navigation ended. */
  private settled(url: string): LoadEnd {
    if (this.net_error !== null) return { end: 'net_error', error: this.net_error };
    if (this.committed) return this.loaded();
    const status = this.request?.http_status ?? null;
    if (this.start.kind !== 'open' && url !== this.start.from_url) {
      return { end: 'loaded', http_status: status };
    }
    if (this.request) return { end: status === null || this.request.aborted ? 'stopped' : 'download' };
    return { end: this.start.kind === 'history' ? 'nothing_there' : 'stopped' };
  }

  private loaded(): LoadEnd {
    return { end: 'loaded', http_status: this.http_status };
  }
}

/** "No content" is an answer, not a failure: the tab rightly stays where it is. */
function noContent(http_status: number): LoadEnd | null {
  return http_status === 204 || http_status === 205 ? { end: 'loaded', http_status } : null;
}

/** True when the commit of `url` only moved within the document that was there. */
function isFragmentStep({ kind, from_url, to_url }: LoadStart, url: string): boolean {
  if (kind === 'address') return to_url !== null && hasFragment(to_url) && isSameDocument(from_url, to_url);
  return kind === 'history' && url !== from_url && isSameDocument(from_url, url);
}
