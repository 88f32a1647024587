/**
 * Lists what stands under a directory, with size and time of each file, and says how much of it was seen
 * (storage.md, Paths and names; cases 6, 14). Never follows a directory into itself. Over handles; reads no content.
 */
import pLimit from 'p-limit';
import { utf8Length } from '../protocol/json';
import { isNotFound, isUnreadable, stopIfAborted } from './foreign-errors';
import { READS_IN_FLIGHT } from './hash-file';
import { isInternalName, join, MAX_PATH_BYTES, nameProblem } from './paths';
import type { DirectoryHandle, FileHandle, FileSnapshot, Handle } from './ports';

export interface ScannedFile {
  handle: FileHandle;
  file: FileSnapshot;
  size: number;
  /** Epoch ms. */
  mtime: number;
}

export interface Scan {
  files: Map<string, ScannedFile>;
  emptyDirectories: Set<string>;
  /** Every directory seen, the empty ones too, without the top. */
  directories: Set<string>;
  /** Subtrees not looked at by their nature: links, loops, names that no path can have. */
  leftOut: string[];
  /** False when something that was there could not be listed or read: no deletion may be concluded. */
  complete: boolean;
}

export interface ScanOptions {
  /** What the paths found are to begin with. */
  prefix: string;
  /** The folders of links, in the same paths. */
  links: readonly string[];
  signal: AbortSignal;
  found?: (files: number) => void;
  /** Called with each file once its size and time are known, while others are still being listed. */
  each?: (path: string, file: ScannedFile) => Promise<void>;
}

interface Level {
  directory: DirectoryHandle;
  names: Set<string>;
}

/** Throws when the top itself cannot be listed. */
export async function scan(top: DirectoryHandle, options: ScanOptions): Promise<Scan> {
  const result: Scan = {
    files: new Map(),
    emptyDirectories: new Set(),
    directories: new Set(),
    leftOut: [],
    complete: true,
  };
  const reads = pLimit(READS_IN_FLIGHT);
  const pending: Promise<void>[] = [];
  try {
    await scanDirectory(top, options.prefix, [], result, options, (path, handle) => {
      pending.push(reads(() => statFile(path, handle, result, options)));
    });
  } finally {
    await Promise.allSettled(pending);
  }
  await Promise.all(pending);
  return result;
}

async function scanDirectory(
  directory: DirectoryHandle,
  path: string,
  above: readonly Level[],
  result: Scan,
  options: ScanOptions,
  onFile: (path: string, handle: FileHandle) => void,
): Promise<void> {
  stopIfAborted(options.signal);
  const listed = new Map<string, Handle>();
  for await (const [name, handle] of directory.entries()) listed.set(name, handle);
  const level: Level = { directory, names: new Set(listed.keys()) };
  if (await isOneOf(level, above)) {
    result.leftOut.push(path);
    return;
  }
  if (path !== options.prefix) result.directories.add(path);
  let holdsSomething = false;
  for (const [name, handle] of listed) {
    // An empty name is a file whose name Chrome cannot tell: nothing can be done with it.
    if (name === '' || isInternalName(name)) continue;
    const child = join(path, name);
    if (options.links.includes(child)) {
      holdsSomething = true;
      result.leftOut.push(child);
    } else if (nameProblem(name) !== null || utf8Length(child) > MAX_PATH_BYTES) {
      holdsSomething = true;
      if (isTellable(child)) result.leftOut.push(child);
    } else if (handle.kind === 'file') {
      holdsSomething = true;
      onFile(child, handle);
    } else {
      holdsSomething = true;
      try {
        await scanDirectory(handle, child, [...above, level], result, options, onFile);
      } catch (thrown) {
        if (!isNotFound(thrown) && !isUnreadable(thrown)) throw thrown;
        result.complete = false;
      }
    }
  }
  if (!holdsSomething) result.emptyDirectories.add(path);
}

/** A directory that holds itself lists the same names as the one above it that it is. */
async function isOneOf(level: Level, above: readonly Level[]): Promise<boolean> {
  for (const other of above) {
    if (other.names.size !== level.names.size) continue;
    if ([...level.names].some((name) => !other.names.has(name))) continue;
    if (await other.directory.isSameEntry(level.directory)) return true;
  }
  return false;
}

function isTellable(path: string): boolean {
  return utf8Length(path) <= MAX_PATH_BYTES;
}

async function statFile(path: string, handle: FileHandle, result: Scan, options: ScanOptions): Promise<void> {
  stopIfAborted(options.signal);
  let scanned: ScannedFile;
  try {
    const file = await handle.getFile();
    scanned = { handle, file, size: file.size, mtime: file.lastModified };
  } catch (thrown) {
    if (!isNotFound(thrown) && !isUnreadable(thrown)) throw thrown;
    result.complete = false;
    return;
  }
  result.files.set(path, scanned);
  options.found?.(result.files.size);
  await options.each?.(path, scanned);
}
