/** What need not be looked at again: proven still, and nothing of the engine's own in between. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { removeEntry } from '../../../src/storage/files/remove-entry';
import { writeText } from '../../../src/storage/files/write-entry';
import type { StoragePathInput } from '../../../src/storage/modes/mode';
import type { Stillness } from '../../../src/storage/ports';
import { type Device, World } from './world';

const signal = new AbortController().signal;

/** Says that nothing moved whatever happened: only the engine's own bookkeeping is left. */
const CREDULOUS: Stillness = {
  mark: async () => ({ watch: {}, changes: 0 }),
  stillSince: async () => true,
};

/** Says what is true of the device's disk. */
function truthful(device: Device): Stillness {
  const now = () => JSON.stringify(device.disk.tree());
  return {
    mark: async () => ({ watch: { tree: now() }, changes: 0 }),
    stillSince: async (_storage, mark) => (mark.watch as { tree: string }).tree === now(),
  };
}

async function saved(stillness: Stillness, files: Record<string, string>): Promise<World> {
  const world = new World();
  world.device.stillness = stillness;
  world.device.boot();
  for (const [path, content] of Object.entries(files)) world.device.disk.write(path, content);
  await world.device.save();
  return world;
}

/** The files that were looked at since `from`, other than the marker. */
function looked(device: Device, from: number): string[] {
  return device.fate.log
    .slice(from)
    .filter(({ name, path }) => name === 'getFile' && !path.startsWith('.endue-storage-'))
    .map(({ path }) => path);
}

describe('an unchanged save where it is proven that nothing moved', () => {
  test('looks at no file, and says the same', async () => {
    const { device } = await saved(CREDULOUS, { a: '1', 'd/b': '22', 'd/c/e': '3' });
    const unproven = (
      await saved({ ...CREDULOUS, mark: async () => null }, { a: '1', 'd/b': '22', 'd/c/e': '3' })
    ).device;
    for (const path of ['', 'd', 'd/c/e']) {
      const from = device.fate.log.length;
      const fast = await device.save(path);
      expect(looked(device, from)).toEqual([]);
      expect({ ...fast, revision: '' }).toEqual({ ...(await unproven.save(path)), revision: '' });
    }
  });

  test('empty directories are still saved, and a path where nothing is is still looked for', async () => {
    const world = new World();
    const { device, server } = world;
    device.stillness = CREDULOUS;
    device.boot();
    device.disk.mkdir('empty/inner');
    device.disk.write('a', '1');
    await device.save();
    await device.save();
    expect(server.tree('s1')).toEqual({ a: '1', 'empty/inner': null });
    await expect(device.save('nothing')).rejects.toMatchObject({ code: 'path_not_found' });
  });

  test('an edit that was told of is saved, and after that all is settled again', async () => {
    const world = await saved(CREDULOUS, { a: '1' });
    const { device, server } = world;
    device.stillness = truthful(device);
    device.boot();
    await device.save();
    device.disk.write('a', '2');
    await device.save();
    expect(server.tree('s1')).toEqual({ a: '2' });
    const from = device.fate.log.length;
    await device.save();
    expect(looked(device, from)).toEqual([]);
  });

  test('a root that is gone is storage_unavailable all the same', async () => {
    const { device } = await saved(CREDULOUS, { a: '1', b: '2' });
    device.disk.clear();
    await expect(device.save()).rejects.toMatchObject({ code: 'storage_unavailable' });
  });
});

describe('what may be lost when the machine fails a moment later', () => {
  const batches = ({ fate }: Device, from: number) =>
    fate.log.slice(from).filter(({ name }) => name.startsWith('state: batch'));

  test('is the time of a save that changed nothing, and no more', async () => {
    const { device } = await saved(CREDULOUS, { a: '1' });
    await device.save();
    const from = device.fate.log.length;
    await device.save();
    expect(batches(device, from)).toMatchObject([
      { name: 'state: batch, soon', path: 'storage/"s1"/record' },
    ]);
  });

  test.each<[string, (world: World) => unknown, Partial<StoragePathInput>]>([
    ['an edit', ({ device }) => device.disk.write('a', '2'), {}],
    ['a new time of a file', ({ device, time }) => device.disk.write('a', '1', time + 1), {}],
    ['a commit of others', ({ server }) => server.write('s1', { b: 'remote' }), {}],
    ['a commit of others of equal content', ({ server }) => server.write('s1', { a: '1' }), {}],
    ['a seal', () => undefined, { seal: true }],
  ])('is nothing of a save with %s', async (_, change, more) => {
    const world = await saved(CREDULOUS, { a: '1' });
    const { device } = world;
    device.stillness = null;
    device.boot();
    await device.save();
    await change(world);
    const from = device.fate.log.length;
    await device.save('', more);
    const names = batches(device, from).map(({ name }) => name);
    expect(names).toContain('state: batch');
    expect(names).not.toContain('state: batch, soon');
  });
});

