/**
 * The storage path end to end: the built extension in a real Chromium, its engine in the offscreen document's worker on
 * the browser's own file system, against the stand-in's storage service.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolResponseFrame } from '../../src/protocol/frames';
import type { JsonObject } from '../../src/protocol/json';
import { treeHash } from '../../src/storage/tree-hash';
import { startFakeRelay } from '../fake-relay/fake-relay';
import { attachStorageWorker } from './harness/storage-probes';
import { attachBrowserStorage } from './harness/storages';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');

let directory: string;
let world: World;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'endue-storage-'));
  world = await createWorld({ relay: { storage_directory: directory } });
});

afterAll(async () => {
  const violations = [...world.relay.violations];
  await world[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
  expect(violations).toEqual([]);
});

/** A new Storage, at the service and on the device. */
async function newStorage(): Promise<{ storage_id: string; token: string }> {
  const storage_id = `s-${randomUUID()}`;
  await world.relay.storage.createStorage(storage_id);
  await attachBrowserStorage(world.browser, storage_id);
  return { storage_id, token: world.relay.storage.issueToken({ storage_id }) };
}

function call(command: string, input: JsonObject, timeout_ms = 30_000): Promise<ToolResponseFrame> {
  return world.relay.command(world.device, { command, input, timeout_ms });
}

async function ok(command: string, input: JsonObject): Promise<JsonObject> {
  const response = await call(command, input);
  if (response.status !== 'ok') throw new Error(`${command}: ${response.error_code}: ${response.error}`);
  return response.output ?? {};
}

async function code(command: string, input: JsonObject): Promise<string> {
  const response = await call(command, input);
  return response.status === 'ok' ? 'ok' : (response.error_code ?? '');
}

const path = (input: JsonObject): Promise<JsonObject> => ok('workspace_storage_path', input);

describe('storage.md, Modes: on the browser-internal Storage of a real browser', () => {
  it('all eight modes, and the service has nothing to complain about', async () => {
    const { storage } = world.relay;
    const { storage_id, token } = await newStorage();
    const write = (at: string, text: string) => ok('file_write', { storage_id, path: at, text });
    await write('a', 'A');
    await write('d/x', 'X');
    const saved = await path({ mode: 'save_path', storage_id, path: '', token });
    expect(saved).toMatchObject({ files: 2, bytes: 2, uploaded_bytes: 2, sealed: false, unstable: [] });
    expect(await storage.texts(storage_id)).toEqual({ a: 'A', 'd/x': 'X' });

    const theirs = await storage.write(storage_id, { a: 'theirs', 'd/y': 'Y' });
    await write('d/y', 'mine');
    expect(
      await path({ mode: 'path_sync', storage_id, token, revision: theirs, paths: ['a', 'd'] }),
    ).toMatchObject({ revision: theirs, kept: ['d/y'] });
    expect(await ok('file_read_text', { storage_id, path: 'a' })).toMatchObject({
      text: 'theirs',
      next: null,
    });

    const other = `s-${randomUUID()}`;
    const link_id = `l-${randomUUID()}`;
    await storage.createStorage(other);
    const pulled = await storage.write(other, { 'box/one': '1', 'box/two': '2', outside: 'O' });
    await storage.createLink({
      link_id,
      storage_id,
      path: 'link',
      target: { storage_id: other, path: 'box' },
    });
    const linkToken = storage.issueToken({ link_id });
    await path({ mode: 'link_pull', link_id, path: 'link', token: linkToken, revision: pulled });
    await write('link/one', 'mine');
    await ok('file_remove', { storage_id, path: 'link/two' });
    expect(await path({ mode: 'link_push', link_id, token: linkToken })).toMatchObject({ overwritten: [] });
    expect(await storage.texts(other)).toEqual({ 'box/one': 'mine', outside: 'O' });
    expect(await path({ mode: 'link_remove', link_id, path: 'link' })).toEqual({ recovered: [] });

    const staged = await storage.stage(storage_id, { 'p/one': 'P1', 'p/in/two': 'P2' });
    await path({ mode: 'place_path', storage_id, path: 'p', token, revision: staged });
    expect(await path({ mode: 'save_path', storage_id, path: 'p', token, seal: true })).toMatchObject({
      sealed: true,
      uploaded_bytes: 0,
    });
    expect(await code('file_write', { storage_id, path: 'p/one', text: 'no' })).toBe('storage_path_sealed');
    expect(await ok('file_stat', { storage_id, path: 'p/one' })).toMatchObject({
      sealed: true,
      unsaved: false,
    });
    await path({ mode: 'unseal_path', storage_id, path: 'p' });
    const expected_hash = await treeHash([
      { type: 'file', path: 'one', size: 2, sha256: sha256('P1') },
      { type: 'file', path: 'in/two', size: 2, sha256: sha256('P2') },
    ]);
    expect(await ok('file_stat', { storage_id, path: 'p', hash: true })).toMatchObject({
      type: 'directory',
      sha256: expected_hash,
    });
    await path({ mode: 'remove_path', storage_id, path: 'p', token, expected_hash });
    expect(await code('file_stat', { storage_id, path: 'p' })).toBe('path_not_found');
    await path({ mode: 'save_path', storage_id, path: '', token });
    expect(await storage.texts(storage_id)).toEqual({ a: 'theirs', 'd/x': 'X', 'd/y': 'mine' });
  });
});

