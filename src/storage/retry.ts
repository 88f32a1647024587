/**
 * When a call to the storage service is tried again (storage-transport.md: 429, 5xx and network errors, with
 * backoff, `Retry-After` honoured). Decides and calculates only; waits on the clock it is given. Pure.
 */
import { AgentError } from '../protocol/errors';
import type { Clock, Random } from './ports';

/** Tries of one call, the first included. With the delays below they bridge an outage of about a minute. [ours] */
export const ATTEMPTS = 8;
const FIRST_DELAY_MS = 500;
const LARGEST_DELAY_MS = 30_000;
/** Each delay is lengthened by a random part of it, up to this, so that many devices do not come back at once. */
const JITTER = 0.5;
/** A longer `Retry-After` is read as this: no job lives longer, and timers overflow beyond 24 days. */
const LARGEST_RETRY_AFTER_MS = 24 * 3_600_000;

/** Trouble that may pass: a network error, a stall, 429 or 5xx. Never leaves the transport. */
export class PassingTrouble extends Error {
  /** What the server asked for, or null. */
  readonly retryAfterMs: number | null;

  constructor(retryAfterMs: number | null = null) {
    super('The storage service is in passing trouble.');
    this.name = 'PassingTrouble';
    this.retryAfterMs = retryAfterMs;
  }
}

/** What an aborted signal means for the job: the `AgentError` it carries, `timeout`, or `cancelled`. */
export function abortError(signal: AbortSignal): AgentError {
  const reason: unknown = signal.reason;
  if (reason instanceof AgentError) return reason;
  return new AgentError(
    reason instanceof DOMException && reason.name === 'TimeoutError' ? 'timeout' : 'cancelled',
  );
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abortError(signal);
}

/** Milliseconds to wait after the `failures`-th failure in a row (1, 2, …): never less than the server asked for. */
export function retryDelay(failures: number, retryAfterMs: number | null, random: Random): number {
  const plain = Math.min(LARGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1));
  return Math.round(Math.max(plain, retryAfterMs ?? 0) * (1 + JITTER * random()));
}

/** `Retry-After` (RFC 9110 §10.2.3) in milliseconds from `now`; null when absent or unreadable. */
export function readRetryAfter(value: string | null, now: number): number | null {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, LARGEST_RETRY_AFTER_MS);
  if (!/ GMT$/.test(text)) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.min(Math.max(at - now, 0), LARGEST_RETRY_AFTER_MS);
}

/** Counts the failures of one call in a row and waits between them. */
export class Patience {
  #failures = 0;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Something got through: the counting starts over. */
  progress(): void {
    this.#failures = 0;
  }

  /**
   * Waits after a failure. Throws `trouble` itself when it is not a `PassingTrouble`, `storage_transport_failed`
   * when it was the last attempt, `timeout` or `cancelled` when `signal` is aborted meanwhile.
   */
  async wait(trouble: unknown, signal: AbortSignal): Promise<void> {
    if (!(trouble instanceof PassingTrouble)) throw trouble;
    throwIfAborted(signal);
    this.#failures += 1;
    if (this.#failures >= ATTEMPTS) throw new AgentError('storage_transport_failed');
    try {
      await this.#clock.sleep(retryDelay(this.#failures, trouble.retryAfterMs, this.#random), signal);
    } catch (thrown) {
      throwIfAborted(signal);
      throw thrown;
    }
  }
}
