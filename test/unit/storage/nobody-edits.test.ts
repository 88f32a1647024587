/**
 * Random lives of a device on which nobody edits anything: whatever is synced and saved there, in whatever parts and with
 * whatever faults, it changes nothing at the server, and in the end has what the server has.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import type { StoragePathInput } from '../../../src/storage/modes/mode';
import type { RootKind } from '../../../src/storage/ports';
import { Fate } from './fate';
import { expectClean } from './scenarios';
import { World } from './world';

// Few, so that files become folders and back.
const PATHS = ['a', 'a/x', 'a/x/y', 'b', 'b/x'] as const;
const TARGET_PATHS = ['box/one', 'box/in', 'box/in/two', 'box/in/two/three'] as const;

type Fault = { fault: 'none' } | { fault: 'kill' | 'throw' | 'cancel'; at: number };

type Step =
  | { do: 'edit' | 'delete' | 'mkdir'; path: string; content: string }
  | { do: 'target edit' | 'target delete'; path: string; content: string }
  | { do: 'pass' | 'forget' }
  | {
      do: 'job';
      job: { mode: 'save_path' | 'path_sync' | 'link_pull' | 'link_push'; paths: string[] };
      fault: Fault;
    };

const content = fc.constantFrom('1', '2', '3');
const path = fc.constantFrom(...PATHS);

const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ fault: fc.constant('none' as const) }) },
  fc.record({
    fault: fc.constantFrom('kill' as const, 'throw' as const, 'cancel' as const),
    at: fc.integer({ min: 1, max: 90 }),
  }),
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('edit' as const, 'edit' as const, 'delete' as const, 'mkdir' as const),
      path,
      content,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('target edit' as const, 'target delete' as const),
      path: fc.constantFrom(...TARGET_PATHS),
      content,
    }),
  },
  fc.record({ do: fc.constantFrom('pass' as const, 'forget' as const) }),
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('job' as const),
      job: fc.record({
        mode: fc.constantFrom(
          'save_path' as const,
          'path_sync' as const,
          'path_sync' as const,
          'link_pull' as const,
          'link_push' as const,
        ),
        paths: fc.array(path, { maxLength: 2 }),
      }),
      fault,
    }),
  },
);

async function live(kind: RootKind, steps: readonly Step[]): Promise<void> {
  const world = new World(kind);
  const { server, device } = world;
  server.link('l1', 's1', 'links/l1', { storage_id: 's2', path: 'box' });
  await server.write('s2', { 'box/keep': 'k', outside: 'o' });
  await server.write('s1', { keep: 'k' });
  await device.save();
  for (const each of steps) {
    world.pass(1);
    if (each.do === 'edit') await server.write('s1', { [each.path]: each.content });
    if (each.do === 'delete') await server.write('s1', { [each.path]: null });
    if (each.do === 'mkdir') await server.mkdir('s1', each.path);
    if (each.do === 'target edit') await server.write('s2', { [each.path]: each.content });
    if (each.do === 'target delete') await server.write('s2', { [each.path]: null });
    if (each.do === 'pass') world.pass();
    if (each.do === 'forget')
      for (let n = 0; n < 200; n++) if (`r${n}` !== server.head('s1')) server.forget('s1', `r${n}`);
    if (each.do === 'job') await work(world, each.job.mode, each.job.paths, each.fault);
  }
  await device.sync();
  await device.save();
  expect(withoutLink(device.disk.tree())).toEqual(server.tree('s1'));
}

function withoutLink(tree: Record<string, string | null>): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(tree).filter(([at]) => !at.startsWith('links/') && at !== 'links'),
  );
}

async function work(
  world: World,
  mode: StoragePathInput['mode'],
  paths: string[],
  trouble: Fault,
): Promise<void> {
  const { device, server } = world;
  const before = [server.tree('s1'), server.tree('s2')];
  const fate = new Fate(trouble.fault === 'kill' ? { n: trouble.at, when: 'after' } : null);
  const controller = new AbortController();
  fate.trouble = ({ n }) => {
    if (trouble.fault === 'none' || trouble.fault === 'kill' || n !== trouble.at) return;
    if (trouble.fault === 'throw') throw new DOMException('', 'UnknownError');
    controller.abort(new AgentError('cancelled'));
  };
  device.boot(fate);
  const input: StoragePathInput = mode.startsWith('link_')
    ? { mode, link_id: 'l1', path: 'links/l1', revision: server.head('s2') }
    : {
        mode,
        storage_id: 's1',
        path: paths.length > 1 ? String(paths[0]) : '',
        paths,
        revision: server.head('s1'),
      };
  await Promise.race([device.run(input, controller.signal).catch(() => null), fate.died]);
  fate.trouble = null;
  await device.boot().recover();
  expectClean(device);
  expect([server.tree('s1'), server.tree('s2')]).toEqual(before);
}

const RUNS = Number(process.env.STORAGE_LIVES ?? 100);

test.each(['browser', 'folder'] as const)(
  'a device on which nobody edits changes nothing at the server, and in the end has what it has (%s)',
  async (kind) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 20 }), (steps) => live(kind, steps)),
      { numRuns: RUNS, endOnFailure: false },
    );
  },
  600_000,
);
