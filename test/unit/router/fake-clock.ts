/** A clock and its timers that stand still until told to advance. */
export class FakeClock {
  time: number;
  private readonly waiting = new Map<number, { at: number; run: () => void }>();
  private last = 0;

  constructor(start = 1_800_000_000_000) {
    this.time = start;
  }

  readonly now = (): number => this.time;

  readonly setTimer = (run: () => void, delay_ms: number): (() => void) => {
    this.last += 1;
    const timer = this.last;
    this.waiting.set(timer, { at: this.time + delay_ms, run });
    return () => this.waiting.delete(timer);
  };

  get pending(): number {
    return this.waiting.size;
  }

  /** Moves on and runs what is due, in order. */
  advance(by_ms: number): void {
    const until = this.time + by_ms;
    for (;;) {
      const due = [...this.waiting].filter(([, { at }]) => at <= until).sort((a, b) => a[1].at - b[1].at)[0];
      if (!due) break;
      const [timer, { at, run }] = due;
      this.waiting.delete(timer);
      this.time = Math.max(this.time, at);
      run();
    }
    this.time = until;
  }
}

/** Lets everything that is ready run: promises, hashes, and fake-indexeddb's own turns. */
export async function settleDown(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    await crypto.subtle.digest('SHA-256', new Uint8Array());
    await new Promise((resolve) => setImmediate(resolve));
  }
}
