/**
 * Progress of running requests, at most two frames a second and id (wire.md §4): of what comes faster only
 * the latest goes, when its turn comes. Pure; times are milliseconds of one clock.
 */
import type { Progress, ToolProgressFrame } from '../protocol/frames';
import { PROGRESS_PER_SECOND } from '../protocol/limits';

/** A little more than half a second: the network must not squeeze a third frame into one. */
export const PROGRESS_INTERVAL_MS = 1_000 / PROGRESS_PER_SECOND + 50;

interface Turn {
  next_at: number;
  latest: Progress | null;
}

export class ProgressThrottle {
  readonly #turns = new Map<string, Turn>();

  /** Takes a report; what may be sent now comes out of `due`. */
  report(id: string, progress: Progress): void {
    const turn = this.#turns.get(id);
    if (turn) turn.latest = progress;
    else this.#turns.set(id, { next_at: Number.NEGATIVE_INFINITY, latest: progress });
  }

  /** The frames whose turn it is. */
  due(now: number): ToolProgressFrame[] {
    const frames: ToolProgressFrame[] = [];
    for (const [id, turn] of this.#turns) {
      if (!turn.latest || now < turn.next_at) continue;
      frames.push({ ...turn.latest, type: 'tool_progress', id });
      this.#turns.set(id, { next_at: now + PROGRESS_INTERVAL_MS, latest: null });
    }
    return frames;
  }

  nextDeadline(): number {
    const waiting = [...this.#turns.values()].filter(({ latest }) => latest !== null);
    return Math.min(Number.POSITIVE_INFINITY, ...waiting.map(({ next_at }) => next_at));
  }

  /** The request was answered: nothing of it may follow. */
  forget(id: string): void {
    this.#turns.delete(id);
  }

  clear(): void {
    this.#turns.clear();
  }
}
