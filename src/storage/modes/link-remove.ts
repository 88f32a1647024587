/** `link_remove`: takes a link's content away; what was not saved moves to a recovery folder. Asks no server. */
import { AgentError } from '../../protocol/errors';
import { DeviceView } from '../device-view';
import { type Gathered, gather } from '../gather';
import { emptyPlan, type Plan, recoveryFolder } from '../journal';
import { requireSameRoot } from '../marker';
import { isWithin, join, quote, segments } from '../paths';
import { devicePath, linkScope, type Scope } from '../scope';
import { activeSeals, requireUnsealed } from '../seals';
import type { LinkRecord, Session } from '../session';
import type { Transaction } from '../transaction';
import { ensureFolder } from './link-pull';
import { type Mode, need, needLink } from './mode';

export const linkRemove: Mode = async (session, transaction, input, job) => {
  const link = needLink(session, input);
  if (need(input, 'path') !== link.path) {
    throw new AgentError('link_unknown', `This link is not at ${quote(need(input, 'path'))} on this device.`);
  }
  if (link.removed) return { recovered: [] };
  requireUnsealed(activeSeals(session.record.seals, session.now()), link.path);
  const inner = session.record.links.some((other) => other !== link && isWithin(other.path, link.path));
  if (inner) throw new AgentError('storage_state_conflict', 'The link holds another link.');
  const scope = await linkScope(session, link);
  const gathered = await gather(session, scope, '', job);
  if (!gathered.complete) throw new AgentError('storage_state_conflict', 'The link could not be read whole.');
  const plan = await planRemoval(session, transaction, link, scope, gathered);
  await transaction.publish(plan, job.signal);
  await requireSameRoot(session);
  if (link.broken) await ensureFolder(session, transaction, link.path, job);

  if (link.broken) {
    link.removed = true;
    link.base = null;
  } else session.record.links = session.record.links.filter((other) => other !== link);
  await transaction.finish([
    session.writeRecord(),
    { key: session.linkIndexKey(link.link_id), delete: true },
  ]);
  return { recovered: plan.recovered.map(({ to }) => to) };
};

async function planRemoval(
  session: Session,
  transaction: Transaction,
  link: LinkRecord,
  scope: Scope,
  gathered: Gathered,
): Promise<Plan> {
  const plan = emptyPlan();
  const unsaved = [...gathered.unstable];
  for (const [path, { size, sha256 }] of gathered.files) {
    const agreed = scope.index.get(path);
    if (agreed?.type === 'file' && agreed.sha256 === sha256) {
      plan.displaced.push({ path: devicePath(scope, path), temp: transaction.newName('old'), size, sha256 });
    } else unsaved.push(path);
  }
  const folder = await freeFolder(session, recoveryFolder(session.now(), link.link_id));
  // Found in any order; told in one.
  for (const path of unsaved.sort()) {
    // The link's folder may have become a file: it has no path inside of the link.
    plan.recovered.push({ from: devicePath(scope, path), to: join(folder, path === '' ? 'file' : path) });
  }
  if (gathered.kind === 'directory') {
    const directories = [...gathered.directories].map((path) => devicePath(scope, path));
    plan.emptied = [...directories, ...(link.broken ? [] : [link.path])].sort(
      (a, b) => segments(b).length - segments(a).length,
    );
  }
  return plan;
}

async function freeFolder(session: Session, name: string): Promise<string> {
  for (let n = 0; ; n++) {
    const candidate = n === 0 ? name : `${name}-${n}`;
    if ((await new DeviceView(session.root, false).look(candidate)).kind === 'absent') return candidate;
  }
}
