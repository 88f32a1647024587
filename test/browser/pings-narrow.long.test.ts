/** The heartbeat on a line that cannot carry what wants to leave (wire.md §5 rule 1). */
import { expect, it } from 'vitest';
import { CROWD, MIB, pingsWhileBusy } from './harness/busy-line';
import { PING_INTERVAL_MS, TOLERANCE_MS } from './harness/pings';

it('rule 1: on a line so narrow that an answer takes longer, a ping waits for those that have left, not for all, and the socket is kept', () =>
  pingsWhileBusy({ bytesPerSecond: MIB, atOnce: CROWD }, 3, ([before, ...pings], each_ms) => {
    expect(each_ms).toBeGreaterThan(5 * TOLERANCE_MS);
    for (const [index, { at }] of pings.entries()) {
      const late = at - (before?.at ?? 0) - (index + 1) * PING_INTERVAL_MS;
      // In front of it is the answer that is leaving, and megabytes that the network stack has taken already.
      expect(late, `ping ${index + 1}`).toBeLessThan(TOLERANCE_MS + (CROWD / 2) * each_ms);
    }
  }));
