/** A zip that depends on nothing but the files in it: names sorted, one time for all, one way to compress. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Zippable, zipSync } from 'fflate';

/** The files of a package: path with `/` → content. */
export type PackageFiles = ReadonlyMap<string, Uint8Array>;

/** Every file below `directory`. */
export function readFiles(directory: string): Map<string, Uint8Array> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(directory, name)).isFile())
    .map((name) => name.replaceAll('\\', '/'));
  return new Map(names.map((name) => [name, Uint8Array.from(readFileSync(join(directory, name)))]));
}

/** The same bytes for the same files, whatever the machine, its clock and the order of `files`. */
export function zip(files: PackageFiles): Uint8Array {
  // By code units, not by the machine's language.
  const sorted = [...files].sort(([one], [other]) => (one < other ? -1 : 1));
  const entries: Zippable = Object.fromEntries(sorted);
  // The first moment a zip can tell. Its times have no zone, and this reads the same in every zone.
  const mtime = new Date(1980, 0, 1);
  // `os: 3` (Unix) with the rights of a plain file.
  return zipSync(entries, { level: 9, mtime, os: 3, attrs: 0o100644 << 16 });
}
