/** storage.md, Seals: each sentence. */
import { describe, expect, test } from 'vitest';
import { treeHash } from '../../../src/storage/tree-hash';
import { sha256Of } from './sha256';
import { codeOf, type Device, World } from './world';

async function sealed(kind: 'browser' | 'folder', more = {}): Promise<World> {
  const world = new World(kind);
  world.device.disk.write('d/x', 'X');
  world.device.disk.write('d/e/y', 'Y');
  world.device.disk.write('free', 'F');
  await world.device.save();
  expect(await world.device.save('d', { seal: true, ...more })).toMatchObject({ sealed: true });
  world.pass(10_000);
  return world;
}

const guard = (device: Device, path: string) =>
  device.engine.exclusively('s1', device.signal, async (_, check) => check(path));

const HASH = async () =>
  treeHash([
    { type: 'file', path: 'x', size: 1, sha256: await sha256Of('X') },
    { type: 'file', path: 'e/y', size: 1, sha256: await sha256Of('Y') },
  ]);

describe.each(['browser', 'folder'] as const)('in a %s', (kind) => {
  test('a sealed path is read-only until unseal_path, across restarts', async () => {
    const { device } = await sealed(kind);
    for (const path of ['d', 'd/x', 'd/new', '']) {
      expect(await codeOf(guard(device, path))).toBe('storage_path_sealed');
    }
    await guard(device, 'free');
    device.boot();
    expect(await codeOf(guard(device, 'd/x'))).toBe('storage_path_sealed');
    expect(await device.run({ mode: 'unseal_path', storage_id: 's1', path: 'd' })).toEqual({});
    await guard(device, 'd/x');
    expect(device.vault.tree()).toEqual({});
  });

  test('unseal_path of what is not sealed is fine', async () => {
    const { device } = await sealed(kind);
    await device.run({ mode: 'unseal_path', storage_id: 's1', path: 'free' });
    await device.run({ mode: 'unseal_path', storage_id: 's1', path: 'd/x' });
    expect(await codeOf(guard(device, 'd/x'))).toBe('storage_path_sealed');
  });

  test('seal_until: expiry needs no message', async () => {
    const until = new Date(Date.UTC(2026, 5, 1, 13)).toISOString();
    const world = await sealed(kind, { seal_until: until });
    expect(await codeOf(guard(world.device, 'd/x'))).toBe('storage_path_sealed');
    world.pass(3_600_000);
    await guard(world.device, 'd/x');
    expect(world.device.record().seals).toEqual([]);
    expect(world.device.vault.tree()).toEqual({});
  });

  test('every mode that would write there answers storage_path_sealed', async () => {
    const { device, server } = await sealed(kind);
    const before = device.disk.tree();
    const revision = await server.stageBeside('s1', [['d/new', 'N']]);
    expect(await codeOf(device.run({ mode: 'place_path', storage_id: 's1', path: 'd/new', revision }))).toBe(
      'storage_path_sealed',
    );
    const expected_hash = await sha256Of('X');
    expect(
      await codeOf(device.run({ mode: 'remove_path', storage_id: 's1', path: 'd/x', expected_hash })),
    ).toBe('storage_path_sealed');
    await server.write('s1', { 'd/x': 'theirs' });
    expect(await codeOf(device.sync())).toBe('storage_path_sealed');
    server.link('l1', 's1', 'd/l', { storage_id: 's2', path: '' });
    await server.write('s2', { t: 'T' });
    expect(
      await codeOf(
        device.run({ mode: 'link_pull', link_id: 'l1', path: 'd/l', revision: server.head('s2') }),
      ),
    ).toBe('storage_path_sealed');
    expect(device.disk.tree()).toEqual(before);
  });

  test('no link comes to a sealed path, even where nothing would be written', async () => {
    const { device, server } = await sealed(kind);
    server.link('l1', 's1', 'd/e', { storage_id: 's2', path: '' });
    await server.write('s2', { y: 'Y' });
    const pull = device.run({ mode: 'link_pull', link_id: 'l1', path: 'd/e', revision: server.head('s2') });
    expect(await codeOf(pull)).toBe('storage_path_sealed');
    expect(device.record().links).toEqual([]);
  });

  test("a save beside it goes on; another writer's change of the sealed path waits and is not skipped", async () => {
    const { device, server } = await sealed(kind);
    await server.write('s1', { 'd/x': 'theirs', fresh: 'R' });
    device.disk.write('free', 'F2');
    expect(await device.save()).toMatchObject({ deferred: ['d/x'] });
    expect(device.disk.tree()).toEqual({ 'd/e/y': 'Y', 'd/x': 'X', free: 'F2', fresh: 'R' });
    expect(server.tree('s1')).toEqual({ 'd/e/y': 'Y', 'd/x': 'theirs', free: 'F2', fresh: 'R' });
    await device.run({ mode: 'unseal_path', storage_id: 's1', path: 'd' });
    await device.sync();
    expect(device.disk.read('d/x')).toBe('theirs');
  });

  test('lifted again if the save fails', async () => {
    const world = new World(kind);
    world.device.disk.write('d/x', 'X');
    world.server.trouble = (call) => {
      if (call === 'commit') throw new DOMException('', 'UnknownError');
    };
    expect(await codeOf(world.device.save('d', { seal: true }))).toBe('internal_error');
    await guard(world.device, 'd/x');
    expect(world.device.record().seals).toEqual([]);
    expect(world.device.vault.tree()).toEqual({});
  });

  test('remove_path of a sealed path ends a move: allowed with what was sealed, and lifts the seal', async () => {
    const { device, server } = await sealed(kind);
    const remove = (expected_hash: string) =>
      device.run({ mode: 'remove_path', storage_id: 's1', path: 'd', expected_hash });
    expect(await codeOf(remove('0'.repeat(64)))).toBe('storage_state_conflict');
    expect(device.record().seals.length).toBe(1);
    await remove(await HASH());
    expect(device.disk.tree()).toEqual({ free: 'F' });
    expect(server.tree('s1')).toEqual({ free: 'F' });
    expect(device.record().seals).toEqual([]);
    expect(device.vault.tree()).toEqual({});
  });

  test('saving it again with another seal_until replaces the seal', async () => {
    const world = await sealed(kind);
    const until = world.now() + 5_000;
    await world.device.save('d', { seal: true, seal_until: until });
    expect(world.device.record().seals).toMatchObject([{ path: 'd', until, hash: await HASH() }]);
    world.pass(6_000);
    await guard(world.device, 'd/x');
  });
});

