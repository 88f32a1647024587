/** One after the other: who takes a turn waits until all that came before have ended theirs. Pure. */

export interface Turn {
  /** Resolves when all earlier turns of the same key have ended. */
  readonly come: Promise<void>;
  /** To be called in any case, also by who gave up before its turn came. */
  end(): void;
}

export class Turns<Key> {
  private readonly last = new Map<Key, Promise<void>>();

  take(key: Key): Turn {
    const come = this.last.get(key) ?? Promise.resolve();
    let end = (): void => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    const all = come.then(() => over);
    this.last.set(key, all);
    all.then(() => {
      if (this.last.get(key) === all) this.last.delete(key);
    });
    return { come, end };
  }
}
