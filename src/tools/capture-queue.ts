/**
 * One queue of screen captures for everyone (tools.md, screenshot): Chrome allows two a second, counts
 * refused and failed ones too, and never answers for a minimized window. Knows no `chrome` and no clock.
 */
import type { Content } from '../protocol/content';
import { CAPTURES_PER_SECOND } from '../protocol/limits';
import { CaptureNotReady, CaptureQuotaExceeded, captureFailed, captureUnanswered } from './capture-errors';
import type { SetTimer } from './timing';

/** Requests that are equal in all members may share one capture. */
export interface CaptureRequest {
  window_id: number;
  format: 'jpeg' | 'png';
  /** 1–100 for jpeg, null for png. */
  quality: number | null;
}

/** The active tab of the window, as Chrome gave it at one moment. */
export interface ActiveTab {
  tab_id: number;
  url: string;
  /** When it was last made the active one; tells a tab that was left and came back. Null in old Chromes. */
  activated_at: number | null;
}

export interface Capture {
  content: Content;
  mime_type: string;
  width: number;
  height: number;
  /** Epoch milliseconds. */
  captured_at: number;
  /** The window's active tab just before and just after; null when there was none. */
  before: ActiveTab | null;
  after: ActiveTab | null;
}

/** Captures once. Rejects with `AgentError`, `CaptureQuotaExceeded` when Chrome's limit was hit, or `CaptureNotReady`. */
export type CaptureVisible = (request: CaptureRequest) => Promise<Capture>;

export interface CaptureQueue {
  /**
   * Waits for its turn and captures. Rejects with the signal's reason when that aborts first: the caller
   * leaves, others that share the capture are not disturbed. Otherwise rejects with `AgentError`.
   */
  capture(request: CaptureRequest, signal: AbortSignal): Promise<Capture>;
}

export interface CaptureQueueOptions {
  /** Milliseconds, monotonic. */
  now(): number;
  setTimer: SetTimer;
  captureVisible: CaptureVisible;
}

/** A little more than Chrome's second: it counts when the calls arrive there, which is not when they left. */
export const CAPTURE_WINDOW_MS = 1_030;
/**
 * A capture takes about 0.1 s, a png of a large screen on a busy machine was seen to take 5 s. One that takes
 * this long gets no answer.
 */
export const CAPTURE_DEADLINE_MS = 10_000;

/** How often a capture is tried anew when there was nothing to capture yet. */
export const CAPTURE_RETRIES = 2;

/** Callers that wait for the same capture. Those that were answered or left are taken out. */
interface Group {
  request: CaptureRequest;
  /** How often there was nothing to capture. */
  not_ready: number;
  callers: Set<Caller>;
}

interface Caller {
  group: Group;
  resolve(capture: Capture): void;
  reject(reason: unknown): void;
}

export function createCaptureQueue({ now, setTimer, captureVisible }: CaptureQueueOptions): CaptureQueue {
  const waiting: Group[] = [];
  /** When the captures that still count began; oldest first. */
  let begun: number[] = [];
  let held_until = Number.NEGATIVE_INFINITY;
  let stopTimer = (): void => {};

  /** When the next capture may begin; now or earlier means at once. */
  function nextSlot(): number {
    begun = begun.filter((at) => at + CAPTURE_WINDOW_MS > now());
    const oldest = begun[begun.length - CAPTURES_PER_SECOND];
    return Math.max(held_until, oldest === undefined ? now() : oldest + CAPTURE_WINDOW_MS);
  }

  function serve(): void {
    stopTimer();
    while (waiting.length > 0) {
      const wait = nextSlot() - now();
      if (wait > 0) {
        stopTimer = setTimer(serve, Math.ceil(wait));
        return;
      }
      begin(waiting.shift() as Group);
    }
  }

  /** Does not wait for earlier captures: one that Chrome never answers holds up nobody. */
  function begin(group: Group): void {
    begun.push(now());
    let over = false;
    const end = (settle: () => void): void => {
      if (over) return;
      over = true;
      stopDeadline();
      settle();
    };
    const rejectAll = (reason: unknown): void => {
      for (const caller of [...group.callers]) caller.reject(reason);
    };
    const stopDeadline = setTimer(() => end(() => rejectAll(captureUnanswered())), CAPTURE_DEADLINE_MS);
    captureVisible(group.request).then(
      (capture) =>
        end(() => {
          for (const caller of [...group.callers]) caller.resolve(capture);
        }),
      (thrown: unknown) => {
        if (thrown instanceof CaptureNotReady) {
          group.not_ready += 1;
          return end(() =>
            group.not_ready > CAPTURE_RETRIES ? rejectAll(captureFailed()) : waitAgain(group),
          );
        }
        if (!(thrown instanceof CaptureQuotaExceeded)) return end(() => rejectAll(thrown));
        // Calls of an earlier life of this worker count in Chrome: only after this long is one surely free.
        held_until = now() + CAPTURE_WINDOW_MS;
        end(() => waitAgain(group));
      },
    );
  }

  /** In front of all others, together with equal callers that came meanwhile. */
  function waitAgain(group: Group): void {
    const equal = waiting.findIndex((other) => isEqual(other.request, group.request));
    for (const caller of equal < 0 ? [] : (waiting.splice(equal, 1)[0]?.callers ?? [])) join(caller, group);
    if (group.callers.size > 0) waiting.unshift(group);
    serve();
  }

  function join(caller: Caller, group: Group): void {
    caller.group = group;
    group.callers.add(caller);
  }

  function waitingGroup(request: CaptureRequest): Group {
    const equal = waiting.find((group) => isEqual(group.request, request));
    if (equal) return equal;
    const group = { request, not_ready: 0, callers: new Set<Caller>() };
    waiting.push(group);
    return group;
  }

  return {
    async capture(request, signal) {
      signal.throwIfAborted();
      const { promise, resolve, reject } = settlement<Capture>();
      const leave = (): void => {
        caller.reject(signal.reason);
        const index = waiting.indexOf(caller.group);
        if (index >= 0 && caller.group.callers.size === 0) waiting.splice(index, 1);
      };
      const part = (): void => {
        caller.group.callers.delete(caller);
        signal.removeEventListener('abort', leave);
      };
      const caller: Caller = {
        group: waitingGroup(request),
        resolve(capture) {
          part();
          resolve(capture);
        },
        reject(reason) {
          part();
          reject(reason);
        },
      };
      join(caller, caller.group);
      signal.addEventListener('abort', leave);
      serve();
      return promise;
    },
  };
}

interface Settlement<T> {
  promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

function settlement<T>(): Settlement<T> {
  let resolve: Settlement<T>['resolve'] = () => {};
  let reject: Settlement<T>['reject'] = () => {};
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

function isEqual(one: CaptureRequest, other: CaptureRequest): boolean {
  return one.window_id === other.window_id && one.format === other.format && one.quality === other.quality;
}