describe('in a folder other programs can still write', () => {
  test('the foreign change is moved to the recovery folder and the sealed content restored, without a network', async () => {
    const { device, server } = await sealed('folder');
    device.disk.write('d/x', 'foreign');
    device.disk.write('d/stranger', 'S');
    device.disk.remove('d/e');
    device.disk.mkdir('d/hollow');
    const calls = server.calls.length;
    const moved = await device.engine.checkSeals('s1', device.signal);
    expect(moved.length).toBe(2);
    expect(device.disk.tree()).toEqual({ 'd/e/y': 'Y', 'd/x': 'X', free: 'F' });
    expect(device.recovered().sort()).toEqual(['S', 'foreign']);
    expect(server.calls.length).toBe(calls);
    expect(device.temps()).toEqual([]);
  });

  test('a check before any later step that relies on the seal', async () => {
    const { device, server } = await sealed('folder');
    device.disk.write('d/x', 'foreign');
    await device.save();
    expect(server.tree('s1')['d/x']).toBe('X');
    expect(device.disk.read('d/x')).toBe('X');
    device.disk.write('d/x', 'foreign again');
    await device.run({ mode: 'remove_path', storage_id: 's1', path: 'd', expected_hash: await HASH() });
    expect(device.disk.tree()).toEqual({ free: 'F' });
    expect(device.recovered().sort()).toEqual(['foreign', 'foreign again']);
  });

  test.each(['file', 'gone', 'above'])('sealed tree replaced: %s', async (how) => {
    const { device } = await sealed('folder');
    device.disk.remove('d');
    if (how === 'file') device.disk.write('d', 'a file now');
    await device.engine.checkSeals('s1', device.signal);
    expect(device.disk.tree()).toEqual({ 'd/e/y': 'Y', 'd/x': 'X', free: 'F' });
    expect(device.recovered()).toEqual(how === 'file' ? ['a file now'] : []);
  });

  test('a sealed file that became a directory', async () => {
    const world = new World('folder');
    world.device.disk.write('f', 'F');
    await world.device.save('f', { seal: true });
    world.device.disk.remove('f');
    world.device.disk.write('f/in', 'foreign');
    await world.device.engine.checkSeals('s1', world.device.signal);
    expect(world.device.disk.tree()).toEqual({ f: 'F' });
    expect(world.device.recovered()).toEqual(['foreign']);
  });

  test('when its copy is lost the foreign content is left rather than nothing', async () => {
    const { device } = await sealed('folder');
    device.vault.clear();
    device.disk.write('d/x', 'foreign');
    expect(await device.engine.checkSeals('s1', device.signal)).toEqual([]);
    expect(device.disk.read('d/x')).toBe('foreign');
  });

  test('a file that keeps changing cannot be sealed', async () => {
    const world = new World('folder');
    world.device.disk.write('d/x', '0');
    let n = 0;
    world.device.disk.onRead = (path) => {
      if (path === 'd/x') world.device.disk.write('d/x', `${++n}`, n);
    };
    expect(await codeOf(world.device.save('d', { seal: true }))).toBe('storage_state_conflict');
    expect(world.device.record().seals).toEqual([]);
  });
});

