/**
 * Random lives of a device against a simple model: no content that was ever saved or edited becomes unreachable
 * (it is on the device, in a revision, or in a recovery folder), and equal inputs converge to equal trees.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import type { StoragePathInput } from '../../../src/storage/modes/mode';
import type { RootKind } from '../../../src/storage/ports';
import { Fate } from './fate';
import { expectClean, expectConverges } from './scenarios';
import { World } from './world';

const PATHS = ['a', 'b', 'a/x', 'd/x', 'd/y', 'd/e/z', 'd', 'links/l1/one', 'links/l1/in/two'] as const;
const REMOTE_PATHS = ['a', 'b', 'a/x', 'd/x', 'd/y', 'd/e/z', 'd'] as const;
const TARGET_PATHS = ['box/one', 'box/in/two', 'box/three'] as const;

type Job =
  | { mode: 'save_path'; path: string; seal: boolean }
  | { mode: 'unseal_path'; path: string }
  | { mode: 'place_path' }
  | { mode: 'remove_path'; path: string }
  | { mode: 'link_pull' }
  | { mode: 'link_push' }
  | { mode: 'link_remove' }
  | { mode: 'path_sync'; paths: string[] };

type Fault =
  | { fault: 'none' }
  | { fault: 'kill'; at: number; when: 'before' | 'after' }
  | { fault: 'throw'; at: number }
  | { fault: 'cancel'; at: number }
  | { fault: 'edit'; at: number; path: string }
  | { fault: 'delete'; at: number; path: string };

type Step =
  | { do: 'edit'; path: string }
  | { do: 'delete'; path: string }
  | { do: 'remote edit'; path: string }
  | { do: 'remote delete'; path: string }
  | { do: 'target edit'; path: string }
  | { do: 'pass' }
  | { do: 'strict'; strict: boolean }
  | { do: 'job'; job: Job; fault: Fault };

const path = fc.constantFrom(...PATHS);
const remotePath = fc.constantFrom(...REMOTE_PATHS);
const at = fc.integer({ min: 1, max: 90 });

const job: fc.Arbitrary<Job> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      mode: fc.constant('save_path' as const),
      path: fc.constantFrom('', 'a', 'd', 'd/x'),
      seal: fc.boolean(),
    }),
  },
  fc.record({ mode: fc.constant('unseal_path' as const), path: fc.constantFrom('', 'a', 'd', 'd/x') }),
  fc.record({ mode: fc.constant('place_path' as const) }),
  fc.record({ mode: fc.constant('remove_path' as const), path: fc.constantFrom('a', 'd', 'd/x') }),
  fc.record({ mode: fc.constant('link_pull' as const) }),
  { weight: 2, arbitrary: fc.record({ mode: fc.constant('link_push' as const) }) },
  fc.record({ mode: fc.constant('link_remove' as const) }),
  {
    weight: 2,
    arbitrary: fc.record({
      mode: fc.constant('path_sync' as const),
      paths: fc.constantFrom<string[][]>([], ['a'], ['d', 'b']),
    }),
  },
);

const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ fault: fc.constant('none' as const) }) },
  fc.record({
    fault: fc.constant('kill' as const),
    at,
    when: fc.constantFrom('before' as const, 'after' as const),
  }),
  fc.record({ fault: fc.constant('throw' as const), at }),
  fc.record({ fault: fc.constant('cancel' as const), at }),
  fc.record({ fault: fc.constant('edit' as const), at, path }),
  fc.record({ fault: fc.constant('delete' as const), at, path }),
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('edit' as const), path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), path }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('remote edit' as const), path: remotePath }) },
  fc.record({ do: fc.constant('remote delete' as const), path: remotePath }),
  fc.record({ do: fc.constant('target edit' as const), path: fc.constantFrom(...TARGET_PATHS) }),
  fc.record({ do: fc.constant('pass' as const) }),
  fc.record({ do: fc.constant('strict' as const), strict: fc.boolean() }),
  { weight: 7, arbitrary: fc.record({ do: fc.constant('job' as const), job, fault }) },
);

/** What the person at the device wrote and did not themselves overwrite or delete. */
class Person {
  readonly edits = new Set<string>();
  private count = 0;

  constructor(
    private readonly world: World,
    private readonly kind: RootKind,
  ) {}

  edit(at: string): void {
    if (this.isReadOnly(at)) return;
    this.delete(at);
    // A file where a directory is wanted is the person's to replace.
    const names = at.split('/');
    for (let n = 1; n < names.length; n++) {
      const above = names.slice(0, n).join('/');
      if (this.disk.read(above) !== null) this.delete(above);
    }
    const content = `edit ${++this.count}`;
    this.disk.write(at, content);
    this.edits.add(content);
  }

  delete(at: string): void {
    if (this.isReadOnly(at)) return;
    for (const [there, content] of Object.entries(this.disk.tree())) {
      if ((there === at || there.startsWith(`${at}/`)) && content !== null) this.edits.delete(content);
    }
    this.disk.remove(at);
  }

