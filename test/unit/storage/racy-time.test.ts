import { describe, expect, test } from 'vitest';
import { isSurelyUnchanged, RACY_MARGIN_MS } from '../../../src/storage/racy-time';

const T = Date.UTC(2026, 5, 1);
const entry = (mtime: number | null, checked_at: number) =>
  ({ type: 'file', size: 4, sha256: 'x', mtime, checked_at }) as const;

describe('storage.md, unchanged is decided by size and modification time only when the index is younger by a safe margin', () => {
  test('younger by the margin: trusted', () => {
    expect(isSurelyUnchanged(entry(T, T + RACY_MARGIN_MS), { size: 4, mtime: T })).toBe(true);
  });

  test('a same-tick edit is hashed again', () => {
    expect(isSurelyUnchanged(entry(T, T), { size: 4, mtime: T })).toBe(false);
    expect(isSurelyUnchanged(entry(T, T + RACY_MARGIN_MS - 1), { size: 4, mtime: T })).toBe(false);
  });

  test('another size or time is another file', () => {
    expect(isSurelyUnchanged(entry(T, T + 1e6), { size: 5, mtime: T })).toBe(false);
    expect(isSurelyUnchanged(entry(T, T + 1e6), { size: 4, mtime: T - 1 })).toBe(false);
  });

  test('never seen on the device: only its bytes can tell', () => {
    expect(isSurelyUnchanged(entry(null, T + 1e6), { size: 4, mtime: T })).toBe(false);
  });

  test.each([0, 1, 1000, Date.UTC(1980, 0, 1), Date.UTC(2099, 0, 1)])(
    'case 10: the time %d is not to be trusted',
    (mtime) => {
      expect(isSurelyUnchanged(entry(mtime, T), { size: 4, mtime })).toBe(false);
    },
  );
});
