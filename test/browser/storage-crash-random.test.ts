/** `storage-crash.test.ts` with kills at random moments, and with a storage worker that ends alone. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endWorkerInMidJob, killAtRandom } from './harness/crash-rounds';
import { CrashWorld, VICTIMS } from './harness/crash-world';

let world: CrashWorld;

beforeAll(async () => {
  world = await CrashWorld.create();
});

afterAll(async () => {
  const violations = [...world.violations];
  await world[Symbol.asyncDispose]();
  expect(violations).toEqual([]);
});

describe('storage.md, Nothing is half: the storage worker ends in mid-job', () => {
  it('by an error that nobody caught: its jobs are answered at once, and undone', () =>
    endWorkerInMidJob(world, 'breaks'));
});

describe('storage.md, Nothing is half: the browser is killed at random moments', () => {
  const SEED = 20261130;
  it.each([0, 1, 2, 3])(`5 kills, seed ${SEED} + %i`, async (part) => {
    const outcomes = await killAtRandom(world, SEED + part, 5);
    // A kill that came when all were answered does not count, but its jobs are among these.
    expect(outcomes.length).toBeGreaterThanOrEqual(5 * VICTIMS);
  });
});
