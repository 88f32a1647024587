/**
 * Copies of what is sealed in a folder, in the extension's own OPFS: with them a seal can be restored without a token or
 * a network (storage.md, Settled in detail). One folder per seal, one file per content, named by its hash.
 */
import { AgentError } from '../protocol/errors';
import { isNotFound } from './foreign-errors';
import type { DirectoryHandle, FileHandle, FileSnapshot } from './ports';
import type { Session } from './session';
import { snapshotStream, writeVerified } from './write-file';

/** Copies `files` into a new vault folder. Throws `storage_state_conflict` when one is no longer what it was. */
export async function copyToVault(
  session: Session,
  folder: string,
  files: readonly { handle: FileHandle; size: number; sha256: string }[],
  signal: AbortSignal,
): Promise<void> {
  const vault = await session.ports.storages.vault();
  const directory = await vault.getDirectoryHandle(folder, { create: true });
  const done = new Set<string>();
  for (const { handle, size, sha256 } of files) {
    if (done.has(sha256)) continue;
    const source = snapshotStream(await handle.getFile());
    const written = await writeVerified(directory, sha256, { size, sha256 }, source, signal);
    if (written === null)
      throw new AgentError('storage_state_conflict', 'The path changed while it was sealed.');
    done.add(sha256);
  }
}

/** A sealed content's copy; null when it is missing. */
export async function fromVault(
  session: Session,
  folder: string,
  sha256: string,
): Promise<FileSnapshot | null> {
  try {
    const vault: DirectoryHandle = await session.ports.storages.vault();
    const directory = await vault.getDirectoryHandle(folder);
    return await (await directory.getFileHandle(sha256)).getFile();
  } catch (thrown) {
    if (isNotFound(thrown)) return null;
    throw thrown;
  }
}

export async function dropVaultFolders(session: Session, folders: readonly string[]): Promise<void> {
  if (folders.length === 0) return;
  const vault = await session.ports.storages.vault();
  for (const folder of folders) {
    try {
      await vault.removeEntry(folder, { recursive: true });
    } catch (thrown) {
      if (!isNotFound(thrown)) throw thrown;
    }
  }
}
