/**
 * storage.md, "Nothing is lost, nothing is half": the browser is killed at every single operation of every mode, before and
 * after its effect; and again at every operation of the recovery.
 */
import { describe, expect, test } from 'vitest';
import { Fate } from './fate';
import { expectClean, expectConverges, SCENARIOS, state } from './scenarios';
import { World } from './world';

/** Killed before an operation that only looks is killed after it. */
const ONLY_LOOKS =
  /^(list|getFile|getFileHandle|getDirectory|state: get|server: (changes|tree|missing|download|link))$/;

describe.each(SCENARIOS)('$name on a $kind', (scenario) => {
  test('killed at every operation: the next start finds the old state or the new one, and the next sync converges', async () => {
    const start = new World(scenario.kind);
    await scenario.prepare(start);
    const before = state(start.device);
    const whole = start.clone();
    const life = new Fate();
    whole.device.boot(life);
    await scenario.act(whole.device, whole);
    const after = state(whole.device);
    const operations = [...life.log];
    expectClean(whole.device);
    await expectConverges(whole.device, whole);

    for (const { n, name } of operations) {
      for (const when of ONLY_LOOKS.test(name) ? (['before'] as const) : (['before', 'after'] as const)) {
        const world = start.clone();
        const fate = new Fate({ n, when });
        world.device.boot(fate);
        await Promise.race([scenario.act(world.device, world).catch(() => undefined), fate.died]);
        await world.device.boot().recover();
        const where = `killed ${when} operation ${n}: ${JSON.stringify(fate.log.at(n - 1))}`;
        expect([before, after], where).toContainEqual(state(world.device));
        expectClean(world.device);
        await expectConverges(world.device, world);
      }
    }
  }, 120_000);

  test('killed again at every operation of the recovery: the start after that finds the old state or the new one', async () => {
    const start = new World(scenario.kind);
    await scenario.prepare(start);
    const before = state(start.device);
    const whole = start.clone();
    const life = new Fate();
    whole.device.boot(life);
    await scenario.act(whole.device, whole);
    const after = state(whole.device);
    const writes = life.log.filter(({ name }) => !ONLY_LOOKS.test(name));
    // Every third: the first kill only has to leave the recovery something to do.
    for (const { n } of writes.filter((_, at) => at % 3 === 0)) {
      const killed = start.clone();
      const fate = new Fate({ n, when: 'after' });
      killed.device.boot(fate);
      await Promise.race([scenario.act(killed.device, killed).catch(() => undefined), fate.died]);
      const recovery = new Fate();
      await killed.clone().device.boot(recovery).recover();
      for (const again of recovery.log.filter(({ name }) => !ONLY_LOOKS.test(name))) {
        const world = killed.clone();
        const second = new Fate({ n: again.n, when: 'after' });
        await Promise.race([world.device.boot(second).recover(), second.died]);
        await world.device.boot().recover();
        const where = `killed after operation ${n}, then after ${JSON.stringify(again)}`;
        expect([before, after], where).toContainEqual(state(world.device));
        expectClean(world.device);
      }
    }
  }, 120_000);
});

test('an edit on top of what was placed, then a kill, then a kill at every operation of the recovery: both contents are there', async () => {
  const start = new World('folder');
  const { device, server } = start;
  device.disk.write('a', 'old');
  device.disk.write('mine', '1');
  await device.save();
  start.pass();
  await server.write('s1', { a: 'theirs', b: 'theirs' });
  device.disk.write('mine', '2');
  const killed = start.clone();
  killed.server.trouble = (call) => {
    if (call !== 'upload') return;
    // Another program, after the merge was published and before the commit.
    killed.device.disk.write('a', 'edited on top');
    killed.device.disk.remove('b');
  };
  const whole = start.clone();
  await whole.device.save();
  const upload = whole.device.fate.log.find(({ name }) => name === 'server: upload');
  const fate = new Fate({ n: (upload?.n ?? 0) + 1, when: 'after' });
  killed.device.boot(fate);
  await Promise.race([killed.device.save(), fate.died]);
  killed.server.trouble = null;
  const recovery = new Fate();
  await killed.clone().device.boot(recovery).recover();
  for (const { n } of recovery.log) {
    for (const when of ['before', 'after'] as const) {
      const world = killed.clone();
      const second = new Fate({ n, when });
      await Promise.race([world.device.boot(second).recover(), second.died]);
      await world.device.boot().recover();
      expect(world.device.disk.tree()).toEqual({ a: 'old', mine: '2' });
      expect(world.device.recovered()).toEqual(['edited on top']);
      expectClean(world.device);
    }
  }
});
