/** How long to wait before the next attempt (wire.md §5 rule 7). Pure: the random part is passed in. */
import { BACKOFF_FIRST_MS, BACKOFF_JITTER, BACKOFF_LARGEST_MS, REPLACED_WAIT_MS } from '../protocol/limits';

/**
 * Milliseconds to wait after failed attempt number `attempt` (0 is the first): 1 s doubling to 60 s,
 * lengthened by 0–50 %. `random` is in [0, 1).
 */
export function backoffDelay(attempt: number, random: number): number {
  const base = Math.min(BACKOFF_FIRST_MS * 2 ** attempt, BACKOFF_LARGEST_MS);
  return Math.round(base * (1 + BACKOFF_JITTER * random));
}

/** Milliseconds to wait after close 1012: more than 60 s, at most 90 s (§8). `random` is in [0, 1). */
export function replacedWait(random: number): number {
  return REPLACED_WAIT_MS + 1 + Math.floor(REPLACED_WAIT_MS * BACKOFF_JITTER * random);
}

/**
 * Milliseconds before the router is asked again after asking failed `failures` times in a row: at once the
 * first time (the next message starts a new worker), then ever longer, at most 2 s.
 */
export function askAgainDelay(failures: number): number {
  return failures <= 1 ? 0 : Math.min(100 * 2 ** (failures - 2), 2_000);
}
