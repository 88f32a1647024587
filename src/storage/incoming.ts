/**
 * Brings the remote's states to the device: decides path by path who wins, checks all names, downloads into the
 * temp folder, publishes through the journal, and tells what the index is to say. Nothing unsaved is overwritten.
 */
import pLimit from 'p-limit';
import { DeviceView } from './device-view';
import { isUnreadable, stopIfAborted } from './foreign-errors';
import { hashStable, READS_IN_FLIGHT } from './hash-file';
import type { IndexEntry, IndexFile } from './index-entries';
import type { Job } from './job';
import { emptyPlan, type Plan } from './journal';
import { areSameNames } from './marker';
import { type DeviceEntry, decide } from './merge';
import { folded, foldedFurther, unrepresentable } from './name-checks';
import {
  ancestors,
  foldName,
  isWithin,
  join,
  nameOf,
  overlaps,
  parentOf,
  pathProblem,
  refusal,
  segments,
} from './paths';
import type { FileHandle, RemoteEntry, RemoteFile, Transport } from './ports';
import { isSurelyUnchanged } from './racy-time';
import { agreedState, type RemoteStates } from './remote-states';
import { scan } from './scan';
import { applyEntries, devicePath, type Scope } from './scope';
import { activeSeals, requireUnsealed, sealAgainst } from './seals';
import type { Session } from './session';
import { stage } from './stage';
import type { Transaction } from './transaction';
import type { Written } from './write-file';

export interface Brought {
  /** Device paths whose incoming state gave way to an unsaved one. */
  kept: string[];
  /** Paths of the scope that were left for later: the base must not pass over them. */
  deferred: string[];
}

/**
 * `blocked`: what to do about incoming paths that a seal or the root's file system forbids. `refuse` throws
 * `path_invalid`, `storage_path_unrepresentable` or `storage_path_sealed` before anything is downloaded; `defer` leaves
 * them for a later step, so that one such path of another writer does not keep this device from saving.
 * `states`: those in which the remote differs from the index. Changes `scope.index` in memory only.
 */
export async function bringIn(
  session: Session,
  transaction: Transaction,
  transport: Transport,
  scope: Scope,
  states: RemoteStates,
  job: Job,
  blocked: 'refuse' | 'defer',
): Promise<Brought> {
  if (states.size === 0) return { kept: [], deferred: [] };
  session.unsettle();
  const incoming = new Incoming(session, scope, job, blocked);
  await incoming.decideAll(states);
  await incoming.checkNames();
  const plan = await incoming.plan(transaction);
  const staged = new Map<string, FileHandle>();
  if (plan.placed.length > 0) {
    job.meter.expectBytes(plan.placed.reduce((sum, file) => sum + file.size, 0));
    const checkedAt = session.now();
    const folder = await transaction.tempFolder();
    const written = await stage(plan.placed, folder, transport, job.signal, job.meter.addBytes);
    for (const [temp, { handle }] of written) staged.set(temp, handle);
    incoming.noteTimes(plan, written, checkedAt);
  }
  stopIfAborted(job.signal);
  await transaction.publish(plan, job.signal, staged);
  applyEntries(scope, incoming.entries);
  return { kept: incoming.kept, deferred: incoming.deferred };
}

interface Looked {
  path: string;
  remote: RemoteEntry | null;
  device: DeviceEntry | null;
  /** The device path of an ancestor that is a file. */
  blocker: string | null;
  /** What the index would say of the device's file, if the remote agrees. */
  seen: IndexFile | null;
}

class Incoming {
  readonly entries = new Map<string, IndexEntry | null>();
  readonly kept: string[] = [];
  readonly deferred: string[] = [];
  private readonly view: DeviceView;
  /** Device paths, with what goes away and what comes. */
  private readonly leaving = new Map<string, { size: number; sha256: string }>();
  private readonly arriving = new Map<string, RemoteFile>();
  private readonly directories = new Set<string>();
  private readonly emptied = new Set<string>();

  constructor(
    private readonly session: Session,
    private readonly scope: Scope,
    private readonly job: Job,
    private readonly blocked: 'refuse' | 'defer',
  ) {
    this.view = new DeviceView(session.root, session.folds);
  }

  async decideAll(states: RemoteStates): Promise<void> {
    const possible = this.withoutInvalid(states);
    const limit = pLimit(READS_IN_FLIGHT);
    const looked = await Promise.all(
      [...possible].map(([path, remote]) => limit(() => this.look(path, remote))),
    );
    // Deletions and plain files first: whether a file gives way to a directory depends on them.
    const later = looked.filter((each) => !this.settle(each));
    for (const each of later) {
      // What a deferred path stands in the way of waits with it: half of the remote's state would be neither's.
      if (this.deferred.some((path) => overlaps(path, each.path))) this.deferred.push(each.path);
      else if (await this.givesWay(each)) this.take(each);
      else this.keep(each);
    }
  }

