/** One at a time per key, in arrival order; different keys side by side. Pure. */
import { cancellation, stopIfAborted } from './foreign-errors';

export class Queues {
  private readonly tails = new Map<string, Promise<unknown>>();

  /** `signal`: aborted while `work` waits for its turn, it fails at once with what the signal says, and never begins. */
  run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.tails.get(key) ?? Promise.resolve();
    let leave = (): void => undefined;
    const left = new Promise<never>((_, reject) => {
      if (!signal) return;
      leave = () => reject(cancellation(signal));
      signal.addEventListener('abort', leave, { once: true });
      if (signal.aborted) leave();
    });
    const result = before.then(() => {
      signal?.removeEventListener('abort', leave);
      if (signal) stopIfAborted(signal);
      return work();
    });
    const tail = result.catch(() => undefined);
    this.tails.set(key, tail);
    void tail.then(() => {
      if (this.tails.get(key) === tail) this.tails.delete(key);
    });
    return Promise.race([result, left]);
  }
}
