/** tools.md, `file_*`, and storage.md: the file tools on the engine, with the same paths, seals and refusals. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/protocol/json';
import { fileTools } from '../../../../src/storage/files/file-tools';
import type { JobResult } from '../../../../src/storage/job-runner';
import type { RootKind } from '../../../../src/storage/ports';
import { Fate } from '../fate';
import { sha256Of } from '../sha256';
import { codeOf, type Device, World } from '../world';

let world: World;
let device: Device;

beforeEach(() => use('browser'));

function use(kind: RootKind, options: { folds?: boolean } = {}): void {
  world = new World(kind, options);
  device = world.device;
}

async function run(tool: string, input: JsonObject, on = device): Promise<JobResult> {
  const tools = fileTools(on.engine, { list: async () => [...on.disks.keys()] });
  const work = tools[tool];
  if (!work) throw new Error(`there is no ${tool}`);
  return work(
    { storage_id: 's1', ...input },
    {
      request_id: 'r',
      signal: on.signal,
      connect: () => {
        throw new Error('a file tool needs no server');
      },
      progress: () => {},
    },
  );
}

const ok = async (tool: string, input: JsonObject) => (await run(tool, input)).output;
const code = (tool: string, input: JsonObject) => codeOf(run(tool, input));
const message = (tool: string, input: JsonObject) =>
  run(tool, input).then(
    () => '',
    (thrown: Error) => thrown.message,
  );

describe('which Storage', () => {
  test('may be left out when exactly one is attached', async () => {
    const tools = fileTools(device.engine, { list: async () => ['s1'] });
    const job = {
      request_id: 'r',
      signal: device.signal,
      connect: () => Promise.reject() as never,
      progress() {},
    };
    device.disk.write('a', 'A');
    expect((await tools.file_read_text?.({ path: 'a' }, job))?.output.text).toBe('A');
  });

  test('must be named when there are several, and be attached', async () => {
    const job = {
      request_id: 'r',
      signal: device.signal,
      connect: () => Promise.reject() as never,
      progress() {},
    };
    const several = fileTools(device.engine, { list: async () => ['s1', 's2'] });
    expect(await codeOf(several.file_stat?.({ path: 'a' }, job) as Promise<unknown>)).toBe('invalid_input');
    const none = fileTools(device.engine, { list: async () => [] });
    expect(await codeOf(none.file_stat?.({ path: 'a' }, job) as Promise<unknown>)).toBe('storage_unknown');
    expect(await code('file_stat', { storage_id: 'no', path: 'a' })).toBe('storage_unknown');
  });
});

describe('storage.md, Paths and names: refused as path_invalid by every file tool', () => {
  const bad = [
    '/a',
    'a\\b',
    'a//b',
    'a/',
    '.',
    '..',
    'a/../b',
    'a\0b',
    'a\tb',
    '\ud83d',
    'n'.repeat(256),
    'p/'.repeat(2_100),
  ];
  const internal = ['.endue-storage-id', '.endue-storage-tmp-x/y', 'a.crswap', '.ENDUE-storage-x'];
  const tools: [string, JsonObject][] = [
    ['file_list', {}],
    ['file_stat', {}],
    ['file_read_text', {}],
    ['file_read_image', {}],
    ['file_write', { text: 'x' }],
    ['file_move', { to: 'b' }],
    ['file_remove', { recursive: true }],
  ];
  test.each(tools)('%s', async (tool, more) => {
    device.disk.write('a', 'A');
    for (const path of [...bad, ...internal])
      expect([path, await code(tool, { path, ...more })]).toEqual([path, 'path_invalid']);
  });

  test('and as the new place of a move', async () => {
    device.disk.write('a', 'A');
    for (const to of ['', ...bad, ...internal]) {
      expect([to, await code('file_move', { path: 'a', to })]).toEqual([to, 'path_invalid']);
    }
  });

  test('the root is listed and looked at, and nothing else', async () => {
    expect(await ok('file_list', { path: '' })).toEqual({ entries: [], next: null });
    expect(await ok('file_stat', { path: '' })).toMatchObject({ type: 'directory' });
    for (const [tool, more] of tools.slice(2))
      expect(await code(tool, { path: '', ...more })).toBe('path_invalid');
  });

  test('storage_path_unrepresentable: what the root cannot hold', async () => {
    use('folder');
    device.disk.write('a', 'A');
    for (const name of ['con', 'dot.', '~x', 'a.lnk']) {
      expect(await code('file_write', { path: `d/${name}`, text: 'x' })).toBe('storage_path_unrepresentable');
      expect(await code('file_move', { path: 'a', to: name })).toBe('storage_path_unrepresentable');
    }
    expect(device.disk.tree()).toEqual({ a: 'A' });
  });

  test('storage_path_unrepresentable: a name that differs only by case on a root that folds', async () => {
    use('folder', { folds: true });
    device.disk.write('Name', 'A');
    expect(await code('file_write', { path: 'name', text: 'x' })).toBe('storage_path_unrepresentable');
    await ok('file_move', { path: 'Name', to: 'other' });
    await ok('file_write', { path: 'name', text: 'x' });
    expect(device.disk.tree()).toEqual({ other: 'A', name: 'x' });
  });
});

describe('file_list', () => {
  beforeEach(() => {
    for (const path of ['b', 'a-', 'a/z', 'a/b/c', 'é']) device.disk.write(path, path);
    device.disk.mkdir('empty');
    device.disk.write('.endue-storage-recovery-x/lost', 'L');
  });

  test('one directory, by name, without what is internal', async () => {
    const { entries, next } = await ok('file_list', { path: '' });
    expect((entries as JsonObject[]).map(({ path, type, size }) => [path, type, size])).toEqual([
      ['a', 'directory', null],
      ['a-', 'file', 2],
      ['b', 'file', 1],
      ['empty', 'directory', null],
      ['é', 'file', 2],
    ]);
    expect((entries as JsonObject[])[1]?.modified_at).toBe(
      new Date(device.disk.mtime('b') as number).toISOString(),
    );
    expect(next).toBeNull();
  });

  test('recursive: each directory before what it holds', async () => {
    const { entries } = await ok('file_list', { path: '', recursive: true });
    expect((entries as JsonObject[]).map(({ path }) => path)).toEqual([
      'a',
      'a/b',
      'a/b/c',
      'a/z',
      'a-',
      'b',
      'empty',
      'é',
    ]);
    expect(await ok('file_list', { path: 'a/b', recursive: true })).toMatchObject({
      entries: [{ path: 'a/b/c' }],
    });
  });

  test('next goes on where the list ended, whatever changed meanwhile', async () => {
    for (let n = 0; n < 1_200; n += 1) device.disk.write(`many/${n % 7}/f${n}`, '');
    const whole: string[] = [];
    let next: JsonObject | null = null;
    let answers = 0;
    do {
      const answer: JsonObject = await ok('file_list', { path: '', recursive: true, ...(next && { next }) });
      whole.push(...(answer.entries as { path: string }[]).map(({ path }) => path));
      next = answer.next as JsonObject | null;
      if (answers === 0) {
        device.disk.remove(whole.at(-1) as string);
        device.disk.write('0-early', '');
      }
      answers += 1;
    } while (next);
    expect(answers).toBe(2);
    expect(new Set(whole).size).toBe(whole.length);
    // 1 200 files in 7 directories of 1, and what was there before.
    expect(whole).toHaveLength(1_200 + 8 + 8);
  });

  test('a next of another listing is refused', async () => {
    const next = { storage_id: 's1', path: '', recursive: false, after: 'a' };
    expect(await ok('file_list', { path: '', next })).toMatchObject({
      entries: [{ path: 'a-' }, {}, {}, {}],
    });
    const others = [
      { ...next, storage_id: 's2' },
      { ...next, path: 'a' },
      { ...next, recursive: true },
    ];
    for (const other of others)
      expect(await code('file_list', { path: '', next: other })).toBe('cursor_invalid');
    const outside = { ...next, path: 'a', after: 'b' };
    expect(await code('file_list', { path: 'a', next: outside })).toBe('cursor_invalid');
    expect(await code('file_list', { path: '', next: { ...next, after: '../x' } })).toBe('path_invalid');
  });

  test('path_not_found for nothing and for a file', async () => {
    expect(await code('file_list', { path: 'none' })).toBe('path_not_found');
    expect(await message('file_list', { path: 'b' })).toMatch('"b" is a file');
  });
});

describe('file_stat', () => {
  test('size, time, hash; unsaved until it is saved, and after an edit', async () => {
    device.disk.write('a', 'A');
    const hash = await sha256Of('A');
    expect(await ok('file_stat', { path: 'a', hash: true })).toEqual({
      path: 'a',
      type: 'file',
      size: 1,
      modified_at: new Date(world.time).toISOString(),
      sha256: hash,
      sealed: false,
      unsaved: true,
    });
    await device.save();
    expect(await ok('file_stat', { path: 'a' })).toMatchObject({ unsaved: false });
    world.pass();
    device.disk.write('a', 'A');
    expect(await ok('file_stat', { path: 'a' })).toMatchObject({ unsaved: false });
    device.disk.write('a', 'B');
    expect(await ok('file_stat', { path: 'a' })).toMatchObject({ unsaved: true });
  });

  test('a directory: unsaved by anything under it, with the hash that save_path told', async () => {
    device.disk.write('d/a', 'A');
    device.disk.mkdir('d/empty');
    const { hash } = await device.save('d');
    expect(await ok('file_stat', { path: 'd', hash: true })).toMatchObject({
      type: 'directory',
      size: null,
      modified_at: null,
      sha256: hash,
      unsaved: false,
    });
    for (const change of [
      () => device.disk.write('d/b', 'B'),
      () => device.disk.remove('d/b'),
      () => device.disk.mkdir('d/more'),
      () => device.disk.remove('d/more'),
      () => device.disk.remove('d/a'),
    ]) {
      const before = (await ok('file_stat', { path: 'd' })).unsaved;
      change();
      expect((await ok('file_stat', { path: 'd' })).unsaved).toBe(!before);
    }
    expect(await ok('file_stat', { path: 'd/empty' })).toMatchObject({ unsaved: false });
  });

  test('inside a link the agreement is the link’s', async () => {
    world.server.link('l1', 's1', 'links/l1', { storage_id: 's2', path: 'box' });
    await world.server.write('s2', { 'box/one': '1' });
    await device.run({
      mode: 'link_pull',
      link_id: 'l1',
      path: 'links/l1',
      revision: world.server.head('s2'),
    });
    expect(await ok('file_stat', { path: 'links/l1/one' })).toMatchObject({ unsaved: false });
    expect(await ok('file_stat', { path: 'links/l1' })).toMatchObject({ unsaved: false });
    device.disk.write('links/l1/one', 'mine');
    expect(await ok('file_stat', { path: 'links/l1/one' })).toMatchObject({ unsaved: true });
    expect(await ok('file_stat', { path: 'links' })).toMatchObject({ unsaved: true });
  });
});

describe('file_read_text and file_read_image', () => {
  test('a text in pieces by next, which belongs to one file of one Storage', async () => {
    const text = '한글 text\n'.repeat(40_000);
    device.disk.write('t', text);
    device.disk.write('u', text);
    const first = await ok('file_read_text', { path: 't' });
    expect(first).toMatchObject({
      path: 't',
      encoding: 'utf-8',
      size: new TextEncoder().encode(text).length,
    });
    let read = first.text as string;
    for (let next = first.next; next; ) {
      const piece = await ok('file_read_text', { path: 't', next });
      read += piece.text;
      next = piece.next ?? null;
    }
    expect(read).toBe(text);
    const next = first.next as JsonObject;
    expect(await code('file_read_text', { path: 'u', next })).toBe('cursor_invalid');
    expect(await code('file_read_text', { path: 't', next: { ...next, storage_id: 's2' } })).toBe(
      'cursor_invalid',
    );
    world.pass();
    device.disk.write('t', text);
    expect(await code('file_read_text', { path: 't', next })).toBe('cursor_invalid');
  });

  test('what is no text, no file or not there', async () => {
    device.disk.write('b', Uint8Array.from([0xff, 0x00, 0x81]));
    device.disk.mkdir('d');
    expect(await code('file_read_text', { path: 'b' })).toBe('not_a_text_file');
    expect(await message('file_read_text', { path: 'd' })).toMatch('is a directory');
    expect(await code('file_read_text', { path: 'none' })).toBe('path_not_found');
  });

  test.each([
    ['image/png', '\x89PNG\r\n\x1a\n….'],
    ['image/jpeg', '\xff\xd8\xff\xe0….'],
    ['image/gif', 'GIF89a……'],
    ['image/webp', 'RIFF\x01\x02\x03\x04WEBP…'],
  ])('%s is an image by its bytes, whatever its name', async (mime_type, head) => {
    const bytes = Uint8Array.from(head, (character) => character.charCodeAt(0) & 0xff);
    device.disk.write('x.txt', bytes);
    const { output, attachments } = await run('file_read_image', { path: 'x.txt' });
    expect(output).toMatchObject({ path: 'x.txt', mime_type, size: bytes.length });
    expect(attachments).toMatchObject([{ field: 'image', mime_type }]);
    const blob = attachments?.[0]?.blob as Blob;
    expect(new Uint8Array(await blob.arrayBuffer())).toEqual(bytes);
  });

  test('anything else is no image', async () => {
    for (const content of ['', 'x', 'RIFF1234WAVE', '<svg/>']) {
      device.disk.write('x.png', content);
      expect(await code('file_read_image', { path: 'x.png' })).toBe('invalid_input');
    }
  });
});

describe('file_write', () => {
  test('text or base64, with its parents; replaces unless told not to', async () => {
    expect(await ok('file_write', { path: 'a/b/c', text: 'é' })).toEqual({
      path: 'a/b/c',
      size: 2,
      sha256: await sha256Of('é'),
    });
    await ok('file_write', { path: 'bin', base64: btoa('\0\xff') });
    expect(await ok('file_stat', { path: 'bin' })).toMatchObject({ size: 2 });
    await ok('file_write', { path: 'a/b/c', text: '' });
    expect(device.disk.read('a/b/c')).toBe('');
    expect(await code('file_write', { path: 'a/b/c', text: 'x', overwrite: false })).toBe(
      'storage_path_exists',
    );
    expect(device.disk.read('a/b/c')).toBe('');
    expect(device.temps()).toEqual([]);
  });

  test('never over a directory, never under a file', async () => {
    device.disk.write('d/f', 'F');
    expect(await code('file_write', { path: 'd', text: 'x' })).toBe('storage_path_exists');
    expect(await code('file_write', { path: 'd/f/x', text: 'x' })).toBe('storage_path_exists');
    expect(device.disk.tree()).toEqual({ 'd/f': 'F' });
  });

  test('base64 that is none', async () => {
    expect(await code('file_write', { path: 'a', base64: '*' })).toBe('invalid_input');
    expect(device.disk.tree()).toEqual({});
  });

  test('a full disk leaves what was, without the parents that were made', async () => {
    device.disk.write('a', 'old');
    const fate = new Fate();
    device.boot(fate);
    fate.trouble = ({ name }) => {
      if (name === 'move') throw new DOMException('full', 'QuotaExceededError');
    };
    expect(await code('file_write', { path: 'a', text: 'new' })).toBe('storage_quota_exceeded');
    expect(await code('file_write', { path: 'x/y/z', text: 'new' })).toBe('storage_quota_exceeded');
    expect(device.disk.tree()).toEqual({ a: 'old' });
    expect(device.temps()).toEqual([]);
  });

  test('what was written is saved, also in the tick of the save before', async () => {
    await ok('file_write', { path: 'a', text: 'one' });
    await device.save();
    await ok('file_write', { path: 'a', text: 'two' });
    await device.save();
    expect(world.server.tree('s1')).toEqual({ a: 'two' });
  });
});

describe('file_move', () => {
  test('a file, to a new directory; over a file only when told', async () => {
    device.disk.write('a', 'A');
    device.disk.write('b', 'B');
    expect(await ok('file_move', { path: 'a', to: 'x/y' })).toEqual({ path: 'x/y' });
    expect(await code('file_move', { path: 'b', to: 'x/y' })).toBe('storage_path_exists');
    await ok('file_move', { path: 'b', to: 'x/y', overwrite: true });
    expect(device.disk.tree()).toEqual({ 'x/y': 'B' });
  });

  test('a directory, with what it holds', async () => {
    device.disk.write('d/a', 'A');
    device.disk.write('d/in/b', 'B');
    device.disk.mkdir('d/empty');
    expect(await ok('file_move', { path: 'd', to: 'new/place' })).toEqual({ path: 'new/place' });
    expect(device.disk.tree()).toEqual({
      'new/place/a': 'A',
      'new/place/in/b': 'B',
      'new/place/empty': null,
    });
    expect(device.temps()).toEqual([]);
  });

  test('never a directory over anything, nor anything over a directory, nor into itself', async () => {
    device.disk.write('d/a', 'A');
    device.disk.write('e/b', 'B');
    device.disk.write('f', 'F');
    for (const [path, to] of [
      ['d', 'e'],
      ['d', 'f'],
      ['f', 'd'],
      ['e/b', 'e'],
    ] as const) {
      expect([path, to, await code('file_move', { path, to, overwrite: true })]).toEqual([
        path,
        to,
        'storage_path_exists',
      ]);
    }
    expect(await code('file_move', { path: 'd', to: 'd/x' })).toBe('invalid_input');
    expect(await code('file_move', { path: 'd', to: 'f/x' })).toBe('storage_path_exists');
    expect(await code('file_move', { path: 'none', to: 'x' })).toBe('path_not_found');
    expect(await ok('file_move', { path: 'd', to: 'd' })).toEqual({ path: 'd' });
    expect(device.disk.tree()).toEqual({ 'd/a': 'A', 'e/b': 'B', f: 'F' });
  });

  test('a file of the same size and time as the one it replaces is seen as changed', async () => {
    device.disk.write('a', 'A');
    device.disk.write('b', 'B');
    world.pass();
    await device.save();
    await ok('file_move', { path: 'a', to: 'b', overwrite: true });
    expect(await ok('file_stat', { path: 'b' })).toMatchObject({ unsaved: true });
    await device.save();
    expect(world.server.tree('s1')).toEqual({ b: 'A' });
  });
});

describe('file_remove', () => {
  test('a file, an empty directory, and a full one only when told', async () => {
    device.disk.write('a', 'A');
    device.disk.write('d/in/b', 'B');
    device.disk.mkdir('empty');
    expect(await ok('file_remove', { path: 'a' })).toEqual({ path: 'a' });
    await ok('file_remove', { path: 'empty' });
    expect(await message('file_remove', { path: 'd' })).toMatch('input.recursive');
    expect(device.disk.tree()).toEqual({ 'd/in/b': 'B' });
    await ok('file_remove', { path: 'd', recursive: true });
    expect(device.disk.tree()).toEqual({});
    expect(device.temps()).toEqual([]);
    expect(await code('file_remove', { path: 'd' })).toBe('path_not_found');
  });

  test('a directory that holds a name Chrome hides stays whole', async () => {
    use('folder');
    device.disk.write('d/a', 'A');
    device.disk.hide('d/hidden');
    expect(await code('file_remove', { path: 'd', recursive: true })).toBe('storage_state_conflict');
    expect(device.disk.read('d/a')).toBe('A');
  });
});

describe('storage.md, Seals: every tool that would write there answers storage_path_sealed', () => {
  test.each(['browser', 'folder'] as const)('on a %s', async (kind) => {
    use(kind);
    device.disk.write('s/in/a', 'A');
    device.disk.write('free', 'F');
    await device.save('s/in', { seal: true });
    const writes: [string, JsonObject][] = [
      ['file_write', { path: 's/in/a', text: 'x' }],
      ['file_write', { path: 's/in/new', text: 'x' }],
      ['file_write', { path: 's/in', text: 'x' }],
      ['file_remove', { path: 's/in/a' }],
      ['file_remove', { path: 's', recursive: true }],
      ['file_move', { path: 's/in/a', to: 'x' }],
      ['file_move', { path: 's', to: 'x' }],
      ['file_move', { path: 'free', to: 's/in/b' }],
      ['file_move', { path: 'free', to: 's/in/a', overwrite: true }],
    ];
    for (const [tool, input] of writes)
      expect([input, await code(tool, input)]).toEqual([input, 'storage_path_sealed']);
    expect(device.disk.tree()).toEqual({ 's/in/a': 'A', free: 'F' });
    expect(await ok('file_stat', { path: 's/in/a' })).toMatchObject({ sealed: true });
    expect(await ok('file_stat', { path: 's' })).toMatchObject({ sealed: false });
    expect(await ok('file_read_text', { path: 's/in/a' })).toMatchObject({ text: 'A' });
    await ok('file_write', { path: 's/beside', text: 'ok' });
    await device.run({ mode: 'unseal_path', storage_id: 's1', path: 's/in' });
    await ok('file_write', { path: 's/in/a', text: 'x' });
  });
});

test('a link’s folder is neither moved nor removed: that would delete in its target', async () => {
  world.server.link('l1', 's1', 'links/l1', { storage_id: 's2', path: 'box' });
  await world.server.write('s2', { 'box/one': '1' });
  await device.run({ mode: 'link_pull', link_id: 'l1', path: 'links/l1', revision: world.server.head('s2') });
  for (const path of ['links', 'links/l1']) {
    expect(await code('file_remove', { path, recursive: true })).toBe('storage_state_conflict');
    expect(await code('file_move', { path, to: 'x' })).toBe('storage_state_conflict');
  }
  await ok('file_write', { path: 'links/l1/two', text: '2' });
  await ok('file_remove', { path: 'links/l1/one' });
  await device.run({ mode: 'link_push', link_id: 'l1' });
  expect(world.server.tree('s2')).toEqual({ 'box/two': '2' });
});

describe('storage.md, Nothing is half: killed at every operation, the next start finds the old state or the new one', () => {
  const acts: [string, string, JsonObject][] = [
    ['a write', 'file_write', { path: 'd/a', text: 'new' }],
    ['a move of a file over another', 'file_move', { path: 'd/a', to: 'f', overwrite: true }],
    ['a move of a directory', 'file_move', { path: 'd', to: 'e' }],
    ['a removal of a directory', 'file_remove', { path: 'd', recursive: true }],
  ];
  test.each(acts)(
    '%s',
    async (_what, tool, input) => {
      const prepare = (): Device => {
        use('folder');
        device.disk.write('d/a', 'A');
        device.disk.write('d/in/b', 'B');
        device.disk.mkdir('d/empty');
        device.disk.write('f', 'F');
        return device;
      };
      const before = prepare().disk.tree();
      const life = new Fate();
      device.boot(life);
      await run(tool, input);
      const after = device.disk.tree();
      expect(after).not.toEqual(before);
      for (const { n } of life.log) {
        for (const when of ['before', 'after'] as const) {
          prepare();
          const fate = new Fate({ n, when });
          device.boot(fate);
          await Promise.race([run(tool, input).catch(() => undefined), fate.died]);
          await device.boot().recover();
          const where = `killed ${when} operation ${n}: ${JSON.stringify(fate.log.at(n - 1))}`;
          expect([before, after], where).toContainEqual(device.disk.tree());
          expect(device.temps(), where).toEqual([]);
          expect(device.recovered(), where).toEqual([]);
        }
      }
    },
    60_000,
  );
});

test('case 6: a name that the root takes for another file’s is refused, and that file stays', async () => {
  use('folder', { folds: true });
  device.disk.write('stra\u00dfe', 'mine');
  const theirs = { path: 'strasse', text: 'theirs' };
  expect(await code('file_write', theirs)).toBe('storage_path_unrepresentable');
  // The marker by the long s.
  const marker = { path: '.endue-\u017ftorage-id', text: 'x' };
  expect(await code('file_write', marker)).toBe('storage_path_unrepresentable');
  device.disk.write('other', 'o');
  const move = { path: 'other', to: 'strasse', overwrite: true };
  expect(await code('file_move', move)).toBe('storage_path_unrepresentable');
  expect(device.disk.tree()).toEqual({ other: 'o', 'stra\u00dfe': 'mine' });
  // The Storage still is the one that was attached.
  await ok('file_list', { path: '' });
  // Its own name by another spelling it may have.
  await ok('file_move', { path: 'stra\u00dfe', to: 'strasse' });
  expect(device.disk.tree()).toEqual({ other: 'o', strasse: 'mine' });
});