test('a deletion that is saved with a seal seals nothing', async () => {
  const world = await sealed('folder');
  world.device.disk.remove('free');
  expect(await world.device.save('free', { seal: true })).toMatchObject({ sealed: false, hash: null });
  expect(world.device.record().seals.map(({ path }) => path)).toEqual(['d']);
  expect(Object.keys(world.device.vault.tree()).length).toBe(2);
});

test('a later step does not read sealed content whose size and time tell that it is as it was', async () => {
  const world = await sealed('folder');
  await world.device.save('d');
  world.pass();
  await world.device.save('d');
  let reads = 0;
  world.device.disk.onRead = (path) => {
    if (path.startsWith('d/')) reads++;
  };
  await world.device.save('free');
  expect(reads).toBe(0);
});

test('the seal is set before the scan: what is saved is what is sealed', async () => {
  const world = new World('browser');
  world.device.disk.write('d/x', 'X');
  const seen: boolean[] = [];
  world.device.fate.trouble = ({ name, path }) => {
    if (name === 'list' && path === 'd') seen.push(world.device.record().seals.length === 1);
  };
  await world.device.save('d', { seal: true });
  expect(seen).toEqual([true]);
});

describe('what keeps sealed content from its place', () => {
  const read = (device: Device, path: string) =>
    device.engine.perform(
      's1',
      device.signal,
      async ({ root }) => (await (await root.getFileHandle(path)).getFile()).size,
      'reads',
    );

  /** Another program put a folder there that Chrome cannot take away: it holds a symbolic link. */
  async function unremovable(): Promise<Device> {
    const { device } = await sealed('folder');
    device.disk.remove('d/x');
    device.disk.write('d/x/theirs', 't');
    device.disk.hide('d/x/link');
    return device;
  }

  test('does not keep a person from the other files, nor from lifting the seal', async () => {
    const device = await unremovable();
    expect(await read(device, 'free')).toBe(1);
    expect(await codeOf(device.save('free'))).toBe('storage_state_conflict');
    expect(device.disk.read('d/x/theirs')).toBe('t');
    expect([device.temps(), device.recovered()]).toEqual([[], []]);
    await device.run({ mode: 'unseal_path', storage_id: 's1', path: 'd' });
    await device.save('free');
  });

  test('the same with a full disk', async () => {
    const { device } = await sealed('folder');
    device.disk.write('d/x', 'theirs');
    device.disk.room = 0;
    expect(await read(device, 'free')).toBe(1);
    expect(await codeOf(device.save('free'))).toBe('storage_quota_exceeded');
    expect(device.disk.read('d/x')).toBe('theirs');
    device.disk.room = Number.POSITIVE_INFINITY;
    await device.save('free');
    expect(device.disk.read('d/x')).toBe('X');
    expect(device.recovered()).toEqual(['theirs']);
  });

  test('what cannot even be undone now keeps everybody out, until it is', async () => {
    const { device } = await sealed('folder');
    device.disk.write('d/x', 'theirs');
    let broken = false;
    device.fate.trouble = ({ name }) => {
      if (name === 'move') broken = true;
      if (broken) throw new DOMException('x', 'NotAllowedError');
    };
    expect(await codeOf(read(device, 'free'))).toBe('storage_unavailable');
    device.fate.trouble = null;
    expect(await read(device, 'free')).toBe(1);
    expect(device.disk.read('d/x')).toBe('X');
    expect(device.recovered()).toEqual(['theirs']);
  });
});
