/** The heartbeat while 8 MiB answers leave (wire.md §5 rule 1): strict to the second, and so nothing else runs beside. */
import { describe, it } from 'vitest';
import { CROWD, MIB, pingsWhileBusy } from './harness/busy-line';
import { expectSteady, gapsOf } from './harness/pings';

describe('while large answers are being sent', () => {
  it('rule 1: pings keep to 20 s ± 1 s', () =>
    pingsWhileBusy({ bytesPerSecond: 0, atOnce: 1 }, 3, (pings) => expectSteady(gapsOf(pings))));

  it('rule 1: while many of them want to leave at once, too', () =>
    pingsWhileBusy({ bytesPerSecond: 0, atOnce: CROWD }, 3, (pings, _each_ms, stood_ms) =>
      expectSteady(gapsOf(pings), stood_ms),
    ));

  it('rule 1: on a line that takes about a second for such an answer, too', () =>
    pingsWhileBusy({ bytesPerSecond: 10 * MIB, atOnce: 1 }, 3, (pings) => expectSteady(gapsOf(pings))));
});
