import { describe, expect, test } from 'vitest';
import type { AttachedStorage, RootKind } from '../../../src/storage/ports';
import { type ChangeRecord, createRootWatch } from '../../../src/storage/root-watch';
import { FakeDisk } from './fake-handles';
import { Fate } from './fate';

/** A root whose changes are told of when the test says so, unless `tells` is off: in their order, as the browser does. */
class Watched {
  readonly disk = new FakeDisk();
  readonly fate = new Fate();
  readonly storage: AttachedStorage;
  observers = 0;
  tells = true;
  heard: ((records: readonly ChangeRecord[]) => void) | null = null;
  patience: (() => void)[] = [];
  /** Told of before the next fence. */
  late: ChangeRecord[] = [];
  private ids = 0;

  constructor(kind: RootKind = 'browser') {
    this.storage = { storage_id: 's1', name: 's1', kind, root: this.disk.root(this.fate) };
    this.fate.trouble = ({ name, path }) => {
      if (name !== 'mkdir' || !this.tells) return;
      const record = { type: 'appeared', relativePathComponents: [path.slice(1)] };
      queueMicrotask(() => this.heard?.([...this.late.splice(0), record]));
    };
  }

  readonly stillness = createRootWatch({
    createObserver: (heard) => {
      this.observers += 1;
      return {
        observe: async () => {
          this.heard = heard;
        },
        disconnect: () => {
          if (this.heard === heard) this.heard = null;
        },
      };
    },
    later: (run) => this.patience.push(run),
    newId: () => `${++this.ids}`,
  });

  tell(type: string, ...relativePathComponents: string[]): void {
    this.heard?.([{ type, relativePathComponents }]);
  }

  async mark() {
    const mark = await this.stillness.mark(this.storage);
    if (mark === null) throw new Error('there should be a mark');
    return mark;
  }
}

describe('chrome-facts.md: an observer is a hint, not a promise', () => {
  test('nothing is proven of a folder, and nothing without an observer', async () => {
    const folder = new Watched('folder');
    expect(await folder.stillness.mark(folder.storage)).toBeNull();
    expect(folder.observers).toBe(0);
    const blind = createRootWatch({ createObserver: null, later: () => undefined, newId: () => '' });
    expect(await blind.mark(new Watched().storage)).toBeNull();
  });

  test('still is proven by a change of its own that was told of, with none before it; nothing of it is left', async () => {
    const watched = new Watched();
    const mark = await watched.mark();
    expect(await watched.stillness.stillSince(watched.storage, mark)).toBe(true);
    expect(await watched.stillness.stillSince(watched.storage, mark)).toBe(true);
    expect(watched.disk.tree({ internal: true })).toEqual({});
    expect(watched.observers).toBe(1);
  });

  test.each([
    ['modified', 'd', 'a'],
    ['disappeared', 'a'],
    ['moved', 'b'],
    ['appeared', '.endue-storage-tmp-1'],
    ['appeared', '.endue-storage-tmp-still-1', 'inside'],
    ['moved', '.endue-storage-tmp-still-1'],
    ['unknown'],
    ['errored'],
  ])('a record of any other kind makes everything doubtful: %s %s', async (type, ...path) => {
    const watched = new Watched();
    const mark = await watched.mark();
    watched.tell(type, ...path);
    expect(await watched.stillness.stillSince(watched.storage, mark)).toBe(false);
  });

  test('a record that comes only now, of a change made before, is waited for', async () => {
    const watched = new Watched();
    const mark = await watched.mark();
    watched.late.push({ type: 'modified', relativePathComponents: ['a'] });
    expect(await watched.stillness.stillSince(watched.storage, mark)).toBe(false);
  });

  test('an observer that tells nothing proves nothing', async () => {
    const watched = new Watched();
    const mark = await watched.mark();
    watched.tells = false;
    const still = watched.stillness.stillSince(watched.storage, mark);
    while (watched.patience.length === 0) await Promise.resolve();
    watched.patience.shift()?.();
    expect(await still).toBe(false);
    expect(watched.disk.tree({ internal: true })).toEqual({});
  });

  test('after an error, a mark is of another observer; the old mark proves nothing any more', async () => {
    const watched = new Watched();
    const old = await watched.mark();
    watched.tell('errored');
    const fresh = await watched.mark();
    expect(watched.observers).toBe(2);
    expect(await watched.stillness.stillSince(watched.storage, old)).toBe(false);
    expect(await watched.stillness.stillSince(watched.storage, fresh)).toBe(true);
  });

  test('of another root under the same id nothing is proven', async () => {
    const watched = new Watched();
    const mark = await watched.mark();
    const other = { ...watched.storage, root: new FakeDisk().root() };
    expect(await watched.stillness.stillSince(other, mark)).toBe(false);
  });

  test('where the change of its own cannot be made, nothing is proven', async () => {
    const watched = new Watched();
    const mark = await watched.mark();
    watched.fate.trouble = ({ name }) => {
      if (name === 'mkdir') throw new DOMException('', 'QuotaExceededError');
    };
    expect(await watched.stillness.stillSince(watched.storage, mark)).toBe(false);
  });
});
