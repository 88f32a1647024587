/** What must be true before a file tool makes or takes away anything at a path, and after. Changes nothing. */
import { AgentError } from '../../protocol/errors';
import { DeviceView } from '../device-view';
import { requireWritable } from '../engine';
import { folded, unrepresentable } from '../name-checks';
import { isWithin, quote, refusal, requirePath } from '../paths';
import type { Session } from '../session';
import type { Standing } from './file-state';

/** Legal, not sealed, and what the root can hold. `leaving`: paths that go away with it. */
export async function requireCreatable(
  session: Session,
  path: string,
  leaving: ReadonlySet<string> = new Set(),
): Promise<void> {
  requirePath(path, 'root_refused');
  requireWritable(session, path);
  const view = new DeviceView(session.root, session.folds);
  const bad = await unrepresentable([path], session.storage.kind, view);
  const clashing = session.folds && bad.length === 0 ? await folded([path], leaving, view) : [];
  if (bad.length > 0 || clashing.length > 0) throw refusal('storage_path_unrepresentable', [path]);
}

/** Legal, not sealed, and no link's folder: what is gone there would be deleted in the link's target. */
export function requireRemovable(session: Session, path: string): void {
  requirePath(path, 'root_refused');
  requireWritable(session, path);
  if (session.record.links.some((link) => isWithin(link.path, path))) {
    throw new AgentError('storage_state_conflict', `${quote(path)} is or holds a link: use link_remove.`);
  }
}

export function exists(path: string): AgentError {
  return new AgentError('storage_path_exists', `There is already something at ${quote(path)}.`);
}

export function notFound(path: string): AgentError {
  return new AgentError(
    'path_not_found',
    `There is nothing at ${quote(path)}. file_list tells what there is.`,
  );
}

/** Throws `storage_state_conflict` when not all of the tree could be seen. */
export function requireComplete({ complete }: Standing, path: string): void {
  if (complete) return;
  throw new AgentError('storage_state_conflict', `${quote(path)} holds something that cannot be read.`);
}

/** Throws `storage_state_conflict` when something is left that could not be seen. */
export async function requireGone(session: Session, path: string): Promise<void> {
  if ((await new DeviceView(session.root, session.folds).look(path)).kind === 'absent') return;
  throw new AgentError(
    'storage_state_conflict',
    `${quote(path)} holds something that cannot be taken away, perhaps under a name that Chrome hides.`,
  );
}
