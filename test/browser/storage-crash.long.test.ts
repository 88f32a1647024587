/**
 * `storage-crash.test.ts` with many more kills at random moments. Two browsers, each with one profile through all of its
 * kills: while one waits for Chrome to start, the other works.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killAtRandom, tally } from './harness/crash-rounds';
import { CRASH_SCENARIOS } from './harness/crash-scenarios';
import { CrashWorld } from './harness/crash-world';

const PARTS = 4;
const KILLS_OF_A_PART = 25;
const SEED = 1_000_000;

let worlds: CrashWorld[] = [];

beforeAll(async () => {
  worlds = await Promise.all([CrashWorld.create(), CrashWorld.create()]);
});

afterAll(async () => {
  const violations = worlds.flatMap((world) => world.violations);
  await Promise.all(worlds.map((world) => world[Symbol.asyncDispose]()));
  expect(violations).toEqual([]);
});

describe('storage.md, Nothing is half: browsers are killed 200 times at random moments', () => {
  it.each(Array.from({ length: PARTS }, (_, part) => SEED + 2 * part))(
    `2 × ${KILLS_OF_A_PART} kills, seeds %i and the next`,
    async (seed) => {
      const outcomes = (
        await Promise.all(worlds.map((world, at) => killAtRandom(world, seed + at, KILLS_OF_A_PART)))
      ).flat();
      console.log(`${2 * KILLS_OF_A_PART} kills, ${outcomes.length} jobs\n${tally(outcomes)}`);
      // All modes were killed in the middle, and both ends were met: jobs that were undone, and jobs that were done.
      const killed = outcomes.filter(({ answered, steps }) => !answered && steps.length > 0);
      expect(new Set(killed.map(({ scenario }) => scenario.name))).toEqual(
        new Set(CRASH_SCENARIOS.map(({ name }) => name)),
      );
      const results = outcomes.map(({ result }) => result);
      expect(results).toContain('old');
      expect(results).toContain('new');
    },
  );
});
