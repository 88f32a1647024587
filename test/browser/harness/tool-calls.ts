/** Tools called as the platform calls them: what came back, or the code they were refused with. */
import { expect } from 'vitest';
import type { JsonObject } from '../../../src/protocol/json';
import { until } from './until';
import type { World } from './world';

export interface CallOptions {
  id?: string;
  timeout_ms?: number;
}

/** The output of a call that must succeed. */
export async function call(
  { relay, device }: World,
  command: string,
  input: JsonObject = {},
  options: CallOptions = {},
): Promise<JsonObject> {
  const response = await relay.command(device, { command, input, ...options });
  if (response.status === 'error') {
    throw new Error(`${command} was answered ${response.error_code}: ${response.error}`);
  }
  return response.output ?? {};
}

/** The error of a call that must be refused. */
export async function refusal(
  { relay, device }: World,
  command: string,
  input: JsonObject = {},
  options: CallOptions = {},
): Promise<{ error_code: string; error: string }> {
  const response = await relay.command(device, { command, input, ...options });
  if (response.status === 'ok') {
    throw new Error(`${command} was not refused: ${JSON.stringify(response.output).slice(0, 500)}`);
  }
  const { error_code, error } = response;
  return { error_code, error };
}

export interface ListedTab extends JsonObject {
  tab_id: number;
  window_id: number;
  index: number;
  active: boolean;
  title: string;
  url: string;
  status: string;
  discarded: boolean;
}

export async function listTabs(world: World): Promise<ListedTab[]> {
  return (await call(world, 'tab_list')).tabs as ListedTab[];
}

/** Opens a path of the site and returns the new tab's id. */
export async function openTab(world: World, path: string, input: JsonObject = {}): Promise<number> {
  const { tab_id } = await call(world, 'tab_open', { url: world.site.url(path), ...input });
  return tab_id as number;
}

/** Evaluates in the extension's service worker, for what no tool does. */
export async function inServiceWorker<T>({ browser, relay, device }: World, expression: string): Promise<T> {
  // Any message wakes it; this one has no other effect.
  await relay.command(device, { command: 'tab_list' });
  const worker = await browser.serviceWorker();
  try {
    return await worker.evaluate<T>(expression);
  } finally {
    await worker.detach();
  }
}

/** A page that opens an alert as soon as it has loaded, and tells the site before and after. */
export function serveAlert({ site }: World, path: string): { isOpen(): Promise<unknown> } {
  site.serve(`${path}/open`, 'open');
  site.serve(`${path}/gone`, 'gone');
  site.serve(
    path,
    `<!doctype html><title>alert</title><style>html{background:#ff0000}</style>
     <script>addEventListener('load', () => setTimeout(async () => {
       await fetch('${path}/open');
       alert('Who goes there?');
       fetch('${path}/gone');
     }))</script>`,
  );
  return {
    async isOpen() {
      await until('the page comes to its alert', () => site.visits.includes(`${path}/open`));
      expect(site.visits).not.toContain(`${path}/gone`);
    },
  };
}
