/** storage.md, Who wins: each sentence. */
import { describe, expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import { MemoryServer } from './memory-server';
import { codeOf, World } from './world';

async function saved(files: Record<string, string>, kind: 'browser' | 'folder' = 'browser'): Promise<World> {
  const world = new World(kind);
  for (const [path, content] of Object.entries(files)) world.device.disk.write(path, content);
  await world.device.save();
  world.pass();
  return world;
}

test('a later save wins: what another writer committed since is overwritten and stays in its revision', async () => {
  const { device, server } = await saved({ a: '1' });
  device.disk.write('a', 'mine');
  const theirs = await server.write('s1', { a: 'theirs' });
  expect(await device.save()).toMatchObject({ kept: ['a'] });
  expect(server.tree('s1')).toEqual({ a: 'mine' });
  expect(server.tree('s1', theirs)).toEqual({ a: 'theirs' });
});

test('incoming never overwrites unsaved: the index takes it as agreed, so the next save commits over it', async () => {
  const { device, server } = await saved({ a: '1' });
  device.disk.write('a', 'mine');
  await server.write('s1', { a: 'theirs' });
  expect(await device.sync()).toMatchObject({ kept: ['a'] });
  expect(device.disk.read('a')).toBe('mine');
  expect(await device.sync()).toMatchObject({ kept: [] });
  await device.save();
  expect(server.tree('s1')).toEqual({ a: 'mine' });
});

test('an unsaved file that the remote deleted stays, and is saved again', async () => {
  const { device, server } = await saved({ a: '1', b: '2' });
  device.disk.write('a', 'mine');
  await server.write('s1', { a: null });
  expect(await device.sync()).toMatchObject({ kept: ['a'] });
  await device.save();
  expect(server.tree('s1')).toEqual({ a: 'mine', b: '2' });
});

test('equal content on both sides is no change, whatever the times say', async () => {
  const world = await saved({ a: '1' });
  const { device, server } = world;
  device.disk.write('a', 'same');
  device.disk.write('new', 'same');
  await server.write('s1', { a: 'same', new: 'same' });
  device.disk.write('a', 'same', world.now() + 12345);
  expect(await device.save()).toMatchObject({ kept: [], uploaded_bytes: 0 });
  expect(server.commits.length).toBe(1);
  expect(server.downloads).toBe(0);
});

test('a local deletion does not beat a remote edit that the device had not seen: the edited file comes back', async () => {
  const { device, server } = await saved({ a: '1', b: '2' });
  device.disk.remove('a');
  await server.write('s1', { a: 'edited' });
  await device.save();
  expect(device.disk.tree()).toEqual({ a: 'edited', b: '2' });
  expect(server.tree('s1')).toEqual({ a: 'edited', b: '2' });
});

test('the same inside a link: a push does not delete what was edited meanwhile, and the next pull brings it', async () => {
  const { device, server } = new World();
  server.link('l1', 's1', 'l', { storage_id: 's2', path: '' });
  await server.write('s2', { a: '1', b: '2' });
  const pull = () => device.run({ mode: 'link_pull', link_id: 'l1', path: 'l', revision: server.head('s2') });
  await pull();
  device.disk.remove('l/a');
  device.disk.remove('l/b');
  await server.write('s2', { a: 'edited' });
  await device.run({ mode: 'link_push', link_id: 'l1' });
  expect(server.tree('s2')).toEqual({ a: 'edited' });
  await pull();
  expect(device.disk.tree()).toEqual({ 'l/a': 'edited' });
});

test('unsaved file where the remote has a directory: the unsaved one stays, the incoming is in kept[]', async () => {
  const { device, server } = await saved({ foo: '1' });
  device.disk.write('foo', 'mine');
  await server.write('s1', { foo: null, 'foo/in': 'theirs' });
  expect(await device.sync()).toMatchObject({ kept: ['foo', 'foo/in'] });
  expect(device.disk.tree()).toEqual({ foo: 'mine' });
  await device.save();
  expect(server.tree('s1')).toEqual({ foo: 'mine' });
});

test('unsaved file in a directory where the remote has a file: the same', async () => {
  const { device, server } = await saved({ 'foo/old': '1' });
  device.disk.write('foo/mine', 'mine');
  await server.write('s1', { foo: 'theirs' });
  expect(await device.sync()).toMatchObject({ kept: ['foo'] });
  expect(device.disk.tree()).toEqual({ 'foo/mine': 'mine' });
  await device.save();
  expect(server.tree('s1')).toEqual({ 'foo/mine': 'mine' });
});

test('a saved file gives way to a directory, a saved directory to a file', async () => {
  const { device, server } = await saved({ f: '1', 'd/x': '2', 'd/e/y': '3' });
  await server.write('s1', { 'f/in': 'now a directory', d: 'now a file' });
  expect(await device.sync()).toMatchObject({ kept: [] });
  expect(device.disk.tree()).toEqual({ d: 'now a file', 'f/in': 'now a directory' });
});

test('a directory that the remote emptied goes; one with something unsaved in it stays', async () => {
  const { device, server } = await saved({ 'd/x': '1', 'e/x': '1', z: '1' });
  device.disk.write('e/mine', 'mine');
  await server.write('s1', { 'd/x': null, 'e/x': null });
  await device.sync();
  expect(device.disk.tree()).toEqual({ 'e/mine': 'mine', z: '1' });
});

test('a path that came and went while the base stood still is gone here too, though no change since the base tells of it', async () => {
  const { device, server } = await saved({ z: '1' });
  await server.write('s1', { a: '1', 'd/y': '1' });
  await device.sync(['d']);
  expect(device.disk.tree()).toEqual({ 'd/y': '1', z: '1' });
  await server.write('s1', { 'd/y': null });
  await device.sync();
  expect(device.disk.tree()).toEqual({ a: '1', z: '1' });
});

test('the same after a commit whose revision could not become the base', async () => {
  const { device, server } = await saved({ z: '1' });
  device.disk.write('mine', 'M');
  server.trouble = async (call) => {
    if (call !== 'commit') return;
    server.trouble = null;
    await server.write('s1', { theirs: 'T' });
  };
  await device.save();
  await server.write('s1', { mine: null });
  await device.sync();
  expect(device.disk.tree()).toEqual({ theirs: 'T', z: '1' });
});

test('link root folder deleted on the device: recreated from the target, the target untouched', async () => {
  const { device, server } = new World();
  server.link('l1', 's1', 'deep/l', { storage_id: 's2', path: '' });
  await server.write('s2', { a: '1', 'd/b': '2' });
  const pull = () =>
    device.run({ mode: 'link_pull', link_id: 'l1', path: 'deep/l', revision: server.head('s2') });
  await pull();
  device.disk.remove('deep');
  expect(await device.run({ mode: 'link_push', link_id: 'l1' })).toMatchObject({ overwritten: [] });
  expect(device.disk.tree()).toEqual({ 'deep/l/a': '1', 'deep/l/d/b': '2' });
  device.disk.remove('deep');
  await pull();
  expect(device.disk.tree()).toEqual({ 'deep/l/a': '1', 'deep/l/d/b': '2' });
  expect(server.tree('s2')).toEqual({ a: '1', 'd/b': '2' });
  expect(server.commits).toEqual([]);
});

test('file deleted inside a link: deleted in the target at the next push', async () => {
  const { device, server } = new World();
  server.link('l1', 's1', 'l', { storage_id: 's2', path: 'box' });
  await server.write('s2', { 'box/a': '1', 'box/b': '2' });
  await device.run({ mode: 'link_pull', link_id: 'l1', path: 'l', revision: server.head('s2') });
  device.disk.remove('l/a');
  await device.run({ mode: 'link_push', link_id: 'l1' });
  expect(server.tree('s2')).toEqual({ 'box/b': '2' });
});

test('a root that is suddenly empty is storage_unavailable; a single saved file may be deleted', async () => {
  const world = await saved({ a: '1', b: '2' });
  world.device.disk.remove('a');
  world.device.disk.remove('b');
  expect(await codeOf(world.device.save())).toBe('storage_unavailable');
  expect(world.server.tree('s1')).toEqual({ a: '1', b: '2' });
  await world.device.save('a');
  expect(world.server.tree('s1')).toEqual({ b: '2' });
  await world.device.save();
  expect(world.server.tree('s1')).toEqual({});
});

test('a root that is gone, or another folder than the one attached, is storage_unavailable', async () => {
  const world = await saved({ a: '1', b: '2' });
  world.device.disk.write('.endue-storage-id', '{"storage_id":"another"}');
  expect(await codeOf(world.device.save())).toBe('storage_unavailable');
  world.device.disk.write('.endue-storage-id', 'rubbish');
  expect(await codeOf(world.device.save('a'))).toBe('storage_unavailable');
  world.device.disk.remove('.endue-storage-id');
  expect(await codeOf(world.device.sync())).toBe('storage_unavailable');
  expect(world.server.commits.length).toBe(1);
});

test('who only looks is told that the folder is gone or another one, and nothing is marked by looking', async () => {
  const { device } = await saved({ a: '1' }, 'folder');
  const gone = async () => (await device.engine.facts('s1')).gone;
  expect(await gone()).toBe(false);
  device.disk.vanished = true;
  expect(await gone()).toBe(true);
  device.disk.vanished = false;
  expect(await gone()).toBe(false);
  device.disk.write('.endue-storage-id', '{"storage_id":"another"}');
  expect(await gone()).toBe(true);
  device.disk.remove('.endue-storage-id');
  expect(await gone()).toBe(true);
  const untouched = new World('folder').device;
  expect((await untouched.engine.facts('s1')).gone).toBe(false);
  untouched.disk.vanished = true;
  expect((await untouched.engine.facts('s1')).gone).toBe(true);
});

test.each(['', 'a', 'd'])(
  'a root that vanishes in the middle of a save of %j is never read as deletions',
  async (path) => {
    const start = await saved({ a: '1', 'd/b': '2' });
    start.device.disk.write('a', 'edited');
    const whole = start.clone();
    await whole.device.save(path);
    for (let n = 1; n <= whole.device.fate.operations; n++) {
      const world = start.clone();
      world.device.fate.trouble = (operation) => {
        if (operation.n >= n) world.device.disk.vanished = true;
      };
      await world.device.save(path).catch(() => undefined);
      expect(Object.keys(world.server.tree('s1'))).toEqual(['a', 'd/b']);
    }
  },
);

test('path_sync of a path whose folder was a file: the file gives way with it, and nothing is deleted by the next save', async () => {
  const world = await saved({ foo: '1', z: '9' });
  const { device, server } = world;
  await server.write('s1', { foo: null, 'foo/bar/new': 'theirs' });
  expect(await device.sync(['foo/bar'])).toMatchObject({ kept: [] });
  expect(device.disk.tree()).toEqual({ 'foo/bar/new': 'theirs', z: '9' });
  await device.save();
  expect(server.tree('s1')).toEqual({ 'foo/bar/new': 'theirs', z: '9' });
  expect(device.disk.tree()).toEqual({ 'foo/bar/new': 'theirs', z: '9' });
});

test('the same with an unsaved file: it stays', async () => {
  const { device, server } = await saved({ foo: '1', z: '9' });
  device.disk.write('foo', 'mine');
  await server.write('s1', { foo: null, 'foo/bar': 'theirs' });
  expect(await device.sync(['foo/bar'])).toMatchObject({ kept: ['foo', 'foo/bar'] });
  expect(device.disk.tree()).toEqual({ foo: 'mine', z: '9' });
});

describe('a server that knows nothing any more of what was saved is never read as "everything was deleted"', () => {
  const FILES = { a: '1', b: '2', 'd/c': '3' };

  async function forgotten(): Promise<World> {
    const world = await saved(FILES);
    const other = new MemoryServer();
    // Its first revisions are others.
    for (const id of ['x', 'y', 'z', 's1', 's2']) other.create(id);
    world.server = other;
    return world;
  }

  test('save_path brings the files there again, and what the server has to the device', async () => {
    const world = await forgotten();
    await world.server.write('s1', { other: 'x' });
    await world.device.save();
    expect(world.device.disk.tree()).toEqual({ ...FILES, other: 'x' });
    expect(world.server.tree('s1')).toEqual({ ...FILES, other: 'x' });
    expect(world.server.violations).toEqual([]);
  });

  test('a single file too: it may exist nowhere else any more', async () => {
    const world = await saved({ a: '1' });
    world.server = new MemoryServer();
    for (const id of ['x', 'y', 'z', 's1']) world.server.create(id);
    await world.device.save();
    expect(world.device.disk.tree()).toEqual({ a: '1' });
    expect(world.server.tree('s1')).toEqual({ a: '1' });
  });

  test('path_sync leaves them as unsaved, and the save after it brings them there', async () => {
    const world = await forgotten();
    await world.device.sync();
    expect(world.device.disk.tree()).toEqual(FILES);
    await world.device.save();
    expect(world.server.tree('s1')).toEqual(FILES);
  });

  test('save_path of a part brings that part, a later one the rest, also where it is proven that nothing moved', async () => {
    const world = new World();
    world.device.stillness = { mark: async () => ({ watch: {}, changes: 0 }), stillSince: async () => true };
    world.device.boot();
    for (const [path, content] of Object.entries(FILES)) world.device.disk.write(path, content);
    await world.device.save();
    world.server = new MemoryServer();
    for (const id of ['x', 'y', 'z', 's1']) world.server.create(id);
    await world.device.save('d');
    expect(world.server.tree('s1')).toEqual({ 'd/c': '3' });
    await world.device.save();
    expect(world.server.tree('s1')).toEqual(FILES);
  });

  test('remove_path is storage_state_conflict: the device may have the only copy', async () => {
    const world = await saved(FILES);
    const { hash } = await world.device.save('d');
    world.server = new MemoryServer();
    for (const id of ['x', 'y', 'z', 's1']) world.server.create(id);
    const removal = {
      mode: 'remove_path',
      storage_id: 's1',
      path: 'd',
      expected_hash: String(hash),
    } as const;
    expect(await codeOf(world.device.run(removal))).toBe('storage_state_conflict');
    expect(world.device.disk.tree()).toEqual(FILES);
  });

  test('a save that fails after it has changed nothing: the next one brings them all the same', async () => {
    const world = await forgotten();
    world.server.trouble = (call) => {
      if (call === 'commit') throw new AgentError('storage_transport_failed');
    };
    expect(await codeOf(world.device.save())).toBe('storage_transport_failed');
    world.server.trouble = null;
    await world.device.save();
    expect(world.server.tree('s1')).toEqual(FILES);
    expect(world.device.disk.tree()).toEqual(FILES);
  });

  test('a server that only forgot the revision is followed, as long as something of what was saved is there', async () => {
    const world = await saved(FILES);
    const base = world.server.head('s1');
    await world.server.write('s1', { a: null, b: null, 'moved/c': '3', d: null });
    world.server.forget('s1', base);
    await world.device.save();
    expect(world.device.disk.tree()).toEqual({ 'moved/c': '3' });
  });

  test('what it tells as deletions since the base is deleted', async () => {
    const world = await saved(FILES);
    await world.server.write('s1', { a: null, b: null, d: null });
    await world.device.save();
    expect(world.device.disk.tree()).toEqual({});
  });

  test('inside a link: link_pull leaves its files, and link_push brings them there again', async () => {
    const world = new World();
    world.server.link('l1', 's1', 'l', { storage_id: 's2', path: '' });
    await world.server.write('s2', { a: '1', b: '2' });
    const pull = () =>
      world.device.run({
        mode: 'link_pull',
        link_id: 'l1',
        path: 'l',
        revision: world.server.head('s2'),
      });
    await pull();
    world.server = new MemoryServer();
    for (const id of ['x', 'y', 'z', 's1', 's2']) world.server.create(id);
    world.server.link('l1', 's1', 'l', { storage_id: 's2', path: '' });
    await pull();
    expect(world.device.disk.tree()).toEqual({ 'l/a': '1', 'l/b': '2' });
    await world.device.run({ mode: 'link_push', link_id: 'l1' });
    expect(world.server.tree('s2')).toEqual({ a: '1', b: '2' });
  });
});
