/**
 * Remembers, as long as the worker lives, of which part of which Storage the device is known to be as its index says:
 * since a save saw it whole, and nothing moved since (`Stillness`). Such a part need not be looked at again. Whoever
 * changes index or files forgets it first; what it does not know of, the proof must find.
 */
import type { Gathered } from './gather';
import { entriesWithin } from './index-entries';
import { isWithin } from './paths';
import type { AttachedStorage, Stillness, StillnessMark } from './ports';
import type { Scope } from './scope';

interface Settlement {
  /** Everything under it was seen. */
  path: string;
  leftOut: readonly string[];
  /** Of the moment before it was looked at. */
  mark: StillnessMark;
}

export class Settled {
  private readonly known = new Map<string, Settlement>();

  constructor(private readonly stillness: Stillness | null) {}

  /** To be called before the device is looked at; null where nothing can be proven. */
  async mark(storage: AttachedStorage): Promise<StillnessMark | null> {
    return (await this.stillness?.mark(storage)) ?? null;
  }

  /** The index now says what `gathered` saw after `mark`. */
  note(storage: AttachedStorage, path: string, gathered: Gathered, mark: StillnessMark | null): void {
    this.forget(storage.storage_id);
    const whole = gathered.complete && gathered.unstable.length === 0 && gathered.kind !== 'absent';
    if (mark === null || !whole) return;
    this.known.set(storage.storage_id, { path, leftOut: [...gathered.leftOut], mark });
  }

  forget(storageId: string): void {
    this.known.delete(storageId);
  }

  /** What `gather` would find at `path`, when it is proven that it would find what the index says; else null. */
  async recall(storage: AttachedStorage, scope: Scope, path: string): Promise<Gathered | null> {
    const settlement = this.known.get(storage.storage_id);
    if (!this.stillness || !settlement || !isWithin(path, settlement.path)) return null;
    const { leftOut, mark } = settlement;
    if (leftOut.some((top) => isWithin(path, top))) return null;
    const entries = entriesWithin(scope.index, path, leftOut);
    // Nothing saved: nothing, or a directory of which nothing can be saved. Only looking tells.
    if (entries.length === 0) return null;
    if (!(await this.stillness.stillSince(storage, mark))) {
      this.forget(storage.storage_id);
      return null;
    }
    const gathered: Gathered = {
      kind: 'directory',
      files: new Map(),
      emptyDirectories: new Set(),
      directories: new Set(),
      unstable: [],
      leftOut: [...leftOut],
      complete: true,
      handles: new Map(),
    };
    for (const [at, entry] of entries) {
      if (entry.type === 'directory') gathered.emptyDirectories.add(at);
      else gathered.files.set(at, entry);
      if (at === path && entry.type === 'file') gathered.kind = 'file';
    }
    return gathered;
  }
}