  private withoutInvalid(states: RemoteStates): RemoteStates {
    const invalid: string[] = [];
    const possible: RemoteStates = new Map();
    for (const [path, remote] of states) {
      const bad = (path === '' || pathProblem(path)) ?? pathProblem(devicePath(this.scope, path));
      if (bad) invalid.push(path);
      else possible.set(path, remote);
    }
    if (invalid.length > 0 && this.blocked === 'refuse') throw refusal('path_invalid', invalid);
    this.deferred.push(...invalid);
    return possible;
  }

  private async look(path: string, remote: RemoteEntry | null): Promise<Looked> {
    stopIfAborted(this.job.signal);
    const found = await this.view.look(devicePath(this.scope, path));
    const looked: Looked = { path, remote, device: null, blocker: null, seen: null };
    if (found.kind === 'absent') looked.blocker = found.blocker;
    if (found.kind === 'directory') looked.device = { type: 'directory' };
    if (found.kind === 'file') {
      looked.seen = await this.read(path, found.handle, remote);
      looked.device = looked.seen ? { type: 'file', sha256: looked.seen.sha256 } : { type: 'unreadable' };
    }
    return looked;
  }

  /** Null when it changes all the time, or when its size tells already that neither side knows this content. */
  private async read(
    path: string,
    handle: FileHandle,
    remote: RemoteEntry | null,
  ): Promise<IndexFile | null> {
    const agreed = this.scope.index.get(path);
    const checked_at = this.session.now();
    try {
      const file = await handle.getFile();
      if (
        agreed?.type === 'file' &&
        isSurelyUnchanged(agreed, { size: file.size, mtime: file.lastModified })
      ) {
        return agreed;
      }
      const known = [agreed, remote].some((side) => side?.type === 'file' && side.size === file.size);
      if (!known) return null;
    } catch (thrown) {
      if (!isUnreadable(thrown)) throw thrown;
      return null;
    }
    const hashed = await hashStable(handle, this.job.signal);
    if (hashed.state !== 'stable') return null;
    return { type: 'file', size: hashed.size, sha256: hashed.sha256, mtime: hashed.mtime, checked_at };
  }

  /** False: to be decided when all deletions are known. */
  private settle(looked: Looked): boolean {
    const { path, remote, device } = looked;
    // What is under a link's folder, or would stand in its place, is not this scope's to write.
    const inLink = this.scope.links.some(
      (link) => isWithin(path, link) || (isWithin(link, path) && remote?.type === 'file'),
    );
    if (inLink) {
      if (remote === null) this.agree(looked);
      else this.keep(looked);
      return true;
    }
    switch (decide(this.scope.index.get(path) ?? null, device, remote)) {
      case 'nothing':
        return true;
      case 'agree':
        this.agree(looked);
        return true;
      case 'keep':
        this.keep(looked);
        return true;
      case 'take':
        if (looked.blocker !== null) return false;
        this.take(looked);
        return true;
      case 'replace':
        return false;
    }
  }

  private agree({ path, remote, seen }: Looked): void {
    const agreed = agreedState(remote);
    this.entries.set(path, agreed?.type === 'file' && seen ? { ...agreed, ...times(seen) } : agreed);
  }

  private keep({ path, remote }: Looked): void {
    this.kept.push(devicePath(this.scope, path));
    this.entries.set(path, agreedState(remote));
  }

  private take({ path, remote, device }: Looked): void {
    const at = devicePath(this.scope, path);
    const seals = activeSeals(this.session.record.seals, this.session.now());
    if (sealAgainst(seals, at)) {
      if (this.blocked === 'refuse') requireUnsealed(seals, at);
      this.deferred.push(path);
      return;
    }
    const agreed = this.scope.index.get(path);
    if (device?.type === 'file' && agreed?.type === 'file') {
      this.leaving.set(at, { size: agreed.size, sha256: agreed.sha256 });
    }
    if (remote === null && device?.type === 'directory') this.emptied.add(at);
    if (remote?.type === 'file') this.arriving.set(at, remote);
    if (remote?.type === 'directory') this.directories.add(at);
    this.entries.set(path, agreedState(remote));
  }

  /** Whether what stands in the way of an incoming entry goes away in this same merge. */
  private async givesWay(looked: Looked): Promise<boolean> {
    if (looked.blocker !== null) return this.leaving.has(looked.blocker);
    return this.leavesWhole(devicePath(this.scope, looked.path));
  }

  /** Whether a directory holds nothing but what goes away in this same merge: then it goes too. */
  private async leavesWhole(at: string): Promise<boolean> {
    if (at === this.scope.mount || this.session.record.links.some((link) => isWithin(link.path, at)))
      return false;
    const found = await this.view.look(at);
    if (found.kind !== 'directory') return false;
    const held = await scan(found.handle, { prefix: at, links: [], signal: this.job.signal });
    if (!held.complete || held.leftOut.length > 0) return false;
    if ([...held.files.keys()].some((file) => !this.leaving.has(file))) return false;
    for (const directory of [...held.directories, at]) this.emptied.add(directory);
    return true;
  }

