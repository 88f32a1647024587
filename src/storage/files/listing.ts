/**
 * What is in a directory, in an order that can be continued: by name (UTF-8 bytes), each directory before what it
 * holds. Internal names, and those that no path can have, are left out. Over handles; changes nothing.
 */
import { isNotFound, stopIfAborted } from '../foreign-errors';
import { compareUtf8, isInternalName, join, nameProblem, segments } from '../paths';
import type { DirectoryHandle, Handle } from '../ports';

export interface ListedEntry {
  path: string;
  type: 'file' | 'directory';
  /** Bytes; null of a directory. */
  size: number | null;
  /** ISO 8601; null of a directory. */
  modified_at: string | null;
}

export interface Listing {
  entries: ListedEntry[];
  /** True when more come after the last entry. */
  more: boolean;
}

export interface ListingOptions {
  /** What the paths begin with. */
  prefix: string;
  recursive: boolean;
  /** The last path of the listing before, relative to the directory; null from the start. */
  after: string | null;
  limit: number;
  signal: AbortSignal;
}

export async function listing(directory: DirectoryHandle, options: ListingOptions): Promise<Listing> {
  const result: Listing = { entries: [], more: false };
  await list(
    directory,
    options.prefix,
    options.after === null ? [] : segments(options.after),
    result,
    options,
  );
  return result;
}

/** `after`: what of this directory was listed already, as a path below it. */
async function list(
  directory: DirectoryHandle,
  prefix: string,
  [last, ...inside]: readonly string[],
  result: Listing,
  options: ListingOptions,
): Promise<void> {
  stopIfAborted(options.signal);
  for (const [name, handle] of await sorted(directory)) {
    const order = last === undefined ? 1 : compareUtf8(name, last);
    if (order < 0) continue;
    if (result.more) return;
    const path = join(prefix, name);
    if (order > 0) await add(path, handle, result, options.limit);
    if (!options.recursive || handle.kind === 'file' || result.more) continue;
    await list(handle, path, order === 0 ? inside : [], result, options).catch((thrown) => {
      if (!isNotFound(thrown)) throw thrown;
    });
  }
}

async function add(path: string, handle: Handle, result: Listing, limit: number): Promise<void> {
  if (result.entries.length >= limit) {
    result.more = true;
    return;
  }
  if (handle.kind === 'directory') {
    result.entries.push({ path, type: 'directory', size: null, modified_at: null });
    return;
  }
  try {
    const file = await handle.getFile();
    const modified_at = new Date(file.lastModified).toISOString();
    result.entries.push({ path, type: 'file', size: file.size, modified_at });
  } catch (thrown) {
    // It went away while the directory was listed.
    if (!isNotFound(thrown)) throw thrown;
  }
}

async function sorted(directory: DirectoryHandle): Promise<[string, Handle][]> {
  const found: [string, Handle][] = [];
  for await (const [name, handle] of directory.entries()) {
    if (!isInternalName(name) && nameProblem(name) === null) found.push([name, handle]);
  }
  return found.sort(([a], [b]) => compareUtf8(a, b));
}
