/**
 * When size and modification time may stand for content (storage.md, Nothing is lost: the racy rule, as git
 * has it for "racily clean" entries). Pure.
 */
import type { IndexFile } from './index-entries';

/**
 * Coarser than any file system's clock (FAT: 2 s). A file edited in the same tick in which it was read keeps
 * its time; such a file is hashed again until the index is older than its time by this.
 */
export const RACY_MARGIN_MS = 3_000;

const DAY_MS = 86_400_000;
/** What archives and file systems write when they know no time: 1970 and the first day of FAT. */
const NO_TIME_MS = [0, Date.UTC(1980, 0, 1)];

/** True when a file of this size and time surely still is what the index says, without reading it. */
export function isSurelyUnchanged(entry: IndexFile, file: { size: number; mtime: number }): boolean {
  return (
    entry.mtime !== null &&
    entry.size === file.size &&
    entry.mtime === file.mtime &&
    isTrustworthy(file.mtime) &&
    entry.checked_at - file.mtime >= RACY_MARGIN_MS
  );
}

function isTrustworthy(mtime: number): boolean {
  return NO_TIME_MS.every((none) => Math.abs(mtime - none) > DAY_MS);
}
