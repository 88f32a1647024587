/** The public cases 6 and 10 to 14: faults of software like this one, as the smallest input for ours. */
import { describe, expect, test } from 'vitest';
import type { AgentError } from '../../../src/protocol/errors';
import { sha256Of } from './sha256';
import { codeOf, World } from './world';

describe('case 6: name identity', () => {
  test.each([true, false])('saved test.txt renamed on disk to TEST.txt (folding root: %s)', async (folds) => {
    const world = new World('folder', { folds });
    const { device, server } = world;
    device.disk.write('test.txt', 'a');
    device.disk.write('other', 'o');
    await device.save();
    world.pass();
    device.disk.rename('test.txt', 'TEST.txt');
    await device.save();
    expect(server.tree('s1')).toEqual({ 'TEST.txt': 'a', other: 'o' });
    expect(device.disk.tree()).toEqual({ 'TEST.txt': 'a', other: 'o' });
  });

  test.each([true, false])('the same rename by another writer (folding root: %s)', async (folds) => {
    const world = new World('folder', { folds });
    const { device, server } = world;
    device.disk.write('test.txt', 'a');
    device.disk.write('other', 'o');
    await device.save();
    world.pass();
    await server.write('s1', { 'test.txt': null, 'TEST.txt': 'a' });
    await device.sync();
    expect(device.disk.tree()).toEqual({ 'TEST.txt': 'a', other: 'o' });
    await device.save();
    expect(server.tree('s1')).toEqual({ 'TEST.txt': 'a', other: 'o' });
  });

  test('é in two forms: both survive where the root tells them apart', async () => {
    const { device, server } = new World('folder');
    device.disk.write('\u00e9.txt', '1');
    device.disk.write('e\u0301.txt', '2');
    await device.save();
    expect(server.tree('s1')).toEqual({ '\u00e9.txt': '1', 'e\u0301.txt': '2' });
  });

  test.each([
    ['\u00e9.txt', 'e\u0301.txt'],
    ['a.txt', 'A.txt'],
    ['dir/x', 'DIR/y'],
  ])('%s and %s: one is refused by name where the root folds them', async (there, comes) => {
    const { device, server } = new World('folder', { folds: true });
    device.disk.write(there, '1');
    await device.save();
    await server.write('s1', { [comes]: '2' });
    expect(await codeOf(device.sync())).toBe('storage_path_unrepresentable');
    expect(device.disk.tree()).toEqual({ [there]: '1' });
    expect(server.downloads).toBe(0);
  });

  test('a folder that another writer renamed by case only comes under its new name, also what is deeper in it', async () => {
    const world = new World('folder', { folds: true });
    const { device, server } = world;
    for (const path of ['docs/x', 'docs/in/y', 'other']) device.disk.write(path, path);
    await device.save();
    world.pass();
    const after = { 'Docs/In/y': 'docs/in/y', 'Docs/x': 'docs/x', other: 'other' };
    await server.write('s1', { docs: null, 'Docs/x': 'docs/x', 'Docs/In/y': 'docs/in/y' });
    expect(await device.sync()).toMatchObject({ kept: [] });
    expect(device.disk.tree()).toEqual(after);
    await device.save();
    expect(server.tree('s1')).toEqual(after);
  });

  test('the same rename while it holds something unsaved is refused by name, and nothing is touched', async () => {
    const world = new World('folder', { folds: true });
    const { device, server } = world;
    device.disk.write('docs/x', '1');
    await device.save();
    world.pass();
    device.disk.write('docs/mine', 'm');
    await server.write('s1', { docs: null, 'Docs/x': '1' });
    expect(await codeOf(device.sync())).toBe('storage_path_unrepresentable');
    expect(device.disk.tree()).toEqual({ 'docs/mine': 'm', 'docs/x': '1' });
  });

  test('what only the root itself takes for the same (ß and ss) is refused by name too', async () => {
    const { device, server } = new World('folder', { folds: true });
    device.disk.write('stra\u00dfe', 'mine');
    await device.save();
    await server.write('s1', { strasse: 'theirs' });
    expect(await codeOf(device.sync())).toBe('storage_path_unrepresentable');
    expect(device.disk.tree()).toEqual({ 'stra\u00dfe': 'mine' });
    expect(await device.save()).toMatchObject({ deferred: ['strasse'] });
    expect(server.tree('s1')).toEqual({ strasse: 'theirs', 'stra\u00dfe': 'mine' });
  });

  test('two of such names that come together: one waits, and neither is overwritten or deleted', async () => {
    const world = new World('folder', { folds: true });
    const { device, server } = world;
    device.disk.write('a', 'a');
    await device.save();
    const theirs = { 'ma\u00df': '1', mass: '2', 'wei\u00df/x': '3', 'weiss/y': '4', 'weiss/z': '5' };
    await server.write('s1', theirs);
    expect(await codeOf(device.sync())).toBe('storage_path_unrepresentable');
    expect(device.disk.tree()).toEqual({ a: 'a' });
    const { deferred } = await device.save();
    expect(deferred).toHaveLength(3);
    world.pass();
    await device.save();
    expect(server.tree('s1')).toEqual({ a: 'a', ...theirs });
    const waiting = deferred as string[];
    const here = Object.entries({ a: 'a', ...theirs }).filter(([at]) => !waiting.includes(at));
    expect(device.disk.tree()).toEqual(Object.fromEntries(here));
    expect(device.temps()).toEqual([]);
    const revision = await server.stageBeside('s1', [
      ['p/ma\u00df', '1'],
      ['p/mass', '2'],
    ]);
    const place = device.run({ mode: 'place_path', storage_id: 's1', path: 'p', revision });
    expect(await codeOf(place)).toBe('storage_path_unrepresentable');
  });

  test('where the root tells them apart, both come', async () => {
    const { device, server } = new World('folder');
    await server.write('s1', { 'ma\u00df': '1', mass: '2' });
    await device.sync();
    expect(device.disk.tree()).toEqual({ 'ma\u00df': '1', mass: '2' });
  });

  test('the same as a rename by another writer: the one gives way to the other', async () => {
    const world = new World('folder', { folds: true });
    const { device, server } = world;
    device.disk.write('stra\u00dfe', 'a');
    await device.save();
    world.pass();
    await server.write('s1', { 'stra\u00dfe': null, strasse: 'a' });
    await device.sync();
    expect(device.disk.tree()).toEqual({ strasse: 'a' });
  });

  test('all of a folder whose name falls together with another waits, not only the first of it', async () => {
    const { device, server } = new World('folder', { folds: true });
    device.disk.write('dir/x', '1');
    await device.save();
    await server.write('s1', { 'DIR/y': '2', 'DIR/z': '3' });
    expect(await device.save()).toMatchObject({ deferred: ['DIR/y', 'DIR/z'] });
    await device.save();
    expect(device.disk.tree()).toEqual({ 'dir/x': '1' });
    expect(server.tree('s1')).toEqual({ 'DIR/y': '2', 'DIR/z': '3', 'dir/x': '1' });
  });

  test('two that come together are refused too', async () => {
    const { device, server } = new World('folder', { folds: true });
    const revision = await server.stageBeside('s1', [
      ['p/a', '1'],
      ['p/A', '2'],
    ]);
    expect(await codeOf(device.run({ mode: 'place_path', storage_id: 's1', path: 'p', revision }))).toBe(
      'storage_path_unrepresentable',
    );
    expect(device.disk.tree()).toEqual({});
  });

  test('local file foo where the server has folder foo/: both survive, saving again uploads nothing', async () => {
    const world = new World('folder');
    const { device, server } = world;
    await server.write('s1', { 'foo/in': 'theirs' });
    device.disk.write('foo', 'mine');
    expect(await device.save()).toMatchObject({ kept: ['foo/in'] });
    expect(device.disk.tree()).toEqual({ foo: 'mine' });
    expect(server.contents()).toContain('theirs');
    world.pass();
    const { uploads } = server;
    const commits = server.commits.length;
    await device.save();
    expect(server.uploads).toBe(uploads);
    expect(server.commits.length).toBe(commits);
  });
});

