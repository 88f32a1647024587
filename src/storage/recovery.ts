/**
 * Start-up and leftovers: finishes or undoes what a journal says, and clears temp folders that no journal knows.
 * Needs no network.
 */
import { isNotFound } from './foreign-errors';
import { recoveryFolder, TEMP_PREFIX, tempFolder, whatToDo } from './journal';
import type { DirectoryHandle } from './ports';
import type { Session } from './session';
import { clear, undoJournal } from './transaction';
import { recoverFile } from './undo';

/** After it there is no journal: the Storage is in the old state of the job that was cut off, or in the new one. */
export async function recoverJournal(session: Session): Promise<void> {
  const journal = await session.journal();
  if (journal === null) return;
  if (whatToDo(journal) === 'undo') await undoJournal(session, journal);
  else await clear(session, journal);
}

/**
 * Temp folders without a journal: of an attaching that was cut off, or of a browser whose own records were lost. What had
 * been moved there is somebody's content and goes to a recovery folder; what had been downloaded goes.
 */
export async function clearStrays(session: Session): Promise<void> {
  const journal = await session.journal();
  const own = journal === null ? null : tempFolder(journal);
  const strays: DirectoryHandle[] = [];
  for await (const [name, handle] of session.root.entries()) {
    if (handle.kind === 'directory' && name.startsWith(TEMP_PREFIX) && name !== own) strays.push(handle);
  }
  for (const stray of strays) {
    const folder = recoveryFolder(session.now(), 'stray');
    for await (const [name, handle] of stray.entries()) {
      const downloaded = name.startsWith('new-') || name.endsWith('.crswap');
      if (handle.kind !== 'file' || downloaded) continue;
      if ((await handle.getFile()).size > 0) await recoverFile(session.root, handle, folder, name);
    }
    try {
      await session.root.removeEntry(stray.name, { recursive: true });
    } catch (thrown) {
      if (!isNotFound(thrown)) throw thrown;
    }
  }
}
