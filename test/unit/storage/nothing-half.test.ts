/** storage.md, "Nothing is lost, nothing is half": the sentences that the kill and fault matrices do not name. */
import { describe, expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import type { RootKind } from '../../../src/storage/ports';
import { sha256Of } from './sha256';
import { codeOf, World } from './world';

async function saved(files: Record<string, string>, kind: 'browser' | 'folder' = 'folder'): Promise<World> {
  const world = new World(kind);
  for (const [path, content] of Object.entries(files)) world.device.disk.write(path, content);
  await world.device.save();
  world.pass();
  await world.device.save();
  world.pass();
  return world;
}

test('whatever is replaced is verified where nobody writes; changed after all → moved back, storage_state_conflict', async () => {
  const { device, server } = await saved({ a: '1', b: '1' });
  await server.write('s1', { a: '2', b: '2' });
  device.fate.trouble = ({ name, path }) => {
    // The last moment: its time was just looked at, and stays.
    if (name === 'move' && path.startsWith('a → ')) device.disk.write('a', 'x', device.disk.mtime('a') ?? 0);
  };
  expect(await codeOf(device.sync())).toBe('storage_state_conflict');
  expect(device.disk.tree()).toEqual({ a: 'x', b: '1' });
  expect(device.temps()).toEqual([]);
  device.fate.trouble = null;
  expect(await device.sync()).toMatchObject({ kept: ['a'] });
  expect(device.disk.tree()).toEqual({ a: 'x', b: '2' });
});

test('the same when it is to be removed: nothing is committed', async () => {
  const { device, server } = await saved({ a: '1', b: '1' });
  device.fate.trouble = ({ name, path }) => {
    if (name === 'move' && path.startsWith('a → ')) device.disk.write('a', 'x', device.disk.mtime('a') ?? 0);
  };
  const remove = device.run({
    mode: 'remove_path',
    storage_id: 's1',
    path: 'a',
    expected_hash: await sha256Of('1'),
  });
  expect(await codeOf(remove)).toBe('storage_state_conflict');
  expect(device.disk.tree()).toEqual({ a: 'x', b: '1' });
  expect(server.tree('s1')).toEqual({ a: '1', b: '1' });
});

test('a file that appears where one is to be placed is not overwritten', async () => {
  const { device, server } = await saved({ a: '1' });
  await server.write('s1', { fresh: 'theirs', more: 'm' });
  device.fate.trouble = ({ name }) => {
    if (name === 'close') device.disk.write('fresh', 'mine');
  };
  expect(await codeOf(device.sync())).toBe('storage_state_conflict');
  expect(device.disk.tree()).toEqual({ a: '1', fresh: 'mine' });
});

test('an edit of what was just placed survives the undoing, in the recovery folder', async () => {
  const { device, server } = await saved({ a: '1', mine: '1' });
  await server.write('s1', { a: '2' });
  device.disk.write('mine', '2');
  server.trouble = (call) => {
    if (call !== 'commit') return;
    device.disk.write('a', 'edited on top');
    throw new AgentError('storage_transport_failed');
  };
  expect(await codeOf(device.save())).toBe('storage_transport_failed');
  expect(device.disk.tree()).toEqual({ a: '1', mine: '2' });
  expect(device.recovered()).toEqual(['edited on top']);
});

test('if the server committed but the device undid, the next sync brings it back', async () => {
  const { device, server } = await saved({ a: '1', d: '1' });
  device.fate.trouble = ({ name, path }) => {
    if (name === 'state: batch' && path.includes('index')) throw new DOMException('', 'UnknownError');
  };
  const remove = device.run({
    mode: 'remove_path',
    storage_id: 's1',
    path: 'd',
    expected_hash: await sha256Of('1'),
  });
  expect(await codeOf(remove)).toBe('internal_error');
  expect(device.disk.tree()).toEqual({ a: '1', d: '1' });
  expect(server.tree('s1')).toEqual({ a: '1' });
  device.fate.trouble = null;
  await device.sync();
  expect(device.disk.tree()).toEqual({ a: '1' });
});

test('a state batch that was written but answered with an error counts as written', async () => {
  const world = await saved({ a: '1' });
  const { device, server } = world;
  await server.write('s1', { a: '2' });
  const twin = world.clone();
  await twin.device.sync();
  let late = false;
  device.fate.trouble = ({ name, path }) => {
    if (name !== 'state: batch' || !path.includes('index') || late) return;
    late = true;
    for (const [key, value] of twin.device.data) device.data.set(key, value);
    const journal = {
      id: 'x',
      phase: 'finished',
      plans: [],
      seals_before: null,
      vault_made: [],
      vault_dropped: [],
    };
    device.data.set('storage/"s1"/journal', journal);
    throw new DOMException('', 'UnknownError');
  };
  await device.sync();
  expect(device.disk.tree()).toEqual({ a: '2' });
});

describe('a file that changes while it is read', () => {
  test('is left out of this commit after 3 times, keeps its last saved state, and is listed in unstable[]', async () => {
    const world = await saved({ log: 'saved', other: '1' });
    const { device, server } = world;
    let n = 0;
    device.disk.write('log', 'busy');
    device.disk.write('other', '2');
    device.disk.onRead = (path) => {
      if (path === 'log') device.disk.write('log', `busy ${++n}`, world.now() + n);
    };
    expect(await device.save()).toMatchObject({ unstable: ['log'], files: 2 });
    expect(n).toBe(3);
    expect(server.tree('s1')).toEqual({ log: 'saved', other: '2' });
    device.disk.onRead = null;
    await device.save();
    expect(server.tree('s1').log).toBe(`busy ${n}`);
  });

  test('that changes between hashing and uploading: what is committed was uploaded', async () => {
    const world = await saved({ a: '1' });
    const { device, server } = world;
    device.disk.write('a', 'first');
    let once = true;
    server.trouble = (call) => {
      if (call !== 'missing' || !once) return;
      once = false;
      device.disk.write('a', 'other');
    };
    await device.save();
    expect(server.tree('s1')).toEqual({ a: 'other' });
    expect(server.violations).toEqual([]);
  });

  test('that changes at every upload is unstable', async () => {
    const world = await saved({ a: '1', b: '1' });
    const { device, server } = world;
    device.disk.write('a', 'first');
    device.disk.write('b', '2');
    let n = 0;
    server.trouble = (call) => {
      if (call === 'missing') device.disk.write('a', `n ${++n}`, world.now() + n);
    };
    expect(await device.save()).toMatchObject({ unstable: ['a'] });
    expect(server.tree('s1')).toEqual({ a: '1', b: '2' });
  });
});

describe('a file whose content the service has already, changed while it is read', () => {
  async function changedOnce(kind: RootKind): Promise<World> {
    const world = new World(kind);
    const { device, server } = world;
    await server.write('s2', { known: 'old' });
    device.disk.write('always', '1');
    device.disk.write('f', 'old');
    world.pass();
    let once = true;
    device.disk.onRead = (path) => {
      if (path === 'f' && once) device.disk.write('f', 'new');
      if (path === 'f') once = false;
    };
    await device.save();
    device.disk.onRead = null;
    return world;
  }

  test('in a folder is read again: others write into the very bytes that are read', async () => {
    const { device, server } = await changedOnce('folder');
    expect(server.tree('s1').f).toBe('new');
    await device.save();
    expect(server.tree('s1').f).toBe('new');
  });

  test('in a browser-internal root is saved as it was read, whole, and the edit by the next save', async () => {
    const { device, server } = await changedOnce('browser');
    expect(server.tree('s1').f).toBe('old');
    await device.save();
    expect(server.tree('s1').f).toBe('new');
  });
});

describe('a file that appears where one is about to be placed', () => {
  test.each(['folder', 'browser'] as const)('is not overwritten (%s)', async (kind) => {
    const { device, server } = new World(kind);
    device.disk.write('there/always', '1');
    await device.save();
    await server.write('s1', { 'there/new': 'remote' });
    device.fate.trouble = ({ name, path }) => {
      if (name === 'close' && path.includes('/new-')) device.disk.write('there/new', 'mine');
    };
    expect(await codeOf(device.sync())).toBe('storage_state_conflict');
    expect(device.disk.tree()).toEqual({ 'there/always': '1', 'there/new': 'mine' });
  });

  test('is not overwritten in a folder, though the directory was made a moment ago', async () => {
    const { device, server } = new World('folder');
    device.disk.write('always', '1');
    await device.save();
    await server.write('s1', { 'made/one': 'remote', 'made/two': 'remote' });
    device.fate.trouble = ({ name, path }) => {
      if (name === 'getFileHandle' && path === 'made/two') device.disk.write('made/two', 'mine');
    };
    expect(await codeOf(device.sync())).toBe('storage_state_conflict');
    expect(device.disk.tree()).toEqual({ always: '1', 'made/two': 'mine' });
  });
});

test('one job at a time per Storage, in arrival order', async () => {
  const { device, server } = new World();
  device.disk.write('a', '1');
  device.disk.write('b', '2');
  await Promise.all([device.save('a'), device.save('b'), device.sync()]);
  expect(server.commits.map(({ body }) => body.path)).toEqual(['a', 'b']);
  expect(server.tree('s1')).toEqual({ a: '1', b: '2' });
});

test('a job cancelled while it waits for its turn does nothing', async () => {
  const { device, server } = new World();
  device.disk.write('a', '1');
  const controller = new AbortController();
  const first = device.save('a');
  const second = device.run({ mode: 'save_path', storage_id: 's1', path: '' }, controller.signal);
  controller.abort(new AgentError('timeout'));
  expect(await codeOf(second)).toBe('timeout');
  await first;
  expect(server.commits.length).toBe(1);
});

test('a download that hangs ends with the deadline, and no temp is left', async () => {
  const { device, server } = await saved({ a: '1' });
  await server.write('s1', { a: '2' });
  const controller = new AbortController();
  server.trouble = (call) => {
    if (call === 'download') setTimeout(() => controller.abort(new AgentError('timeout')), 5);
    return call === 'download' ? new Promise<void>((resolve) => setTimeout(resolve, 20)) : undefined;
  };
  const sync = device.run(
    { mode: 'path_sync', storage_id: 's1', revision: server.head('s1') },
    controller.signal,
  );
  expect(await codeOf(sync)).toBe('timeout');
  expect(device.disk.tree()).toEqual({ a: '1' });
  expect(device.temps()).toEqual([]);
});

test.each(['storage_token_rejected', 'storage_transport_failed', 'timeout'] as const)(
  'the server fails with %s at any call: that code, with the old state whole',
  async (code) => {
    const start = await saved({ a: '1', b: '1' });
    start.device.disk.write('b', 'mine');
    await start.server.write('s1', { a: '2' });
    for (const failing of ['changes', 'missing', 'download', 'upload', 'commit']) {
      const world = start.clone();
      world.server.trouble = (call) => {
        if (call === failing) throw new AgentError(code);
      };
      expect(await codeOf(world.device.save())).toBe(code);
      expect(world.device.disk.tree()).toEqual({ a: '1', b: 'mine' });
      expect(world.device.temps()).toEqual([]);
    }
  },
);

test('a temp folder that no journal knows: what was moved there is recovered, what was downloaded goes', async () => {
  const { device } = await saved({ a: '1' });
  device.disk.write('.endue-storage-tmp-lost/old-0', 'somebody');
  device.disk.write('.endue-storage-tmp-lost/new-1', 'download');
  await device.boot().recover();
  expect(device.temps()).toEqual([]);
  expect(device.recovered()).toEqual(['somebody']);
});

test('moves are exact: names of 249 to 255 bytes are placed although they cannot be opened for writing', async () => {
  const { device, server } = await saved({ a: '1' });
  const name = 'n'.repeat(255);
  await server.write('s1', { [name]: 'long' });
  await device.sync();
  expect(device.disk.read(name)).toBe('long');
});

test('a job whose end was written but not answered, and cannot be looked up, is not undone: no mixture of two states', async () => {
  const { device, server } = await saved({ a: '1', b: '1' });
  await server.write('s1', { a: '2', b: null });
  let lost = false;
  device.fate.afterthought = ({ name }) => {
    const ends = JSON.stringify(device.data.get('storage/"s1"/journal') ?? null).includes('"finished"');
    if (name !== 'state: batch' || !ends || lost) return;
    lost = true;
    device.fate.trouble = () => {
      device.fate.trouble = null;
      throw new AgentError('internal_error');
    };
    throw new AgentError('internal_error');
  };
  expect(await codeOf(device.sync())).toBe('internal_error');
  expect(lost).toBe(true);
  expect(device.disk.tree()).toEqual({ a: '2' });
  expect(device.temps()).toEqual([]);
  // Neither side has anything to tell the other.
  const commits = server.commits.length;
  await device.save();
  expect(server.commits.length).toBe(commits);
  expect(server.tree('s1')).toEqual({ a: '2' });
});
