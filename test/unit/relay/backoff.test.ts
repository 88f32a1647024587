import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { askAgainDelay, backoffDelay, replacedWait } from '../../../src/relay/backoff';

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('wire.md §5 rule 7: reconnect', () => {
  it('doubles from 1 s to 60 s', () => {
    const delays = [0, 1, 2, 3, 4, 5, 6, 7, 2_000].map((attempt) => backoffDelay(attempt, 0));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  it('lengthens every delay by 0–50 %, whatever the attempt', () => {
    fc.assert(
      fc.property(fc.nat({ max: 5_000 }), random, (attempt, part) => {
        const base = backoffDelay(attempt, 0);
        const delay = backoffDelay(attempt, part);
        expect(delay).toBeGreaterThanOrEqual(base);
        expect(delay).toBeLessThanOrEqual(base * 1.5);
        expect(base).toBe(Math.min(1_000 * 2 ** Math.min(attempt, 10), 60_000));
      }),
    );
    expect(backoffDelay(0, 0.5)).toBe(1_250);
  });

  it('waits more than 60 s and at most 90 s after 1012', () => {
    fc.assert(
      fc.property(random, (part) => {
        expect(replacedWait(part)).toBeGreaterThan(60_000);
        expect(replacedWait(part)).toBeLessThanOrEqual(90_000);
      }),
    );
  });
});

it('asks a router that died again at once, then ever more slowly, at most every 2 s', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 500].map(askAgainDelay)).toEqual([0, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
});
