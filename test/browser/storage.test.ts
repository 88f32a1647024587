/**
 * The storage path end to end: the built extension in a real Chromium, its engine in the offscreen document's worker on
 * the browser's own file system, against the stand-in's storage service.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolResponseFrame } from '../../src/protocol/frames';
import type { JsonObject } from '../../src/protocol/json';
import { treeHash } from '../../src/storage/tree-hash';
import { attachBrowserStorage } from './harness/storages';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

const sha256 = (content: string): string => createHash('sha256').update(content).digest('hex');

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

describe('design.md, The way of a request: the service worker dies during a job', () => {
  it('the answer comes all the same, and the job ran once', async () => {
    const { relay, browser, device } = world;
    const { storage_id, token } = await newStorage();
    await ok('file_write', { storage_id, path: 'f', text: 'F' });
    let release = (): void => {};
    const until_released = new Promise<void>((resolve) => {
      release = resolve;
    });
    relay.storage.fault({ do: 'wait', until: until_released, route: 'commit', id: storage_id, times: 1 });
    const id = randomUUID();
    const input = { mode: 'save_path', storage_id, path: '', token };
    const answer = relay.command(device, {
      id,
      command: 'workspace_storage_path',
      input,
      timeout_ms: 60_000,
    });
    const commits = () =>
      relay.storage.requests.filter((request) => request.route === 'commit' && request.id === storage_id);
    await until('the commit is under way', () => commits().length > 0);
    const page = await browser.extensionPage();
    for (let kills = 0; kills < 3; kills += 1) {
      await until('the service worker runs', () => browser.serviceWorkerTarget());
      await browser.killServiceWorker(page);
    }
    release();
    expect(await answer).toMatchObject({ status: 'ok', output: { files: 1, uploaded_bytes: 1 } });
    expect(commits()).toHaveLength(1);
    await page.close();
  });
});
