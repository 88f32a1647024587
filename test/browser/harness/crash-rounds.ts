/** Which jobs a browser is killed in: each step of a mode once, and any number of random ones, told by a seed. */
import { expect } from 'vitest';
import type { RootKind } from '../../../src/storage/ports';
import { CRASH_SCENARIOS, type CrashScenario } from './crash-scenarios';
import { type CrashWorld, type Outcome, VICTIMS, type Victim } from './crash-world';
import type { Step, WorkerEnd } from './storage-probes';

const KINDS: readonly RootKind[] = ['browser', 'folder'];

const ENDS: readonly Step[] = ['journal finished', 'temp folder removed', 'journal cleared'];
const STARTS: readonly Step[] = ['journal opened', 'temp folder made'];
const BRINGS: readonly Step[] = [
  ...STARTS,
  'file written',
  'plan written',
  'moved away',
  'moved to its place',
  ...ENDS,
];

/** The steps of each mode after which it is killed. */
export const STEPS: Record<string, readonly Step[]> = {
  save_path: [...BRINGS.slice(0, -3), 'folder made', 'seals written', 'committed', ...ENDS],
  place_path: [
    ...STARTS,
    'file written',
    'plan written',
    'folder made',
    'moved to its place',
    'committed',
    ...ENDS,
  ],
  remove_path: [...STARTS, 'plan written', 'moved away', 'folder removed', 'committed', ...ENDS],
  link_pull: BRINGS,
  link_push: [...BRINGS.slice(0, -3), 'committed', ...ENDS],
  link_remove: [
    ...STARTS,
    'plan written',
    'moved away',
    'folder made',
    'moved to recovery',
    'folder removed',
    ...ENDS,
  ],
  path_sync: BRINGS,
};

/** One mode killed after each of its steps, in turn on the browser's own file system and on a folder. */
export async function killAfterEachStep(world: CrashWorld, scenario: CrashScenario): Promise<void> {
  const steps = STEPS[scenario.name] ?? [];
  const victims: Victim[] = [];
  for (let n = 0; n < steps.length || n % VICTIMS !== 0; n += 1) {
    const step = steps[n % steps.length] as Step;
    // The push is first told to merge: its second commit is the one that counts.
    const nth = step === 'committed' && scenario.name === 'link_push' ? 2 : 1;
    // The second time around on the other kind.
    const kind = KINDS[(n + (n >= steps.length ? 1 + (steps.length % 2) : 0)) % 2] as RootKind;
    victims.push({ scenario, kind, hold: { step, nth } });
  }
  for (let at = 0; at < victims.length; at += VICTIMS) {
    const round = { victims: victims.slice(at, at + VICTIMS) };
    const outcomes = await world.round(round);
    for (const { hold, steps: done, answered, result } of outcomes) {
      expect(done, 'the step to be killed after').toContain(hold?.step);
      expect(answered).toBe(false);
      if (done.includes('journal finished')) expect(result).not.toBe('old');
      else expect(result).not.toBe('new');
    }
  }
  await world.settle();
}

/** The storage worker ends in the middle of four jobs, with the browser alive: they are answered, and undone. */
export async function endWorkerInMidJob(world: CrashWorld, end: WorkerEnd): Promise<void> {
  const at: readonly [string, Step][] = [
    ['save_path', 'moved away'],
    ['remove_path', 'folder removed'],
    ['place_path', 'moved to its place'],
    ['link_remove', 'moved to recovery'],
  ];
  const victims = at.map(([name, step], n) => {
    const scenario = CRASH_SCENARIOS.find((other) => other.name === name) as CrashScenario;
    return { scenario, kind: KINDS[n % 2] as RootKind, hold: { step, nth: 1 } };
  });
  const outcomes = await world.round({ victims, end });
  expect(outcomes.map(({ result }) => result)).toEqual(at.map(() => 'old'));
  await world.settle();
}

/** A generator of numbers in [0, 1) that gives the same ones for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What became of the jobs, for people: by mode and kind of Storage. */
export function tally(outcomes: readonly Outcome[]): string {
  const rows = new Map<string, Record<string, number>>();
  for (const { scenario, kind, answered, steps, result } of outcomes) {
    const name = `${scenario.name} on ${kind}`;
    const row = rows.get(name) ?? {};
    rows.set(name, row);
    const place = answered
      ? 'answered'
      : steps.length === 0
        ? 'killed before its first step'
        : `killed: ${result}`;
    row[place] = (row[place] ?? 0) + 1;
  }
  return [...rows.keys()]
    .sort()
    .map((name) => `${name}: ${JSON.stringify(rows.get(name))}`)
    .join('\n');
}

/** Roughly how many steps the jobs of a round make together. */
const STEPS_OF_A_ROUND = 14 * VICTIMS;

/**
 * Kills the browser `times` times while jobs of random modes run side by side on both kinds of Storage. A kill that came
 * when every job had been answered does not count, but is judged as well. Resolves with what became of each job.
 */
export async function killAtRandom(world: CrashWorld, seed: number, times: number): Promise<Outcome[]> {
  const random = randomNumbers(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const all: Outcome[] = [];
  for (let kills = 0; kills < times; ) {
    const victims = Array.from({ length: VICTIMS }, (_, nth) => ({
      scenario: pick(CRASH_SCENARIOS),
      kind: KINDS[nth % 2] as RootKind,
    }));
    const round = { victims, killAt: 1 + Math.floor(random() * STEPS_OF_A_ROUND) };
    const outcomes = await world.round(round);
    if (outcomes.some(({ answered }) => !answered)) kills += 1;
    all.push(...outcomes);
  }
  await world.settle();
  return all;
}
