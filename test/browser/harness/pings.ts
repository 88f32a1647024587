/** The pings a relay hears, and whether they keep their time (wire.md §5 rule 1). */
import { expect } from 'vitest';
import type { LoggedFrame } from '../../fake-relay/traffic';
import { createWorld, type World, type WorldOptions } from './world';

export const PING = '{"type":"ping"}';
export const PING_INTERVAL_MS = 20_000;
export const TOLERANCE_MS = 1_000;

/** A world for one test, whatever becomes of it. */
export async function inWorld(options: WorldOptions, test: (world: World) => Promise<void>): Promise<void> {
  const world = await createWorld(options);
  try {
    await test(world);
  } finally {
    await world[Symbol.asyncDispose]();
  }
}

export function isPing({ text }: LoggedFrame): boolean {
  return text === PING;
}

/** The next `count` pings after `since`, one by one as they come: the log may forget them. */
export async function nextPings(
  { relay }: World,
  count: number,
  since = relay.now(),
): Promise<LoggedFrame[]> {
  const pings: LoggedFrame[] = [];
  let after = since;
  while (pings.length < count) {
    const ping = await relay.waitForFrame((frame) => frame.at > after && isPing(frame), {
      since: after,
      what: 'the next ping',
      timeout_ms: 4 * PING_INTERVAL_MS,
    });
    pings.push(ping);
    after = ping.at;
  }
  return pings;
}

export function gapsOf(pings: LoggedFrame[]): number[] {
  return pings.slice(1).map(({ at }, index) => at - (pings[index] as LoggedFrame).at);
}

/** `stood_ms`: how long the machine let the measuring side stand still, which nobody can tell from a late ping. */
export function expectSteady(gaps: number[], stood_ms = 0): void {
  for (const gap of gaps)
    expect(Math.abs(gap - PING_INTERVAL_MS), `${gap} ms`).toBeLessThanOrEqual(TOLERANCE_MS + stood_ms);
}
