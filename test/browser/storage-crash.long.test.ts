/** `storage-crash.test.ts` with many more kills at random moments, one profile through all of them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killAtRandom } from './harness/crash-rounds';
import { CrashWorld } from './harness/crash-world';

let world: CrashWorld;

beforeAll(async () => {
  world = await CrashWorld.create();
});

afterAll(async () => {
  const violations = [...world.violations];
  await world[Symbol.asyncDispose]();
  expect(violations).toEqual([]);
});

describe('storage.md, Nothing is half: the browser is killed 200 times at random moments', () => {
  const SEED = 1_000_000;
  it.each(Array.from({ length: 8 }, (_, part) => part))(`25 kills, seed ${SEED} + %i`, async (part) => {
    const outcomes = await killAtRandom(world, SEED + part, 25);
    // Both ends are met: jobs that were undone, and jobs that were done.
    expect(new Set(outcomes.map(({ result }) => result))).toEqual(new Set(['old', 'new']));
  });
});
