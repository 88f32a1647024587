/**
 * The requests that were acked and not yet answered (wire.md §5): their order, the concurrency, the
 * deadlines, what a resend or a cancel means. Pure bookkeeping: whoever owns it asks the router and sends.
 * Times are milliseconds of one clock that counts sleep.
 */
import { ANNOUNCED_CONCURRENCY } from '../protocol/limits';
import type { RequestNames } from '../protocol/request-names';

/** How long the router may take to settle a request whose deadline has passed. [ours] */
export const SETTLE_GRACE_MS = 2_000;
/** How long an answer that the router could not be told of is remembered here. [ours] */
export const UNHEARD_KEPT_MS = 300_000;

export interface ReceivedRequest {
  id: string;
  command: string | null;
  /** See `contentOf` (`request-names.ts`). */
  content: string;
  /** The sentence of `invalid_request`, or null for a well-formed request. */
  malformed: string | null;
  /** The sentence of `invalid_input`, or null. */
  invalid: string | null;
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
  readonly invalid: string | null;
  readonly received_at: number;
  readonly deadline: number;
  /** The socket by which it, or the last resend of it, came. */
  socket: number;
  stage: RequestStage;
  settle_as: 'cancelled' | 'timeout';
  /** The router is told with each asking: it may have died since it was told. */
  cancelled: boolean;
  /** False for what the ledger answers without a run: it waits for no place. */
  readonly needs_place: boolean;
}

/** A request of its own, a resend of one that is under way, or one whose id is taken by such a one. */
export type Received = { as: 'new' | 'resent'; request: QueuedRequest } | { as: 'conflict' };

export class RequestQueue {
  /** By id. A Map: ids such as `__proto__` are ids like any other. More than one only as in `receive`. */
  readonly #requests = new Map<string, QueuedRequest[]>();
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

  /**
   * Takes a request. Other content under an id that waits here is a conflict. Once the router has the id,
   * the ledger knows better: what runs may itself be the conflict with an answer from before. So both are
   * asked for, in their order.
   */
  receive(received: ReceivedRequest, now: number): Received {
    const { id, command, content, malformed, invalid, socket } = received;
    const siblings = this.#ofId(id);
    const same = siblings.find((request) => request.content === content);
    if (same) {
      same.socket = socket;
      return { as: 'resent', request: same };
    }
    if (siblings.some(({ stage }) => stage !== 'running' && stage !== 'answered')) return { as: 'conflict' };
    const request: QueuedRequest = {
      id,
      command,
      content,
      malformed,
      invalid,
      received_at: now,
      deadline: now + received.timeout_ms,
      socket,
      stage: 'queued',
      settle_as: 'timeout',
      cancelled: false,
      needs_place: malformed === null && siblings.length === 0,
    };
    this.#requests.set(id, [...siblings, request]);
    this.#waiting.push(request);
    return { as: 'new', request };
  }

  /**
   * The requests that may start now, in order; they count as running from here on. Those that need no
   * place pass the others.
   */
  start(): QueuedRequest[] {
    if (this.#held) return [];
    const started: QueuedRequest[] = [];
    const remaining: QueuedRequest[] = [];
    for (const request of this.#waiting) {
      if (request.needs_place && this.#running >= this.#concurrency) remaining.push(request);
      else {
        if (request.needs_place) this.#running += 1;
        request.stage = 'running';
        started.push(request);
      }
    }
    this.#waiting.splice(0, this.#waiting.length, ...remaining);
    return started;
  }

  /** A cancel: what is queued must be settled, what runs must be told; nothing for every other id. */
  cancel(id: string): { request: QueuedRequest; by: 'settling' | 'telling' } | null {
    const request = this.#ofId(id).find(({ stage }) => isPending(stage));
    if (!request) return null;
    request.cancelled = true;
    if (request.stage === 'running') return { request, by: 'telling' };
    this.#settle(request, 'cancelled');
    return { request, by: 'settling' };
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
      if (now >= unheardUntil(request)) this.finish(request);
    }
    return overdue;
  }

  /** When to look for expired and overdue ones next; Infinity when there are none. */
  nextDeadline(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const request of this.#all()) {
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
      this.finish(request);
      return false;
    }
    if (request.stage === 'answered') return false;
    this.#freePlace(request);
    request.stage = 'answered';
    return true;
  }

  /** The answer is on its way: the request is no longer under way here. */
  finish(request: QueuedRequest): void {
    const others = this.#ofId(request.id).filter((other) => other !== request);
    if (others.length > 0) this.#requests.set(request.id, others);
    else this.#requests.delete(request.id);
  }

  /** False once it was finished or forgotten, even if the same came again. */
  has(request: QueuedRequest): boolean {
    return this.#ofId(request.id).includes(request);
  }

  /** True while the router works for this id. */
  isRunning(id: string): boolean {
    return this.#ofId(id).some(({ stage }) => stage === 'running');
  }

  /** True while an answer to exactly this is to come. */
  isUnderWay(id: string, content: string): boolean {
    return this.#ofId(id).some((request) => request.content === content && request.stage !== 'unheard');
  }

  /** The ids that are under way here. */
  ids(): Iterable<string> {
    return this.#requests.keys();
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
    if (request.stage === 'running' && request.needs_place) this.#running -= 1;
  }

  #ofId(id: string): readonly QueuedRequest[] {
    return this.#requests.get(id) ?? [];
  }

  #all(holds: (request: QueuedRequest) => boolean = () => true): QueuedRequest[] {
    return [...this.#requests.values()].flat().filter(holds);
  }
}

/** The `RequestText` of `request.run` and `request.settle` as JSON text. */
export function requestText(
  { id, content, malformed, invalid }: QueuedRequest,
  platform: string,
  names: RequestNames,
): string {
  const sentences = `"malformed":${JSON.stringify(malformed)},"invalid":${JSON.stringify(invalid)}`;
  const named = JSON.stringify({ platform, id, ...names }).slice(1, -1);
  return `{${named},${content},${sentences}}`;
}

function isPending(stage: RequestStage): boolean {
  return stage === 'queued' || stage === 'running';
}

function unheardUntil({ deadline }: QueuedRequest): number {
  return deadline + SETTLE_GRACE_MS + UNHEARD_KEPT_MS;
}
