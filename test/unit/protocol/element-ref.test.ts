import { describe, expect, test } from 'vitest';
import { formatRef, parseRef, refPrefix } from '../../../src/protocol/element-ref';

const one = '3FA85F6457174562B3FC2C963F66AFA6';
const other = '3FA85F6457184562B3FC2C963F66AFA6';

describe('tools.md: a ref belongs to a document', () => {
  test('each document has a prefix of its own, the same each time', () => {
    expect(refPrefix(one)).toMatch(/^[0-9a-z]{6}$/);
    expect(refPrefix(one)).toBe(refPrefix(one));
    expect(refPrefix(one)).not.toBe(refPrefix(other));
  });

  test('among many documents no two have the same', () => {
    const prefixes = Array.from({ length: 2_000 }, () => refPrefix(crypto.randomUUID().replaceAll('-', '')));
    expect(new Set(prefixes).size).toBe(prefixes.length);
  });

  test('a ref has the prefix and the number, and nothing else is one', () => {
    const ref = formatRef(refPrefix(one), 12);
    expect(parseRef(ref)).toEqual({ prefix: refPrefix(one), number: 12 });
    for (const none of [
      '',
      'e1',
      '__proto__',
      `${ref} `,
      `x${ref}`,
      'abcdefe0',
      'abcdefe-1',
      'ABCDEFe1',
      'abcdefe1.5',
    ]) {
      expect(parseRef(none)).toBeNull();
    }
  });

  test('what is no hexadecimal id still gives a prefix', () => {
    expect(refPrefix('')).toBe('000000');
  });
});
