import { describe, expect, test } from 'vitest';
import {
  activeSeals,
  isSealed,
  parseSealUntil,
  requireRemovable,
  requireUnsealed,
  type Seal,
  sealAgainst,
} from '../../../src/storage/seals';

const T = Date.UTC(2030, 0, 2, 3, 4, 5);
const seal = (path: string, more: Partial<Seal> = {}): Seal => ({
  path,
  until: null,
  hash: 'h',
  entries: [],
  vault: null,
  ...more,
});
const code = (code: string) => expect.objectContaining({ code });

describe('storage.md, seal_until: ISO 8601, or epoch seconds or milliseconds', () => {
  test.each<[string | number, number]>([
    [T, T],
    [T / 1000, T],
    [T / 1000 + 0.5, T + 500],
    [String(T), T],
    [String(T / 1000), T],
    ['2030-01-02T03:04:05Z', T],
    ['2030-01-02T03:04:05.000Z', T],
    ['2030-01-02T05:04:05+02:00', T],
    ['2030-01-02T03:04:05', T],
    ['2030-01-02', Date.UTC(2030, 0, 2)],
    [0, 0],
  ])('%j', (value, expected) => {
    expect(parseSealUntil(value)).toBe(expected);
  });

  test('none: until it is unsealed', () => {
    expect(parseSealUntil(undefined)).toBeNull();
    expect(parseSealUntil(null)).toBeNull();
  });

  test.each([
    '',
    'soon',
    'in 2030',
    '2030-13-45',
    'NaN',
    '-5',
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -1,
    1e300,
  ])('invalid_input: %j', (value) => {
    expect(() => parseSealUntil(value)).toThrow(code('invalid_input'));
  });
});

describe('storage.md, Seals', () => {
  test('expiry needs no message', () => {
    const seals = [seal('a', { until: T }), seal('b', { until: T + 1 }), seal('c')];
    expect(activeSeals(seals, T).map(({ path }) => path)).toEqual(['b', 'c']);
  });

  test('a write on it, under it, or above it is against the seal; beside it is not', () => {
    const seals = [seal('d/e')];
    for (const path of ['d/e', 'd/e/f', 'd', '']) expect(sealAgainst(seals, path)).not.toBeNull();
    for (const path of ['d/f', 'd/ee', 'x']) expect(sealAgainst(seals, path)).toBeNull();
    expect(isSealed(seals, 'd')).toBe(false);
    expect(isSealed(seals, 'd/e/f')).toBe(true);
    expect(isSealed([seal('')], 'anything')).toBe(true);
    expect(() => requireUnsealed(seals, 'd/e/f')).toThrow(code('storage_path_sealed'));
  });

  test('remove_path of a sealed path is allowed when its hash is what was sealed', () => {
    expect(() => requireRemovable([seal('d')], 'd', 'h')).not.toThrow();
    expect(() => requireRemovable([seal('d')], 'd', 'other')).toThrow(code('storage_state_conflict'));
    expect(() => requireRemovable([seal('d')], 'd/x', 'h')).toThrow(code('storage_path_sealed'));
    expect(() => requireRemovable([seal('d/x')], 'd', 'h')).toThrow(code('storage_path_sealed'));
    expect(() => requireRemovable([seal('d'), seal('d/x')], 'd', 'h')).toThrow(code('storage_path_sealed'));
  });
});
