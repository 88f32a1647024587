import { describe, expect, it } from 'vitest';
import { formatDeadline, formatDuration, formatShortTime, formatTime } from '../../../src/ui/format';

const now = new Date(2026, 4, 3, 14, 7).getTime();
const yesterday = new Date(2026, 4, 2, 23, 59).getTime();

describe('times and durations', () => {
  it.each([
    [0, '0ms', '0ms'],
    [21.4, '21ms', '21ms'],
    [312, '0.3s', '0.3초'],
    [9_960, '10s', '10초'],
    [12_400, '12s', '12초'],
    [59_400, '59s', '59초'],
    [125_000, '2m 5s', '2분 5초'],
    [3_600_000, '60m 0s', '60분 0초'],
  ])('%d ms', (ms, en, ko) => {
    expect(formatDuration(ms, 'en')).toBe(en);
    expect(formatDuration(ms, 'ko')).toBe(ko);
  });

  it('59.9 s are not sixty seconds', () => {
    expect(formatDuration(59_900, 'en')).toBe('1m 0s');
  });

  it('a time of another day has its date, in one piece', () => {
    expect(formatTime(now, now, 'en-US')).toBe('2:07\u00A0PM');
    expect(formatTime(yesterday, now, 'en-US')).toBe('May\u00A02,\u00A011:59\u00A0PM');
    expect(formatShortTime(now, now, 'en-US')).toBe('2:07\u00A0PM');
    expect(formatShortTime(yesterday, now, 'en-US')).toBe('May\u00A02');
  });

  it('a moment that is near is told to the second', () => {
    expect(formatDeadline(now + 29_000, now, 'en-US')).toBe('2:07:29\u00A0PM');
    expect(formatDeadline(now + 120_000, now, 'en-US')).toBe('2:09\u00A0PM');
  });
});
