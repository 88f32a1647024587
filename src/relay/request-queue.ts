/**
 * The requests that were acked and not yet answered (wire.md §5): their order, the concurrency, the
 * deadlines, what a resend or a cancel means. Pure bookkeeping: whoever owns it asks the router and sends.
 * Times are milliseconds of one clock that counts sleep.
 */
import { canonicalJson, type JsonValue } from '../protocol/json';
import { ANNOUNCED_CONCURRENCY } from '../protocol/limits';

/** How long the router may take to settle a request whose deadline has passed. [ours] */
export const SETTLE_GRACE_MS = 2_000;
/** How long an answer that the router could not be told of is remembered here. [ours] */
export const UNHEARD_KEPT_MS = 300_000;

export interface ReceivedRequest {
  id: string;
  command: string | null;
  /** See `contentOf`. */
  content: string;
  /** The sentence of `invalid_request`, or null for a well-formed request. */
  malformed: string | null;
  timeout_ms: number;
  /** The number of the socket it came by. */
  socket: number;
}

/**
 * - `queued`: waits for a free place;
 * - `running`: the router has it;
 * - `settling`: cancelled before it ran, or past its deadline: the router is told;
 * - `unheard`: was answered from here because the router did not answer even that;
 * - `answered`: there is an answer, which is being made into a frame.
 */
export type RequestStage = 'queued' | 'running' | 'settling' | 'unheard' | 'answered';

export interface QueuedRequest {
  readonly id: string;
  readonly command: string | null;
  /** See `contentOf`. */
  readonly content: string;
  readonly malformed: string | null;
  readonly received_at: number;
  readonly deadline: number;
  /** The socket by which it, or the last resend of it, came. */
  socket: number;
  stage: RequestStage;
  settle_as: 'cancelled' | 'timeout';
}

/** Same id, same content; same id, other content; or an id that is not under way here. */
export type Received =
  | { as: 'new' | 'resent'; request: QueuedRequest }
  | { as: 'conflict'; request: QueuedRequest };

export class RequestQueue {
  /** By id. A Map: ids such as `__proto__` are ids like any other. */
  readonly #requests = new Map<string, QueuedRequest>();
  readonly #waiting: QueuedRequest[] = [];
  #running = 0;
  #concurrency = ANNOUNCED_CONCURRENCY;
  #held = false;

  /** `max_concurrency` of the relay; undefined when it named none. */
  limit(maxConcurrency: number | undefined): void {
    this.#concurrency = Math.min(ANNOUNCED_CONCURRENCY, maxConcurrency ?? ANNOUNCED_CONCURRENCY);
  }

  /** While held nothing that waits is started: the person paused, or there is no enrollment. */
  hold(held: boolean): void {
    this.#held = held;
  }

  receive(received: ReceivedRequest, now: number): Received {
    const known = this.#requests.get(received.id);
    if (known) {
      if (known.content !== received.content) return { as: 'conflict', request: known };
      known.socket = received.socket;
      return { as: 'resent', request: known };
    }
    const request: QueuedRequest = {
      id: received.id,
      command: received.command,
      content: received.content,
      malformed: received.malformed,
      received_at: now,
      deadline: now + received.timeout_ms,
      socket: received.socket,
      stage: 'queued',
      settle_as: 'timeout',
    };
    this.#requests.set(request.id, request);
    this.#waiting.push(request);
    return { as: 'new', request };
  }

