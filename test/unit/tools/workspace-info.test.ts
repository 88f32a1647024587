import 'fake-indexeddb/auto';
import { describe, expect, test } from 'vitest';
import type { StorageOverview } from '../../../src/platform/messages';
import { utf8Length } from '../../../src/protocol/json';
import { WORKSPACE_INFO_BYTES } from '../../../src/protocol/limits';
import { TOOLS } from '../../../src/tools/registry';
import { Rig } from './context';

describe('tools.md, workspace_info', () => {
  test('exactly the shape of the contract', async () => {
    const rig = new Rig();
    rig.chrome.openWindow(['https://secret.test/', 'https://b.test/']);
    rig.chrome.openWindow(['https://c.test/'], 'popup');
    const { output, attachments } = await rig.call('workspace_info');
    const { limits, ...rest } = output;
    expect(rest).toEqual({
      agent: { name: 'endue-chrome-agent', version: '1.2.3' },
      browser: { name: 'Chrome', version: '150.0.1.2' },
      os: 'linux',
      arch: 'x86_64',
      locale: 'ko-KR',
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      screen: { width: 1920, height: 1080, scale: 2 },
      tabs: { windows: 2, tabs: 3 },
      storages: [],
      policy: { managed: false, blocked_tools: [] },
    });
    expect(limits).toMatchObject({
      max_frame_bytes: 8 * 1024 * 1024,
      concurrency: 4,
      captures_per_second: 2,
    });
    expect(attachments).toBeUndefined();
    expect(JSON.stringify(output)).not.toContain('secret');
  });

  test('a screen nobody has told about is null', async () => {
    const rig = new Rig();
    rig.context = { ...rig.context, screen: null };
    expect((await rig.call('workspace_info')).output.screen).toBeNull();
  });

  const attached = (n: number, sealed = 0): StorageOverview => ({
    storage_id: `s${n}`,
    name: `Storage ${n}`,
    backing: 'folder',
    permission: 'lost',
    managed: false,
    revision: 'r1',
    saved_at: 5,
    sealed: Array.from({ length: sealed }, (_, at) => ({ path: `sealed/path-${at}`, until: null })),
    links: [{ link_id: 'l', path: 'links/l', broken: true }],
    gone: false,
    recovery_folders: [],
  });

  test('storages: what is attached, on what, and whether it can be reached', async () => {
    const rig = new Rig();
    rig.storages = [attached(1, 1)];
    expect((await rig.call('workspace_info')).output.storages).toEqual([
      {
        storage_id: 's1',
        name: 'Storage 1',
        backing: 'folder',
        permission: 'lost',
        revision: 'r1',
        sealed_paths: ['sealed/path-0'],
        links: [{ link_id: 'l', path: 'links/l', broken: true }],
      },
    ]);
    rig.storages = null;
    expect((await rig.call('workspace_info')).output.storages).toEqual([]);
  });

  test.each([
    [3, 5_000],
    [1, 100_000],
    [5_000, 1],
  ])('stays within 64 KiB with %i Storages of %i sealed paths', async (storages, sealed) => {
    const rig = new Rig();
    rig.storages = Array.from({ length: storages }, (_, n) => attached(n, sealed));
    const { output } = await rig.call('workspace_info');
    expect(utf8Length(JSON.stringify(output))).toBeLessThanOrEqual(WORKSPACE_INFO_BYTES);
    const rows = output.storages as { sealed_paths: string[]; sealed_paths_left_out?: number }[];
    expect(rows.length).toBeGreaterThan(Math.min(storages, 100) - 1);
    const [first] = rows;
    expect((first?.sealed_paths.length ?? 0) + (first?.sealed_paths_left_out ?? 0)).toBe(sealed);
  });

  test('says what the policy blocks, and is at most 64 KiB even when that is all', async () => {
    const rig = new Rig();
    const names = TOOLS.map(({ name }) => name);
    rig.context = {
      ...rig.context,
      policy: { managed: true, asked_tools: new Set(), blocked_tools: new Set(names) },
    };
    const { output } = await rig.call('workspace_info');
    expect(output.policy).toEqual({ managed: true, blocked_tools: [...names].sort() });
    expect(utf8Length(JSON.stringify(output))).toBeLessThanOrEqual(WORKSPACE_INFO_BYTES);
  });

  test('asks the browser once', async () => {
    const rig = new Rig();
    const order: string[] = [];
    const { browser } = rig.context;
    const getAll = browser.windows.getAll;
    rig.context = {
      ...rig.context,
      browser: {
        ...browser,
        windows: {
          ...browser.windows,
          getAll: async (info) => {
            order.push('windows asked');
            const all = await getAll(info);
            order.push('windows answered');
            return all;
          },
        },
      },
    };
    await rig.call('workspace_info');
    expect(order).toEqual(['windows asked', 'windows answered']);
  });
});
