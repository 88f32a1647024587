import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type FakeRelay, startFakeRelay } from '../../fake-relay/fake-relay';

let relay: FakeRelay;
let directory: string;

async function start(storage = true): Promise<void> {
  directory = mkdtempSync(join(tmpdir(), 'endue-storage-'));
  relay = await startFakeRelay(storage ? { storage_directory: directory } : {});
}

afterEach(async () => {
  await relay.close();
  rmSync(directory, { recursive: true, force: true });
});

const get = (path: string, token = '') =>
  fetch(`${relay.origin}/api/v1/relay${path}`, { headers: { Authorization: `Bearer ${token}` } });
const faults = (method: string, body?: unknown) =>
  fetch(`${relay.origin}/__faults`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

describe('the storage service in the stand-in', () => {
  test('is served with its own tokens, and only with a directory', async () => {
    await start();
    await relay.storage.createStorage('s');
    const token = relay.storage.issueToken({ storage_id: 's' });
    expect((await get('/storages/s/changes?since=', token)).status).toBe(200);
    expect((await get('/storages/s/changes?since=', 'other')).status).toBe(401);
    await relay.close();
    await start(false);
    expect(() => relay.storage).toThrow('storage_directory');
    expect((await get('/storages/s/changes?since=', token)).status).toBe(404);
    expect((await faults('POST', { fault: 'storage', do: 'html' })).status).toBe(400);
  });

  test('what a client does against its contract is a violation of the stand-in', async () => {
    await start();
    await get('/storages/s/nonsense');
    expect(relay.violations).toEqual([expect.stringMatching(/^storage: unknown_route: GET /)]);
  });

  test('a web page cannot reach it', async () => {
    await start();
    const answer = await fetch(`${relay.origin}/api/v1/relay/storages/s/changes`, {
      headers: { Origin: 'https://evil.test' },
    });
    expect(answer.status).toBe(403);
  });

  test('its faults are set, listed and cleared in JSON', async () => {
    await start();
    await relay.storage.createStorage('s');
    const token = relay.storage.issueToken({ storage_id: 's' });
    const fault = { fault: 'storage', do: 'status', status: 503, route: 'changes', id: 's', times: 1 };
    const set = await faults('POST', fault);
    expect(await set.json()).toEqual({ data: { active: [fault] } });
    expect((await get('/storages/s/changes?since=', token)).status).toBe(503);
    expect((await get('/storages/s/changes?since=', token)).status).toBe(200);
    await faults('POST', [{ fault: 'storage', do: 'html' }]);
    expect(await (await faults('DELETE')).json()).toEqual({ data: { active: [] } });
    expect((await get('/storages/s/changes?since=', token)).headers.get('content-type')).toBe(
      'application/json',
    );
  });

  test.each([
    { do: 'nonsense' },
    { do: 'status', status: 200 },
    { do: 'status' },
    { do: 'slow', delay_ms: -1 },
    { do: 'html', route: 'nowhere' },
    { do: 'html', times: 0 },
    { do: 'html', skip: 1.5 },
    { do: 'rewrite' },
    { do: 'wait' },
    { do: '__proto__' },
    {},
  ])('what is no fault is refused: %j', async (fault) => {
    await start();
    expect((await faults('POST', { fault: 'storage', ...fault })).status).toBe(400);
    expect(relay.storage.activeFaults).toEqual([]);
  });
});
