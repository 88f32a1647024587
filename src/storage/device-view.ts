/**
 * Finding things under a root by path, by their exact names. Remembers the directories it opened, so a view is
 * for one step of one job: whoever changes directories takes a new one. Over handles; changes nothing.
 */
import { isNameRefused, isNotFound, isOtherKind } from './foreign-errors';
import { join, nameOf, parentOf, segments } from './paths';
import type { DirectoryHandle, FileHandle, Handle } from './ports';

export type Found =
  | { kind: 'file'; handle: FileHandle }
  | { kind: 'directory'; handle: DirectoryHandle }
  /** `blocker`: the ancestor that is a file, if that is why. */
  | { kind: 'absent'; blocker: string | null };

const ABSENT: Found = { kind: 'absent', blocker: null };

export class DeviceView {
  private readonly directories = new Map<string, Promise<Found>>();
  private readonly names = new Map<string, Promise<Set<string>>>();

  /** `folds`: the root takes names that differ in case or Unicode form for the same one. */
  constructor(
    readonly root: DirectoryHandle,
    private readonly folds: boolean,
  ) {
    this.directories.set('', Promise.resolve({ kind: 'directory', handle: root }));
  }

  /** What stands at `path`. A root that is gone looks like an absent path: see `marker`. */
  async look(path: string): Promise<Found> {
    const known = this.directories.get(path);
    if (known) return known;
    const parent = await this.lookDirectory(parentOf(path));
    if (parent.kind === 'file') return { kind: 'absent', blocker: parentOf(path) };
    if (parent.kind === 'absent') return parent;
    const name = nameOf(path);
    if (this.folds && !(await this.exactNames(parentOf(path), parent.handle)).has(name)) return ABSENT;
    return lookAt(parent.handle, name);
  }

  /** The same, remembered: for directories that many paths share. */
  async lookDirectory(path: string): Promise<Found> {
    const known = this.directories.get(path);
    if (known) return known;
    const found = this.look(path);
    this.directories.set(path, found);
    return found;
  }

  /** The names a directory lists; empty when there is no such directory. */
  async namesIn(path: string): Promise<Set<string>> {
    const found = await this.lookDirectory(path);
    return found.kind === 'directory' ? this.exactNames(path, found.handle) : new Set();
  }

  private exactNames(path: string, directory: DirectoryHandle): Promise<Set<string>> {
    const known = this.names.get(path);
    if (known) return known;
    const listed = listNames(directory);
    this.names.set(path, listed);
    return listed;
  }
}

async function listNames(directory: DirectoryHandle): Promise<Set<string>> {
  const names = new Set<string>();
  for await (const [name] of directory.entries()) names.add(name);
  return names;
}

/** What a directory has under `name`. A name that the API refuses cannot be there. */
export async function lookAt(directory: DirectoryHandle, name: string): Promise<Found> {
  try {
    return { kind: 'file', handle: await directory.getFileHandle(name) };
  } catch (thrown) {
    if (isNotFound(thrown) || isNameRefused(thrown)) return ABSENT;
    if (!isOtherKind(thrown)) throw thrown;
  }
  try {
    return { kind: 'directory', handle: await directory.getDirectoryHandle(name) };
  } catch (thrown) {
    if (isNotFound(thrown)) return ABSENT;
    if (isOtherKind(thrown)) return { kind: 'absent', blocker: name };
    throw thrown;
  }
}

/** Opens the directory at `path`, made with its parents where missing. */
export async function ensureDirectory(root: DirectoryHandle, path: string): Promise<DirectoryHandle> {
  let at = root;
  for (const name of segments(path)) at = await at.getDirectoryHandle(name, { create: true });
  return at;
}

/** Opens what is there; throws what the API throws. */
export async function openDirectory(root: DirectoryHandle, path: string): Promise<DirectoryHandle> {
  let at = root;
  for (const name of segments(path)) at = await at.getDirectoryHandle(name);
  return at;
}

/** Every file and directory under a directory, itself not; directories after what they hold. For small trees. */
export async function walk(directory: DirectoryHandle, at = ''): Promise<{ path: string; handle: Handle }[]> {
  const found: { path: string; handle: Handle }[] = [];
  for await (const [name, handle] of directory.entries()) {
    const path = join(at, name);
    if (handle.kind === 'directory') found.push(...(await walk(handle, path)));
    found.push({ path, handle });
  }
  return found;
}
