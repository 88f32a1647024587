/** What the device changed against the index, as the changes of a commit. Pure. */
import type { Index, IndexEntry, IndexFile } from './index-entries';
import { ancestors, compareUtf8, isWithin } from './paths';
import type { RemoteChange } from './ports';

/** The device's state under one path, in the paths of the index. */
export interface LocalState {
  files: ReadonlyMap<string, IndexFile>;
  emptyDirectories: ReadonlySet<string>;
  /** Files left out of this commit because they changed whenever they were read: they keep their state. */
  unstable: readonly string[];
  /** Subtrees that were not looked at: links, loops, names that no path can have. They keep their state. */
  leftOut: readonly string[];
  /** False when something could not be listed or read: then nothing counts as deleted. */
  complete: boolean;
}

export interface LocalChanges {
  /** Deletions first, so that a file may follow a directory of its name, and the reverse. */
  changes: RemoteChange[];
  /** The index after the commit, for the paths whose entry changes in any way (null: gone). */
  entries: Map<string, IndexEntry | null>;
}

/** `path`: what is saved; index entries outside of it are not looked at. */
export function localChanges(index: Index, path: string, local: LocalState): LocalChanges {
  const deletions: string[] = [];
  const puts: RemoteChange[] = [];
  const entries = new Map<string, IndexEntry | null>();
  const untouched = (at: string) =>
    local.unstable.some((top) => isWithin(at, top)) || local.leftOut.some((top) => isWithin(at, top));
  const directories = new Set(local.emptyDirectories);
  for (const at of local.files.keys()) for (const above of ancestors(at)) directories.add(above);
  // Something of the other kind was seen in its place: gone, however little else was seen.
  const replaced = (at: string) =>
    directories.has(at) || ancestors(at).some((above) => local.files.has(above));
  for (const [at, entry] of index) {
    if (!isWithin(at, path) || untouched(at)) continue;
    if (entry.type === 'file') {
      if (local.files.has(at) || (!local.complete && !replaced(at))) continue;
      deletions.push(at);
      entries.set(at, null);
    } else if (!local.emptyDirectories.has(at) && (local.complete || replaced(at))) {
      // Once it holds something it is implied; taking it off the server would take that along.
      if (!holdsAnything(at, local)) deletions.push(at);
      entries.set(at, null);
    }
  }
  for (const [at, file] of local.files) {
    const agreed = index.get(at);
    const same = agreed?.type === 'file' && agreed.sha256 === file.sha256;
    if (!same) {
      puts.push({
        op: 'put',
        type: 'file',
        path: at,
        size: file.size,
        sha256: file.sha256,
        ...(file.mtime === null ? {} : { mtime: file.mtime }),
      });
    }
    if (!same || agreed.mtime !== file.mtime || agreed.checked_at !== file.checked_at) entries.set(at, file);
  }
  for (const at of local.emptyDirectories) {
    // Where deletions are not committed, what was in it may only be out of sight.
    if (at === '' || index.get(at)?.type === 'directory' || !local.complete) continue;
    puts.push({ op: 'put', type: 'directory', path: at });
    entries.set(at, { type: 'directory' });
  }
  puts.sort((a, b) => compareUtf8(a.path, b.path));
  const changes: RemoteChange[] = deletions
    .sort(compareUtf8)
    .map((at): RemoteChange => ({ op: 'delete', path: at }));
  return { changes: [...changes, ...puts], entries };
}

function holdsAnything(directory: string, local: LocalState): boolean {
  for (const at of local.files.keys()) if (isWithin(at, directory)) return true;
  for (const at of local.emptyDirectories) if (at !== directory && isWithin(at, directory)) return true;
  return [...local.unstable, ...local.leftOut].some((at) => isWithin(at, directory));
}
