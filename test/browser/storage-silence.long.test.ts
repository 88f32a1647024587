/** The other end of the storage worker than that in `storage-crash.test.ts`: one that only its silence tells of. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { endWorkerInMidJob } from './harness/crash-rounds';
import { CrashWorld } from './harness/crash-world';

let world: CrashWorld;

beforeAll(async () => {
  world = await CrashWorld.create();
});

afterAll(async () => {
  const violations = world?.violations ?? [];
  await world?.[Symbol.asyncDispose]();
  expect(violations).toEqual([]);
});

it('storage.md, Nothing is half: the storage worker ends in mid-job, without a word: its silence is noticed, its jobs are answered and undone', () =>
  endWorkerInMidJob(world, 'closes'));
