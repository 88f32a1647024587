/**
 * What a crash leaves half written in Chrome's own files. IndexedDB, the directories of the browser's file system and
 * `storage.local` each are a log that Chrome goes on with after a crash, also behind a record of which only the head was
 * written. Nothing is amiss then until the next start: it takes what follows for that record's content, finds a wrong
 * checksum, and deletes all databases of the extension, or drops what came behind in the same block of the log. So each
 * start ends the block, or the log, before anything else is written there.
 */
import type { Storage } from 'webextension-polyfill';

/** More than a block of the log, which has 32 KiB. */
const OVER_A_BLOCK = 64 * 1024;

const LOG_DATABASE = 'endue-log';
const PAD = 'endue-log-pad';

interface Directory {
  getDirectoryHandle(name: string, options: { create: true }): Promise<unknown>;
  removeEntry(name: string): Promise<void>;
}

/** Has Chrome begin a new log for the extension's databases: it does so when it deletes one. */
export async function beginDatabaseLog(databases: IDBFactory): Promise<void> {
  const database = await finished(databases.open(LOG_DATABASE, 1));
  database.close();
  await finished(databases.deleteDatabase(LOG_DATABASE));
}

/** Fills the block in the log of the directories: `root` is that of the browser's file system. */
export async function padDirectoryLog(root: Directory): Promise<void> {
  const long = PAD.padEnd(OVER_A_BLOCK, '-');
  await root.getDirectoryHandle(long, { create: true });
  await root.removeEntry(long);
}

/** Fills the block in the log of `storage.local`. */
export async function padStorageLog(local: Pick<Storage.StorageArea, 'set' | 'remove'>): Promise<void> {
  await local.set({ [PAD]: '-'.repeat(OVER_A_BLOCK) });
  await local.remove(PAD);
}

function finished<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
