/** The two pure translations: the server's changes into states, the device's state into changes. */
import { describe, expect, test } from 'vitest';
import type { Index, IndexEntry, IndexFile } from '../../../src/storage/index-entries';
import { type LocalState, localChanges } from '../../../src/storage/local-changes';
import type { RemoteChange } from '../../../src/storage/ports';
import { outstanding, remoteStates, statesWithin } from '../../../src/storage/remote-states';

const file = (sha256: string): IndexFile => ({ type: 'file', size: 1, sha256, mtime: 5, checked_at: 9 });
const put = (path: string, sha256: string): RemoteChange => ({
  op: 'put',
  type: 'file',
  path,
  size: 1,
  sha256,
});
const index = (files: Record<string, string | null>): Index =>
  new Map(
    Object.entries(files).map(([path, sha]) => [path, sha === null ? { type: 'directory' } : file(sha)]),
  );

const at = (index: Index, ahead: [string, IndexEntry | null][] = []) => ({ index, ahead: new Map(ahead) });

describe('remoteStates', () => {
  const plain = (states: ReturnType<typeof remoteStates>) =>
    Object.fromEntries(
      [...states].map(([path, entry]) => [path, entry && (entry.type === 'file' ? entry.sha256 : 'dir')]),
    );

  test('a delete takes everything under its path', () => {
    const states = remoteStates(
      at(index({ 'a/b': '1', 'a/c/d': '2', ab: '3' })),
      [{ op: 'delete', path: 'a' }],
      false,
    );
    expect(plain(states)).toEqual({ a: null, 'a/b': null, 'a/c/d': null });
  });

  test('changes count in their order', () => {
    const changes: RemoteChange[] = [put('a/x', '2'), { op: 'delete', path: 'a' }, put('a/y', '3')];
    expect(plain(remoteStates(at(index({ 'a/b': '1' })), changes, false))).toEqual({
      a: null,
      'a/b': null,
      'a/x': null,
      'a/y': '3',
    });
  });

  test('a file replaces what was a directory, and the reverse', () => {
    expect(plain(remoteStates(at(index({ 'a/b': '1' })), [put('a', '2')], false))).toEqual({
      a: '2',
      'a/b': null,
    });
    expect(plain(remoteStates(at(index({ a: '1' })), [put('a/b', '2')], false))).toEqual({
      a: null,
      'a/b': '2',
    });
    expect(plain(remoteStates(at(index({ d: null })), [put('d/b', '2')], false))).toEqual({
      d: null,
      'd/b': '2',
    });
  });

  test('the whole tree: what it does not have is gone', () => {
    expect(plain(remoteStates(at(index({ a: '1', b: '1' })), [put('a', '1')], true))).toEqual({
      a: '1',
      b: null,
    });
    expect(plain(remoteStates(at(index({ a: '1' })), [], true))).toEqual({ a: null });
  });

  test('where the index is ahead of the base, what is not told of is as it was at the base', () => {
    const ahead = at(index({ new: '1', edited: '2', told: '2' }), [
      ['new', null],
      ['edited', file('1')],
      ['deleted', file('1')],
      ['told', file('1')],
    ]);
    expect(plain(remoteStates(ahead, [put('told', '3')], false))).toEqual({
      new: null,
      edited: '1',
      deleted: '1',
      told: '3',
    });
    expect(plain(remoteStates(ahead, [put('told', '3')], true))).toEqual({
      new: null,
      edited: null,
      deleted: null,
      told: '3',
    });
  });

  test('outstanding is what differs from the index; statesWithin takes directories', () => {
    const base = index({ a: '1', b: '1', 'd/x': '1' });
    const states = outstanding(
      base,
      remoteStates(at(base), [put('a', '1'), put('b', '2'), put('d/x', '2'), put('dd', '1')], false),
    );
    expect([...states.keys()]).toEqual(['b', 'd/x', 'dd']);
    expect([...statesWithin(states, ['d']).keys()]).toEqual(['d/x']);
    expect(statesWithin(states, []).size).toBe(3);
  });
});

describe('localChanges', () => {
  const local = (files: Record<string, string>, more: Partial<LocalState> = {}): LocalState => ({
    files: new Map(Object.entries(files).map(([path, sha]) => [path, file(sha)])),
    emptyDirectories: new Set(),
    unstable: [],
    leftOut: [],
    complete: true,
    ...more,
  });
  const ops = (changes: RemoteChange[]) => changes.map(({ op, path }) => `${op} ${path}`);

  test('only the changed paths, deletions first', () => {
    const { changes } = localChanges(
      index({ a: '1', b: '1', c: '1' }),
      '',
      local({ a: '1', b: '2', n: '1' }),
    );
    expect(ops(changes)).toEqual(['delete c', 'put b', 'put n']);
  });

  test('only under the path that is saved', () => {
    expect(ops(localChanges(index({ a: '1', 'd/x': '1' }), 'd', local({})).changes)).toEqual(['delete d/x']);
  });

  test('case 14: an incomplete scan commits no deletions', () => {
    const { changes } = localChanges(index({ a: '1', b: '1' }), '', local({ n: '1' }, { complete: false }));
    expect(ops(changes)).toEqual(['put n']);
  });

  test('an incomplete scan still knows a file that became a directory, and the reverse', () => {
    const seen = local({ 'a/x': '1', d: '1' }, { complete: false });
    const { changes } = localChanges(index({ a: '1', 'd/y': '1', e: '1' }), '', seen);
    expect(ops(changes)).toEqual(['delete a', 'delete d/y', 'put a/x', 'put d']);
  });

  test('what is unstable or left out keeps its last saved state', () => {
    const seen = local({}, { unstable: ['u'], leftOut: ['l'] });
    expect(localChanges(index({ u: '1', 'l/x': '1' }), '', seen).changes).toEqual([]);
  });

  test('an empty directory is put, and implied once it holds something', () => {
    const empty = local({}, { emptyDirectories: new Set(['d', '']) });
    expect(ops(localChanges(index({ 'd/x': '1' }), '', empty).changes)).toEqual(['delete d/x', 'put d']);
    const filled = localChanges(index({ d: null }), '', local({ 'd/x': '1' }));
    expect(ops(filled.changes)).toEqual(['put d/x']);
    expect(filled.entries.get('d')).toBeNull();
    expect(ops(localChanges(index({ d: null }), '', local({})).changes)).toEqual(['delete d']);
  });
});
