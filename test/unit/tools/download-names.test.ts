import { describe, expect, test } from 'vitest';
import { baseName, checkDownloadName, readDownloadAddress } from '../../../src/tools/download-names';

describe('download_start: the file has the name that was asked for, or none', () => {
  test.each(['a.txt', 'reports/2026/may.pdf', '한글 파일.txt', 'a b (1).tar.gz', 'con_.txt', '%2e%2e'])(
    '%j is taken',
    (name) => {
      expect(checkDownloadName(name)).toBe(name);
    },
  );

  test.each([
    '',
    '/',
    '/etc/x',
    'a/',
    'a//b',
    '.',
    '..',
    '../x',
    'a/../x',
    'a/..',
    'C:/x',
    'C:x',
    'a\\b',
    '\\\\host\\x',
    'a\u0000b',
    'a\nb',
    'a\u202etxt.exe',
    'a\u200b',
    '\ud800',
    'a?',
    'a*',
    'a"b',
    'a<b>',
    'a|b',
    '.hidden',
    'a.',
    'a ',
    ' a',
    'a~',
    '~a',
    'con',
    'NUL.txt',
    'a/com1.log',
    'lpt¹',
    'x'.repeat(201),
    '한'.repeat(70),
    `${'a/'.repeat(8)}a`,
  ])('%j is refused', (name) => {
    expect(() => checkDownloadName(name)).toThrow(expect.objectContaining({ code: 'path_invalid' }));
  });

  test('a name of two writings is given in the composed one', () => {
    expect(checkDownloadName('e\u0301.txt')).toBe('\u00e9.txt');
  });
});

describe('download_start: which addresses', () => {
  test('http, https, data', () => {
    expect(readDownloadAddress('https://a.test/x')).toEqual({ url: 'https://a.test/x', kind: 'web' });
    expect(readDownloadAddress(' data:text/plain,x%20')).toEqual({
      url: 'data:text/plain,x%20',
      kind: 'inline',
    });
  });

  test.each([
    ['file:///x', 'page_restricted'],
    ['FILE:///x', 'page_restricted'],
    ['filesystem:https://a.test/temporary/x', 'page_restricted'],
    ['chrome-extension://abc/x', 'page_restricted'],
    ['view-source:https://a.test/', 'page_restricted'],
    ['blob:https://a.test/1', 'invalid_input'],
    ['x', 'invalid_input'],
  ])('%s: %s', (url, code) => {
    expect(() => readDownloadAddress(url)).toThrow(expect.objectContaining({ code }));
  });
});

test('only the last part of a path of this device is told', () => {
  expect(baseName('/home/ann/Downloads/a.txt')).toBe('a.txt');
  expect(baseName('C:\\Users\\ann\\a.txt')).toBe('a.txt');
  expect(baseName('')).toBe('');
});