  private get disk() {
    return this.world.device.disk;
  }

  /** In a browser-internal root only the extension's tools write, and they respect seals. */
  private isReadOnly(at: string): boolean {
    if (this.kind === 'folder') return false;
    const overlaps = (seal: string) =>
      seal === '' || at === seal || at.startsWith(`${seal}/`) || seal.startsWith(`${at}/`);
    return this.world.device.record().seals.some(({ path }) => overlaps(path));
  }
}

async function live(kind: RootKind, steps: readonly Step[]): Promise<void> {
  const world = new World(kind);
  const { server, device } = world;
  server.link('l1', 's1', 'links/l1', { storage_id: 's2', path: 'box' });
  await server.write('s2', { 'box/one': 'target 0', outside: 'o' });
  const person = new Person(world, kind);
  // So that the root is never suddenly empty, which has a test of its own.
  device.disk.write('always', 'always');
  let remoteCount = 0;
  for (const each of steps) {
    world.pass(1);
    switch (each.do) {
      case 'edit':
        person.edit(each.path);
        break;
      case 'delete':
        person.delete(each.path);
        break;
      case 'remote edit':
        await server.write('s1', { [each.path]: `remote ${++remoteCount}` });
        break;
      case 'remote delete':
        await server.write('s1', { [each.path]: null });
        break;
      case 'target edit':
        await server.write('s2', { [each.path]: `target ${++remoteCount}` });
        break;
      case 'pass':
        world.pass();
        break;
      case 'strict':
        server.policy = each.strict ? 'strict' : 'lenient';
        break;
      case 'job':
        await work(world, person, each.job, each.fault);
        break;
    }
    expectReachable(world, person);
  }
  await expectConverges(device, world);
  expectReachable(world, person);
}

async function work(world: World, person: Person, wanted: Job, trouble: Fault): Promise<void> {
  const { device } = world;
  const input = await inputOf(world, wanted);
  const fate = new Fate(trouble.fault === 'kill' ? { n: trouble.at, when: trouble.when } : null);
  const controller = new AbortController();
  fate.trouble = ({ n }) => {
    if (trouble.fault === 'none' || trouble.fault === 'kill' || n !== trouble.at) return;
    if (trouble.fault === 'throw') throw new DOMException('', 'UnknownError');
    if (trouble.fault === 'cancel') controller.abort(new AgentError('cancelled'));
    // Over what stands there: a name that is free at this moment may be taken by a move that looked already.
    if (trouble.fault === 'edit' && device.disk.read(trouble.path) !== null) person.edit(trouble.path);
    if (trouble.fault === 'delete') person.delete(trouble.path);
  };
  device.boot(fate);
  const code = await Promise.race([
    device.run(input, controller.signal).then(
      () => null,
      (thrown) => (thrown as AgentError).code,
    ),
    fate.died.then(() => 'killed'),
  ]);
  if (trouble.fault !== 'throw') expect(code).not.toBe('internal_error');
  fate.trouble = null;
  expectReachable(world, person);
  await device.boot().recover();
  expectClean(device);
  expect(world.server.violations).toEqual([]);
}

async function inputOf(world: World, wanted: Job): Promise<StoragePathInput> {
  const { server, device } = world;
  const link = { link_id: 'l1', path: 'links/l1' };
  switch (wanted.mode) {
    case 'place_path': {
      const revision = await server.stageBeside('s1', [
        ['p/one', 'placed'],
        ['p/in/two', 'placed too'],
      ]);
      return { mode: 'place_path', storage_id: 's1', path: 'p', revision };
    }
    case 'remove_path': {
      const saved = await device.save(wanted.path).catch(() => null);
      return { ...wanted, storage_id: 's1', expected_hash: String(saved?.hash) };
    }
    case 'link_pull':
      return { ...wanted, ...link, revision: server.head('s2') };
    case 'link_push':
    case 'link_remove':
      return { ...wanted, ...link };
    case 'path_sync':
      return { ...wanted, storage_id: 's1', revision: server.head('s1') };
    default:
      return { ...wanted, storage_id: 's1' };
  }
}

function expectReachable(world: World, person: Person): void {
  const reachable = world.server.contents();
  for (const content of Object.values(world.device.disk.tree({ internal: true }))) {
    if (content !== null) reachable.add(content);
  }
  expect([...person.edits].filter((content) => !reachable.has(content))).toEqual([]);
}

const RUNS = Number(process.env.STORAGE_LIVES ?? 150);

test.each(['browser', 'folder'] as const)(
  'no content that was ever saved or edited becomes unreachable, and all converges (%s)',
  async (kind) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), (steps) => live(kind, steps)),
      { numRuns: RUNS, endOnFailure: false },
    );
  },
  600_000,
);
