/** storage.md, Attaching: what is remembered of another attachment under the same id does not count, and loses nothing. */
import { expect, test } from 'vitest';
import { Fate } from './fate';
import { codeOf, type Device, World } from './world';

const FILES = { 'd/a': '1', 'd/e/b': '2', other: '3' };

async function saved(kind: 'browser' | 'folder'): Promise<World> {
  const world = new World(kind);
  for (const [path, content] of Object.entries(FILES)) world.device.disk.write(path, content);
  await world.device.save();
  world.pass();
  return world;
}

/** The browser dies while the removal of `d` is committed: its files are in the temp folder. */
async function cutOffInMidRemoval(device: Device): Promise<void> {
  const { hash } = await device.save('d');
  const removal = () =>
    device.run({ mode: 'remove_path', storage_id: 's1', path: 'd', expected_hash: String(hash) });
  const rehearsal = device.world.clone().device;
  const life = new Fate();
  rehearsal.boot(life);
  await rehearsal.run({ mode: 'remove_path', storage_id: 's1', path: 'd', expected_hash: String(hash) });
  const commit = life.log.find(({ name }) => name === 'server: commit');
  if (!commit) throw new Error('nothing was committed');
  const fate = new Fate({ n: commit.n, when: 'before' });
  device.boot(fate);
  removal().catch(() => undefined);
  await fate.died;
  expect(device.disk.tree()).toEqual({ other: '3' });
  device.boot();
}

test.each(['browser', 'folder'] as const)(
  'a job that was cut off is undone before its journal is forgotten: the files have their names again (%s)',
  async (kind) => {
    const { device, server } = await saved(kind);
    await cutOffInMidRemoval(device);
    // Without permission nothing could be undone; the person detached it and attached it again.
    device.fresh.add('s1');
    await device.save();
    expect(device.disk.tree()).toEqual(FILES);
    expect(server.tree('s1')).toEqual(FILES);
    expect([device.temps(), device.recovered(), device.fresh.size]).toEqual([[], [], 0]);
  },
);

test('a journal of another root is forgotten; that root finds its files again when it is back', async () => {
  const world = await saved('folder');
  const { device } = world;
  await cutOffInMidRemoval(device);
  const former = device.disks.get('s1');
  const another = world.clone().device.disk;
  another.clear();
  another.write('new', 'n');
  device.disks.set('s1', another);
  device.fresh.add('s1');
  await device.save();
  expect(device.disk.read('new')).toBe('n');
  expect(device.temps()).toEqual([]);
  expect(former?.tree({ internal: true })).toMatchObject({ other: '3' });
});

test('policy.md: a Storage of the administrator takes the place of a folder of its id, and the folder its place again', async () => {
  const world = await saved('folder');
  const { device, server } = world;
  const folder = device.disk;
  const inside = world.clone().device.disk;
  inside.clear();
  inside.write('managed', 'm');
  device.disks.set('s1', inside);
  device.kinds.set('s1', 'browser');
  await device.save();
  expect(server.tree('s1')).toEqual({ ...FILES, managed: 'm' });
  expect(inside.tree()).toEqual({ ...FILES, managed: 'm' });
  inside.remove('managed');
  await device.save();
  // The policy goes away: what the folder lacks was not deleted there.
  await server.write('s1', { later: 'l' });
  device.disks.set('s1', folder);
  device.kinds.delete('s1');
  await device.save();
  expect(server.tree('s1')).toEqual({ ...FILES, later: 'l' });
  expect(folder.tree()).toEqual({ ...FILES, later: 'l' });
});

test('a folder whose marker is gone is unavailable as ever', async () => {
  const { device, server } = await saved('folder');
  device.disk.clear();
  expect(await codeOf(device.save())).toBe('storage_unavailable');
  expect(server.tree('s1')).toEqual(FILES);
});

test('a folder that was another Storage before, or is a copy of one, is this one from now on', async () => {
  const world = await saved('folder');
  const { device, server } = world;
  // Attached as s1 by mistake; detached, and attached as s2.
  device.disks.set('s2', device.disk);
  device.disks.delete('s1');
  device.fresh.add('s2');
  const save = () => device.run({ mode: 'save_path', storage_id: 's2', path: '' });
  expect(await device.engine.facts('s2')).toMatchObject({ gone: false });
  await save();
  expect(server.tree('s2')).toEqual(FILES);
  device.boot();
  await save();
  expect(await device.engine.facts('s2')).toMatchObject({ gone: false, recovery_folders: [] });
});

test('the folder of another Storage in the place of the one that is attached is unavailable as ever', async () => {
  const { device, server } = await saved('folder');
  await device.run({ mode: 'save_path', storage_id: 's2', path: '' });
  const other = device.disks.get('s2');
  if (other) device.disks.set('s1', other);
  expect(await codeOf(device.save())).toBe('storage_unavailable');
  expect(await device.engine.facts('s1')).toMatchObject({ gone: true });
  expect(server.tree('s1')).toEqual(FILES);
});

test('cut off at any step, a Storage that was attached anew is whole at the next start, and its files are where they were', async () => {
  const prepare = async (): Promise<World> => {
    const world = await saved('folder');
    await cutOffInMidRemoval(world.device);
    const disk = world.device.disk;
    disk.write('.endue-storage-id', JSON.stringify({ storage_id: 'another' }));
    world.device.fresh.add('s1');
    return world;
  };
  const whole = await prepare();
  const life = new Fate();
  whole.device.boot(life);
  await whole.device.engine.recover();
  expect(whole.device.disk.tree()).toEqual(FILES);
  for (let n = 1; n <= life.operations; n++) {
    const { device } = await prepare();
    const fate = new Fate({ n, when: 'after' });
    device.boot(fate);
    await Promise.race([device.engine.recover(), fate.died]);
    device.boot();
    await device.save();
    expect(device.disk.tree(), `killed after ${life.log[n - 1]?.name}`).toEqual(FILES);
    expect([device.temps(), device.recovered(), [...device.fresh]]).toEqual([[], [], []]);
  }
});
