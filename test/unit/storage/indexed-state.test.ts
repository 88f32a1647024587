import 'fake-indexeddb/auto';
import { expect, test } from 'vitest';
import { indexedState } from '../../../src/storage/indexed-state';

let count = 0;
const fresh = () => indexedState(indexedDB, `state ${++count}`);

test('maps and keys of any text come back as they were', async () => {
  const state = fresh();
  const value = { index: new Map([['a\u0000/\ud83d', { type: 'file' }]]) };
  await state.batch([{ key: 'k\ud83d', value }]);
  expect(await state.get('k\ud83d')).toEqual(value);
  expect(await state.get('none')).toBeUndefined();
});

test('a batch is all or nothing', async () => {
  const state = fresh();
  await state.batch([
    { key: 'a', value: 1 },
    { key: 'b', value: 1 },
  ]);
  await expect(
    state.batch([
      { key: 'a', value: 2 },
      { key: 'b', delete: true },
      { key: 'c', value: () => 'cannot be cloned' },
    ]),
  ).rejects.toThrow();
  expect([await state.get('a'), await state.get('b'), await state.get('c')]).toEqual([1, 1, undefined]);
  await state.batch([
    { key: 'a', value: 2 },
    { key: 'b', delete: true },
  ]);
  expect([await state.get('a'), await state.get('b')]).toEqual([2, undefined]);
});

test('keys by their beginning', async () => {
  const state = fresh();
  await state.batch(['s/1', 's/2', 't/1'].map((key) => ({ key, value: 1 })));
  expect(await state.keys('s/')).toEqual(['s/1', 's/2']);
});

test('what one engine wrote, the next one reads', async () => {
  await indexedState(indexedDB, 'shared').batch([{ key: 'a', value: 1 }]);
  expect(await indexedState(indexedDB, 'shared').get('a')).toBe(1);
});

test('a batch is on disk when it resolves, unless it may come soon', async () => {
  const state = fresh();
  const asked: unknown[] = [];
  const { transaction } = IDBDatabase.prototype;
  IDBDatabase.prototype.transaction = function (names, mode, options) {
    // The stand-in opens its databases by this, too.
    if (options) asked.push(options.durability);
    return transaction.call(this, names, mode, options);
  };
  try {
    await state.batch([{ key: 'a', value: 1 }]);
    await state.batch([{ key: 'a', value: 2 }], 'soon');
  } finally {
    IDBDatabase.prototype.transaction = transaction;
  }
  expect(asked).toEqual(['strict', 'relaxed']);
  expect(await state.get('a')).toBe(2);
});
