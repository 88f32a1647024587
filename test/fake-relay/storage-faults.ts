/** What the storage service does wrong on purpose, where, and how often. */

export type StorageRoute =
  | 'link'
  | 'tree'
  | 'changes'
  | 'missing'
  | 'put'
  | 'upload_offset'
  | 'upload_part'
  | 'blob'
  | 'commit';

export type StorageFault =
  /** Answers this status instead of doing anything; the body is the contract's error unless `body` is given. */
  | { do: 'status'; status: number; error_code?: string; headers?: Record<string, string>; body?: string }
  /** An HTML page with 200, as a captive portal sends it. */
  | { do: 'html' }
  /** 307 to `/elsewhere` on this server; a request that follows it is a violation. */
  | { do: 'redirect' }
  /** Takes the request and never answers. */
  | { do: 'hang' }
  /** Breaks the connection before anything is done. */
  | { do: 'drop' }
  /** Does everything, then breaks the connection instead of answering. */
  | { do: 'lose_answer' }
  /** Does nothing until `until` resolves, then all. */
  | { do: 'wait'; until: Promise<void> }
  /** Answers this much later. */
  | { do: 'slow'; delay_ms: number }
  /** Takes so many bytes of the part into the upload, then breaks the connection. */
  | { do: 'cut_upload'; after: number }
  /** Announces the whole body, sends so many bytes of it, then breaks the connection. */
  | { do: 'cut_body'; after: number }
  /** So many bytes of the body, then nothing more, the connection open. */
  | { do: 'stall_body'; after: number }
  /** Properly ends a body of so many bytes less, its length unannounced. */
  | { do: 'short_body'; by: number }
  /** Turns one bit of the byte at `at`. */
  | { do: 'flip_bit'; at: number }
  /** Answers a `Range` with the whole. */
  | { do: 'ignore_range' }
  /** Sends these bytes as the blob. */
  | { do: 'other_bytes'; bytes: Uint8Array }
  /** Sends what `change` makes of the JSON answer: wrong sizes, hostile names, wrong types, wrong cursors. */
  | { do: 'rewrite'; change: (body: Record<string, unknown>) => unknown };

export interface StorageFaultScope {
  /** Without it every route. */
  route?: StorageRoute;
  /** Only the base of this Storage or link id. */
  id?: string;
  /** Lets so many requests pass first. */
  skip?: number;
  /** How often it strikes; always until cleared when absent. */
  times?: number;
}

type Active = StorageFault & StorageFaultScope;

export class StorageFaults {
  #active: Active[] = [];

  add(fault: StorageFault & StorageFaultScope): void {
    this.#active.push({ ...fault });
  }

  get active(): readonly (StorageFault & StorageFaultScope)[] {
    return this.#active;
  }

  clear(): void {
    this.#active = [];
  }

  /** The oldest fault that fits, used once by this call; or undefined. */
  take(route: StorageRoute, id: string): StorageFault | undefined {
    for (const fault of this.#active) {
      if ((fault.route ?? route) !== route || (fault.id ?? id) !== id) continue;
      if ((fault.skip ?? 0) > 0) {
        fault.skip = (fault.skip ?? 0) - 1;
        continue;
      }
      if (fault.times !== undefined) {
        fault.times -= 1;
        if (fault.times <= 0) this.#active = this.#active.filter((other) => other !== fault);
      }
      return fault;
    }
    return undefined;
  }
}

const ROUTES: ReadonlySet<unknown> = new Set<StorageRoute>([
  'link',
  'tree',
  'changes',
  'missing',
  'put',
  'upload_offset',
  'upload_part',
  'blob',
  'commit',
]);

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const isAbsent = (value: unknown): boolean => value === undefined;

/** Those that can be said in JSON, and what each must have. */
const IN_JSON: Record<string, (fault: Record<string, unknown>) => boolean> = {
  status: ({ status }) => Number.isInteger(status) && (status as number) >= 300 && (status as number) <= 599,
  html: () => true,
  redirect: () => true,
  hang: () => true,
  drop: () => true,
  lose_answer: () => true,
  slow: ({ delay_ms }) => isCount(delay_ms),
  cut_upload: ({ after }) => isCount(after),
  cut_body: ({ after }) => isCount(after),
  stall_body: ({ after }) => isCount(after),
  short_body: ({ by }) => isCount(by),
  flip_bit: ({ at }) => isCount(at),
  ignore_range: () => true,
};

/** Reads a fault from JSON; null when it is none. `wait`, `rewrite` and `other_bytes` are for tests only. */
export function readStorageFault(value: Record<string, unknown>): (StorageFault & StorageFaultScope) | null {
  const { fault: _fault, ...read } = value;
  const { do: what, route, id, skip, times } = read;
  const isScope =
    (isAbsent(route) || ROUTES.has(route)) &&
    (isAbsent(id) || typeof id === 'string') &&
    (isAbsent(skip) || isCount(skip)) &&
    (isAbsent(times) || (isCount(times) && times !== 0));
  const isComplete = typeof what === 'string' && Object.hasOwn(IN_JSON, what) && IN_JSON[what]?.(read);
  return isScope && isComplete ? (read as unknown as StorageFault & StorageFaultScope) : null;
}
