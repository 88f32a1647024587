/**
 * The life of one run of the browser, for tests: counts every operation on handles, durable state and
 * server, and can end it before or after the effect of any of them. A dead life's operations never resolve, as those of a
 * killed process; what they changed stays.
 */
export interface Operation {
  n: number;
  name: string;
  path: string;
}

export class Fate {
  private count = 0;
  private dead = false;
  private announce: () => void = () => undefined;
  readonly died: Promise<void>;
  readonly log: Operation[] = [];
  /** May throw what the API would; may also do what another program does at that moment. */
  trouble: ((operation: Operation) => void | Promise<void>) | null = null;
  /** The same after the effect: what is done, and said not to be. */
  afterthought: ((operation: Operation) => void | Promise<void>) | null = null;

  constructor(private readonly killAt: { n: number; when: 'before' | 'after' } | null = null) {
    this.died = new Promise((resolve) => {
      this.announce = resolve;
    });
  }

  get operations(): number {
    return this.count;
  }

  async operate<T>(name: string, path: string, effect: () => T | Promise<T>): Promise<T> {
    if (this.dead) return never();
    const operation = { n: ++this.count, name, path };
    this.log.push(operation);
    const killed = this.killAt?.n === operation.n ? this.killAt.when : null;
    if (killed === 'before') return this.die();
    await Promise.resolve();
    if (this.dead) return never();
    await this.trouble?.(operation);
    const result = await effect();
    await this.afterthought?.(operation);
    if (killed === 'after') return this.die();
    if (this.dead) return never();
    return result;
  }

  private die<T>(): Promise<T> {
    this.dead = true;
    this.announce();
    return never();
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}
