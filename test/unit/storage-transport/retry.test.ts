import { describe, expect, test } from 'vitest';
import { readRetryAfter, retryDelay } from '../../../src/storage/retry';

describe('Retry-After', () => {
  const now = Date.UTC(2026, 0, 1, 0, 0, 0);
  test.each([
    [null, null],
    ['', null],
    ['0', 0],
    ['120', 120_000],
    [' 5 ', 5000],
    ['-5', null],
    ['1.5', null],
    ['soon', null],
    ['2026', 2_026_000],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['never GMT', null],
    // No timer can hold these; no job lives that long.
    ['99999999999999999999', 86_400_000],
    ['Thu, 01 Jan 2099 00:00:00 GMT', 86_400_000],
  ])('%j is %j', (value, expected) => {
    expect(readRetryAfter(value, now)).toBe(expected);
  });
});

describe('the wait between attempts', () => {
  test('doubles up to 30 s, lengthened by chance by up to a half', () => {
    const waits = (random: number) => [1, 2, 3, 7, 8, 100].map((n) => retryDelay(n, null, () => random));
    expect(waits(0)).toEqual([500, 1000, 2000, 30_000, 30_000, 30_000]);
    expect(waits(0.5)).toEqual([625, 1250, 2500, 37_500, 37_500, 37_500]);
  });

  test('is never shorter than the server asked for, nor than the backoff', () => {
    expect(retryDelay(1, 90_000, () => 0)).toBe(90_000);
    expect(retryDelay(4, 1, () => 0)).toBe(4000);
  });
});
