/** `file_remove`: a file in one step; a directory by the journal, all or nothing. */
import { AgentError } from '../../protocol/errors';
import { DeviceView } from '../device-view';
import { emptyPlan } from '../journal';
import { nameOf, parentOf, quote, segments } from '../paths';
import { notFound, requireComplete, requireGone, requireRemovable } from './checks';
import { hashesOf, standing } from './file-state';
import type { FileWork } from './file-tools';

export const removeEntry: FileWork<{ path: string; recursive?: boolean }> = async (
  { path, recursive = false },
  { session, transaction, signal },
) => {
  requireRemovable(session, path);
  const found = await standing(session, path, signal);
  if (!found) throw notFound(path);
  if (found.kind === 'file') {
    const parent = await new DeviceView(session.root, session.folds).look(parentOf(path));
    if (parent.kind !== 'directory') throw notFound(path);
    await parent.handle.removeEntry(nameOf(path));
    return { output: { path } };
  }
  const holdsSomething = found.files.length > 0 || found.directories.length > 0;
  if (holdsSomething && !recursive) {
    throw new AgentError(
      'invalid_input',
      `${quote(path)} is not empty: set input.recursive to remove it all.`,
    );
  }
  requireComplete(found, path);
  const hashes = await hashesOf(session, found.files, signal);
  const plan = emptyPlan();
  for (const { path: at, file } of found.files) {
    const sha256 = hashes.get(at) as string;
    plan.displaced.push({ path: at, temp: transaction.newName('old'), size: file.size, sha256 });
  }
  plan.emptied = [path, ...found.directories].sort((a, b) => segments(b).length - segments(a).length);
  await transaction.publish(plan, signal);
  await requireGone(session, path);
  await transaction.finish([]);
  return { output: { path } };
};
