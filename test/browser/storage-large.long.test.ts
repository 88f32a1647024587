/**
 * storage.md, "Reading, hashing, uploading and downloading stream: memory stays flat whatever the file size": a file of
 * 2 GiB is saved, taken away and placed again, while the memory of the extension's process is watched and the pings counted.
 */
import { mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/protocol/json';
import { PING_INTERVAL_MS } from '../../src/protocol/limits';
import { treeHash } from '../../src/storage/tree-hash';
import { attachBrowserStorage } from './harness/storages';
import { createWorld, type World } from './harness/world';

const MIB = 1024 * 1024;
const SIZE = 2048 * MIB;
/** What a job may need over the idle process, whatever the size of its files. */
const LARGEST_GROWTH = 64 * MIB;
/** The service's copy, the device's, and something to spare: the device's first one is mostly holes. */
const NEEDED_DISK = 2.5 * SIZE;
const STORAGE_ID = 'large';

let world: World;
let token: string;
/** What is to be undone, newest last; also when the beginning fails. */
const leftovers: (() => PromiseLike<void> | void)[] = [];

beforeAll(async () => {
  const { bavail, bsize } = statfsSync(tmpdir());
  if (bavail * bsize < NEEDED_DISK) {
    const [has, needs] = [bavail * bsize, NEEDED_DISK].map(
      (bytes) => `${(bytes / 1024 / MIB).toFixed(1)} GiB`,
    );
    throw new Error(`This test needs ${needs} of free disk in ${tmpdir()}, which has ${has}.`);
  }
  const directory = mkdtempSync(join(tmpdir(), 'endue-storage-'));
  leftovers.push(() => rmSync(directory, { recursive: true, force: true }));
  world = await createWorld({ relay: { storage_directory: directory } });
  leftovers.push(() => world[Symbol.asyncDispose]());
  await world.relay.storage.createStorage(STORAGE_ID);
  token = world.relay.storage.issueToken({ storage_id: STORAGE_ID });
  await attachBrowserStorage(world.browser, STORAGE_ID);
});

afterAll(async () => {
  for (const undo of leftovers.reverse()) await undo();
});

async function path(input: JsonObject): Promise<JsonObject> {
  const response = await world.relay.command(world.device, {
    command: 'workspace_storage_path',
    input: { storage_id: STORAGE_ID, token, ...input },
    timeout_ms: 600_000,
  });
  if (response.status !== 'ok') throw new Error(`${input.mode}: ${response.error_code}`);
  return response.output ?? {};
}

/** Bytes the process holds for itself alone and shares with others, the code on disk left out. */
async function extensionProcessBytes(): Promise<number> {
  const { processInfo } = await world.browser.connection.send('SystemInfo.getProcessInfo');
  const sizes = (processInfo as { id: number; type: string }[])
    .filter(({ type, id }) => type === 'renderer' && isOfExtensions(id))
    .map(({ id }) => {
      const status = readFileSync(`/proc/${id}/status`, 'utf8');
      const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
      return (of('RssAnon') + of('RssShmem')) * 1024;
    });
  return sizes.reduce((sum, size) => sum + size, 0);
}

function isOfExtensions(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--extension-process');
  } catch {
    return false;
  }
}

/** The largest growth over `idle` while `work` runs. */
async function watched<T>(idle: number, work: Promise<T>): Promise<{ result: T; growth: number }> {
  let running = true;
  let growth = 0;
  const watch = (async () => {
    while (running) {
      growth = Math.max(growth, (await extensionProcessBytes()) - idle);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  try {
    return { result: await work, growth: Math.max(growth, 0) };
  } finally {
    running = false;
    await watch;
  }
}

/** A file that is mostly zeros but everywhere something else; all of it is read, hashed and sent. */
async function writeLargeFile(): Promise<void> {
  const page = await world.browser.extensionPage();
  await page.evaluate(`(async () => {
    const storages = await (await navigator.storage.getDirectory()).getDirectoryHandle('storages', { create: true });
    const root = await storages.getDirectoryHandle('${STORAGE_ID}', { create: true });
    const box = await root.getDirectoryHandle('box', { create: true });
    const writer = await (await box.getFileHandle('file', { create: true })).createWritable();
    await writer.truncate(${SIZE});
    for (let at = 0; at < ${SIZE}; at += ${64 * MIB}) {
      await writer.write({ type: 'write', position: at, data: crypto.getRandomValues(new Uint8Array(65536)) });
    }
    await writer.close();
  })()`);
  await page.close();
}

function largestPause(times: readonly number[]): number {
  return Math.max(...times.slice(1).map((time, at) => time - (times[at] ?? time)));
}

describe.skipIf(process.platform !== 'linux')('storage.md: memory stays flat whatever the file size', () => {
  it('a file of 2 GiB is saved and placed in 64 MiB, and the pings are on time', async () => {
    await path({ mode: 'save_path', path: '' });
    await writeLargeFile();
    const idle = await extensionProcessBytes();
    const begun = performance.now();

    const saved = await watched(idle, path({ mode: 'save_path', path: '' }));
    expect(saved.result).toMatchObject({ files: 1, bytes: SIZE, uploaded_bytes: SIZE });
    const [entry] = await world.relay.storage.tree(STORAGE_ID);
    if (entry?.type !== 'file') throw new Error('no file was saved');

    const expected_hash = await treeHash([{ ...entry, path: 'file' }]);
    const removed = await watched(idle, path({ mode: 'remove_path', path: 'box', expected_hash }));
    const revision = saved.result.revision as string;
    const placed = await watched(idle, path({ mode: 'place_path', path: 'box', revision }));
    const again = await watched(idle, path({ mode: 'save_path', path: '' }));
    expect(again.result).toMatchObject({ files: 1, bytes: SIZE, uploaded_bytes: 0 });
    const [placedEntry] = await world.relay.storage.tree(STORAGE_ID);
    expect(placedEntry).toMatchObject({ path: 'box/file', size: SIZE, sha256: entry.sha256 });

    expect(world.relay.violations).toEqual([]);
    const pings = world.relay.received.filter(
      ({ at, text }) => at > begun - PING_INTERVAL_MS && text?.includes('"ping"'),
    );
    const pause = largestPause([...pings.map(({ at }) => at), performance.now()]);
    const grown = { save: saved.growth, remove: removed.growth, place: placed.growth, again: again.growth };
    console.log(
      `${Math.round((performance.now() - begun) / 1000)} s; longest time without a ping ${Math.round(pause)} ms; MiB over idle`,
      Object.fromEntries(Object.entries(grown).map(([name, bytes]) => [name, Math.round(bytes / MIB)])),
    );
    expect(pings.length).toBeGreaterThan(1);
    expect(pause).toBeLessThan(1.5 * PING_INTERVAL_MS);
    for (const bytes of Object.values(grown)) expect(bytes).toBeLessThanOrEqual(LARGEST_GROWTH);
  });
});