describe('case 10: untrustworthy mtime', () => {
  test('rewritten with the same size and time right after the save', async () => {
    const world = new World('folder');
    const { device, server } = world;
    const time = world.now();
    device.disk.write('a.bin', 'AAAA', time);
    await device.save();
    device.disk.write('a.bin', 'BBBB', time);
    world.pass(100);
    await device.save();
    expect(server.tree('s1')).toEqual({ 'a.bin': 'BBBB' });
    world.pass();
    const { uploads } = server;
    await device.save();
    expect(server.uploads).toBe(uploads);
  });

  test.each([0, Date.UTC(2099, 0, 1)])('the time %d, long after the save', async (time) => {
    const world = new World('folder');
    const { device, server } = world;
    device.disk.write('a.bin', 'AAAA', time);
    await device.save();
    world.pass(86_400_000);
    await device.save();
    device.disk.write('a.bin', 'BBBB', time);
    await device.save();
    expect(server.tree('s1')).toEqual({ 'a.bin': 'BBBB' });
    const { uploads } = server;
    await device.save();
    expect(server.uploads).toBe(uploads);
  });

  test('what surely did not change is not read', async () => {
    const world = new World('folder');
    const { device } = world;
    device.disk.write('a', 'A');
    world.pass();
    await device.save();
    let reads = 0;
    device.disk.onRead = (path) => {
      if (path === 'a') reads++;
    };
    await device.save();
    expect(reads).toBe(0);
    device.disk.write('a', 'B');
    await device.save();
    expect(reads).toBeGreaterThan(0);
  });
});