describe('what the engine itself did is looked at again, whatever is proven', () => {
  const perform = (device: Device, work: Parameters<Device['engine']['perform']>[2]) =>
    device.engine.perform('s1', signal, work);

  const doings: Record<string, (world: World) => Promise<unknown>> = {
    'a sync that brings something': async ({ device, server }) => {
      await server.write('s1', { other: 'remote' });
      await device.sync();
    },
    'a save that merges something': async ({ device, server }) => {
      await server.write('s1', { other: 'remote' });
      await device.save('d');
    },
    'a placed tree': async ({ device, server }) => {
      const revision = await server.stageBeside('s1', [['p/one', 'placed']]);
      await device.run({ mode: 'place_path', storage_id: 's1', path: 'p', revision });
    },
    'a removal': async ({ device }) => {
      const { hash } = await device.save('d');
      await device.run({ mode: 'remove_path', storage_id: 's1', path: 'd', expected_hash: String(hash) });
    },
    'a seal that was set and lifted': async ({ device }) => {
      await device.save('d', { seal: true });
      await device.run({ mode: 'unseal_path', storage_id: 's1', path: 'd' });
    },
    file_write: ({ device }) =>
      perform(device, (session, transaction) =>
        writeText({ path: 'new', text: 'n' }, { session, transaction, signal }),
      ),
    file_remove: ({ device }) =>
      perform(device, (session, transaction) =>
        removeEntry({ path: 'd/b' }, { session, transaction, signal }),
      ),
    'a save that failed': async ({ device, server }) => {
      server.trouble = (call) => {
        if (call === 'changes') throw new DOMException('', 'UnknownError');
      };
      await device.save().catch(() => undefined);
      server.trouble = null;
    },
    'a browser that started anew': async ({ device }) => device.boot(),
  };

  test.each(Object.entries(doings))('%s', async (_, doing) => {
    const world = await saved(CREDULOUS, { a: '1', 'd/b': '2' });
    const { device, server } = world;
    await doing(world);
    device.disk.write('a', 'edited');
    await device.save();
    expect(server.tree('s1').a).toBe('edited');
    expect(server.tree('s1')).toEqual(device.disk.tree());
  });

  test('a save that left a changing file out', async () => {
    const { device, server } = await saved(CREDULOUS, { a: '1', log: '0' });
    let n = 0;
    device.disk.write('log', 'busy');
    device.engine = device.boot();
    server.trouble = (call) => {
      if (call === 'missing') device.disk.write('log', `busy ${++n}`, 1000 + n);
    };
    expect(await device.save()).toMatchObject({ unstable: ['log'] });
    server.trouble = null;
    await device.save();
    expect(server.tree('s1').log).toBe(`busy ${n}`);
  });
});

test('with proof and without, the same is saved after any sequence of edits, saves and merges', async () => {
  const path = fc.constantFrom('a', 'b', 'd/a', 'd/e/b', 'd/e/c');
  const step = fc.oneof(
    fc.record({ do: fc.constant('edit' as const), path }),
    fc.record({ do: fc.constant('delete' as const), path }),
    fc.record({ do: fc.constant('remote' as const), path }),
    fc.record({ do: fc.constant('save' as const), path: fc.constantFrom('', '', 'd', 'd/e', 'a') }),
    fc.record({ do: fc.constant('sync' as const) }),
    fc.record({ do: fc.constant('write' as const), path }),
    fc.record({ do: fc.constant('pass' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
      const worlds = await Promise.all([
        saved(CREDULOUS, { always: '0' }),
        saved(CREDULOUS, { always: '0' }),
      ]);
      const [fast, plain] = worlds;
      fast.device.stillness = truthful(fast.device);
      plain.device.stillness = null;
      for (const world of worlds) world.device.boot();
      let count = 0;
      for (const each of steps) {
        count += 1;
        for (const world of worlds) await act(world, each, count);
        expect(fast.server.tree('s1')).toEqual(plain.server.tree('s1'));
        expect(fast.device.disk.tree()).toEqual(plain.device.disk.tree());
      }
    }),
    { numRuns: 150 },
  );

  async function act(
    world: World,
    each: { do: 'edit' | 'delete' | 'remote' | 'save' | 'write'; path: string } | { do: 'sync' | 'pass' },
    count: number,
  ): Promise<void> {
    const { device, server } = world;
    const { disk } = device;
    world.pass(1);
    switch (each.do) {
      case 'edit':
        return disk.write(each.path, `edit ${count}`);
      case 'delete':
        return disk.remove(each.path);
      case 'remote':
        await server.write('s1', { [each.path]: `remote ${count}` });
        return;
      case 'save':
        await device.save(each.path).catch(() => undefined);
        return;
      case 'sync':
        await device.sync().catch(() => undefined);
        return;
      case 'write':
        await device.engine
          .perform('s1', signal, (session, transaction) =>
            writeText({ path: each.path, text: `written ${count}` }, { session, transaction, signal }),
          )
          .catch(() => undefined);
        return;
      case 'pass':
        world.pass();
    }
  }
});
