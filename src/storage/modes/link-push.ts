/** `link_push`: commits only what changed under the link to its target. */
import { AgentError } from '../../protocol/errors';
import { adoptCommit, commitWithMerges } from '../commit';
import { DeviceView } from '../device-view';
import { gather } from '../gather';
import { bringIn } from '../incoming';
import { sameContent } from '../index-entries';
import type { LocalChanges } from '../local-changes';
import { requireSameRoot } from '../marker';
import { Merging } from '../merge-step';
import type { CommitBody } from '../ports';
import { fetchChanges } from '../remote-lists';
import type { RemoteStates } from '../remote-states';
import { advance, applyEntries, differences, follow, forget, linkScope } from '../scope';
import { uploadChanges } from '../upload';
import { ensureFolder } from './link-pull';
import { type Mode, need, needLink } from './mode';

export const linkPush: Mode = async (session, transaction, input, job) => {
  const link = needLink(session, input);
  const transport = job.connect({ link_id: link.link_id }, need(input, 'token'));
  const scope = await linkScope(session, link);
  const there = await new DeviceView(session.root, session.folds).look(link.path);
  if (link.removed) throw new AgentError('link_target_gone');
  if (there.kind === 'file') throw new AgentError('storage_state_conflict');
  if (there.kind === 'absent') {
    // Its folder was deleted here: recreated from the target, the target untouched.
    await requireSameRoot(session);
    forget(scope);
    const whole = await fetchChanges(transport, null, job.signal);
    const states = differences(scope, whole);
    await bringIn(session, transaction, transport, scope, states, job, 'refuse');
    await ensureFolder(session, transaction, link.path, job);
    advance(scope, whole.revision);
    await transaction.finish(scope.write());
    return { revision: whole.revision, overwritten: [] };
  }

  const overwritten = new Set<string>();
  const unstable: string[] = [];
  const fetched = await fetchChanges(transport, scope.base, job.signal);
  let unseen = follow(session, scope, fetched);
  const merging = new Merging(session, transaction, transport, scope, job);
  let merged = false;
  let entries: LocalChanges['entries'] = new Map();
  const body = async (): Promise<CommitBody | null> => {
    const gathered = await gather(session, scope, '', job);
    const uploaded = await uploadChanges(session, transport, scope.index, '', gathered, job);
    unstable.splice(0, unstable.length, ...gathered.unstable);
    const local = againstUnseen(uploaded, unseen, overwritten);
    entries = local.entries;
    if (local.changes.length === 0) return null;
    return { base_revision: merging.revision, path: '', changes: local.changes };
  };
  const reply = await commitWithMerges(transport, job, body, () =>
    merging.merge((states) => {
      for (const [path, remote] of states) if (remote !== null) overwritten.add(path);
      unseen = new Map();
      merged = true;
    }),
  );
  applyEntries(scope, entries);
  // Of the paths seen in a merge, those are overwritten that this commit put something else at.
  const put = new Set(entries.keys());
  for (const path of [...overwritten]) if (!put.has(path)) overwritten.delete(path);
  for (const path of reply?.overwritten ?? []) overwritten.add(path);
  if (reply !== null) {
    await adoptCommit(transport, scope, reply.revision, job.signal);
  } else if (!merged && differences(scope, fetched).size === 0) advance(scope, fetched.revision);
  await transaction.finish(scope.write());
  return {
    revision: reply?.revision ?? scope.base ?? fetched.revision,
    overwritten: [...overwritten],
    unstable,
  };
};

/**
 * Takes out of a push what must not beat a remote state the device has not seen: a deletion, and what is equal already.
 * Notes what the rest overwrites.
 */
function againstUnseen(local: LocalChanges, unseen: RemoteStates, overwritten: Set<string>): LocalChanges {
  const entries = new Map(local.entries);
  const changes = local.changes.filter((change) => {
    const remote = unseen.get(change.path);
    if (!remote) return true;
    if (change.op === 'delete') {
      entries.delete(change.path);
      return false;
    }
    if (sameContent(change, remote)) return false;
    overwritten.add(change.path);
    return true;
  });
  return { changes, entries };
}