describe('case 11: vanished folder', () => {
  test.each(['the root throws NotFoundError', 'the root lists nothing and its marker is gone'])(
    '%s',
    async (how) => {
      const { device, server } = new World('folder');
      for (const name of ['a', 'b', 'c']) device.disk.write(name, name);
      await device.save();
      if (how.includes('NotFoundError')) device.disk.vanished = true;
      else device.disk.clear();
      for (const path of ['', 'a']) expect(await codeOf(device.save(path))).toBe('storage_unavailable');
      expect(await codeOf(device.sync())).toBe('storage_unavailable');
      expect(server.commits.length).toBe(1);
      expect(Object.keys(server.tree('s1'))).toEqual(['a', 'b', 'c']);
    },
  );
});

describe('case 12: hostile names from a server', () => {
  const HOSTILE = ['../x', 'a/../../x', '/x', 'C:\\x', '\\\\h\\s\\x', 'a\\..\\x', 'a\u0000b', '', 'a//b'];

  test.each(HOSTILE)('place: %j is refused before any download, naming it', async (bad) => {
    for (const path of [bad, `p/${bad}`]) {
      const { device, server } = new World();
      const revision = await server.stageBeside('s1', [
        ['p/ok.txt', 'ok'],
        { type: 'file', path, size: 1, sha256: await sha256Of('x') },
      ]);
      server.hostile = true;
      const place = device.run({ mode: 'place_path', storage_id: 's1', path: 'p', revision });
      const failure = await place.catch((thrown: AgentError) => thrown);
      expect(failure).toMatchObject({
        code: 'path_invalid',
        message: expect.stringContaining(JSON.stringify(path)),
      });
      expect(server.downloads).toBe(0);
      expect(device.disk.tree()).toEqual({});
    }
  });

  test.each(HOSTILE)('sync: %j is refused, nothing is written', async (path) => {
    const { device, server } = new World();
    await device.save();
    await server.write('s1', { 'ok.txt': 'ok' });
    await server.write('s1', { [path]: 'x' });
    expect(await codeOf(device.sync())).toBe('path_invalid');
    expect(server.downloads).toBe(0);
    expect(device.disk.tree()).toEqual({});
  });

  test('%2e%2e/x is a legal odd name and stays literal', async () => {
    const { device, server } = new World();
    const revision = await server.stageBeside('s1', [
      ['p/%2e%2e/x', 'odd'],
      ['p/ok.txt', 'ok'],
    ]);
    await device.run({ mode: 'place_path', storage_id: 's1', path: 'p', revision });
    expect(device.disk.tree()).toEqual({ 'p/%2e%2e/x': 'odd', 'p/ok.txt': 'ok' });
  });

  test('internal names from a server are refused', async () => {
    const { device, server } = new World();
    await device.save();
    await server.write('s1', { '.endue-storage-id': '{"storage_id":"evil"}' });
    expect(await codeOf(device.sync())).toBe('path_invalid');
  });

  test('a tree that is not one: a file with something under it, a path twice, a path outside', async () => {
    for (const paths of [
      ['p/a', 'p/a/b'],
      ['p/a', 'p/a'],
      ['p/a', 'q'],
    ]) {
      const { device, server } = new World();
      const entries = await Promise.all(paths.map((path) => server.entry(path, 'x')));
      server.hostile = true;
      server.treeAt = () => new Map(entries.map((entry, at) => [String(at), entry]));
      const place = device.run({ mode: 'place_path', storage_id: 's1', path: 'p', revision: 'r' });
      expect(await codeOf(place)).toBe('path_invalid');
      expect(server.downloads).toBe(0);
    }
  });
});

