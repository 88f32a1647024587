/** storage.md, Paths and names: what a root cannot hold is found before anything is downloaded, and cheaply. */
import { expect, test } from 'vitest';
import { DeviceView } from '../../../src/storage/device-view';
import { unrepresentable } from '../../../src/storage/name-checks';
import type { RootKind } from '../../../src/storage/ports';
import { FakeDisk } from './fake-handles';
import { Fate } from './fate';

/** What cannot be held of `paths`, and for which names the API was asked. `refuses`: beyond the rules. */
async function check(
  kind: RootKind,
  paths: readonly string[],
  refuses: (name: string) => boolean = () => false,
) {
  const fate = new Fate();
  const asked: string[] = [];
  fate.trouble = ({ path }) => {
    const name = path.slice(1);
    asked.push(name);
    if (refuses(name)) throw new TypeError('Name is not allowed');
  };
  const view = new DeviceView(new FakeDisk({ kind }).root(fate), false);
  return { bad: await unrepresentable(paths, kind, view), asked: asked.sort() };
}

test('of plain names that differ in more than their extension one is asked for all', async () => {
  const paths = ['a.txt', 'b.txt', 'd/c.TXT', 'd/e.bin', 'd/f', 'g'];
  expect(await check('folder', paths)).toEqual({ bad: [], asked: ['a.txt', 'd', 'e.bin'] });
});

test('an extension that the API refuses, though no rule knows of it, is refused for each of its names', async () => {
  const refuses = (name: string) => name.toLowerCase().endsWith('.bad');
  const { bad } = await check('folder', ['a.bad', 'b.ok', 'd/c.BAD', 'bad'], refuses);
  expect(bad).toEqual(['a.bad', 'd/c.BAD']);
});

test('every other name is asked for itself', async () => {
  const refuses = (name: string) => name === 'b\u2603.txt' || name === 'a b.txt';
  const { bad, asked } = await check('folder', ['a b.txt', 'b\u2603.txt', 'c\u2603.txt', '.hidden'], refuses);
  expect(bad).toEqual(['a b.txt', 'b\u2603.txt']);
  expect(asked).toEqual(['.hidden', 'a b.txt', 'b\u2603.txt', 'c\u2603.txt']);
});

test('the rules hold for plain names too', async () => {
  const names = ['con.txt', 'ok.txt', 'desktop.ini', 'x.lnk', 'COM1'];
  expect((await check('folder', names)).bad).toEqual(['con.txt', 'desktop.ini', 'x.lnk', 'COM1']);
});

test('the browser-internal file system holds every plain name: none is asked for', async () => {
  expect(await check('browser', ['con.txt', 'a.lnk', 'b\u2603'])).toEqual({ bad: [], asked: ['b\u2603'] });
});
