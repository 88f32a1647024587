import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ancestors,
  compareUtf8,
  isInternalName,
  isUnrepresentable,
  isWithin,
  join,
  MAX_PATH_BYTES,
  nameOf,
  parentOf,
  pathProblem,
  quote,
  relativeTo,
  requirePath,
} from '../../../src/storage/paths';

describe('storage.md, Paths and names', () => {
  test.each([
    ['absolute', '/x'],
    ['a backslash', 'a\\..\\x'],
    ['a drive', 'C:\\x'],
    ['a share', '\\\\h\\s\\x'],
    ['an empty segment', 'a//b'],
    ['a trailing slash', 'a/'],
    ['a dot', 'a/./b'],
    ['two dots', '../x'],
    ['two dots inside', 'a/../../x'],
    ['NUL', 'a\u0000b'],
    ['a control character', 'a\u001fb'],
    ['a C1 control character', 'a\u0085b'],
    ['DEL', 'a\u007fb'],
    ['an unpaired surrogate', 'a\ud83d'],
    ['a reversed pair', 'a\udc00\ud83d'],
    ['a name over 255 bytes', 'x'.repeat(256)],
    ['a name over 255 bytes in few characters', '\u{1f600}'.repeat(64)],
    ['over 4096 bytes', Array.from({ length: 21 }, () => 'y'.repeat(200)).join('/')],
    ['an internal name', '.endue-storage-tmp-1/x'],
    ['an internal name in capitals', 'a/.ENDUE-storage-id'],
    ['a swap name', 'a/x.crswap'],
  ])('refused as path_invalid: %s', (_, path) => {
    expect(pathProblem(path)).not.toBeNull();
    expect(() => requirePath(path, 'root_allowed')).toThrow(
      expect.objectContaining({ code: 'path_invalid' }),
    );
  });

  test.each([
    'a',
    'a b/c',
    '...',
    '.hidden',
    'x'.repeat(255),
    '%2e%2e/x',
    'e\u0301',
    '\u{1f600}',
    'a~b',
    'con',
    'a:b',
  ])('legal: %s', (path) => {
    expect(pathProblem(path)).toBeNull();
  });

  test('"" is the root, for save_path only', () => {
    expect(() => requirePath('', 'root_allowed')).not.toThrow();
    expect(() => requirePath('', 'root_refused')).toThrow(expect.objectContaining({ code: 'path_invalid' }));
  });

  test('a path of exactly 4096 bytes is legal, one more is not', () => {
    const path = Array.from({ length: 16 }, () => 'z'.repeat(255))
      .join('/')
      .slice(0, -2);
    const full = `${path}/zz`.padEnd(MAX_PATH_BYTES, 'z');
    expect(full.length).toBe(MAX_PATH_BYTES);
    expect(pathProblem(full)).toBeNull();
    expect(pathProblem(`${full}z`)).not.toBeNull();
  });

  test.each([
    'con',
    'CON.txt',
    'nul',
    'com1',
    'LPT9.log',
    'a:b',
    'a*b',
    'a?b',
    'a"b',
    'a<b',
    'a|b',
    'dot.',
    'space ',
    ' lead',
    '..lead',
    '~x',
    'x~',
    'a.lnk',
    'a.URL',
    'a.scf',
    'desktop.ini',
    'Thumbs.db',
    'clock$',
    'foo.{a}',
    'a\u202eb',
    'a\u00adb',
    'a\u200bb',
    '\ufeffa',
  ])('Chrome cannot hold it in a folder, OPFS can: %j', (name) => {
    expect(isUnrepresentable(name, 'folder')).toBe(true);
    expect(isUnrepresentable(name, 'browser')).toBe(false);
  });

  test.each([
    'console',
    'con-fig',
    'a~b',
    'lnk',
    'a.lnk.txt',
    '.hidden',
    'x.crs',
    'naïve',
    'com',
    'com10',
    'a\u200db',
    '\u{1f600}',
  ])('Chrome can hold it anywhere: %j', (name) => {
    expect(isUnrepresentable(name, 'folder')).toBe(false);
  });

  test('internal names are .endue-storage-* and *.crswap', () => {
    expect(['.endue-storage-id', '.endue-storage-tmp-x', 'a.crswap'].every(isInternalName)).toBe(true);
    expect(['.endue', 'endue-storage-x', 'crswap', 'a.crswap.txt'].some(isInternalName)).toBe(false);
  });
});

const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 6 })
  .filter((text) => !text.includes('/'));
const path = fc.array(name, { minLength: 1, maxLength: 5 }).map((names) => names.join('/'));

describe('operations on paths', () => {
  test('join, parentOf, nameOf and relativeTo fit together', () => {
    fc.assert(
      fc.property(path, path, (a, b) => {
        expect(join(parentOf(a), nameOf(a))).toBe(a);
        expect(relativeTo(a, join(a, b))).toBe(b);
        expect(isWithin(join(a, b), a)).toBe(true);
        expect(ancestors(join(a, b))).toContain(a);
        expect(join('', a)).toBe(a);
        expect(join(a, '')).toBe(a);
      }),
    );
  });

  test('a name that only begins alike is not within', () => {
    expect(isWithin('ab', 'a')).toBe(false);
    expect(isWithin('a', 'a')).toBe(true);
    expect(isWithin('a/b', '')).toBe(true);
  });

  test('compareUtf8 is the order of UTF-8 bytes', () => {
    const text = fc.string({ unit: 'binary', maxLength: 6 });
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
    expect(compareUtf8('\uffff', '\u{10000}')).toBeLessThan(0);
  });

  test('a quoted path is short and safe whatever is in it', () => {
    expect(quote('a\u0000\ud83d')).toBe('"a\\u0000\\ud83d"');
    expect(quote('x'.repeat(10_000)).length).toBeLessThan(200);
  });
});
