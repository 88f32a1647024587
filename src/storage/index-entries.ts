/**
 * The index: for each path the state both sides last agreed on (storage.md, Words). Holds files and empty
 * directories; a directory that holds anything is implied. Pure.
 */
import { isWithin } from './paths';
import type { RemoteEntry } from './ports';

export interface IndexFile {
  type: 'file';
  /** Bytes. */
  size: number;
  sha256: string;
  /**
   * The modification time (epoch ms) the device's file had when it was seen to hold this content. Null when
   * it never was: then only its bytes can tell whether it does now.
   */
  mtime: number | null;
  /** Epoch ms just before that was seen; see `racy-time`. */
  checked_at: number;
}

export interface IndexDirectory {
  type: 'directory';
}

export type IndexEntry = IndexFile | IndexDirectory;

export type Index = Map<string, IndexEntry>;

export interface StoredIndex {
  index: Index;
  /**
   * What the index said at the base, where it is ahead of it (null: nothing): after a commit with others' commits before
   * it, or when only some paths were brought. A server that tells changes since the base need not tell of a path that
   * came and went since.
   */
  ahead: Map<string, IndexEntry | null>;
}

/** An entry of the server as agreed, not yet seen on the device. */
export function agreedEntry(remote: RemoteEntry): IndexEntry {
  return remote.type === 'directory'
    ? { type: 'directory' }
    : { type: 'file', size: remote.size, sha256: remote.sha256, mtime: null, checked_at: 0 };
}

/** Equal as both sides see it: kind and content. Times are the device's own business. */
export function sameContent(
  a: { type: 'file'; sha256: string } | { type: 'directory' } | null | undefined,
  b: { type: 'file'; sha256: string } | { type: 'directory' } | null | undefined,
): boolean {
  if (!a || !b) return !a && !b;
  if (a.type === 'file') return b.type === 'file' && a.sha256 === b.sha256;
  return b.type === 'directory';
}

/** The entries at and under `path`, but not under any of `without`. */
export function entriesWithin(
  index: Index,
  path: string,
  without: readonly string[] = [],
): [string, IndexEntry][] {
  const found: [string, IndexEntry][] = [];
  for (const [at, entry] of index) {
    if (isWithin(at, path) && !without.some((top) => isWithin(at, top))) found.push([at, entry]);
  }
  return found;
}
