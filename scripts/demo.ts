/**
 * The main job, from nothing: builds the extension, starts the stand-in platform and a Chromium, enrolls the
 * browser, and has the platform take a screenshot, open and list tabs, and save, place and remove files of a Storage
 * inside the browser. `--keep` leaves everything running
 * with the `curl` lines to try; `--headed` shows the window.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../src/protocol/json';
import { AgentBrowser } from '../test/browser/harness/agent-browser';
import { startSite } from '../test/browser/harness/site';
import { attachBrowserStorage } from '../test/browser/harness/storages';
import { deviceLines, type StorageToTry } from '../test/fake-relay/curl-lines';
import type { Device } from '../test/fake-relay/devices';
import { type FakeRelay, startFakeRelay } from '../test/fake-relay/fake-relay';
import { buildExtension } from './build.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const artifacts = join(root, 'artifacts');
const keep = process.argv.includes('--keep');
const headed = process.argv.includes('--headed');

type Output = JsonObject;

async function main(): Promise<void> {
  if (headed && process.platform === 'linux' && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) {
    throw new Error('--headed needs a display: set DISPLAY, or leave --headed out.');
  }
  await step('built the extension', () => buildExtension({ quiet: true }));
  const storage_directory = mkdtempSync(join(tmpdir(), 'endue-demo-'));
  const relay = await startFakeRelay({ storage_directory });
  const site = await startSite();
  let browser: AgentBrowser | undefined;
  try {
    browser = await step('started Chromium', () => AgentBrowser.launch({ headless: !headed }));
    await demonstrate(relay, browser, site.url('/welcome'));
    if (keep) {
      const token = relay.storage.issueToken({ storage_id: STORAGE });
      await keepRunning(relay.origin, relay.devices[0]?.id ?? '', { storage_id: STORAGE, token });
    }
  } finally {
    await browser?.close();
    await site.close();
    await relay.close();
    rmSync(storage_directory, { recursive: true, force: true });
  }
}

/** The Storage of the demonstration. */
const STORAGE = 'demo';

async function demonstrate(relay: FakeRelay, browser: AgentBrowser, page: string): Promise<void> {
  const device = relay.createDevice({ name: 'demo' });
  await browser.enroll(device.enrollment);
  await step('enrolled and online', () => relay.waitForOnline(device));

  const opened = await command(relay, device, 'tab_open', { url: page, active: true });
  console.log(`    → tab ${opened.tab_id}: ${opened.title}`);

  const picture = await timed('screen', () => relay.screen(device));
  mkdirSync(artifacts, { recursive: true });
  const file = join(artifacts, `demo-screen.${picture.mime_type.split('/')[1]}`);
  writeFileSync(file, picture.bytes);
  console.log(`    → ${relative(root, file)}, ${picture.mime_type}, ${picture.bytes.length} bytes`);

  const tabs = (await command(relay, device, 'tab_list', {})).tabs as Output[];
  for (const tab of tabs) console.log(`    → tab ${tab.tab_id}: ${tab.url}`);
  if (!keep) await command(relay, device, 'tab_close', { tab_id: opened.tab_id ?? null });
  const info = await command(relay, device, 'workspace_info', {});
  console.log(`    → ${JSON.stringify(info.browser)} on ${info.os} ${info.arch}`);

  await demonstrateStorage(relay, browser, device);

  if (relay.violations.length > 0) {
    throw new Error(`The agent broke the contract:\n${relay.violations.join('\n')}`);
  }
  console.log('✓ every frame kept the contract');
}

async function demonstrateStorage(relay: FakeRelay, browser: AgentBrowser, device: Device): Promise<void> {
  const storage_id = STORAGE;
  await relay.storage.createStorage(storage_id);
  await step('attached a Storage inside the browser', () => attachBrowserStorage(browser, storage_id));
  const token = relay.storage.issueToken({ storage_id });
  const path = async (what: string, input: Output): Promise<Output> => {
    const { requests } = relay.storage;
    const before = requests.length;
    const output = await command(relay, device, 'workspace_storage_path', { storage_id, ...input }, what);
    const uploads = requests.slice(before).filter(({ route }) => route === 'put' || route === 'upload_part');
    const uploaded = uploads.reduce((sum, { received }) => sum + received, 0);
    const downloads = requests.slice(before).filter(({ route }) => route === 'blob').length;
    const whole = output.files === undefined ? '' : `${output.files} files, ${output.bytes} bytes in all; `;
    console.log(`    → ${whole}${uploads.length} uploaded (${uploaded} bytes), ${downloads} downloaded`);
    return output;
  };
  const write = (at: string, text: string) =>
    command(relay, device, 'file_write', { storage_id, path: at, text });

  await write('notes/today.md', '# Today\n');
  await write('notes/plan.md', 'A plan.\n'.repeat(1_000));
  await path('save all', { mode: 'save_path', path: '', token });
  await write('notes/today.md', '# Today\n\nEdited.\n');
  await path('save the edit', { mode: 'save_path', path: 'notes', token });
  const revision = await relay.storage.stage(storage_id, { 'inbox/one.txt': 'one', 'inbox/two.txt': 'two' });
  await path('place', { mode: 'place_path', path: 'inbox', token, revision });
  const { sha256 = null } = await command(relay, device, 'file_stat', {
    storage_id,
    path: 'inbox',
    hash: true,
  });
  await path('remove', { mode: 'remove_path', path: 'inbox', token, expected_hash: sha256 });
  const { entries } = await command(relay, device, 'file_list', { storage_id, path: '', recursive: true });
  for (const entry of entries as Output[])
    console.log(`    → ${entry.type} ${entry.path} ${entry.size ?? ''}`);
}

/** `shown`: what stands in the line instead of the input, which may hold a token. */
async function command(
  relay: FakeRelay,
  device: Device,
  name: string,
  input: Output,
  shown = brief(JSON.stringify(input)),
): Promise<Output> {
  return timed(`${name} ${shown}`, async () => {
    const response = await relay.command(device, { command: name, input });
    if (response.status === 'error') throw new Error(`${name}: ${response.error_code}: ${response.error}`);
    return response.output ?? {};
  });
}

function brief(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

async function keepRunning(origin: string, device: string, storage: StorageToTry): Promise<void> {
  console.log(
    `\nThe platform and the browser stay up. Try (Ctrl+C ends everything):\n\n${deviceLines(origin, device, storage)}\n`,
  );
  await new Promise((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
}

async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  console.log(`✓ ${what} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  return result;
}

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  console.log(`✓ ${what}: ${Math.round(performance.now() - start)} ms`);
  return result;
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(`✗ ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  },
);
