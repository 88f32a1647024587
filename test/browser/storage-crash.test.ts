/**
 * storage.md, "Nothing is lost, nothing is half", in a real browser that is killed (SIGKILL) in the middle of its jobs, on
 * its own file system and on a real folder: after the restart the tree is the old or the new one, nothing temporary is
 * left, and the next sync converges with the service. All of that is expected in each round of `CrashWorld`.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killAfterEachStep } from './harness/crash-rounds';
import { CRASH_SCENARIOS } from './harness/crash-scenarios';
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

describe('storage.md, Nothing is half: the browser is killed after each journal step', () => {
  it.each(CRASH_SCENARIOS)('of $name', (scenario) => killAfterEachStep(world, scenario));
});