  /**
   * The requests that may start now, in order; they count as running from here on. A malformed one needs
   * no place: nothing runs for it.
   */
  start(): QueuedRequest[] {
    if (this.#held) return [];
    const started: QueuedRequest[] = [];
    const remaining: QueuedRequest[] = [];
    for (const request of this.#waiting) {
      if (request.malformed === null && this.#running >= this.#concurrency) remaining.push(request);
      else {
        if (request.malformed === null) this.#running += 1;
        request.stage = 'running';
        started.push(request);
      }
    }
    this.#waiting.splice(0, this.#waiting.length, ...remaining);
    return started;
  }

  /** A cancel: what is queued must be settled, what runs must be told; nothing for every other id. */
  cancel(id: string): { request: QueuedRequest; by: 'settling' | 'telling' } | null {
    const request = this.#requests.get(id);
    if (request?.stage === 'queued') {
      this.#settle(request, 'cancelled');
      return { request, by: 'settling' };
    }
    return request?.stage === 'running' ? { request, by: 'telling' } : null;
  }

  /** The requests whose deadline has passed; they must be settled as timed out. */
  expired(now: number): QueuedRequest[] {
    const expired = this.#all(({ stage, deadline }) => isPending(stage) && now >= deadline);
    for (const request of expired) this.#settle(request, 'timeout');
    return expired;
  }

  /** The requests the router did not settle in time; they must be answered without it. */
  overdue(now: number): QueuedRequest[] {
    const overdue = this.#all(
      ({ stage, deadline }) => stage === 'settling' && now >= deadline + SETTLE_GRACE_MS,
    );
    for (const request of overdue) {
      this.#freePlace(request);
      request.stage = 'unheard';
    }
    for (const request of this.#all(({ stage }) => stage === 'unheard')) {
      if (now >= unheardUntil(request)) this.#requests.delete(request.id);
    }
    return overdue;
  }

  /** When to look for expired and overdue ones next; Infinity when there are none. */
  nextDeadline(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const request of this.#requests.values()) {
      if (isPending(request.stage)) next = Math.min(next, request.deadline);
      else if (request.stage === 'settling') next = Math.min(next, request.deadline + SETTLE_GRACE_MS);
      else if (request.stage === 'unheard') next = Math.min(next, unheardUntil(request));
    }
    return next;
  }

  /** True when this is the first answer of a request under way: it is the one to send. */
  answer(request: QueuedRequest): boolean {
    if (!this.has(request)) return false;
    if (request.stage === 'unheard') {
      this.#requests.delete(request.id);
      return false;
    }
    if (request.stage === 'answered') return false;
    this.#freePlace(request);
    request.stage = 'answered';
    return true;
  }

  /** The answer is on its way: the id is no longer under way here. */
  finish(request: QueuedRequest): void {
    if (this.has(request)) this.#requests.delete(request.id);
  }

  /** False once it was finished or forgotten, even if its id came again. */
  has(request: QueuedRequest): boolean {
    return this.#requests.get(request.id) === request;
  }

  find(id: string): QueuedRequest | undefined {
    return this.#requests.get(id);
  }

  /** Forgets everything; returns those that were running. */
  clear(): QueuedRequest[] {
    const running = this.#all(({ stage }) => stage === 'running');
    this.#requests.clear();
    this.#waiting.length = 0;
    this.#running = 0;
    return running;
  }

  get counts(): { queued: number; running: number; answered: number } {
    const count = (wanted: RequestStage): number => this.#all(({ stage }) => stage === wanted).length;
    return { queued: count('queued'), running: count('running'), answered: count('answered') };
  }

  #settle(request: QueuedRequest, settleAs: 'cancelled' | 'timeout'): void {
    const place = this.#waiting.indexOf(request);
    if (place >= 0) this.#waiting.splice(place, 1);
    this.#freePlace(request);
    request.stage = 'settling';
    request.settle_as = settleAs;
  }

  #freePlace(request: QueuedRequest): void {
    if (request.stage === 'running' && request.malformed === null) this.#running -= 1;
  }

  #all(holds: (request: QueuedRequest) => boolean): QueuedRequest[] {
    return [...this.#requests.values()].filter(holds);
  }
}

/** The `RequestText` of `request.run` and `request.settle` as JSON text. */
export function requestText({ id, content, malformed }: QueuedRequest): string {
  return `{"id":${JSON.stringify(id)},${content},"malformed":${JSON.stringify(malformed)}}`;
}

/** Command and input as one text that is equal exactly when both are equal as JSON values (rule 4). */
export function contentOf(command: string | null, input: JsonValue): string {
  return `"command":${canonicalJson(command)},"input":${canonicalJson(input)}`;
}

function isPending(stage: RequestStage): boolean {
  return stage === 'queued' || stage === 'running';
}

function unheardUntil({ deadline }: QueuedRequest): number {
  return deadline + SETTLE_GRACE_MS + UNHEARD_KEPT_MS;
}
