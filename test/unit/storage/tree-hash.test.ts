import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EMPTY_SHA256, type HashedEntry, treeHash } from '../../../src/storage/tree-hash';
import { sha256Of } from './sha256';

const A = 'a'.repeat(64);

describe('storage.md, Hashes', () => {
  test('an empty tree is the SHA-256 of no bytes', async () => {
    expect(await treeHash([])).toBe(EMPTY_SHA256);
    expect(await treeHash([])).toBe(await sha256Of(''));
  });

  test('one line per file and per empty directory, sorted by UTF-8 bytes of the path', async () => {
    const entries: HashedEntry[] = [
      { type: 'file', path: '\u{10000}', size: 1, sha256: A },
      { type: 'file', path: '\uffee', size: 20, sha256: A },
      { type: 'directory', path: 'b' },
      { type: 'file', path: 'a/b', size: 0, sha256: EMPTY_SHA256 },
      { type: 'file', path: 'a-b', size: 3, sha256: A },
    ];
    const text =
      `file\0a-b\0${3}\0${A}\n` +
      `file\0a/b\0${0}\0${EMPTY_SHA256}\n` +
      'directory\0b\n' +
      `file\0\uffee\0${20}\0${A}\n` +
      `file\0\u{10000}\0${1}\0${A}\n`;
    expect(await treeHash(entries)).toBe(await sha256Of(text));
  });

  test('the order they come in does not matter', async () => {
    const paths = fc.uniqueArray(fc.string({ unit: 'binary', minLength: 1 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(paths, async (names) => {
        const entries = names.map((path): HashedEntry => ({ type: 'file', path, size: 1, sha256: A }));
        expect(await treeHash([...entries].reverse())).toBe(await treeHash(entries));
      }),
    );
  });
});
