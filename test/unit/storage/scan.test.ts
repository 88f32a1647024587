import { describe, expect, test } from 'vitest';
import { hashStable } from '../../../src/storage/hash-file';
import type { FileHandle } from '../../../src/storage/ports';
import { scan } from '../../../src/storage/scan';
import { FakeDisk } from './fake-handles';
import { Fate } from './fate';
import { sha256Of } from './sha256';

const signal = new AbortController().signal;

async function scanned(disk: FakeDisk, links: string[] = [], fate = new Fate()) {
  const seen = await scan(disk.root(fate), { prefix: '', links, signal });
  return {
    files: [...seen.files.keys()].sort(),
    empty: [...seen.emptyDirectories].sort(),
    leftOut: seen.leftOut,
    complete: seen.complete,
  };
}

describe('scan', () => {
  test('files and empty directories; internal names and hidden ones are left out', async () => {
    const disk = new FakeDisk();
    disk.write('a', '1');
    disk.write('d/b', '2');
    disk.mkdir('e/f');
    disk.write('.endue-storage-id', 'x');
    disk.write('d/y.crswap', 'x');
    disk.write('.endue-storage-tmp-1/new-0', 'x');
    disk.hide('d/link');
    expect(await scanned(disk)).toEqual({ files: ['a', 'd/b'], empty: ['e/f'], leftOut: [], complete: true });
  });

  test('case 14: a directory whose child is itself: the scan ends, other files are seen once', async () => {
    const disk = new FakeDisk();
    disk.write('d/one', '1');
    disk.loop('d', 'again');
    disk.write('z', '2');
    expect(await scanned(disk)).toEqual({
      files: ['d/one', 'z'],
      empty: [],
      leftOut: ['d/again'],
      complete: true,
    });
  });

  test('case 14: a root whose child is itself, twice', async () => {
    const disk = new FakeDisk();
    disk.mkdir('x');
    disk.loop('x', 'y');
    disk.loop('x', 'z');
    expect(await scanned(disk)).toMatchObject({ files: [], leftOut: ['x/y', 'x/z'] });
  });

  test('two directories that only list the same names are two', async () => {
    const disk = new FakeDisk();
    disk.write('d/d/d/d', '1');
    expect(await scanned(disk)).toMatchObject({ files: ['d/d/d/d'], leftOut: [] });
  });

  test('case 14: listed, then NotFoundError on getFile: the rest is seen, and the scan is incomplete', async () => {
    const disk = new FakeDisk();
    disk.write('a', '1');
    disk.write('b', '2');
    const fate = new Fate();
    fate.trouble = ({ name, path }) => {
      if (name === 'getFile' && path === 'a') throw new DOMException('', 'NotFoundError');
    };
    expect(await scanned(disk, [], fate)).toMatchObject({ files: ['b'], complete: false });
  });

  test('a directory that vanishes while it is listed makes the scan incomplete', async () => {
    const disk = new FakeDisk();
    disk.write('d/a', '1');
    disk.write('z', '2');
    const fate = new Fate();
    fate.trouble = ({ name, path }) => {
      if (name === 'list' && path === 'd') throw new DOMException('', 'NotFoundError');
    };
    expect(await scanned(disk, [], fate)).toMatchObject({ files: ['z'], complete: false });
  });

  test('the folders of links are left out', async () => {
    const disk = new FakeDisk();
    disk.write('l/in', '1');
    disk.write('ll', '2');
    expect(await scanned(disk, ['l'])).toMatchObject({ files: ['ll'], empty: [], leftOut: ['l'] });
  });

  test('names that no path can have are left out, and their directory is not taken for empty', async () => {
    const disk = new FakeDisk();
    disk.write('d/a\u0001b', '1');
    expect(await scanned(disk)).toEqual({ files: [], empty: [], leftOut: ['d/a\u0001b'], complete: true });
  });
});

describe('a file that changes while it is read', () => {
  const handle = async (disk: FakeDisk): Promise<FileHandle> => disk.root().getFileHandle('f');

  test('is read again', async () => {
    const disk = new FakeDisk();
    disk.write('f', 'old', 1);
    let reads = 0;
    disk.onRead = () => {
      if (++reads === 1) disk.write('f', 'new', 2);
    };
    expect(await hashStable(await handle(disk), signal)).toEqual({
      state: 'stable',
      sha256: await sha256Of('new'),
      size: 3,
      mtime: 2,
    });
    expect(reads).toBe(2);
  });

  test('up to 3 times, then it is unstable', async () => {
    const disk = new FakeDisk();
    disk.write('f', '0');
    let reads = 0;
    disk.onRead = () => disk.write('f', 'x'.repeat(++reads + 1));
    expect(await hashStable(await handle(disk), signal)).toEqual({ state: 'unstable' });
    expect(reads).toBe(3);
  });

  test('gone is gone', async () => {
    const disk = new FakeDisk();
    disk.write('f', '0');
    const file = await handle(disk);
    disk.remove('f');
    expect(await hashStable(file, signal)).toEqual({ state: 'gone' });
  });

  test('a big file is hashed in slices to the same hash', async () => {
    const disk = new FakeDisk();
    const bytes = new Uint8Array(9 * 1024 * 1024 + 3).map((_, at) => at % 251);
    disk.write('f', bytes);
    const read: number[] = [];
    const hashed = await hashStable(await handle(disk), signal, (count) => read.push(count));
    expect(hashed).toMatchObject({ state: 'stable', sha256: await sha256Of(bytes), size: bytes.length });
    expect(Math.max(...read)).toBeLessThanOrEqual(4 * 1024 * 1024);
  });
});
