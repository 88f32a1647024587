/**
 * Undoes the plans of a journal: the device is as before, and whatever others wrote meanwhile is in the recovery
 * folder. Goes by what it finds, so it can be cut off and done again. Needs no network.
 */
import { DeviceView, ensureDirectory, lookAt, walk } from './device-view';
import { isNotFound, isOtherKind } from './foreign-errors';
import { hashStable } from './hash-file';
import {
  type Displaced,
  type Journal,
  type Placed,
  type Plan,
  recoveryFolder,
  takenBack,
  tempFolder,
  undoDisplaced,
  undoPlaced,
} from './journal';
import { join, nameOf, parentOf } from './paths';
import type { DirectoryHandle, FileHandle } from './ports';
import { removeIfEmpty } from './publish';

const NEVER = new AbortController().signal;

/** `now` in epoch ms, for the recovery folder's name. Resolves with the device paths of what went there. */
export async function undoPlans(journal: Journal, root: DirectoryHandle, now: number): Promise<string[]> {
  const temp = await openTemp(root, journal);
  if (temp === null) return [];
  const undoing = new Undoing(root, temp, recoveryFolder(now, `undo-${journal.id}`));
  for (const plan of [...journal.plans].reverse()) await undoing.undo(plan);
  return undoing.recovered;
}

async function openTemp(root: DirectoryHandle, journal: Journal): Promise<DirectoryHandle | null> {
  const found = await lookAt(root, tempFolder(journal));
  return found.kind === 'directory' ? found.handle : null;
}

class Undoing {
  readonly recovered: string[] = [];

  constructor(
    private readonly root: DirectoryHandle,
    private readonly temp: DirectoryHandle,
    private readonly recovery: string,
  ) {}

  async undo(plan: Plan): Promise<void> {
    for (const placed of plan.placed) await this.undoPlaced(placed, plan);
    for (const path of [...plan.made].reverse()) await removeIfEmpty(this.root, path);
    for (const path of [...plan.emptied].reverse()) await this.remake(path);
    for (const { from, to } of plan.recovered) await this.moveBack(to, from);
    await this.clearRecovery(plan);
    for (const displaced of plan.displaced) await this.undoDisplaced(displaced);
  }

  private async undoPlaced(placed: Placed, plan: Plan): Promise<void> {
    const displaced = plan.displaced.find((other) => other.path === placed.path);
    const at = await new DeviceView(this.root, false).look(placed.path);
    const what = undoPlaced({
      temp: await this.isInTemp(placed.temp),
      taken: await this.isInTemp(takenBack(placed)),
      restored: displaced !== undefined && !(await this.isInTemp(displaced.temp)),
      atPath: at.kind,
    });
    if (what === 'take_back' && at.kind === 'file') await at.handle.move(this.temp, takenBack(placed));
    if (what !== 'take_back' && what !== 'look_at') return;
    const taken = await this.temp.getFileHandle(takenBack(placed));
    const found = await hashStable(taken, NEVER);
    // Someone edited it since it was placed: that edit exists nowhere else.
    if (found.state !== 'stable' || found.sha256 !== placed.sha256) await this.recover(taken, placed.path);
  }

  private async undoDisplaced(displaced: Displaced): Promise<void> {
    const inTemp = await lookAt(this.temp, displaced.temp);
    const at = await new DeviceView(this.root, false).look(displaced.path);
    const atPath = at.kind === 'absent' && at.blocker !== null ? 'blocked' : at.kind;
    const what = undoDisplaced(inTemp.kind === 'file', atPath);
    if (what === 'not_displaced' || inTemp.kind !== 'file') return;
    if (what === 'make_room' && at.kind === 'file') await this.recover(at.handle, displaced.path);
    if (what === 'recover') await this.recover(inTemp.handle, displaced.path);
    else await this.put(inTemp.handle, displaced.path);
  }

  private async remake(path: string): Promise<void> {
    try {
      await ensureDirectory(this.root, path);
    } catch (thrown) {
      // A file stands there by now, somebody else's: what belongs under it goes to the recovery folder.
      if (!isOtherKind(thrown)) throw thrown;
    }
  }

  private async moveBack(from: string, to: string): Promise<void> {
    const view = new DeviceView(this.root, false);
    const found = await view.look(from);
    const target = await view.look(to);
    if (found.kind !== 'file' || target.kind !== 'absent' || target.blocker !== null) return;
    await this.put(found.handle, to);
  }

  private async clearRecovery(plan: Plan): Promise<void> {
    const first = plan.recovered[0];
    if (!first) return;
    const folder = first.to.split('/', 1)[0] as string;
    const found = await lookAt(this.root, folder);
    if (found.kind !== 'directory') return;
    for (const { path, handle } of await walk(found.handle)) {
      if (handle.kind === 'directory') await removeIfEmpty(this.root, join(folder, path));
    }
    await removeIfEmpty(this.root, folder);
  }

  private async put(file: FileHandle, path: string): Promise<void> {
    await file.move(await ensureDirectory(this.root, parentOf(path)), nameOf(path));
  }

  private async recover(file: FileHandle, path: string): Promise<void> {
    const kept = await recoverFile(this.root, file, this.recovery, path);
    this.recovered.push(kept);
  }

  private async isInTemp(name: string): Promise<boolean> {
    try {
      await this.temp.getFileHandle(name);
      return true;
    } catch (thrown) {
      if (isNotFound(thrown)) return false;
      throw thrown;
    }
  }
}

/** Moves a file to `path` in a recovery folder, under a name nothing has there. Resolves with its device path. */
export async function recoverFile(
  root: DirectoryHandle,
  file: FileHandle,
  folder: string,
  path: string,
): Promise<string> {
  for (let n = 0; ; n++) {
    const at = join(n === 0 ? folder : `${folder}-${n}`, path);
    const found = await new DeviceView(root, false).look(at);
    if (found.kind !== 'absent' || found.blocker !== null) continue;
    await file.move(await ensureDirectory(root, parentOf(at)), nameOf(at));
    return at;
  }
}
