/**
 * When a new version of the extension takes over. Chrome holds it ready until nothing of the extension runs,
 * which never comes while the offscreen document holds the connection: so the extension reloads itself, at a
 * moment in which no request is at work. Knows the clock, the storage and the reload it is given.
 */
import type { Storage } from 'webextension-polyfill';

const KEY = 'update_ready_since';
/** Always busy at the moments it was looked at: then what is cut off ends as a crash would end it. */
export const UPDATE_PATIENCE_MS = 30 * 60_000;

export interface TakeUpdate {
  /** Chrome has a new version ready. */
  ready(): Promise<void>;
  /** Takes it when one is ready and the moment is right. */
  look(): Promise<void>;
}

export interface TakeUpdateOptions {
  /** Survives the worker, and goes with the reload. */
  session: Pick<Storage.StorageArea, 'get' | 'set'>;
  now(): number;
  /** Whether requests are queued or at work. */
  isBusy(): Promise<boolean>;
  reload(): void;
}

export function createTakeUpdate({ session, now, isBusy, reload }: TakeUpdateOptions): TakeUpdate {
  async function look(): Promise<void> {
    const { [KEY]: since } = await session.get(KEY);
    if (typeof since !== 'number') return;
    if (now() - since < UPDATE_PATIENCE_MS && (await isBusy())) return;
    reload();
  }

  return {
    async ready() {
      const { [KEY]: since } = await session.get(KEY);
      if (typeof since !== 'number') await session.set({ [KEY]: now() });
      await look();
    },
    look,
  };
}
