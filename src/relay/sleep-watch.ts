/**
 * A clock that counts the time the machine slept and never goes back, and the moment it woke. Pure: the
 * readings are passed in, at least one every `WATCH_INTERVAL_MS`.
 */

/** How often the clocks must be read. */
export const WATCH_INTERVAL_MS = 5_000;
/** A reading this much later than it should be means that the machine slept. */
const LATE_MS = 10_000;

export interface Reading {
  /** Milliseconds since the watch began, sleep included. */
  now: number;
  /** True once after each sleep. */
  woke: boolean;
}

export class SleepWatch {
  #wall: number;
  #monotonic: number;
  #now = 0;

  constructor(wall: number, monotonic: number) {
    this.#wall = wall;
    this.#monotonic = monotonic;
  }

  /**
   * Takes a reading of both clocks. Where the monotonic clock stands still in sleep, the wall clock runs
   * ahead of it; where it runs on, the reading itself comes late. A wall clock set back counts for nothing.
   */
  read(wall: number, monotonic: number): Reading {
    const passed = Math.max(0, monotonic - this.#monotonic);
    const ahead = wall - this.#wall - passed;
    this.#wall = wall;
    this.#monotonic = monotonic;
    const stoodStill = ahead > LATE_MS;
    this.#now += stoodStill ? passed + ahead : passed;
    return { now: this.#now, woke: stoodStill || passed > WATCH_INTERVAL_MS + LATE_MS };
  }
}
