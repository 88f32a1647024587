/**
 * The main job, from nothing: builds the extension, starts the stand-in platform and a Chromium, enrolls the
 * browser, and has the platform take a screenshot and open and list tabs. `--keep` leaves everything running
 * with the `curl` lines to try; `--headed` shows the window.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../src/protocol/json';
import { AgentBrowser } from '../test/browser/harness/agent-browser';
import { startSite } from '../test/browser/harness/site';
import { deviceLines } from '../test/fake-relay/curl-lines';
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
  const relay = await startFakeRelay();
  const site = await startSite();
  let browser: AgentBrowser | undefined;
  try {
    browser = await step('started Chromium', () => AgentBrowser.launch({ headless: !headed }));
    await demonstrate(relay, browser, site.url('/welcome'));
    if (keep) await keepRunning(relay.origin, relay.devices[0]?.id ?? '');
  } finally {
    await browser?.close();
    await site.close();
    await relay.close();
  }
}

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

  if (relay.violations.length > 0) {
    throw new Error(`The agent broke the contract:\n${relay.violations.join('\n')}`);
  }
  console.log('✓ every frame kept the contract');
}

async function command(relay: FakeRelay, device: Device, name: string, input: Output): Promise<Output> {
  return timed(`${name} ${JSON.stringify(input)}`, async () => {
    const response = await relay.command(device, { command: name, input });
    if (response.status === 'error') throw new Error(`${name}: ${response.error_code}: ${response.error}`);
    return response.output ?? {};
  });
}

async function keepRunning(origin: string, device: string): Promise<void> {
  console.log(
    `\nThe platform and the browser stay up. Try (Ctrl+C ends everything):\n\n${deviceLines(origin, device)}\n`,
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
