/** The clock as the relay host sees it; the entry passes the browser's, tests pass a false one. */

export interface Clock {
  /** Epoch milliseconds. Jumps when somebody sets the clock. */
  wall(): number;
  /** Milliseconds since some moment; never jumps, and on some systems stands still while the machine sleeps. */
  monotonic(): number;
  /** Calls `run` once after `ms` milliseconds, at most 2^31 - 1. The returned function calls it off. */
  setTimer(run: () => void, ms: number): () => void;
}

/** Timers longer than this are made of several: `setTimeout` fires at once beyond 2^31 - 1 ms. */
const LONGEST_TIMER_MS = 3_600_000;

/** Resolves after `ms` milliseconds, however many they are, or as soon as `signal` aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ms <= 0 || signal?.aborted) {
      resolve();
      return;
    }
    let remaining = ms;
    let callOff = (): void => {};
    const end = (): void => {
      callOff();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const next = (): void => {
      if (remaining <= 0) {
        end();
        return;
      }
      const part = Math.min(remaining, LONGEST_TIMER_MS);
      remaining -= part;
      callOff = clock.setTimer(next, Math.ceil(part));
    };
    signal?.addEventListener('abort', end);
    next();
  });
}
