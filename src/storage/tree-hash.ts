/** The hash of a tree (storage.md, Hashes). Pure. */
import { compareUtf8 } from './paths';

export type HashedEntry =
  | { type: 'file'; path: string; size: number; sha256: string }
  | { type: 'directory'; path: string };

/** The SHA-256 of no bytes: the hash of an empty file and of an empty tree. */
export const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/**
 * Lowercase hex SHA-256 of a tree. `entries`: its files and its empty directories, in any order, paths
 * relative to the tree's own root. An empty tree hashes no bytes.
 */
export async function treeHash(entries: readonly HashedEntry[]): Promise<string> {
  const lines = [...entries]
    .sort((a, b) => compareUtf8(a.path, b.path))
    .map((entry) =>
      entry.type === 'file'
        ? `file\0${entry.path}\0${entry.size}\0${entry.sha256}\n`
        : `directory\0${entry.path}\n`,
    );
  return hex(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(lines.join(''))));
}

export function hex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
