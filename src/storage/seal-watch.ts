/**
 * Notices foreign changes of sealed content in folders, where Chrome offers a `FileSystemObserver`: a record is a hint
 * to look, not a promise that one comes (chrome-facts.md). Observes only folders that hold a seal.
 */
import type { Attachment, FolderHandle } from './attachments';
import type { StorageEngine } from './engine';

export interface Observer {
  observe(handle: FolderHandle, options: { recursive: boolean }): Promise<void>;
  disconnect(): void;
}

export interface SealWatchParts {
  engine: Pick<StorageEngine, 'facts' | 'checkSeals'>;
  listStorages(): Promise<Attachment[]>;
  /** Null where Chrome has no observer. */
  createObserver: ((changed: () => void) => Observer) | null;
  /** Calls `run` once after `ms` milliseconds. */
  later(run: () => void, ms: number): void;
}

/** Programs change several files at a time. */
const SETTLE_MS = 250;

/** Looks anew at what is to be observed whenever it is called; calls while it looks are looked at after it. */
export function createSealWatch(parts: SealWatchParts): () => void {
  const observed = new Map<string, { observer: Observer; handle: FolderHandle }>();
  const hinted = new Set<string>();
  let looking = false;
  let again = false;

  function hint(storage_id: string): void {
    if (hinted.has(storage_id)) return;
    hinted.add(storage_id);
    parts.later(() => {
      hinted.delete(storage_id);
      // Without permission nothing can be put back; the next job says so.
      parts.engine.checkSeals(storage_id, new AbortController().signal).catch(() => undefined);
    }, SETTLE_MS);
  }

  async function look(): Promise<void> {
    const { createObserver, engine } = parts;
    if (!createObserver) return;
    const wanted = new Map<string, FolderHandle>();
    for (const { storage_id, backing, handle, permission } of await parts.listStorages()) {
      if (backing !== 'folder' || !handle || permission === 'lost') continue;
      if ((await engine.facts(storage_id)).sealed.length > 0) wanted.set(storage_id, handle);
    }
    for (const [storage_id, { observer, handle }] of observed) {
      const still = wanted.get(storage_id);
      if (still && (await still.isSameEntry(handle))) continue;
      observer.disconnect();
      observed.delete(storage_id);
    }
    for (const [storage_id, handle] of wanted) {
      if (observed.has(storage_id)) continue;
      const observer = createObserver(() => hint(storage_id));
      await observer.observe(handle, { recursive: true });
      observed.set(storage_id, { observer, handle });
      // What changed before it was observed.
      hint(storage_id);
    }
  }

  return function lookAgain(): void {
    if (looking) {
      again = true;
      return;
    }
    looking = true;
    look()
      .catch(() => undefined)
      .finally(() => {
        looking = false;
        if (again) {
          again = false;
          lookAgain();
        }
      });
  };
}