describe('storage.md, Nothing is lost: an unchanged save that does not look at the files', () => {
  it('misses no edit, however quickly it follows one', async () => {
    const { storage_id, token } = await newStorage();
    const save = () => path({ mode: 'save_path', storage_id, path: '', token });
    const worker = await attachStorageWorker(world.browser);
    // Behind the engine's back: what follows is told by the browser's observer alone.
    await worker.evaluate(`(async () => {
      const root = await (await (await navigator.storage.getDirectory()).getDirectoryHandle('storages'))
        .getDirectoryHandle(${JSON.stringify(storage_id)}, { create: true });
      const write = async (directory, name, text) => {
        const writer = await (await directory.getFileHandle(name, { create: true })).createWritable();
        await writer.write(text);
        await writer.close();
      };
      const changes = [
        (n) => write(root, 'same-size', String(n % 10)),
        async (n) => write(await root.getDirectoryHandle('d' + n, { create: true }), 'deep', 'in ' + n),
        async (n) => (await root.getFileHandle('same-size')).move(await root.getDirectoryHandle('d' + (n - 1), { create: true }), 'same-size'),
        (n) => root.removeEntry('d' + (n - 2), { recursive: true }),
      ];
      globalThis.quick = async (n) => changes[n % changes.length](n);
      globalThis.looked = 0;
      const { getFile } = FileSystemFileHandle.prototype;
      FileSystemFileHandle.prototype.getFile = function () {
        if (!this.name.startsWith('.endue-storage-')) looked += 1;
        return getFile.call(this);
      };
      await write(root, 'always', '1');
      return true;
    })()`);
    for (let n = 0; n < 24; n += 1) {
      await worker.evaluate(`quick(${n})`);
      const { hash, files } = await save();
      await worker.evaluate('looked = 0');
      // Nothing moved since: the same again, from memory.
      expect(await save()).toMatchObject({ hash, files, uploaded_bytes: 0 });
      expect(await worker.evaluate<number>('looked')).toBe(0);
      const [listing] = await worker.evaluate<Record<string, string>[]>(`(async () => {
        const found = {};
        const visit = async (directory, at) => {
          for await (const [name, handle] of directory.entries()) {
            if (name.startsWith('.endue-storage-')) continue;
            if (handle.kind === 'directory') await visit(handle, at + name + '/');
            else found[at + name] = await (await handle.getFile()).text();
          }
        };
        await visit(await (await (await navigator.storage.getDirectory()).getDirectoryHandle('storages'))
          .getDirectoryHandle(${JSON.stringify(storage_id)}), '');
        return [found];
      })()`);
      const entries = Object.entries(listing ?? {}).map(([at, text]) => ({
        type: 'file' as const,
        path: at,
        size: Buffer.byteLength(text),
        sha256: sha256(text),
      }));
      expect(hash).toBe(await treeHash(entries));
    }
  });
});

