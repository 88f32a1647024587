/**
 * Two crashes, the first in the middle of a write to one of Chrome's own logs: what was written before it and between the
 * two is there (storage.md, Nothing is lost; wire.md §5 rule 2). Without its own doing the extension loses it.
 */
import { statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { request, responses } from './harness/frames';
import { attachBrowserStorage } from './harness/storages';
import { type LOGS, lastLog, tearLog } from './harness/torn-log';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

const storage_id = 'st_torn';

async function crash(world: World, log: keyof typeof LOGS, tear: boolean): Promise<void> {
  const { relay, device, browser } = world;
  const connections = device.connections.length;
  await browser.kill();
  if (tear) tearLog(browser.profile, log);
  const before = lastLog(browser.profile, log);
  const { size } = statSync(before);
  await world.relaunch();
  await relay.waitForOnline(device, { after: connections });
  if (log === 'directories') return;
  await until('the log is begun anew, or a block of it is filled', () => {
    const now = lastLog(browser.profile, log);
    return now !== before || statSync(now).size > size + 32 * 1024;
  });
}

async function output(world: World, command: string, input: object): Promise<unknown> {
  const response = await world.relay.command(world.device, { command, input: { ...input } });
  expect(response.status, command).toBe('ok');
  return response.output;
}

it('the databases: attached Storages and the ledger', async () => {
  await using world = await createWorld();
  await attachBrowserStorage(world.browser, storage_id);
  const ask = async () => {
    const answered = responses(world, 'once').length;
    world.relay.send(world.device, request('once', 'tab_open', { url: 'about:blank' }));
    await until('it is answered', () => responses(world, 'once').length > answered);
    return responses(world, 'once').at(-1);
  };
  const answer = await ask();
  await crash(world, 'databases', true);
  await attachBrowserStorage(world.browser, 'st_between');
  await crash(world, 'databases', false);
  const { storages } = (await output(world, 'workspace_info', {})) as { storages: { storage_id: string }[] };
  expect(storages.map((storage) => storage.storage_id).sort()).toEqual(['st_between', storage_id]);
  expect(await ask(), 'it would open another tab').toEqual(answer);
});

it("the directories of the browser's own file system: files", async () => {
  await using world = await createWorld();
  await attachBrowserStorage(world.browser, storage_id);
  const write = (path: string) => output(world, 'file_write', { storage_id, path, text: path });
  await write('before.txt');
  await crash(world, 'directories', true);
  for (let number = 1; number <= 20; number += 1) await write(`between-${number}.txt`);
  await crash(world, 'directories', false);
  const { entries } = (await output(world, 'file_list', { storage_id, path: '' })) as { entries: object[] };
  expect(entries).toHaveLength(21);
});

it('the settings: a pasted enrollment', async () => {
  await using world = await createWorld();
  await crash(world, 'settings', true);
  const other = world.relay.createDevice();
  await world.browser.enroll(other.enrollment);
  await world.relay.waitForOnline(other);
  const connections = other.connections.length;
  await world.browser.kill();
  await world.relaunch();
  await world.relay.waitForOnline(other, { after: connections });
});
