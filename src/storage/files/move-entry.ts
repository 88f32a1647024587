/**
 * `file_move`. A file moves in one step. Directories cannot be renamed through this API: their files are copied and
 * verified, then the old ones are taken away and the new ones published by the journal, all or nothing.
 */
import { AgentError } from '../../protocol/errors';
import { DeviceView } from '../device-view';
import { emptyPlan } from '../journal';
import { isWithin, join, nameOf, quote, relativeTo, segments } from '../paths';
import type { Session } from '../session';
import type { Transaction } from '../transaction';
import { snapshotStream, writeVerified } from '../write-file';
import { exists, notFound, requireComplete, requireCreatable, requireGone, requireRemovable } from './checks';
import { hashesOf, type Standing, standing } from './file-state';
import type { FileWork } from './file-tools';
import { place } from './write-entry';

export const moveEntry: FileWork<{ path: string; to: string; overwrite?: boolean }> = async (
  { path, to, overwrite = false },
  { session, transaction, signal },
) => {
  requireRemovable(session, path);
  await requireCreatable(session, to, new Set([path]));
  if (to === path) return { output: { path: to } };
  if (isWithin(to, path)) {
    throw new AgentError('invalid_input', `input.to lies inside of ${quote(path)}, which is to be moved.`);
  }
  const found = await standing(session, path, signal);
  if (!found) throw notFound(path);
  const there = await new DeviceView(session.root, session.folds).look(to);
  if (there.kind === 'absent' && there.blocker !== null) throw exists(there.blocker);
  const replaces = there.kind === 'file' && overwrite && found.kind === 'file';
  if (there.kind !== 'absent' && !replaces) throw exists(to);
  if (isWithin(path, to)) throw exists(to);
  if (found.kind === 'file') await moveFile(session, found, path, to);
  else await moveDirectory({ session, transaction, signal }, found, path, to);
  return { output: { path: to } };
};

async function moveFile(session: Session, { files }: Standing, path: string, to: string): Promise<void> {
  const handle = files[0]?.handle;
  if (!handle) throw notFound(path);
  // It keeps its time: what the index knows of the new place must not be believed for it.
  const distrust = await session.distrust([to]);
  if (distrust.length > 0) await session.ports.state.batch(distrust);
  await place(session, to, (parent) => handle.move(parent, nameOf(to)));
}

async function moveDirectory(
  { session, transaction, signal }: { session: Session; transaction: Transaction; signal: AbortSignal },
  found: Standing,
  path: string,
  to: string,
): Promise<void> {
  requireComplete(found, path);
  const newPlace = (at: string) => join(to, relativeTo(path, at));
  for (const { path: at } of found.files) await requireCreatable(session, newPlace(at));
  const hashes = await hashesOf(session, found.files, signal);
  const temp = await transaction.tempFolder();
  const plan = emptyPlan();
  for (const { path: at, file } of found.files) {
    const expected = { size: file.size, sha256: hashes.get(at) as string };
    const copy = transaction.newName('new');
    if ((await writeVerified(temp, copy, expected, snapshotStream(file), signal)) === null) {
      throw new AgentError('storage_state_conflict', `${quote(at)} changed while it was moved.`);
    }
    plan.displaced.push({ path: at, temp: transaction.newName('old'), ...expected });
    plan.placed.push({ path: newPlace(at), temp: copy, ...expected });
  }
  plan.emptied = [path, ...found.directories].sort((a, b) => segments(b).length - segments(a).length);
  plan.made = [to, ...found.directories.map(newPlace)].sort(
    (a, b) => segments(a).length - segments(b).length,
  );
  await transaction.publish(plan, signal);
  await requireGone(session, path);
  await transaction.finish([]);
}
