/**
 * Chrome's own file systems: the handle contract on the browser's file system and on a real folder, so that the fake of the
 * unit tests is proven; and the storage path on a real folder, where other programs write too.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/protocol/json';
import type { RootKind } from '../../src/storage/ports';
import type { Device } from '../fake-relay/devices';
import { type FakeRelay, startFakeRelay } from '../fake-relay/fake-relay';
import { HANDLE_CONTRACT } from '../unit/storage/handle-contract';
import { AgentBrowser, newProfile, removeProfile } from './harness/agent-browser';
import type { CdpSession } from './harness/cdp';
import { grantFolders, RealFolder } from './harness/real-folder';
import { attachFolderStorage, holdDroppedFolder } from './harness/storages';
import { until } from './harness/until';

const CONTRACT = fileURLToPath(new URL('../unit/storage/handle-contract.ts', import.meta.url));

const profile = newProfile();
const folder = new RealFolder();
const directory = mkdtempSync(join(tmpdir(), 'endue-storage-'));
let browser: AgentBrowser;
let relay: FakeRelay;
let device: Device;
/** A page of the extension that holds the folder's handle as `folder`, and the contract as `contract`. */
let page: CdpSession;

beforeAll(async () => {
  grantFolders(profile, [folder], { kept: true });
  relay = await startFakeRelay({ storage_directory: directory });
  device = relay.createDevice();
  browser = await AgentBrowser.launch({ profile });
  await browser.enroll(device.enrollment);
  await relay.waitForOnline(device);
  page = await browser.extensionPage('src/ui/activity/activity.html');
  await holdDroppedFolder(page, folder);
  await page.evaluate(`${await bundledContract()}; globalThis.contract = contract; true`);
});

afterAll(async () => {
  const violations = [...(relay?.violations ?? [])];
  await browser?.close();
  removeProfile(profile);
  await relay?.close();
  folder.remove();
  rmSync(directory, { recursive: true, force: true });
  expect(violations).toEqual([]);
});

/** The contract's module as a script that sets `contract`. */
async function bundledContract(): Promise<string> {
  const { build } = await import('vite');
  const built = await build({
    configFile: false,
    logLevel: 'error',
    build: { write: false, lib: { entry: CONTRACT, formats: ['iife'], name: 'contract' } },
  });
  const [bundle] = Array.isArray(built) ? built : [built];
  if (!bundle || !('output' in bundle)) throw new Error('nothing was built');
  return bundle.output[0].code;
}

describe.each<[RootKind, string]>([
  ['browser', 'await navigator.storage.getDirectory()'],
  ['folder', 'folder'],
])('Chrome keeps the contract of handles that the engine relies on: %s', (kind, root) => {
  const checks = HANDLE_CONTRACT.filter(({ only }) => only === undefined || only === kind);
  it.each(checks.map(({ name }) => name))('%s', async (name) => {
    await page.evaluate(`(async () => {
      const root = ${root};
      const own = await root.getDirectoryHandle('contract', { create: true });
      try {
        await contract.HANDLE_CONTRACT.find(({ name }) => name === ${JSON.stringify(name)}).run(own);
      } finally {
        await root.removeEntry('contract', { recursive: true });
      }
    })()`);
  });
});

describe('storage.md on a real folder', () => {
  const storage_id = 'st_folder';
  let token: string;

  beforeAll(async () => {
    await relay.storage.createStorage(storage_id);
    token = relay.storage.issueToken({ storage_id });
    await attachFolderStorage(page, storage_id);
  });

  async function ok(command: string, input: JsonObject): Promise<JsonObject> {
    const response = await relay.command(device, {
      command,
      input: { storage_id, ...input },
      timeout_ms: 60_000,
    });
    if (response.status !== 'ok') throw new Error(`${command}: ${response.error_code}: ${response.error}`);
    return response.output ?? {};
  }
  const path = (input: JsonObject) => ok('workspace_storage_path', input);
  const onDisk = (name: string): string | null => {
    try {
      return readFileSync(join(folder.path, name), 'utf8');
    } catch {
      return null;
    }
  };

  it('what other programs write is saved, what comes is written', async () => {
    writeFileSync(join(folder.path, 'theirs.txt'), 'T');
    await ok('file_write', { path: 'd/ours.txt', text: 'O' });
    expect(onDisk('d/ours.txt')).toBe('O');
    await path({ mode: 'save_path', path: '', token });
    expect(await relay.storage.texts(storage_id)).toEqual({ 'theirs.txt': 'T', 'd/ours.txt': 'O' });
    const revision = await relay.storage.stage(storage_id, { 'p/one': '1', 'p/in/two': '2' });
    await path({ mode: 'place_path', path: 'p', token, revision });
    expect(onDisk('p/in/two')).toBe('2');
    expect(readdirSync(folder.path).filter((name) => name.startsWith('.endue-storage-tmp-'))).toEqual([]);
  });

  it('Seals: a foreign change of sealed content is noticed, moved to the recovery folder and undone', async () => {
    await path({ mode: 'save_path', path: 'p', token, seal: true });
    writeFileSync(join(folder.path, 'p/one'), 'foreign');
    await until('the sealed content is back', () => onDisk('p/one') === '1');
    const recovery = readdirSync(folder.path).find((name) => name.startsWith('.endue-storage-recovery-'));
    expect(onDisk(`${recovery}/p/one`)).toBe('foreign');
    await path({ mode: 'unseal_path', path: 'p' });
    writeFileSync(join(folder.path, 'p/one'), 'free');
    await path({ mode: 'save_path', path: 'p', token });
    expect((await relay.storage.texts(storage_id))['p/one']).toBe('free');
  });

  it('the folder that went away is storage_unavailable, and nothing counts as deleted', async () => {
    rmSync(folder.path, { recursive: true });
    const input = { mode: 'save_path', storage_id, path: '', token };
    const response = await relay.command(device, { command: 'workspace_storage_path', input });
    expect(response).toMatchObject({ status: 'error', error_code: 'storage_unavailable' });
    expect(Object.keys(await relay.storage.texts(storage_id))).toContain('theirs.txt');
  });
});
