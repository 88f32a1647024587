/**
 * Proves that nothing moved under a root since a moment, where that can be proven at all: in the browser's own file system,
 * whose every writer is this extension and whose changes the browser itself tells of in their order. Before it says
 * so it makes a change of its own and waits to hear of it: what was changed before that has been told of too. In a
 * folder records are a hint only, some never come (chrome-facts.md), and nothing is proven. (A sync access handle may write
 * untold: nothing in this extension uses one.)
 */
import { TEMP_PREFIX } from './journal';
import type { AttachedStorage, DirectoryHandle, Stillness } from './ports';

/** The part of a `FileSystemChangeRecord` that is used. */
export interface ChangeRecord {
  readonly type: string;
  readonly relativePathComponents: readonly string[];
}

export interface RootObserver {
  observe(root: DirectoryHandle, options: { recursive: boolean }): Promise<void>;
  disconnect(): void;
}

export interface RootWatchParts {
  /** Null where Chrome has no observer. */
  createObserver: ((heard: (records: readonly ChangeRecord[]) => void) => RootObserver) | null;
  /** Calls `run` once after `ms` milliseconds. */
  later(run: () => void, ms: number): void;
  /** A name that no other call gives. */
  newId(): string;
}

/** The browser's own changes are told of within milliseconds; whoever waits longer had better look. [ours] */
const LONGEST_WAIT_MS = 1_000;
/** A leftover is cleared like any temp folder of a job that was cut off. */
const FENCE_PREFIX = `${TEMP_PREFIX}still-`;

interface Watch {
  root: DirectoryHandle;
  observer: RootObserver;
  /** Of which the observer told, other than the fences. */
  changes: number;
  lost: boolean;
  /** Called when the fence of this name is told of. */
  fences: Map<string, () => void>;
}

export function createRootWatch({ createObserver, later, newId }: RootWatchParts): Stillness {
  const watches = new Map<string, Watch>();

  async function watchOf({ storage_id, kind, root }: AttachedStorage): Promise<Watch | null> {
    if (kind !== 'browser' || createObserver === null) return null;
    const known = watches.get(storage_id);
    if (known && !known.lost && (await known.root.isSameEntry(root))) return known;
    known?.observer.disconnect();
    watches.delete(storage_id);
    const fences: Watch['fences'] = new Map();
    const observer = createObserver((records) => {
      for (const record of records) hear(watch, record);
    });
    const watch: Watch = { root, observer, changes: 0, lost: false, fences };
    await observer.observe(root, { recursive: true });
    watches.set(storage_id, watch);
    return watch;
  }

  /** Resolves with false when its record does not come in time. */
  async function fence(watch: Watch): Promise<boolean> {
    const name = `${FENCE_PREFIX}${newId()}`;
    const heard = new Promise<boolean>((resolve) => {
      watch.fences.set(name, () => resolve(true));
      later(() => resolve(false), LONGEST_WAIT_MS);
    });
    await watch.root.getDirectoryHandle(name, { create: true });
    try {
      return await heard;
    } finally {
      watch.fences.delete(name);
      await watch.root.removeEntry(name);
    }
  }

  return {
    async mark(storage) {
      const watch = await watchOf(storage).catch(() => null);
      return watch && { watch, changes: watch.changes };
    },
    async stillSince(storage, mark) {
      const isStill = () => !watch.lost && watch.changes === mark.changes;
      const watch = mark.watch as Watch;
      if (watches.get(storage.storage_id) !== watch || !isStill()) return false;
      try {
        return (await watch.root.isSameEntry(storage.root)) && (await fence(watch)) && isStill();
      } catch {
        return false;
      }
    },
  };
}

function hear(watch: Watch, { type, relativePathComponents }: ChangeRecord): void {
  const [name = '', ...deeper] = relativePathComponents;
  const isFence = name.startsWith(FENCE_PREFIX) && deeper.length === 0;
  if (isFence && type === 'appeared') watch.fences.get(name)?.();
  else if (isFence && type === 'disappeared') return;
  else {
    // `unknown` and `errored` among them: whatever else is told makes everything doubtful.
    watch.changes += 1;
    if (type === 'errored') watch.lost = true;
  }
}
