/** A clock that stands still until a test moves it; timers run in order, each with what follows from it. */
import type { Clock } from '../../../../src/relay/clock';

interface Timer {
  at: number;
  order: number;
  run: () => void;
}

const EPOCH = 1_700_000_000_000;

export class FakeClock implements Clock {
  #monotonic = 0;
  #slept = 0;
  #order = 0;
  readonly #timers = new Set<Timer>();

  wall = (): number => EPOCH + this.#monotonic + this.#slept;
  monotonic = (): number => this.#monotonic;

  setTimer = (run: () => void, ms: number): (() => void) => {
    if (ms > 2 ** 31 - 1) throw new Error('such a timer would fire at once');
    this.#order += 1;
    const timer = { at: this.#monotonic + Math.max(0, ms), order: this.#order, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  get timers(): number {
    return this.#timers.size;
  }

  /** Milliseconds that have passed, sleep included. */
  get passed(): number {
    return this.#monotonic + this.#slept;
  }

  /** Lets time pass while the machine is awake. */
  async pass(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await settled();
    for (let next = this.#next(); next && next.at <= end; next = this.#next()) {
      this.#timers.delete(next);
      this.#monotonic = Math.max(this.#monotonic, next.at);
      next.run();
      await settled();
    }
    this.#monotonic = end;
    await settled();
  }

  /** The machine sleeps: the wall clock goes on, timers and the monotonic clock stand still. */
  sleep(ms: number): void {
    this.#slept += ms;
  }

  /** Lets time pass, as little as needed, until the condition holds; throws when it does not within `most`. */
  async until(holds: () => boolean, most = 600_000): Promise<void> {
    const end = this.#monotonic + most;
    await settled();
    while (!holds()) {
      const next = this.#next();
      if (!next || next.at > end) throw new Error('it never came to that');
      await this.pass(next.at - this.#monotonic);
    }
  }

  #next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer;
    }
    return first;
  }
}

/** All that follows without time passing has happened: promises, and the reading of a Blob. */
export async function settled(): Promise<void> {
  for (let round = 0; round < 2; round += 1) await new Promise((resolve) => setImmediate(resolve));
}
