/** `remove_path`: unchanged since it was saved, it is taken off the device and the removal is committed. */
import { AgentError } from '../../protocol/errors';
import { adoptCommit, commitWithMerges } from '../commit';
import { DeviceView } from '../device-view';
import { type Gathered, gather } from '../gather';
import { entriesWithin } from '../index-entries';
import type { Job } from '../job';
import { emptyPlan } from '../journal';
import { localChanges } from '../local-changes';
import { Merging } from '../merge-step';
import { isWithin, quote, relativeTo, segments } from '../paths';
import type { Transport } from '../ports';
import { fetchChanges } from '../remote-lists';
import type { RemoteStates } from '../remote-states';
import { applyEntries, differences, isNothingLeft, type Scope, storageScope } from '../scope';
import { activeSeals, requireRemovable } from '../seals';
import type { Session } from '../session';
import type { Transaction } from '../transaction';
import { treeHash } from '../tree-hash';
import { type Mode, need, needStoragePath } from './mode';

export const removePath: Mode = async (session, transaction, input, job) => {
  const path = needStoragePath(session, input, 'root_refused');
  const expected = need(input, 'expected_hash');
  requireRemovable(activeSeals(session.record.seals, session.now()), path, expected);
  if (session.record.links.some((link) => isWithin(link.path, path))) {
    throw new AgentError(
      'storage_state_conflict',
      `${quote(path)} holds a link, which must be removed first.`,
    );
  }
  const transport = job.connect({ storage_id: session.storage.storage_id }, need(input, 'token'));
  const scope = await storageScope(session);
  const gathered = await gather(session, scope, path, job);
  await requireAsSaved(scope, path, gathered, expected);
  await requireNothingUnseen(transport, scope, path, job);

  await takeOff(session, transaction, path, gathered, job);
  const removed = entriesWithin(scope.index, path).map(([at]) => [at, null] as const);
  applyEntries(scope, new Map(removed));

  const merging = new Merging(session, transaction, transport, scope, job);
  const reply = await commitWithMerges(
    transport,
    job,
    async () => ({
      base_revision: merging.revision,
      path,
      changes: [{ op: 'delete', path }],
      expected_hash: expected,
    }),
    () => merging.merge((states) => requireApart(states, path)),
  );
  if (reply === null) throw new AgentError('internal_error');
  await adoptCommit(transport, scope, reply.revision, job.signal);
  const vaults = session.record.seals.flatMap((seal) =>
    seal.path === path && seal.vault !== null ? [seal.vault] : [],
  );
  session.record.seals = session.record.seals.filter((seal) => seal.path !== path);
  await transaction.finish(scope.write(), vaults);
  return { revision: reply.revision };
};

async function requireAsSaved(
  scope: Scope,
  path: string,
  gathered: Gathered,
  expected: string,
): Promise<void> {
  if (gathered.kind === 'absent' && entriesWithin(scope.index, path).length === 0) {
    throw new AgentError('path_not_found', `There is nothing at ${quote(path)}.`);
  }
  const whole = gathered.complete && gathered.unstable.length === 0 && gathered.leftOut.length === 0;
  const unchanged = localChanges(scope.index, path, gathered).changes.length === 0;
  if (gathered.kind === 'absent' || !whole || !unchanged || (await hashOf(path, gathered)) !== expected) {
    throw new AgentError(
      'storage_state_conflict',
      `${quote(path)} changed since it was saved. Save it with save_path, then take the hash of that.`,
    );
  }
}

async function hashOf(path: string, gathered: Gathered): Promise<string | undefined> {
  if (gathered.kind === 'file') return gathered.files.get(path)?.sha256;
  const directories = [...gathered.emptyDirectories].filter((at) => at !== path);
  return treeHash([
    ...[...gathered.files].map(([at, { size, sha256 }]) => ({
      type: 'file' as const,
      path: relativeTo(path, at),
      size,
      sha256,
    })),
    ...directories.map((at) => ({ type: 'directory' as const, path: relativeTo(path, at) })),
  ]);
}

/** The removal takes everything under the path: nothing may be there that this device has not seen. */
async function requireNothingUnseen(
  transport: Transport,
  scope: Scope,
  path: string,
  job: Job,
): Promise<void> {
  const fetched = await fetchChanges(transport, scope.base, job.signal);
  if (isNothingLeft(scope, fetched)) {
    throw new AgentError(
      'storage_state_conflict',
      'The platform has nothing left of what was saved of this Storage. Save it with save_path first.',
    );
  }
  requireApart(differences(scope, fetched), path);
}

function requireApart(states: RemoteStates, path: string): void {
  for (const [at, remote] of states) {
    if (remote !== null && isWithin(at, path)) {
      throw new AgentError('storage_state_conflict', `Another writer changed ${quote(at)}.`);
    }
  }
}

/** Moves everything to where nobody writes, verifies it there, and takes the directories away. */
async function takeOff(
  session: Session,
  transaction: Transaction,
  path: string,
  gathered: Gathered,
  job: Job,
): Promise<void> {
  const plan = emptyPlan();
  for (const [at, { size, sha256 }] of gathered.files) {
    plan.displaced.push({ path: at, temp: transaction.newName('old'), size, sha256 });
  }
  if (gathered.kind === 'directory') {
    plan.emptied = [...gathered.directories, path].sort((a, b) => segments(b).length - segments(a).length);
  }
  await transaction.publish(plan, job.signal);
  if ((await new DeviceView(session.root, session.folds).look(path)).kind !== 'absent') {
    throw new AgentError(
      'storage_state_conflict',
      `${quote(path)} holds something that was not saved, perhaps under a name that Chrome hides.`,
    );
  }
}
