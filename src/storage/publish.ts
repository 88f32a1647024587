/**
 * Carries out one plan of the journal on the device. What is replaced or taken away first goes where nobody writes
 * and is verified there. Directories cannot be renamed through this API: it is a sequence of file moves.
 * Undoing is `undo`'s.
 */
import pLimit from 'p-limit';
import { AgentError } from '../protocol/errors';
import { DeviceView, ensureDirectory, lookAt } from './device-view';
import { errorName, isNameRefused, isNotFound, stopIfAborted } from './foreign-errors';
import { hashStable } from './hash-file';
import type { Displaced, Plan } from './journal';
import { nameOf, parentOf, quote, refusal } from './paths';
import type { DirectoryHandle, FileHandle, RootKind } from './ports';

const MOVES_IN_FLIGHT = 16;

/** Something was changed since the plan was made. `paths` are the device's whose time cannot be trusted. */
export class ChangedAfterAll extends AgentError {
  constructor(readonly paths: readonly string[]) {
    super('storage_state_conflict', `${quote(paths[0] ?? '')} was changed on the device in the meantime.`);
  }
}

export interface Place {
  root: DirectoryHandle;
  kind: RootKind;
  temp: DirectoryHandle;
  /** The files in the temp folder by name, as far as they are at hand. */
  staged: ReadonlyMap<string, FileHandle>;
}

/** Throws `ChangedAfterAll` when the device is not as planned; whatever it throws, the plan is to be undone. */
export async function publish(
  plan: Plan,
  { root, kind, temp, staged }: Place,
  signal: AbortSignal,
): Promise<void> {
  const directories = new DeviceView(root, false);
  await together(plan.displaced, async (displaced) => {
    stopIfAborted(signal);
    const found = await directories.look(displaced.path);
    if (found.kind !== 'file') throw new ChangedAfterAll([displaced.path]);
    await found.handle.move(temp, displaced.temp);
  });
  await verify(plan.displaced, temp, signal);
  for (const recovered of plan.recovered) {
    const found = await directories.look(recovered.from);
    if (found.kind !== 'file') throw new ChangedAfterAll([recovered.from]);
    const folder = await ensureDirectory(root, parentOf(recovered.to));
    await requireFree(folder, nameOf(recovered.to), recovered.to);
    await found.handle.move(folder, nameOf(recovered.to));
  }
  for (const path of plan.emptied) await removeIfEmpty(root, path);
  for (const path of plan.made) await makeDirectory(root, path);
  const fresh = new DeviceView(root, false);
  const made = new Set(plan.made);
  await together(plan.placed, async (placed) => {
    stopIfAborted(signal);
    const parent = parentOf(placed.path);
    const folder = await fresh.lookDirectory(parent);
    if (folder.kind !== 'directory') throw new ChangedAfterAll([placed.path]);
    const name = nameOf(placed.path);
    // A directory that was made here, where nobody else writes, is looked into once: it holds what is put there.
    if (kind === 'browser' && made.has(parent)) {
      if ((await fresh.namesIn(parent)).has(name)) throw new ChangedAfterAll([placed.path]);
    } else await requireFree(folder.handle, name, placed.path);
    const file = staged.get(placed.temp) ?? (await temp.getFileHandle(placed.temp));
    await naming(placed.path, file.move(folder.handle, name));
  });
}

/** A file that was moved away must be the one that was meant to be: another program may have changed it just before. */
async function verify(
  displaced: readonly Displaced[],
  temp: DirectoryHandle,
  signal: AbortSignal,
): Promise<void> {
  const changed: string[] = [];
  await together(displaced, async (file) => {
    const found = await hashStable(await temp.getFileHandle(file.temp), signal);
    if (found.state !== 'stable' || found.sha256 !== file.sha256) changed.push(file.path);
  });
  if (changed.length > 0) throw new ChangedAfterAll(changed);
}

/** `move` replaces without asking: look first. */
async function requireFree(folder: DirectoryHandle, name: string, path: string): Promise<void> {
  if ((await lookAt(folder, name)).kind !== 'absent') throw new ChangedAfterAll([path]);
}

/** True when it is gone now. Never takes along what it holds. */
export async function removeIfEmpty(root: DirectoryHandle, path: string): Promise<boolean> {
  try {
    const parent = await new DeviceView(root, false).look(parentOf(path));
    if (parent.kind !== 'directory') return true;
    if ((await lookAt(parent.handle, nameOf(path))).kind !== 'directory') return true;
    await parent.handle.removeEntry(nameOf(path));
    return true;
  } catch (thrown) {
    if (isNotFound(thrown)) return true;
    if (errorName(thrown) === 'InvalidModificationError') return false;
    throw thrown;
  }
}

async function makeDirectory(root: DirectoryHandle, path: string): Promise<void> {
  await naming(path, ensureDirectory(root, path));
}

async function naming<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    if (isNameRefused(thrown)) throw refusal('storage_path_unrepresentable', [path]);
    throw thrown;
  }
}

/** Runs them side by side and waits for all, also after a failure: the undoing must find nobody at work. */
async function together<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const limit = pLimit(MOVES_IN_FLIGHT);
  let failed = false;
  const results = await Promise.allSettled(
    items.map((item) =>
      limit(async () => {
        if (failed) return;
        try {
          await work(item);
        } catch (thrown) {
          failed = true;
          throw thrown;
        }
      }),
    ),
  );
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) throw failure.reason;
}
