/**
 * What one job holds of one Storage: its root, its durable record, and the ports. Loads and stores the record and the
 * indexes; knows no mode.
 */
import type { StoredIndex } from './index-entries';
import type { Journal } from './journal';
import { isWithin, relativeTo } from './paths';
import type {
  AttachedStorage,
  Clock,
  DirectoryHandle,
  Random,
  Revision,
  RootKind,
  StateChange,
  StateStore,
  StorageDirectory,
} from './ports';
import type { Seal } from './seals';
import type { Settled } from './settled';

export interface LinkRecord {
  link_id: string;
  /** Its folder, relative to the Storage's root. */
  path: string;
  base: Revision | null;
  /** An earlier call got 410 for it. */
  broken: boolean;
  /** Its content was taken away while it was broken: the folder stays, empty and read-only. */
  removed: boolean;
}

/** What is durable of a Storage beside its index and journal. */
export interface StorageRecord {
  /** The marker file was written: from now on it must be there. */
  attached: boolean;
  /** Of the root it is about; null while nobody looked. */
  kind: RootKind | null;
  /** Whether the root folds case or Unicode form; null while nobody looked. */
  folds: boolean | null;
  base: Revision | null;
  /** Epoch ms of the last save. */
  saved_at: number | null;
  seals: Seal[];
  links: LinkRecord[];
}

const NEW_RECORD: StorageRecord = {
  attached: false,
  kind: null,
  folds: null,
  base: null,
  saved_at: null,
  seals: [],
  links: [],
};

export interface SessionPorts {
  storages: StorageDirectory;
  state: StateStore;
  clock: Clock;
  random: Random;
  settled: Settled;
}

export class Session {
  private constructor(
    readonly storage: AttachedStorage,
    readonly record: StorageRecord,
    readonly ports: SessionPorts,
  ) {}

  static async load(storage: AttachedStorage, ports: SessionPorts): Promise<Session> {
    return new Session(storage, await loadRecord(ports.state, storage.storage_id), ports);
  }

  get root(): DirectoryHandle {
    return this.storage.root;
  }

  get folds(): boolean {
    return this.record.folds === true;
  }

  now(): number {
    return this.ports.clock.now();
  }

  /** Index or files are about to be other than the last save left them. */
  unsettle(): void {
    this.ports.settled.forget(this.storage.storage_id);
  }

  /** A new id for temp folders and the like. */
  newId(): string {
    const part = () => Math.floor(this.ports.random() * 2 ** 32).toString(36);
    return `${this.now().toString(36)}-${part()}${part()}`;
  }

  async journal(): Promise<Journal | null> {
    return ((await this.ports.state.get(journalKey(this.storage.storage_id))) as Journal | undefined) ?? null;
  }

  writeJournal(journal: Journal | null): StateChange {
    const key = journalKey(this.storage.storage_id);
    return journal === null ? { key, delete: true } : { key, value: structuredClone(journal) };
  }

  writeRecord(record: StorageRecord = this.record): StateChange {
    return { key: recordKey(this.storage.storage_id), value: structuredClone(record) };
  }

  storageIndexKey(): string {
    return `${statePrefix(this.storage.storage_id)}index`;
  }

  linkIndexKey(linkId: string): string {
    return `${statePrefix(this.storage.storage_id)}link/${JSON.stringify(linkId)}`;
  }

  /** The change that makes the index forget the times of these device paths: their bytes decide from now on. */
  async distrust(paths: readonly string[]): Promise<StateChange[]> {
    const changes: StateChange[] = [];
    const forget = async (key: string, mount: string) => {
      const { index, ahead } = await this.loadIndex(key);
      let changed = false;
      for (const path of paths) {
        if (!isWithin(path, mount)) continue;
        const at = relativeTo(mount, path);
        const entry = index.get(at);
        if (entry?.type !== 'file') continue;
        index.set(at, { ...entry, mtime: null });
        changed = true;
      }
      if (changed) changes.push({ key, value: { index, ahead } satisfies StoredIndex });
    };
    if (paths.length === 0) return changes;
    await forget(this.storageIndexKey(), '');
    for (const link of this.record.links) await forget(this.linkIndexKey(link.link_id), link.path);
    return changes;
  }

  async loadIndex(key: string): Promise<StoredIndex> {
    const stored = (await this.ports.state.get(key)) as StoredIndex | undefined;
    return stored ?? { index: new Map(), ahead: new Map() };
  }
}

export async function loadRecord(state: StateStore, storageId: string): Promise<StorageRecord> {
  const stored = (await state.get(recordKey(storageId))) as StorageRecord | undefined;
  // What was written before a field was there lacks it.
  return structuredClone({ ...NEW_RECORD, ...stored });
}

/** Ids are opaque text, unpaired surrogates and all: as JSON they are one clean key each. */
export function statePrefix(storageId: string): string {
  return `storage/${JSON.stringify(storageId)}/`;
}

function recordKey(storageId: string): string {
  return `${statePrefix(storageId)}record`;
}

function journalKey(storageId: string): string {
  return `${statePrefix(storageId)}journal`;
}
