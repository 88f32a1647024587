/** storage.md, Modes: each row of the table, sentence by sentence. */
import { describe, expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import { EMPTY_SHA256, treeHash } from '../../../src/storage/tree-hash';
import { sha256Of } from './sha256';
import { codeOf, World } from './world';

async function hashOf(files: Record<string, string>): Promise<string> {
  const entries = await Promise.all(
    Object.entries(files).map(async ([path, text]) => ({
      type: 'file' as const,
      path,
      size: Buffer.byteLength(text),
      sha256: await sha256Of(text),
    })),
  );
  return treeHash(entries);
}

describe('save_path', () => {
  test('scans that path only, uploads what the server lacks, commits that path', async () => {
    const { device, server } = new World();
    device.disk.write('d/x', 'X');
    device.disk.write('d/same', 'X');
    device.disk.write('other', 'O');
    device.disk.mkdir('d/empty');
    const output = await device.save('d');
    expect(output).toMatchObject({
      revision: server.head('s1'),
      sealed: false,
      hash: await treeHash([
        { type: 'directory', path: 'empty' },
        { type: 'file', path: 'same', size: 1, sha256: await sha256Of('X') },
        { type: 'file', path: 'x', size: 1, sha256: await sha256Of('X') },
      ]),
      files: 2,
      bytes: 2,
      uploaded_bytes: 1,
      unstable: [],
    });
    expect(server.tree('s1')).toEqual({ 'd/x': 'X', 'd/same': 'X', 'd/empty': null });
    expect(server.uploads).toBe(1);
    expect(server.commits.map(({ body }) => body.path)).toEqual(['d']);
  });

  test('of one file: its hash', async () => {
    const { device } = new World();
    device.disk.write('f', 'F');
    expect(await device.save('f')).toMatchObject({ hash: await sha256Of('F'), files: 1, bytes: 1 });
  });

  test('of an empty root: the hash of no bytes', async () => {
    const { device } = new World();
    expect(await device.save('')).toMatchObject({ hash: EMPTY_SHA256, files: 0 });
  });

  test('merges remote changes since base, of the whole Storage, before it scans', async () => {
    const { device, server } = new World();
    device.disk.write('a', 'A');
    await device.save();
    await server.write('s1', { 'far/away': 'R' });
    device.disk.write('a', 'A2');
    await device.save('a');
    expect(device.disk.tree()).toEqual({ a: 'A2', 'far/away': 'R' });
    expect(server.tree('s1')).toEqual({ a: 'A2', 'far/away': 'R' });
  });

  test('leaves links out', async () => {
    const { device, server } = new World();
    server.link('l1', 's1', 'd/l', { storage_id: 's2', path: '' });
    await server.write('s2', { t: 'T' });
    await device.run({ mode: 'link_pull', link_id: 'l1', path: 'd/l', revision: server.head('s2') });
    device.disk.write('d/own', 'O');
    expect(await device.save('')).toMatchObject({ files: 1 });
    expect(server.tree('s1')).toEqual({ 'd/own': 'O' });
    expect(await codeOf(device.save('d/l'))).toBe('path_invalid');
    expect(await codeOf(device.save('d/l/t'))).toBe('path_invalid');
  });

  test('nothing changed: nothing is uploaded and nothing committed', async () => {
    const world = new World();
    const { device, server } = world;
    device.disk.write('a', 'A');
    const first = await device.save();
    world.pass();
    const second = await device.save();
    expect(second).toMatchObject({ revision: first.revision, uploaded_bytes: 0 });
    expect(server.commits.length).toBe(1);
    expect(server.uploads).toBe(1);
  });

  test('of a path in a directory that was a saved file: the file goes with it', async () => {
    const { device, server } = new World();
    device.disk.write('a', 'file');
    await device.save();
    device.disk.remove('a');
    device.disk.write('a/x', 'X');
    await device.save('a/x');
    expect(server.commits.at(-1)?.body).toMatchObject({
      path: 'a',
      changes: [{ op: 'delete', path: 'a' }, { path: 'a/x' }],
    });
    expect(server.tree('s1')).toEqual({ 'a/x': 'X' });
  });

  test('saving a named path that was deleted is a deletion; one that never was is path_not_found', async () => {
    const { device, server } = new World();
    device.disk.write('a', 'A');
    device.disk.write('b', 'B');
    await device.save();
    device.disk.remove('a');
    expect(await device.save('a')).toMatchObject({ hash: null, files: 0 });
    expect(server.tree('s1')).toEqual({ b: 'B' });
    expect(await codeOf(device.save('never'))).toBe('path_not_found');
  });

  test('a stale base is taken by the server; a 409 is merged, then tried again under another key', async () => {
    const { device, server } = new World();
    device.disk.write('a', 'A');
    await device.save();
    device.disk.write('a', 'A2');
    let others = 0;
    server.policy = 'strict';
    server.trouble = async (call) => {
      if (call === 'commit' && others < 2) await server.write('s1', { [`other${++others}`]: 'x' });
    };
    await device.save();
    const keys = server.commits.slice(1).map(({ key }) => key.replace(/^.*:/, ''));
    expect(keys).toEqual(['1', '2', '3']);
    expect(new Set(server.commits.slice(1).map(({ key }) => key.replace(/:.*/, ''))).size).toBe(1);
    expect(device.disk.tree()).toEqual({ a: 'A2', other1: 'x', other2: 'x' });
    expect(server.tree('s1')).toEqual(device.disk.tree());
    expect(server.violations).toEqual([]);
  });

  test('the first commit and up to 5 more, then storage_state_conflict and the old state', async () => {
    const { device, server } = new World();
    device.disk.write('a', 'A');
    await device.save();
    device.disk.write('a', 'A2');
    let others = 0;
    server.policy = 'strict';
    server.trouble = async (call) => {
      if (call === 'commit') await server.write('s1', { other: `x${++others}` });
    };
    expect(await codeOf(device.save())).toBe('storage_state_conflict');
    expect(others).toBe(6);
    expect(device.disk.tree()).toEqual({ a: 'A2' });
    expect(device.temps()).toEqual([]);
  });

  test('a failed save undoes what it merged: the device and base are as before', async () => {
    const { device, server } = new World();
    device.disk.write('a', 'A');
    await device.save();
    const base = device.record().base;
    device.disk.write('mine', 'M');
    await server.write('s1', { a: 'A2', theirs: 'T' });
    server.trouble = (call) => {
      if (call === 'commit') throw new AgentError('storage_transport_failed');
    };
    expect(await codeOf(device.save())).toBe('storage_transport_failed');
    expect(device.disk.tree()).toEqual({ a: 'A', mine: 'M' });
    expect(device.record().base).toBe(base);
  });

  test("base after a commit: the old one while others' commits lie between, so they are never skipped", async () => {
    const { device, server } = new World();
    device.disk.write('a', 'A');
    await device.save();
    device.disk.write('a', 'A2');
    server.trouble = async (call) => {
      if (call !== 'commit') return;
      server.trouble = null;
      await server.write('s1', { theirs: 'T' });
    };
    const { revision } = await device.save();
    expect(device.record().base).not.toBe(revision);
    expect(device.disk.tree()).toEqual({ a: 'A2' });
    await device.sync();
    expect(device.disk.tree()).toEqual({ a: 'A2', theirs: 'T' });
    expect(device.record().base).toBe(server.head('s1'));
  });

  test('a base the server no longer knows: the whole tree is read, what is gone there goes here', async () => {
    const { device, server } = new World();
    device.disk.write('a', 'A');
    device.disk.write('b', 'B');
    await device.save();
    const base = device.record().base as string;
    await server.write('s1', { b: null, c: 'C' });
    server.forget('s1', base);
    await device.save();
    expect(device.disk.tree()).toEqual({ a: 'A', c: 'C' });
    expect(server.tree('s1')).toEqual({ a: 'A', c: 'C' });
  });

  test("another writer's path that this root cannot hold does not keep it from saving, and is never skipped", async () => {
    const { device, server } = new World('folder');
    device.disk.write('a', 'A');
    await device.save();
    const base = device.record().base;
    await server.write('s1', { 'con.txt': 'C', fine: 'F' });
    device.disk.write('a', 'A2');
    expect(await device.save()).toMatchObject({ deferred: ['con.txt'] });
    expect(server.tree('s1')).toEqual({ a: 'A2', 'con.txt': 'C', fine: 'F' });
    expect(device.disk.tree()).toEqual({ a: 'A2', fine: 'F' });
    expect(device.record().base).toBe(base);
  });

  test('storage_unknown, path_invalid, invalid_input', async () => {
    const { device } = new World();
    expect(await codeOf(device.save('x', { storage_id: 'none' }))).toBe('storage_unknown');
    expect(await codeOf(device.save('../x'))).toBe('path_invalid');
    expect(await codeOf(device.run({ mode: 'save_path', path: '' }))).toBe('invalid_input');
    device.disk.write('a', 'A');
    expect(await codeOf(device.save('a', { seal: true, seal_until: 'soon' }))).toBe('invalid_input');
  });
});

describe('place_path', () => {
  const place = (world: World, revision: string | number, path = 'p') =>
    world.device.run({ mode: 'place_path', storage_id: 's1', path, revision });

  test('downloads, publishes and commits; the blobs are already at the server', async () => {
    const world = new World();
    const { device, server } = world;
    device.disk.write('a', 'A');
    await device.save();
    const { base } = device.record();
    const revision = await server.stageBeside('s1', [
      ['p/one', '1'],
      ['p/in/two', '2'],
      { type: 'directory', path: 'p/none' },
    ]);
    const output = await place(world, revision);
    expect(output).toEqual({ revision: server.head('s1') });
    expect(device.disk.tree()).toEqual({ a: 'A', 'p/one': '1', 'p/in/two': '2', 'p/none': null });
    expect(server.tree('s1')).toEqual(device.disk.tree());
    expect(server.commits.at(-1)?.body.base_revision).toBe(base);
    expect(device.temps()).toEqual([]);
    world.pass();
    const commits = server.commits.length;
    await device.save();
    expect(server.commits.length).toBe(commits);
  });

  test('one file', async () => {
    const world = new World();
    const revision = await world.server.stageBeside('s1', [['p', 'P']]);
    await place(world, revision);
    expect(world.device.disk.tree()).toEqual({ p: 'P' });
  });

  test.each(['p', 'p/deeper'])('path exists → storage_path_exists, nothing downloaded (%s)', async (at) => {
    const world = new World();
    world.device.disk.write(at, 'mine');
    const revision = await world.server.stageBeside('s1', [['p', 'P']]);
    expect(await codeOf(place(world, revision))).toBe('storage_path_exists');
    expect(world.server.downloads).toBe(0);
    expect(world.device.disk.tree()).toEqual({ [at]: 'mine' });
  });

  test('a file where its folder would be → storage_path_exists', async () => {
    const world = new World();
    world.device.disk.write('d', 'mine');
    const revision = await world.server.stageBeside('s1', [['d/p', 'P']]);
    expect(await codeOf(place(world, revision, 'd/p'))).toBe('storage_path_exists');
  });

  test('what Chrome cannot hold here is found before anything is downloaded, listing the first few', async () => {
    const world = new World('folder');
    const names = ['con', 'x.lnk', 'tail.', '~a', 'a:b', 'b?', 'fine'];
    const revision = await world.server.stageBeside(
      's1',
      names.map((name): [string, string] => [`p/${name}`, 'x']),
    );
    const failure = await place(world, revision).catch((thrown: AgentError) => thrown);
    expect(failure).toMatchObject({ code: 'storage_path_unrepresentable' });
    expect((failure as AgentError).message).toContain('"p/con"');
    expect((failure as AgentError).message).toContain('1 more');
    expect(world.server.downloads).toBe(0);
    expect(world.device.disk.tree({ internal: true })).toEqual({
      '.endue-storage-id': '{"storage_id":"s1"}',
    });
  });

  test('a place again after the placed path was deleted here', async () => {
    const world = new World();
    const revision = await world.server.stageBeside('s1', [
      ['p/one', '1'],
      ['p/two', '2'],
    ]);
    await place(world, revision);
    world.device.disk.remove('p');
    const again = await world.server.stageBeside('s1', [['p/one', '1']]);
    await place(world, again);
    expect(world.device.disk.tree()).toEqual({ 'p/one': '1' });
    expect(world.server.tree('s1')).toEqual({ 'p/one': '1' });
  });
});

describe('remove_path', () => {
  const remove = (world: World, path: string, expected_hash: string) =>
    world.device.run({ mode: 'remove_path', storage_id: 's1', path, expected_hash });

  async function saved(): Promise<World> {
    const world = new World();
    world.device.disk.write('d/x', 'X');
    world.device.disk.write('d/e/y', 'Y');
    world.device.disk.write('f', 'F');
    await world.device.save();
    return world;
  }

  test('unchanged since saved: off the device, and the removal is committed', async () => {
    const world = await saved();
    const output = await remove(world, 'd', await hashOf({ x: 'X', 'e/y': 'Y' }));
    expect(output).toEqual({ revision: world.server.head('s1') });
    expect(world.device.disk.tree()).toEqual({ f: 'F' });
    expect(world.server.tree('s1')).toEqual({ f: 'F' });
    expect(world.server.commits.at(-1)?.body.changes).toEqual([{ op: 'delete', path: 'd' }]);
    expect(world.device.temps()).toEqual([]);
  });

  test.each(['edited', 'added', 'deleted'])(
    'changed (%s) → storage_state_conflict, nothing touched',
    async (how) => {
      const world = await saved();
      const hash = await hashOf({ x: 'X', 'e/y': 'Y' });
      if (how === 'edited') world.device.disk.write('d/x', 'x');
      if (how === 'added') world.device.disk.write('d/z', 'z');
      if (how === 'deleted') world.device.disk.remove('d/x');
      const before = world.device.disk.tree();
      expect(await codeOf(remove(world, 'd', hash))).toBe('storage_state_conflict');
      expect(world.device.disk.tree()).toEqual(before);
      expect(world.server.commits.length).toBe(1);
    },
  );

  test('never saved → storage_state_conflict, even with the right hash', async () => {
    const world = await saved();
    world.device.disk.write('fresh', 'N');
    expect(await codeOf(remove(world, 'fresh', await sha256Of('N')))).toBe('storage_state_conflict');
    expect(world.device.disk.read('fresh')).toBe('N');
  });

  test('another writer changed something under it → storage_state_conflict', async () => {
    const world = await saved();
    await world.server.write('s1', { 'd/new': 'unseen' });
    expect(await codeOf(remove(world, 'd', await hashOf({ x: 'X', 'e/y': 'Y' })))).toBe(
      'storage_state_conflict',
    );
    expect(world.server.tree('s1')['d/new']).toBe('unseen');
  });

  test('what Chrome hides in it is not taken along', async () => {
    const world = await saved();
    world.device.disk.hide('d/symlink');
    expect(await codeOf(remove(world, 'd', await hashOf({ x: 'X', 'e/y': 'Y' })))).toBe(
      'storage_state_conflict',
    );
    expect(world.device.disk.tree()).toEqual({ 'd/x': 'X', 'd/e/y': 'Y', f: 'F' });
  });

  test('nothing there → path_not_found', async () => {
    const world = await saved();
    expect(await codeOf(remove(world, 'none', EMPTY_SHA256))).toBe('path_not_found');
  });

  test('the folder it was in stays on the device, and is committed when it is saved', async () => {
    const world = await saved();
    await remove(world, 'd/e/y', await sha256Of('Y'));
    expect(world.server.tree('s1')).toEqual({ 'd/x': 'X', f: 'F' });
    await world.device.save('d');
    expect(world.device.disk.tree()).toEqual({ 'd/e': null, 'd/x': 'X', f: 'F' });
    expect(world.server.tree('s1')).toEqual(world.device.disk.tree());
  });
});

describe('path_sync', () => {
  test('brings the remotely changed paths; unsaved files are kept', async () => {
    const { device, server } = new World();
    device.disk.write('a', 'A');
    device.disk.write('b', 'B');
    device.disk.write('gone/x', 'X');
    await device.save();
    device.disk.write('b', 'B mine');
    await server.write('s1', { a: 'A2', b: 'B2', 'gone/x': null, 'n/e/w': 'N' });
    expect(await device.sync()).toEqual({ revision: server.head('s1'), kept: ['b'] });
    expect(device.disk.tree()).toEqual({ a: 'A2', b: 'B mine', 'n/e/w': 'N' });
    await device.save();
    expect(server.tree('s1')).toEqual({ a: 'A2', b: 'B mine', 'n/e/w': 'N' });
  });

  test('paths[] may name directories; the others are brought later and not skipped', async () => {
    const { device, server } = new World();
    await device.save();
    await server.write('s1', { 'd/x': '1', 'd/e/y': '2', other: '3' });
    await device.sync(['d']);
    expect(device.disk.tree()).toEqual({ 'd/e/y': '2', 'd/x': '1' });
    await device.sync();
    expect(device.disk.tree()).toEqual({ 'd/e/y': '2', 'd/x': '1', other: '3' });
  });

  test('refuses what this root cannot hold, with the old state whole', async () => {
    const { device, server } = new World('folder');
    await device.save();
    await server.write('s1', { fine: 'F', 'aux.h': 'x' });
    expect(await codeOf(device.sync())).toBe('storage_path_unrepresentable');
    expect(device.disk.tree()).toEqual({});
    expect(server.downloads).toBe(0);
  });
});

describe('links', () => {
  async function linked(kind: 'browser' | 'folder' = 'browser'): Promise<World> {
    const world = new World(kind);
    const { server, device } = world;
    server.link('l1', 's1', 'links/l1', { storage_id: 's2', path: 'box' });
    await server.write('s2', { 'box/one': '1', 'box/in/two': '2', outside: 'O' });
    await device.run({ mode: 'link_pull', link_id: 'l1', path: 'links/l1', revision: server.head('s2') });
    world.pass();
    return world;
  }
  const pull = (world: World) =>
    world.device.run({
      mode: 'link_pull',
      link_id: 'l1',
      path: 'links/l1',
      revision: world.server.head('s2'),
    });
  const push = (world: World) => world.device.run({ mode: 'link_push', link_id: 'l1' });
  const unlink = (world: World) => world.device.run({ mode: 'link_remove', link_id: 'l1', path: 'links/l1' });

  test('link_pull brings the target under its path; the transport says which Storage holds it', async () => {
    const world = await linked();
    expect(world.server.calls[0]).toBe('link');
    expect(world.device.disk.tree()).toEqual({ 'links/l1/in/two': '2', 'links/l1/one': '1' });
  });

  test('link_pull of an empty target makes its folder', async () => {
    const { server, device } = new World();
    server.link('l1', 's1', 'l', { storage_id: 's2', path: '' });
    await device.run({ mode: 'link_pull', link_id: 'l1', path: 'l', revision: server.head('s2') });
    expect(device.disk.tree()).toEqual({ l: null });
  });

  test('link_pull again: differences only, unsaved files are kept; kept[] is relative to the Storage', async () => {
    const world = await linked();
    world.device.disk.write('links/l1/one', 'mine');
    await world.server.write('s2', { 'box/one': '1b', 'box/three': '3', 'box/in/two': null });
    const downloads = world.server.downloads;
    expect(await pull(world)).toEqual({ revision: world.server.head('s2'), kept: ['links/l1/one'] });
    expect(world.server.downloads).toBe(downloads + 1);
    expect(world.device.disk.tree()).toEqual({ 'links/l1/one': 'mine', 'links/l1/three': '3' });
  });

  test('link_push commits only the changed paths under the link to its target; overwritten[] is relative to it', async () => {
    const world = await linked();
    world.device.disk.write('links/l1/one', 'mine');
    world.device.disk.write('links/l1/new', 'N');
    world.device.disk.write('elsewhere', 'E');
    await world.server.write('s2', { 'box/one': 'theirs' });
    expect(await push(world)).toMatchObject({ revision: world.server.head('s2'), overwritten: ['one'] });
    expect(world.server.tree('s2')).toEqual({
      'box/in/two': '2',
      'box/new': 'N',
      'box/one': 'mine',
      outside: 'O',
    });
    expect(world.server.tree('s1')).toEqual({});
    expect(world.server.contents()).toContain('theirs');
  });

  test('link_push with nothing changed commits nothing', async () => {
    const world = await linked();
    expect(await push(world)).toMatchObject({ revision: world.server.head('s2'), overwritten: [] });
    expect(world.server.commits).toEqual([]);
  });

  test('link_push after a merge the server wanted still lists what it overwrote', async () => {
    const world = await linked();
    world.device.disk.write('links/l1/one', 'mine');
    await world.server.write('s2', { 'box/one': 'theirs', 'box/four': '4' });
    world.server.policy = 'strict';
    expect(await push(world)).toMatchObject({ overwritten: ['one'] });
    expect(world.server.tree('s2')['box/one']).toBe('mine');
    expect(world.device.disk.read('links/l1/four')).toBe('4');
  });

  test('link_remove takes the content away; unsaved changes move to the recovery folder', async () => {
    const world = await linked();
    world.device.disk.write('links/l1/one', 'mine');
    world.device.disk.write('links/l1/deep/new', 'N');
    const calls = world.server.calls.length;
    const { recovered } = await unlink(world);
    expect(recovered).toEqual([
      expect.stringMatching(/^\.endue-storage-recovery-\d{8}T\d{6}Z-l1\/deep\/new$/),
      expect.stringMatching(/^\.endue-storage-recovery-\d{8}T\d{6}Z-l1\/one$/),
    ]);
    expect(world.device.disk.tree()).toEqual({ links: null });
    expect(world.device.recovered().sort()).toEqual(['N', 'mine']);
    expect(world.server.calls.length).toBe(calls);
    expect(await codeOf(push(world))).toBe('link_unknown');
  });

  test('a broken link stays as an empty read-only folder', async () => {
    const world = await linked();
    const link = world.server.links.get('l1');
    if (link) link.gone = true;
    expect(await codeOf(pull(world))).toBe('link_target_gone');
    expect(await unlink(world)).toEqual({ recovered: [] });
    expect(world.device.disk.tree()).toEqual({ 'links/l1': null });
    const write = world.device.engine.exclusively('s1', world.device.signal, async (_, guard) =>
      guard('links/l1/x'),
    );
    expect(await codeOf(write)).toBe('storage_path_sealed');
    await world.device.save();
    expect(world.server.tree('s1')).toEqual({});
  });

  test('link_unknown for a link this device does not have', async () => {
    const { device } = new World();
    expect(await codeOf(device.run({ mode: 'link_push', link_id: 'no' }))).toBe('link_unknown');
    expect(await codeOf(device.run({ mode: 'link_remove', link_id: 'no', path: 'x' }))).toBe('link_unknown');
    expect(await codeOf(device.run({ mode: 'link_pull', link_id: 'no', path: 'x', revision: 1 }))).toBe(
      'link_unknown',
    );
  });

  test('a file in the way of a link → storage_path_exists', async () => {
    const { server, device } = new World();
    server.link('l1', 's1', 'l', { storage_id: 's2', path: '' });
    device.disk.write('l', 'file');
    const work = device.run({ mode: 'link_pull', link_id: 'l1', path: 'l', revision: server.head('s2') });
    expect(await codeOf(work)).toBe('storage_path_exists');
  });
});

test('the token is used for its own job only and never kept', async () => {
  const { device, server } = new World();
  device.disk.write('a', 'A');
  await device.save('', { token: 'S3CRET' });
  expect([...server.tokens]).toEqual(['S3CRET']);
  expect(JSON.stringify([...device.data])).not.toContain('S3CRET');
});

test('progress frames tell bytes and files, at most two a second', async () => {
  const world = new World();
  for (let n = 0; n < 50; n++) world.device.disk.write(`f${n}`, 'x'.repeat(n + 1));
  await world.device.save();
  expect(world.device.progress.length).toBe(1);
  expect(['files', 'bytes']).toContain(world.device.progress[0]?.unit);
});
