import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SleepWatch } from '../../../src/relay/sleep-watch';

describe('wire.md §5 rule 1: waking from sleep', () => {
  it('is noticed where the monotonic clock stands still while the machine sleeps', () => {
    const watch = new SleepWatch(1_000_000, 0);
    expect(watch.read(1_005_000, 5_000)).toEqual({ now: 5_000, woke: false });
    expect(watch.read(1_605_000, 5_001)).toEqual({ now: 605_000, woke: true });
    expect(watch.read(1_610_000, 10_001)).toEqual({ now: 610_000, woke: false });
  });

  it('is noticed where the monotonic clock runs on', () => {
    const watch = new SleepWatch(1_000_000, 0);
    expect(watch.read(1_600_000, 600_000)).toEqual({ now: 600_000, woke: true });
    expect(watch.read(1_604_000, 604_000)).toEqual({ now: 604_000, woke: false });
  });

  it('is not mistaken for a late timer or a clock that was set back', () => {
    const watch = new SleepWatch(1_000_000, 0);
    expect(watch.read(1_014_000, 14_000).woke).toBe(false);
    expect(watch.read(14_000, 19_000)).toEqual({ now: 19_000, woke: false });
  });
});

it('a clock that counts sleep never goes back', () => {
  const reading = fc.record({
    wall: fc.integer({ min: -1e9, max: 1e9 }),
    step: fc.integer({ min: -50, max: 1e6 }),
  });
  fc.assert(
    fc.property(fc.array(reading), (readings) => {
      const watch = new SleepWatch(0, 0);
      let monotonic = 0;
      let before = 0;
      for (const { wall, step } of readings) {
        monotonic += step;
        const { now } = watch.read(wall, monotonic);
        expect(now).toBeGreaterThanOrEqual(before);
        before = now;
      }
    }),
  );
});
