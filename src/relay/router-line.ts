/**
 * Asking the router, which may die between any two moments: a question that fails is asked again, since
 * the next message starts a new worker. Knows messages by their types only.
 */
import type { RouterMessages } from '../platform/messages';
import { askAgainDelay } from './backoff';
import { type Clock, sleep } from './clock';

/** `send` of the messaging module, for the router's messages. Rejects when nobody answered. */
export type AskRouter = <T extends keyof RouterMessages>(
  type: T,
  input: RouterMessages[T]['in'],
) => Promise<RouterMessages[T]['out']>;

export class RouterLine {
  readonly #ask: AskRouter;
  readonly #clock: Clock;

  constructor(ask: AskRouter, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** Asks once. Rejects when nobody answered. */
  once<T extends keyof RouterMessages>(
    type: T,
    input: RouterMessages[T]['in'],
  ): Promise<RouterMessages[T]['out']> {
    const ask = this.#ask;
    return ask(type, input);
  }

  /**
   * Asks until it is answered, each time with fresh `input()`; null as soon as a question failed and
   * `wanted()` says that no answer is needed any more. Never rejects.
   */
  async until<T extends keyof RouterMessages>(
    type: T,
    input: () => RouterMessages[T]['in'],
    wanted: () => boolean,
  ): Promise<RouterMessages[T]['out'] | null> {
    for (let failures = 1; wanted(); failures += 1) {
      try {
        return await this.once(type, input());
      } catch {
        await this.pause(askAgainDelay(failures));
      }
    }
    return null;
  }

  pause(ms: number): Promise<void> {
    return sleep(this.#clock, ms);
  }
}
