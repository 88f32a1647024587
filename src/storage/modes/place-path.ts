/** `place_path`: what is staged at a revision is downloaded, verified, published and committed. */
import { AgentError } from '../../protocol/errors';
import { adoptCommit, commitWithMerges } from '../commit';
import { DeviceView } from '../device-view';
import { bringIn } from '../incoming';
import { entriesWithin } from '../index-entries';
import { Merging } from '../merge-step';
import { ancestors, isWithin, overlaps, pathProblem, quote, refusal } from '../paths';
import type { RemoteChange, RemoteEntry } from '../ports';
import { fetchTree } from '../remote-lists';
import { type RemoteStates, remoteStates } from '../remote-states';
import { applyEntries, storageScope } from '../scope';
import { activeSeals, requireUnsealed } from '../seals';
import { type Mode, need, needStoragePath } from './mode';

export const placePath: Mode = async (session, transaction, input, job) => {
  const path = needStoragePath(session, input, 'root_refused');
  const revision = need(input, 'revision');
  requireUnsealed(activeSeals(session.record.seals, session.now()), path);
  const there = await new DeviceView(session.root, session.folds).look(path);
  if (there.kind !== 'absent' || there.blocker !== null) {
    throw new AgentError('storage_path_exists', `There is already something at ${quote(path)}.`);
  }
  const transport = job.connect({ storage_id: session.storage.storage_id }, need(input, 'token'));
  const entries = await fetchTree(transport, revision, path, job.signal);
  requireOneTree(entries, path);
  if (entries.length === 0) entries.push({ type: 'directory', path });

  const scope = await storageScope(session);
  // What was saved there before and then deleted here: the commit replaces it.
  const former = entriesWithin(scope.index, path).map(([at]) => at);
  applyEntries(scope, new Map(former.map((at) => [at, null])));
  const puts = entries.map((entry): RemoteChange => ({ op: 'put', ...entry }));
  const states = remoteStates({ index: scope.index, ahead: new Map() }, puts, false);
  await bringIn(session, transaction, transport, scope, states, job, 'refuse');

  const changes: RemoteChange[] = former.length > 0 ? [{ op: 'delete', path }, ...puts] : puts;
  const merging = new Merging(session, transaction, transport, scope, job);
  const reply = await commitWithMerges(
    transport,
    job,
    async () => ({ base_revision: merging.revision, path, changes }),
    () => merging.merge((outstanding) => requireApart(outstanding, path)),
  );
  if (reply === null) throw new AgentError('internal_error');
  await adoptCommit(transport, scope, reply.revision, job.signal);
  await transaction.finish(scope.write());
  return { revision: reply.revision };
};

/** Names from the server are checked like any other path; and they must be one tree, under what was asked for. */
function requireOneTree(entries: readonly RemoteEntry[], path: string): void {
  const seen = new Set<string>();
  const files = new Set(entries.filter((entry) => entry.type === 'file').map((entry) => entry.path));
  const bad = entries.filter((entry) => {
    const twice = seen.has(entry.path);
    seen.add(entry.path);
    const illegal = pathProblem(entry.path) !== null || !isWithin(entry.path, path);
    return twice || illegal || ancestors(entry.path).some((above) => files.has(above));
  });
  if (bad.length > 0) {
    throw refusal(
      'path_invalid',
      bad.map((entry) => entry.path),
    );
  }
}

/** Another writer came to the same path meanwhile: neither may silently win. */
function requireApart(states: RemoteStates, path: string): void {
  for (const [at, remote] of states) {
    if (remote !== null && overlaps(at, path)) throw new AgentError('storage_state_conflict');
  }
}
