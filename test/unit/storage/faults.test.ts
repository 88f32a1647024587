/**
 * storage.md, "Each mode is all or nothing as seen through its result": an error, a cancel, a full disk or a lost permission at
 * every single operation of every mode. Rejected: the old state is whole. Resolved: the new one is.
 */
import { describe, expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import { Fate, type Operation } from './fate';
import {
  expectClean,
  expectConverges,
  SCENARIOS,
  type Scenario,
  state,
  stateWithoutBases,
} from './scenarios';
import { type Device, World } from './world';

const WRITES = /^(mkdir|create|createWritable|write|close|move|remove|state: batch|server: (upload|commit))$/;

interface Run {
  start: World;
  before: unknown;
  after: unknown;
  seen: { before: unknown; after: unknown };
  operations: Operation[];
}

async function undisturbed(scenario: Scenario): Promise<Run> {
  const start = new World(scenario.kind);
  await scenario.prepare(start);
  const whole = start.clone();
  const life = new Fate();
  whole.device.boot(life);
  await scenario.act(whole.device, whole);
  const seen = { before: stateWithoutBases(start.device), after: stateWithoutBases(whole.device) };
  return { start, before: state(start.device), after: state(whole.device), seen, operations: life.log };
}

/** Runs with trouble from the `n`th operation on; the code it failed with, or null. */
async function troubled(
  world: World,
  scenario: Scenario,
  trouble: (operation: Operation) => void,
  signalled?: AbortController,
): Promise<string | null> {
  const fate = new Fate();
  fate.trouble = trouble;
  world.device.boot(fate);
  world.device.signal = signalled?.signal ?? new AbortController().signal;
  try {
    await scenario.act(world.device, world);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    return thrown.code;
  } finally {
    fate.trouble = null;
    world.device.signal = new AbortController().signal;
  }
}

function expectAllOrNothing(device: Device, code: string | null, run: Run, where: string): void {
  expect(state(device), `${where} → ${code}`).toEqual(code === null ? run.after : run.before);
}

describe.each(SCENARIOS)('$name on a $kind', (scenario) => {
  test('a full disk at every write: storage_quota_exceeded, and the old state is whole', async () => {
    const run = await undisturbed(scenario);
    for (const { n, name, path } of run.operations.filter((each) => /^(write|close)$/.test(each.name))) {
      const world = run.start.clone();
      const code = await troubled(world, scenario, (operation) => {
        if (operation.n === n) throw new DOMException('Failed to write data to data pipe', 'AbortError');
      });
      expect(code).toBe('storage_quota_exceeded');
      expectAllOrNothing(world.device, code, run, `${name} ${path}`);
      expectClean(world.device);
    }
  });

  test('one failure at every changing operation: rejected is the old state, resolved the new one', async () => {
    const run = await undisturbed(scenario);
    for (const { n, name, path } of run.operations.filter((each) => WRITES.test(each.name))) {
      const world = run.start.clone();
      const code = await troubled(world, scenario, (operation) => {
        if (operation.n !== n) return;
        if (name.startsWith('server')) throw new AgentError('storage_transport_failed');
        throw new DOMException('', 'UnknownError');
      });
      expectAllOrNothing(world.device, code, run, `operation ${n}, ${name} ${path}`);
      await world.device.boot().recover();
      const later = scenario.healsAtStart ? null : code;
      expectAllOrNothing(world.device, later, run, `operation ${n}, ${name} ${path}, and a start`);
      expectClean(world.device);
      await expectConverges(world.device, world);
    }
  }, 60_000);

  test('permission lost in mid-job: storage_unavailable, and once it is back the old state is whole', async () => {
    const run = await undisturbed(scenario);
    for (const { n } of run.operations.filter(({ name }) => !/^(state|server)/.test(name))) {
      const world = run.start.clone();
      const code = await troubled(world, scenario, (operation) => {
        const isHandle = !/^(state|server)/.test(operation.name);
        if (isHandle && operation.n >= n) throw new DOMException('', 'NotAllowedError');
      });
      if (code !== null) expect(code).toBe('storage_unavailable');
      await world.device.boot().recover();
      const later = scenario.healsAtStart ? null : code;
      expectAllOrNothing(world.device, later, run, `lost from operation ${n} on`);
      expectClean(world.device);
    }
  }, 60_000);

  test('cancelled at every operation: cancelled with the old state whole, or its real outcome', async () => {
    const run = await undisturbed(scenario);
    for (const { n } of run.operations) {
      const world = run.start.clone();
      const controller = new AbortController();
      const code = await troubled(
        world,
        scenario,
        (operation) => {
          if (operation.n === n) controller.abort(new AgentError('cancelled'));
        },
        controller,
      );
      if (code !== null) expect(code).toBe('cancelled');
      const expected = code === null ? run.seen.after : run.seen.before;
      expect(stateWithoutBases(world.device), `cancelled at operation ${n} → ${code}`).toEqual(expected);
      expectClean(world.device);
    }
  }, 60_000);
});
