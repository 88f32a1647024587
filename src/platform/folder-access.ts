/**
 * Chrome's folder picker, dropped folders and questions about permission; only in a page, after a click. The types of the
 * DOM lack them.
 */
import type { FolderHandle } from '../storage/attachments';

interface AskableHandle extends FolderHandle {
  requestPermission(descriptor: { mode: 'read' | 'readwrite' }): Promise<PermissionState>;
  /** Null when `other` does not lie in this folder. */
  resolve(other: FolderHandle): Promise<string[] | null>;
}

interface FolderPicker {
  showDirectoryPicker(options: { mode: 'read' | 'readwrite'; id: string }): Promise<AskableHandle>;
}

export type FolderChoice = FolderHandle | 'cancelled' | 'not_a_folder' | 'not_allowed';

/**
 * The folder a person picks. For reading: asking for more at once would make the plain question the first one, and Chrome
 * would not offer “on every visit” later (chrome-facts.md).
 */
export async function pickFolder(): Promise<FolderChoice> {
  try {
    return await (window as unknown as FolderPicker).showDirectoryPicker({ mode: 'read', id: 'storages' });
  } catch (thrown) {
    return nameOf(thrown) === 'AbortError' ? 'cancelled' : 'not_allowed';
  }
}

/** The folder that was dropped. To be called before the drop event ends. */
export async function droppedFolder(items: DataTransferItemList): Promise<FolderChoice> {
  const item = items[0] as
    | (DataTransferItem & { getAsFileSystemHandle(): Promise<{ kind: string } | null> })
    | undefined;
  if (item?.kind !== 'file') return 'not_a_folder';
  try {
    const handle = await item.getAsFileSystemHandle();
    return handle?.kind === 'directory' ? (handle as unknown as FolderHandle) : 'not_a_folder';
  } catch {
    return 'not_allowed';
  }
}

/** Lets Chrome ask, where it has to. False when it was not allowed, or nobody clicked before. */
export async function askForFolder(handle: FolderHandle): Promise<boolean> {
  try {
    return (await (handle as AskableHandle).requestPermission({ mode: 'readwrite' })) === 'granted';
  } catch {
    return false;
  }
}

/** Whether the folder is still where it was; Chrome's permission does not tell. */
export async function isFolderThere(handle: FolderHandle): Promise<boolean> {
  try {
    await handle.entries()[Symbol.asyncIterator]().next();
    return true;
  } catch (thrown) {
    return nameOf(thrown) !== 'NotFoundError';
  }
}

/** True when both are the same folder, or one lies in the other. */
export async function doFoldersOverlap(one: FolderHandle, other: FolderHandle): Promise<boolean> {
  const found = await Promise.all([
    (one as AskableHandle).resolve(other).catch(() => null),
    (other as AskableHandle).resolve(one).catch(() => null),
  ]);
  return found.some((path) => path !== null);
}

function nameOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.name : '';
}
