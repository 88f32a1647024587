/** A device with its engine, disks and durable state, and a server: what the engine's tests act on. */
import { AgentError, type ErrorCode } from '../../../src/protocol/errors';
import type { Progress } from '../../../src/protocol/frames';
import type { JsonObject } from '../../../src/protocol/json';
import { StorageEngine } from '../../../src/storage/engine';
import type { StoragePathInput } from '../../../src/storage/modes/mode';
import type {
  ConnectTransport,
  RootKind,
  StateChange,
  StateStore,
  Stillness,
} from '../../../src/storage/ports';
import type { StorageRecord } from '../../../src/storage/session';
import { FakeDisk } from './fake-handles';
import { Fate } from './fate';
import { MemoryServer } from './memory-server';

const START = Date.UTC(2026, 5, 1, 12);

export class Device {
  readonly disks = new Map<string, FakeDisk>();
  vault: FakeDisk;
  /** Attached anew under an id that was known before. */
  readonly fresh = new Set<string>();
  /** Attached in another way than the others. */
  readonly kinds = new Map<string, RootKind>();
  readonly data = new Map<string, unknown>();
  readonly progress: Progress[] = [];
  fate = new Fate();
  engine: StorageEngine;
  /** Of the next requests. */
  signal = new AbortController().signal;
  /** What can be proven of the disks; from the next `boot` on. */
  stillness: Stillness | null = null;
  /** Instead of the server in memory. */
  connect: ConnectTransport | null = null;
  private requests = 0;
  private seed = 1;

  constructor(
    readonly world: World,
    readonly kind: RootKind,
    options: { folds?: boolean } = {},
  ) {
    for (const id of ['s1', 's2']) this.disks.set(id, new FakeDisk({ kind, now: world.now, ...options }));
    this.vault = new FakeDisk({ now: world.now });
    this.engine = this.boot();
  }

  copyTo(other: Device): void {
    for (const [id, disk] of this.disks) other.disks.set(id, disk.clone(other.world.now));
    other.vault = this.vault.clone(other.world.now);
    for (const [key, value] of this.data) other.data.set(key, structuredClone(value));
    other.seed = this.seed;
    other.requests = this.requests;
    other.boot();
  }

  get disk(): FakeDisk {
    return this.disks.get('s1') as FakeDisk;
  }

  /** The browser starts: same disks, same durable state, a new engine with a life of its own. */
  boot(fate = new Fate()): StorageEngine {
    this.fate = fate;
    this.engine = new StorageEngine({
      clock: {
        now: this.world.now,
        sleep: async () => undefined,
      },
      random: () => {
        this.seed = (this.seed * 16807) % 2147483647;
        return this.seed / 2147483647;
      },
      state: new MemoryState(this.data, fate),
      stillness: this.stillness,
      connect: (base, token) => this.connect?.(base, token) ?? this.world.server.connect(base, token, fate),
      storages: {
        open: async (id) => {
          const disk = this.disks.get(id);
          if (!disk) throw new AgentError('storage_unknown');
          const fresh = this.fresh.has(id);
          return {
            storage_id: id,
            name: id,
            kind: this.kinds.get(id) ?? this.kind,
            root: disk.root(fate),
            fresh,
          };
        },
        list: async () => [...this.disks.keys()],
        noteForgotten: async (id) => void this.fresh.delete(id),
        vault: async () => this.vault.root(fate),
      },
    });
    return this.engine;
  }

  run(input: StoragePathInput, signal = this.signal): Promise<JsonObject> {
    const needsToken = !['unseal_path', 'link_remove'].includes(input.mode);
    return this.engine.run({
      request_id: `q${++this.requests}-${this.world.newId()}`,
      input: needsToken ? { token: 'T0KEN', ...input } : input,
      signal,
      progress: (progress) => this.progress.push(progress),
    });
  }

  save(path = '', more: Partial<StoragePathInput> = {}): Promise<JsonObject> {
    return this.run({ mode: 'save_path', storage_id: 's1', path, ...more });
  }

  sync(paths?: string[]): Promise<JsonObject> {
    return this.run({
      mode: 'path_sync',
      storage_id: 's1',
      revision: this.world.server.head('s1'),
      ...(paths ? { paths } : {}),
    });
  }

  /** What is durable of `s1` beside its index. */
  record(): Pick<StorageRecord, 'base' | 'seals' | 'links'> {
    const stored = this.data.get('storage/"s1"/record') as StorageRecord | undefined;
    return stored ?? { base: null, seals: [], links: [] };
  }

  /** Names at the root that are temporary. */
  temps(): string[] {
    return this.internal().filter((name) => name.startsWith('.endue-storage-tmp-'));
  }

  internal(): string[] {
    return [
      ...new Set(Object.keys(this.disk.tree({ internal: true })).map((path) => path.split('/')[0] as string)),
    ].filter((name) => name.startsWith('.endue-storage-'));
  }

  /** The contents in recovery folders. */
  recovered(): string[] {
    return Object.entries(this.disk.tree({ internal: true }))
      .filter(([path]) => path.startsWith('.endue-storage-recovery-'))
      .map(([, content]) => content ?? '');
  }
}

export class World {
  time = START;
  readonly now = (): number => this.time;
  server = new MemoryServer();
  readonly device: Device;
  private ids = 0;

  constructor(kind: RootKind = 'browser', options: { folds?: boolean } = {}) {
    this.server.create('s1');
    this.server.create('s2');
    this.device = new Device(this, kind, options);
  }

  /** The same state of everything, in a life of its own. */
  clone(): World {
    const copy = new World(this.device.kind);
    copy.time = this.time;
    copy.ids = this.ids;
    copy.server = this.server.clone();
    this.device.copyTo(copy.device);
    return copy;
  }

  newId(): number {
    return ++this.ids;
  }

  /** Long enough for every file time to be trusted. */
  pass(ms = 60_000): void {
    this.time += ms;
  }
}

class MemoryState implements StateStore {
  constructor(
    private readonly data: Map<string, unknown>,
    private readonly fate: Fate,
  ) {}

  get(key: string): Promise<unknown> {
    return this.fate.operate('state: get', key, () => structuredClone(this.data.get(key)));
  }

  batch(changes: readonly StateChange[], soon?: 'soon'): Promise<void> {
    const names = changes.map(({ key }) => key).join(', ');
    return this.fate.operate(soon ? 'state: batch, soon' : 'state: batch', names, () => {
      for (const change of changes) {
        if ('delete' in change) this.data.delete(change.key);
        else this.data.set(change.key, structuredClone(change.value));
      }
    });
  }

  keys(prefix: string): Promise<string[]> {
    return this.fate.operate('state: keys', prefix, () =>
      [...this.data.keys()].filter((key) => key.startsWith(prefix)),
    );
  }
}

/** The code something failed with; fails itself when it did not. */
export async function codeOf(work: Promise<unknown>): Promise<ErrorCode> {
  try {
    await work;
  } catch (thrown) {
    if (thrown instanceof AgentError) return thrown.code;
    throw thrown;
  }
  throw new Error('it should have failed');
}