describe('case 13: bad download', () => {
  const bad: [string, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>][] = [
    ['900 of 1000 bytes', (bytes) => bytes.slice(0, 900)],
    ['one flipped bit', (bytes) => bytes.map((byte, at) => (at === 500 ? byte ^ 1 : byte))],
    ['an HTML page', () => new TextEncoder().encode('<html>sign in</html>')],
    ['more than promised', (bytes) => new Uint8Array([...bytes, 1])],
    ['nothing', () => new Uint8Array()],
  ];

  test.each(bad)(
    '%s: still old, no temp, downloaded again once, storage_hash_mismatch',
    async (_, corrupt) => {
      const { device, server } = new World();
      device.disk.write('doc.txt', 'old');
      await device.save();
      await server.write('s1', { 'doc.txt': 'n'.repeat(1000) });
      server.corrupt = (_sha, bytes) => corrupt(bytes);
      expect(await codeOf(device.sync())).toBe('storage_hash_mismatch');
      expect(device.disk.tree()).toEqual({ 'doc.txt': 'old' });
      expect(device.temps()).toEqual([]);
      expect(server.downloads).toBe(2);
    },
  );

  test('bad once, good the second time', async () => {
    const { device, server } = new World();
    device.disk.write('doc.txt', 'old');
    await device.save();
    await server.write('s1', { 'doc.txt': 'new' });
    server.corrupt = (_, bytes) => {
      server.corrupt = null;
      return bytes.slice(1);
    };
    await device.sync();
    expect(device.disk.tree()).toEqual({ 'doc.txt': 'new' });
  });
});

describe('case 14: scan hazards', () => {
  test('a directory whose child is itself: the save ends, other files are saved once', async () => {
    const { device, server } = new World('folder');
    device.disk.write('d/one', '1');
    device.disk.write('z', '2');
    device.disk.loop('d', 'again');
    await device.save();
    expect(server.tree('s1')).toEqual({ 'd/one': '1', z: '2' });
  });

  test('a file listed, then NotFoundError on getFile: other files are saved, no deletions are committed', async () => {
    const { device, server } = new World('folder');
    for (const name of ['a', 'b', 'gone']) device.disk.write(name, name);
    await device.save();
    device.disk.remove('gone');
    device.disk.write('b', 'b2');
    device.fate.trouble = ({ name, path }) => {
      if (name === 'getFile' && path === 'a') throw new DOMException('', 'NotFoundError');
    };
    await device.save();
    expect(server.tree('s1')).toEqual({ a: 'a', b: 'b2', gone: 'gone' });
    device.fate.trouble = null;
    await device.save();
    expect(server.tree('s1')).toEqual({ a: 'a', b: 'b2' });
  });
});