describe('tools.md, file_*: end to end', () => {
  const PNG =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

  it('a picture comes inline when it is small, and as a blob when it is large', async () => {
    const { storage_id } = await newStorage();
    await ok('file_write', { storage_id, path: 'small.png', base64: PNG });
    expect(await ok('file_read_image', { storage_id, path: 'small.png' })).toMatchObject({
      mime_type: 'image/png',
      image_base64: PNG,
    });
    const large = Buffer.concat([Buffer.from(PNG, 'base64'), Buffer.alloc(400_000, 1)]);
    await ok('file_write', { storage_id, path: 'large.png', base64: large.toString('base64') });
    expect(await ok('file_read_image', { storage_id, path: 'large.png' })).toMatchObject({
      image_blob: { mime_type: 'image/png', size: large.length, sha256: sha256(large) },
    });
  });

  it('a text longer than an answer comes in pieces that fit together', async () => {
    const { storage_id } = await newStorage();
    const text = 'línea 한글 😀\n'.repeat(30_000);
    await ok('file_write', { storage_id, path: 't', text });
    let read = '';
    let next: JsonObject | null = null;
    do {
      const piece: JsonObject = await ok('file_read_text', { storage_id, path: 't', ...(next && { next }) });
      read += piece.text as string;
      next = piece.next as JsonObject | null;
    } while (next);
    expect(read).toBe(text);
  });

  it('a move and a removal of a directory; a Storage that is not attached', async () => {
    const { storage_id } = await newStorage();
    await ok('file_write', { storage_id, path: 'd/in/a', text: 'A' });
    await ok('file_move', { storage_id, path: 'd', to: 'e/f' });
    expect(await ok('file_list', { storage_id, path: '', recursive: true })).toMatchObject({
      entries: [{ path: 'e' }, { path: 'e/f' }, { path: 'e/f/in' }, { path: 'e/f/in/a' }],
    });
    await ok('file_remove', { storage_id, path: 'e', recursive: true });
    expect(await ok('file_list', { storage_id, path: '' })).toEqual({ entries: [], next: null });
    expect(await code('file_list', { storage_id: 'none', path: '' })).toBe('storage_unknown');
  });
});

describe('what the platform learns', () => {
  it('the capability is announced, and workspace_info lists what is attached', async () => {
    expect(world.relay.received[0]?.json).toMatchObject({
      type: 'ready',
      capabilities: expect.arrayContaining(['workspace_storage_path_v1']),
    });
    const { storage_id, token } = await newStorage();
    await ok('file_write', { storage_id, path: 'p/a', text: 'A' });
    const { revision } = await path({ mode: 'save_path', storage_id, path: 'p', token, seal: true });
    const { storages } = await ok('workspace_info', {});
    expect(storages).toContainEqual({
      storage_id,
      name: storage_id,
      backing: 'browser',
      permission: 'kept',
      revision,
      sealed_paths: ['p'],
      links: [],
    });
  });

  it('a refused token is storage_token_rejected, and a mode that lacks a field says which', async () => {
    const { storage_id } = await newStorage();
    await ok('file_write', { storage_id, path: 'a', text: 'A' });
    expect(
      await code('workspace_storage_path', { mode: 'save_path', storage_id, path: '', token: 'no' }),
    ).toBe('storage_token_rejected');
    const lacking = await call('workspace_storage_path', { mode: 'save_path', storage_id, path: '' });
    expect(lacking).toMatchObject({ error_code: 'invalid_input', error: 'input lacks the field "token".' });
  });
});

/** A save whose commit is held back at the service. */
async function heldSave(timeout_ms = 60_000) {
  const { relay, device } = world;
  const { storage_id, token } = await newStorage();
  // No other Storage has this content: it is uploaded.
  const text = storage_id;
  await ok('file_write', { storage_id, path: 'f', text });
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  relay.storage.fault({ do: 'wait', until: released, route: 'commit', id: storage_id, times: 1 });
  const id = randomUUID();
  const input = { mode: 'save_path', storage_id, path: '', token };
  const answer = relay.command(device, { id, command: 'workspace_storage_path', input, timeout_ms });
  answer.catch(() => undefined);
  const commits = () =>
    relay.storage.requests.filter((request) => request.route === 'commit' && request.id === storage_id);
  await until('the commit is under way', () => commits().length > 0);
  return { id, storage_id, token, text, release, answer, commits };
}

describe('storage.md, Who wins: a platform that has nothing left of what was saved', () => {
  it('takes no file from the device, and the next save brings them there', async () => {
    const { storage_id, token } = await newStorage();
    const write = { command: 'file_write', input: { storage_id, path: 'notes/c.txt', text: 'unsaved' } };
    await ok('file_write', { storage_id, path: 'a.txt', text: 'saved' });
    await ok('file_write', { storage_id, path: 'notes/b.txt', text: 'saved too' });
    await path({ mode: 'save_path', storage_id, path: '', token });

    const another = mkdtempSync(join(tmpdir(), 'endue-storage-'));
    const relay = await startFakeRelay({ storage_directory: another });
    try {
      await relay.storage.createStorage(storage_id);
      const device = relay.createDevice();
      await world.browser.enroll(device.enrollment);
      await relay.waitForOnline(device);
      await relay.command(device, write);
      const { output } = await relay.command(device, {
        command: 'workspace_storage_path',
        input: { mode: 'save_path', storage_id, path: '', token: relay.storage.issueToken({ storage_id }) },
      });
      expect(output).toMatchObject({ files: 3 });
      const list = await relay.command(device, {
        command: 'file_list',
        input: { storage_id, path: '', recursive: true },
      });
      const entries = (list.output?.entries ?? []) as { type: string; path: string }[];
      expect(entries.filter(({ type }) => type === 'file').map((entry) => entry.path)).toEqual([
        'a.txt',
        'notes/b.txt',
        'notes/c.txt',
      ]);
      expect(relay.violations).toEqual([]);
    } finally {
      const connections = world.device.connections.length;
      await world.browser.enroll(world.device.enrollment);
      await world.relay.waitForOnline(world.device, { after: connections });
      await relay.close();
      rmSync(another, { recursive: true, force: true });
    }
  });
});

