/** One prepared world per mode, in which much happens at once, and what must be true of it at any later time. */
import { expect } from 'vitest';
import type { RootKind } from '../../../src/storage/ports';
import { treeHash } from '../../../src/storage/tree-hash';
import { sha256Of } from './sha256';
import type { Device, World } from './world';

export interface Scenario {
  name: string;
  kind: RootKind;
  /** The next start does by itself what failed. */
  healsAtStart?: true;
  prepare(world: World): Promise<void>;
  act(device: Device, world: World): Promise<unknown>;
}

/** Saved files, then unsaved edits, then what another writer did meanwhile. */
async function lived(world: World): Promise<void> {
  const { device, server } = world;
  device.disk.write('a.txt', 'a1');
  device.disk.write('b.txt', 'b1');
  device.disk.write('d/c.txt', 'c1');
  device.disk.write('d/e/f.txt', 'f1');
  device.disk.write('turn', 'file1');
  device.disk.mkdir('empty');
  await device.save();
  world.pass();
  device.disk.write('b.txt', 'b2 mine');
  device.disk.write('new.txt', 'n1');
  device.disk.remove('d/c.txt');
  await server.write('s1', {
    'a.txt': 'a2 theirs',
    'b.txt': 'b2 theirs',
    'd/c.txt': 'c2 theirs',
    'd/e/f.txt': null,
    turn: null,
    'turn/under': 'u1',
    'other/deep/x.txt': 'x1',
  });
  world.pass();
}

async function linked(world: World): Promise<void> {
  const { device, server } = world;
  await lived(world);
  await server.write('s2', { 'box/one': '1', 'box/two': '2', 'box/in/three': '3', outside: 'o' });
  server.link('l1', 's1', 'links/l1', { storage_id: 's2', path: 'box' });
  await device.run({ mode: 'link_pull', link_id: 'l1', path: 'links/l1', revision: server.head('s2') });
  world.pass();
  device.disk.write('links/l1/one', '1 mine');
  device.disk.remove('links/l1/two');
  device.disk.write('links/l1/fresh/four', '4 mine');
  await server.write('s2', { 'box/one': '1 theirs', 'box/five': '5', 'box/in/three': null });
  world.pass();
}

export const SCENARIOS: Scenario[] = [
  { name: 'save_path', kind: 'folder', prepare: lived, act: (device) => device.save('') },
  {
    name: 'save_path with seal',
    kind: 'folder',
    prepare: lived,
    act: (device) => device.save('d', { seal: true }),
  },
  {
    name: 'unseal_path',
    kind: 'folder',
    async prepare(world) {
      await lived(world);
      await world.device.save('d', { seal: true });
    },
    act: (device) => device.run({ mode: 'unseal_path', storage_id: 's1', path: 'd' }),
  },
  {
    name: 'place_path',
    kind: 'folder',
    async prepare(world) {
      await lived(world);
      await world.server.stageBeside('s1', [
        ['p/one', 'p1'],
        ['p/in/two', 'p2'],
        { type: 'directory', path: 'p/none' },
      ]);
    },
    act: (device) => device.run({ mode: 'place_path', storage_id: 's1', path: 'p', revision: 'r4' }),
  },
  {
    name: 'remove_path of a sealed tree',
    kind: 'folder',
    async prepare(world) {
      await lived(world);
      await world.device.save('d', { seal: true });
    },
    act: async (device) =>
      device.run({
        mode: 'remove_path',
        storage_id: 's1',
        path: 'd',
        expected_hash: await treeHash([
          { type: 'file', path: 'c.txt', size: 9, sha256: await sha256Of('c2 theirs') },
        ]),
      }),
  },
  {
    name: 'remove_path of a file',
    kind: 'browser',
    async prepare(world) {
      await lived(world);
      await world.device.save();
    },
    act: async (device) =>
      device.run({
        mode: 'remove_path',
        storage_id: 's1',
        path: 'other/deep/x.txt',
        expected_hash: await sha256Of('x1'),
      }),
  },
  { name: 'path_sync', kind: 'browser', prepare: lived, act: (device) => device.sync() },
  {
    name: 'link_pull',
    kind: 'folder',
    prepare: linked,
    act: (device, world) =>
      device.run({ mode: 'link_pull', link_id: 'l1', path: 'links/l1', revision: world.server.head('s2') }),
  },
  {
    name: 'link_push',
    kind: 'folder',
    prepare: linked,
    act: (device) => device.run({ mode: 'link_push', link_id: 'l1' }),
  },
  {
    name: 'link_push that has to merge',
    kind: 'browser',
    async prepare(world) {
      await linked(world);
      world.server.policy = 'strict';
    },
    act: (device) => device.run({ mode: 'link_push', link_id: 'l1' }),
  },
  {
    name: 'link_remove',
    kind: 'folder',
    prepare: linked,
    act: (device) => device.run({ mode: 'link_remove', link_id: 'l1', path: 'links/l1' }),
  },
  {
    name: 'sealed content that is put back',
    kind: 'folder',
    healsAtStart: true,
    async prepare(world) {
      await lived(world);
      await world.device.save('d', { seal: true });
      world.device.disk.write('d/c.txt', 'foreign');
      world.device.disk.write('d/stranger', 'stranger');
      world.device.disk.remove('d/e');
    },
    act: (device) => device.engine.checkSeals('s1', device.signal),
  },
];

