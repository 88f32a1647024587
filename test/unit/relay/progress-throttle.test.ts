import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProgressThrottle } from '../../../src/relay/progress-throttle';

const progress = (completed: number) => ({ completed, total: 100, unit: 'files' as const });

describe('wire.md §4: tool_progress', () => {
  it('goes at once, then the latest when its turn comes', () => {
    const throttle = new ProgressThrottle();
    throttle.report('a', progress(1));
    expect(throttle.due(0)).toEqual([{ type: 'tool_progress', id: 'a', ...progress(1) }]);
    throttle.report('a', progress(2));
    throttle.report('a', progress(3));
    expect(throttle.due(100)).toEqual([]);
    const turn = throttle.nextDeadline();
    expect(throttle.due(turn)).toEqual([{ type: 'tool_progress', id: 'a', ...progress(3) }]);
    expect(throttle.nextDeadline()).toBe(Number.POSITIVE_INFINITY);
  });

  it('nothing follows the answer', () => {
    const throttle = new ProgressThrottle();
    throttle.report('a', progress(1));
    throttle.forget('a');
    expect(throttle.due(10_000)).toEqual([]);
  });

  it('is at most two a second per id, and the last report is never lost', () => {
    const report = fc.record({ id: fc.constantFrom('a', 'b'), wait: fc.nat({ max: 400 }) });
    fc.assert(
      fc.property(fc.array(report, { minLength: 1 }), (reports) => {
        const throttle = new ProgressThrottle();
        const sent: { id: string; at: number; completed: number }[] = [];
        const take = (now: number) => {
          for (const { id, completed } of throttle.due(now)) sent.push({ id, at: now, completed });
        };
        let now = 0;
        reports.forEach(({ id, wait }, index) => {
          for (let turn = throttle.nextDeadline(); turn <= now + wait; turn = throttle.nextDeadline())
            take(turn);
          now += wait;
          throttle.report(id, progress(index));
          take(now);
        });
        for (
          let turn = throttle.nextDeadline();
          turn < Number.POSITIVE_INFINITY;
          turn = throttle.nextDeadline()
        ) {
          take(turn);
        }
        for (const id of ['a', 'b'] as const) {
          const own = sent.filter((frame) => frame.id === id);
          own.forEach(({ at }, index) => {
            expect(
              own.filter((other) => other.at >= at && other.at <= at + 1_000).length,
            ).toBeLessThanOrEqual(2);
            expect(own[index + 1]?.completed ?? Number.POSITIVE_INFINITY).toBeGreaterThan(
              own[index]?.completed ?? 0,
            );
          });
          const last = reports.map((one) => one.id).lastIndexOf(id);
          if (last >= 0) expect(own.at(-1)?.completed).toBe(last);
        }
      }),
    );
  });
});