describe('wire.md §5: cancel and deadline of a storage job', () => {
  it('a cancel ends the job at its next safe point, and the next job finds the old state', async () => {
    const { id, storage_id, token, release, answer } = await heldSave();
    world.relay.cancel(world.device, id);
    expect(await answer).toMatchObject({ status: 'error', error_code: 'cancelled' });
    release();
    expect(await ok('file_stat', { storage_id, path: 'f' })).toMatchObject({ unsaved: true });
    expect(await path({ mode: 'save_path', storage_id, path: '', token })).toMatchObject({ files: 1 });
  });

  it('the deadline is answered with timeout', async () => {
    const { storage_id, token, release, answer } = await heldSave(1_500);
    expect(await answer).toMatchObject({ status: 'error', error_code: 'timeout' });
    release();
    expect(await path({ mode: 'save_path', storage_id, path: '', token })).toMatchObject({ files: 1 });
  });
});

describe('design.md, The way of a request: the service worker dies during a job', () => {
  it('the answer comes all the same, and the job ran once', async () => {
    const { browser } = world;
    const { answer, commits, release, text } = await heldSave();
    const page = await browser.extensionPage();
    for (let kills = 0; kills < 3; kills += 1) {
      await until('the service worker runs', () => browser.serviceWorkerTarget());
      await browser.killServiceWorker(page);
    }
    release();
    expect(await answer).toMatchObject({ status: 'ok', output: { files: 1, uploaded_bytes: text.length } });
    expect(commits()).toHaveLength(1);
    await page.close();
  });
});

describe('storage.md, Nothing is half: the browser is killed during a job', () => {
  it('the id answers outcome_unknown, the old state is there, and the next save converges', async () => {
    const { relay, device } = world;
    const { id, storage_id, token, text, release, commits } = await heldSave();
    await world.browser.kill();
    release();
    const connections = device.connections.length;
    await world.relaunch();
    await relay.waitForOnline(device, { after: connections });
    const again = await relay.until(
      () =>
        relay.received.find(({ json }) => {
          const frame = json as JsonObject | undefined;
          return frame?.type === 'tool_response' && frame.id === id;
        }),
      'the answer after the restart',
    );
    expect(again.json).toMatchObject({ status: 'error', error_code: 'outcome_unknown' });
    expect(commits()).toHaveLength(1);
    expect(await ok('file_read_text', { storage_id, path: 'f' })).toMatchObject({ text });
    await path({ mode: 'save_path', storage_id, path: '', token });
    expect(await relay.storage.texts(storage_id)).toEqual({ f: text });
  });

  it('a seal holds across the restart', async () => {
    const { relay, device } = world;
    const { storage_id, token } = await newStorage();
    await ok('file_write', { storage_id, path: 'f', text: 'F' });
    await path({ mode: 'save_path', storage_id, path: 'f', token, seal: true });
    await world.browser.kill();
    const connections = device.connections.length;
    await world.relaunch();
    await relay.waitForOnline(device, { after: connections });
    expect(await code('file_write', { storage_id, path: 'f', text: 'x' })).toBe('storage_path_sealed');
  });
});

describe('storage.md: a token is used for its own job only, held in memory', () => {
  it('nothing of it is on the disk after jobs that ended, failed and were cut off', async () => {
    const { storage_id, token } = await newStorage();
    const refused = `refused-${randomUUID()}`;
    await ok('file_write', { storage_id, path: 'f', text: 'F' });
    await path({ mode: 'save_path', storage_id, path: '', token });
    await code('workspace_storage_path', { mode: 'save_path', storage_id, path: '', token: refused });
    const held = await heldSave();
    await world.browser.kill();
    held.release();
    const { profile } = world.browser;
    const files = readdirSync(profile, { recursive: true, encoding: 'utf8' })
      .map((name) => join(profile, name))
      .filter((name) => statSync(name, { throwIfNoEntry: false })?.isFile());
    const holding = (text: string) => files.filter((name) => readFileSync(name).includes(text));
    // What is stored is found by this way of looking.
    expect(holding(storage_id)).not.toEqual([]);
    for (const secret of [token, refused, held.token]) expect(holding(secret)).toEqual([]);
  });
});
