/** `link_pull`: brings the link's target under its folder; already there, only the differences. */
import { AgentError } from '../../protocol/errors';
import { DeviceView } from '../device-view';
import { bringIn } from '../incoming';
import type { Job } from '../job';
import { emptyPlan } from '../journal';
import { ancestors, isWithin, quote, requirePath, segments } from '../paths';
import type { Revision, Transport } from '../ports';
import { fetchChanges, fetchTree } from '../remote-lists';
import type { RemoteStates } from '../remote-states';
import { advance, differences, follow, forget, linkScope, type Scope } from '../scope';
import { activeSeals, requireUnsealed } from '../seals';
import type { LinkRecord, Session } from '../session';
import type { Transaction } from '../transaction';
import { type Mode, need } from './mode';

export const linkPull: Mode = async (session, transaction, input, job) => {
  const path = need(input, 'path');
  requirePath(path, 'root_refused');
  const link = takeLink(session, need(input, 'link_id'), path);
  const transport = job.connect({ link_id: link.link_id }, need(input, 'token'));
  const scope = await linkScope(session, link);
  const there = await new DeviceView(session.root, session.folds).look(path);
  if (there.kind === 'file' || (there.kind === 'absent' && there.blocker !== null)) {
    throw new AgentError('storage_path_exists', `A file stands at ${quote(path)}.`);
  }
  // Its folder was deleted here: that deletes nothing in the target.
  if (there.kind === 'absent') forget(scope);
  const { revision, states } = await remote(session, transport, scope, need(input, 'revision'), job);
  const { kept } = await bringIn(session, transaction, transport, scope, states, job, 'refuse');
  await ensureFolder(session, transaction, path, job);
  advance(scope, revision);
  link.broken = false;
  link.removed = false;
  await transaction.finish(scope.write());
  return { revision, kept };
};

function takeLink(session: Session, linkId: string, path: string): LinkRecord {
  const { links } = session.record;
  const known = links.find((link) => link.link_id === linkId);
  if (known && known.path !== path) {
    throw new AgentError('storage_state_conflict', `This link is at ${quote(known.path)} on this device.`);
  }
  if (links.some((link) => link !== known && isWithin(path, link.path))) {
    throw new AgentError('path_invalid', `${quote(path)} lies in another link.`);
  }
  if (known) return known;
  // Even where nothing would be written, what stands there would be another Storage's from now on.
  requireUnsealed(activeSeals(session.record.seals, session.now()), path);
  const link: LinkRecord = { link_id: linkId, path, base: null, broken: false, removed: false };
  links.push(link);
  return link;
}

async function remote(
  session: Session,
  transport: Transport,
  scope: Scope,
  wanted: Revision,
  job: Job,
): Promise<{ revision: Revision; states: RemoteStates }> {
  if (scope.base === null) {
    const entries = await fetchTree(transport, wanted, '', job.signal);
    const changes = entries.map((entry) => ({ op: 'put' as const, ...entry }));
    return { revision: wanted, states: differences(scope, { changes, full: true }) };
  }
  const fetched = await fetchChanges(transport, scope.base, job.signal);
  return { revision: fetched.revision, states: follow(session, scope, fetched) };
}

/** A link of an empty target is an empty folder. */
export async function ensureFolder(
  session: Session,
  transaction: Transaction,
  path: string,
  job: Job,
): Promise<void> {
  const view = new DeviceView(session.root, session.folds);
  if ((await view.look(path)).kind === 'directory') return;
  requireUnsealed(activeSeals(session.record.seals, session.now()), path);
  const plan = emptyPlan();
  for (const at of [path, ...ancestors(path)]) {
    if ((await view.look(at)).kind !== 'directory') plan.made.push(at);
  }
  plan.made.sort((a, b) => segments(a).length - segments(b).length);
  await transaction.publish(plan, job.signal);
}