/** What a person sees, and what is durable beside it. */
export function state(device: Device) {
  const { base, links } = device.record();
  return {
    tree: device.disk.tree(),
    recovered: device.recovered().sort(),
    seals: seals(device),
    base,
    links,
  };
}

function seals(device: Device): unknown {
  return device.record().seals.map(({ path, hash }) => ({ path, hash }));
}

/** The same without the bases: after a commit that was cancelled while it asked, the base may stand back. */
export function stateWithoutBases(device: Device): unknown {
  const { base: _, links, ...rest } = state(device);
  return { ...rest, links: links.map((link) => ({ ...link, base: null })) };
}

/** Nothing half is left: no temp folder, no journal, no copy in the vault without its seal. */
export function expectClean(device: Device): void {
  expect(device.temps()).toEqual([]);
  expect(device.data.has('storage/"s1"/journal')).toBe(false);
  const vaults = device.record().seals.map(({ vault }) => vault);
  const kept = Object.keys(device.vault.tree()).map((path) => path.split('/')[0]);
  expect(kept.filter((name) => !vaults.includes(name as string))).toEqual([]);
}

export async function expectConverges(device: Device, world: World): Promise<void> {
  const { server } = world;
  for (const { path } of seals(device) as { path: string }[]) {
    await device.run({ mode: 'unseal_path', storage_id: 's1', path });
  }
  server.policy = 'lenient';
  await device.sync();
  await device.save('');
  await device.sync();
  const record = device.record();
  const links = record.links.map(({ path }) => path);
  // What was saved at a link's place before the link came is out of sight while the link is there.
  const own = (tree: Record<string, string | null>) =>
    Object.fromEntries(
      Object.entries(tree).filter(
        ([path]) => !links.some((link) => path === link || path.startsWith(`${link}/`)),
      ),
    );
  expect(own(server.tree('s1'))).toEqual(own(device.disk.tree()));
  for (const { link_id, path } of record.links) {
    await device.run({ mode: 'link_push', link_id });
    await device.run({ mode: 'link_pull', link_id, path, revision: server.head('s2') });
    const under = Object.entries(device.disk.tree())
      .filter(([at]) => at.startsWith(`${path}/`))
      .map(([at, content]) => [at.replace(`${path}/`, 'box/'), content]);
    expect(server.tree('s2')).toEqual({ ...Object.fromEntries(under), outside: 'o' });
  }
  expect(server.violations).toEqual([]);
}