  /** On a root that folds names a directory that comes under another spelling needs the former one's place. */
  private async makeRoomFor(coming: readonly string[]): Promise<void> {
    const asked = new Set<string>();
    for (const path of coming) {
      for (const at of [path, ...ancestors(path)]) {
        if (asked.has(at)) continue;
        asked.add(at);
        const names = await this.view.namesIn(parentOf(at));
        if (names.has(nameOf(at))) continue;
        for (const name of names) {
          if (foldName(name) === foldName(nameOf(at))) await this.leavesWhole(join(parentOf(at), name));
        }
      }
    }
  }

  /** Everything that is to come must be possible on this root. */
  async checkNames(): Promise<void> {
    const coming = [...this.arriving.keys(), ...this.directories];
    const impossible = new Set(await unrepresentable(coming, this.session.storage.kind, this.view));
    if (this.session.folds) {
      await this.makeRoomFor(coming);
      const leaving = new Set([...this.leaving.keys(), ...this.emptied]);
      for (const path of await folded(coming, leaving, this.view)) impossible.add(path);
      const rest = coming.filter((path) => !impossible.has(path));
      const areSame = (one: string, other: string) => areSameNames(this.session, one, [other]);
      for (const path of await foldedFurther(rest, areSame)) impossible.add(path);
    }
    if (impossible.size === 0) return;
    if (this.blocked === 'refuse') throw refusal('storage_path_unrepresentable', [...impossible]);
    for (const at of impossible) this.putOff(at);
  }

  private putOff(at: string): void {
    const path = this.scope.mount === '' ? at : at.slice(this.scope.mount.length + 1);
    this.arriving.delete(at);
    this.directories.delete(at);
    this.leaving.delete(at);
    this.entries.delete(path);
    this.deferred.push(path);
  }

  async plan(transaction: Transaction): Promise<Plan> {
    const plan = emptyPlan();
    for (const [path, { size, sha256 }] of this.leaving) {
      plan.displaced.push({ path, temp: transaction.newName('old'), size, sha256 });
    }
    for (const [path, { size, sha256 }] of this.arriving) {
      plan.placed.push({ path, temp: transaction.newName('new'), size, sha256 });
    }
    const needed = new Set(this.directories);
    for (const path of [...this.arriving.keys(), ...this.directories]) {
      for (const above of ancestors(path)) needed.add(above);
    }
    plan.emptied = this.leftEmpty(needed);
    for (const path of [...needed].sort(byDepth)) {
      if ((await this.view.look(path)).kind !== 'directory') plan.made.push(path);
    }
    return plan;
  }

  /** Directories that may hold nothing any more, inner ones first; the mount itself stays. */
  private leftEmpty(needed: ReadonlySet<string>): string[] {
    const candidates = new Set(this.emptied);
    for (const path of this.leaving.keys()) {
      if (this.arriving.has(path) || this.directories.has(path)) continue;
      for (const above of ancestors(path)) {
        if (above !== this.scope.mount && isWithin(above, this.scope.mount)) candidates.add(above);
      }
    }
    for (const path of this.emptied) {
      for (const above of ancestors(path)) {
        if (above !== this.scope.mount && isWithin(above, this.scope.mount)) candidates.add(above);
      }
    }
    const stays = (path: string) =>
      (needed.has(path) && !this.arriving.has(path)) || this.isAgreedDirectory(path);
    return [...candidates].filter((path) => !stays(path)).sort((a, b) => byDepth(b, a));
  }

  private isAgreedDirectory(at: string): boolean {
    const path = this.scope.mount === '' ? at : at.slice(this.scope.mount.length + 1);
    const entry = this.entries.has(path) ? this.entries.get(path) : this.scope.index.get(path);
    return entry?.type === 'directory';
  }

  noteTimes(plan: Plan, written: ReadonlyMap<string, Written>, checked_at: number): void {
    const byPath = new Map(plan.placed.map((placed) => [placed.path, placed.temp]));
    for (const [path, entry] of this.entries) {
      const temp = byPath.get(devicePath(this.scope, path));
      const mtime = temp === undefined ? undefined : written.get(temp)?.mtime;
      if (entry?.type === 'file' && mtime !== undefined)
        this.entries.set(path, { ...entry, mtime, checked_at });
    }
  }
}

function times(seen: IndexFile): Pick<IndexFile, 'mtime' | 'checked_at'> {
  return { mtime: seen.mtime, checked_at: seen.checked_at };
}

function byDepth(a: string, b: string): number {
  return segments(a).length - segments(b).length;
}
