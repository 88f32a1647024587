/**
 * What the engine relies on in the File System Access API, as checks that run anywhere: against the fake in Node, and
 * bundled into a page of Chromium against OPFS and a real folder, so that the fake is proven. Each gets an empty directory.
 * Imports nothing of a test framework.
 */
import type { DirectoryHandle, FileHandle, RootKind } from '../../../src/storage/ports';

export interface ContractCheck {
  name: string;
  /** Only for this kind of root. */
  only?: RootKind;
  run(directory: DirectoryHandle): Promise<void>;
}

function equal(actual: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`expected ${b}, got ${a}`);
}

async function failure(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (thrown) {
    return (thrown as Error).name;
  }
  return 'nothing was thrown';
}

async function write(directory: DirectoryHandle, name: string, text: string): Promise<FileHandle> {
  const file = await directory.getFileHandle(name, { create: true });
  const writer = await file.createWritable();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  return file;
}

async function read(directory: DirectoryHandle, name: string): Promise<string> {
  const snapshot = await (await directory.getFileHandle(name)).getFile();
  return new TextDecoder().decode(await snapshot.arrayBuffer());
}

async function names(directory: DirectoryHandle): Promise<string[]> {
  const found: string[] = [];
  for await (const [name, handle] of directory.entries()) found.push(`${handle.kind} ${name}`);
  return found.sort();
}

export const HANDLE_CONTRACT: readonly ContractCheck[] = [
  {
    name: 'files and directories are made, listed and found by their exact names',
    async run(directory) {
      await write(directory, 'f', 'F');
      const inner = await directory.getDirectoryHandle('d', { create: true });
      await directory.getDirectoryHandle('d', { create: true });
      await write(inner, '\u00e9', 'x');
      equal(await names(directory), ['directory d', 'file f']);
      equal(await names(inner), ['file \u00e9']);
      equal(await read(directory, 'f'), 'F');
    },
  },
  {
    name: 'a file that is made is empty; nothing is visible before close; abort leaves what was',
    async run(directory) {
      const file = await directory.getFileHandle('f', { create: true });
      equal((await file.getFile()).size, 0);
      const writer = await file.createWritable();
      await writer.write(new TextEncoder().encode('one'));
      equal(await read(directory, 'f'), '');
      await writer.close();
      equal(await read(directory, 'f'), 'one');
      const second = await file.createWritable();
      await second.write(new TextEncoder().encode('two'));
      await second.abort();
      equal(await read(directory, 'f'), 'one');
    },
  },
  {
    name: 'what is not there is NotFoundError, the other kind is TypeMismatchError',
    async run(directory) {
      await write(directory, 'f', 'F');
      await directory.getDirectoryHandle('d', { create: true });
      equal(await failure(directory.getFileHandle('none')), 'NotFoundError');
      equal(await failure(directory.getDirectoryHandle('none')), 'NotFoundError');
      equal(await failure(directory.removeEntry('none')), 'NotFoundError');
      equal(await failure(directory.getFileHandle('d')), 'TypeMismatchError');
      equal(await failure(directory.getDirectoryHandle('f')), 'TypeMismatchError');
      equal(await failure(directory.getDirectoryHandle('f', { create: true })), 'TypeMismatchError');
    },
  },
  {
    name: 'a handle of something that went away is NotFoundError',
    async run(directory) {
      const inner = await directory.getDirectoryHandle('d', { create: true });
      const file = await write(inner, 'f', 'F');
      await directory.removeEntry('d', { recursive: true });
      equal(await failure(file.getFile()), 'NotFoundError');
      equal(await failure(inner.getFileHandle('f')), 'NotFoundError');
      equal(await failure(inner.getFileHandle('f', { create: true })), 'NotFoundError');
      equal(await failure(names(inner)), 'NotFoundError');
    },
  },
  {
    name: 'a directory that holds something goes only recursively',
    async run(directory) {
      const inner = await directory.getDirectoryHandle('d', { create: true });
      await write(inner, 'f', 'F');
      equal(await failure(directory.removeEntry('d')), 'InvalidModificationError');
      equal(await names(inner), ['file f']);
      await inner.removeEntry('f');
      await directory.removeEntry('d');
      equal(await names(directory), []);
    },
  },
  {
    name: 'a file moves to another directory and name, keeping its content; its handle follows',
    async run(directory) {
      const inner = await directory.getDirectoryHandle('d', { create: true });
      const file = await write(directory, 'f', 'F');
      await file.move(inner, 'g');
      equal(await names(directory), ['directory d']);
      equal(await read(inner, 'g'), 'F');
      equal((await file.getFile()).size, 1);
      await file.move(directory, 'f');
      equal(await read(directory, 'f'), 'F');
    },
  },
  {
    name: 'move replaces a file without asking, and does not replace a directory',
    async run(directory) {
      const file = await write(directory, 'f', 'new');
      await write(directory, 'g', 'old');
      await file.move(directory, 'g');
      equal(await names(directory), ['file g']);
      equal(await read(directory, 'g'), 'new');
      const inner = await directory.getDirectoryHandle('d', { create: true });
      await write(inner, 'in', 'x');
      if ((await failure(file.move(directory, 'd'))) === 'nothing was thrown') {
        throw new Error('a file moved over a directory');
      }
      equal(await read(inner, 'in'), 'x');
      equal(await read(directory, 'g'), 'new');
    },
  },
  {
    name: 'a move into a directory that is gone fails and leaves the file',
    async run(directory) {
      const inner = await directory.getDirectoryHandle('d', { create: true });
      const file = await write(directory, 'f', 'F');
      await directory.removeEntry('d');
      if ((await failure(file.move(inner, 'f'))) === 'nothing was thrown')
        throw new Error('it moved nowhere');
      equal(await read(directory, 'f'), 'F');
    },
  },
  {
    name: 'names of 255 bytes can be moved to and read',
    async run(directory) {
      const long = 'n'.repeat(255);
      const file = await write(directory, 'f', 'F');
      await file.move(directory, long);
      equal(await names(directory), [`file ${long}`]);
      equal(await read(directory, long), 'F');
    },
  },
  {
    name: 'a snapshot gives its slices, and cannot be read once the file changed',
    async run(directory) {
      const file = await write(directory, 'f', 'before');
      const snapshot = await file.getFile();
      equal(new TextDecoder().decode(await snapshot.slice(2, 4).arrayBuffer()), 'fo');
      await write(directory, 'f', 'afterwards');
      equal(await failure(snapshot.arrayBuffer()), 'NotReadableError');
      equal((await file.getFile()).size, 10);
    },
  },
  {
    name: 'names that no root has are refused with a TypeError, also when they are only looked for',
    async run(directory) {
      for (const name of ['', '.', '..', 'a/b', 'a\\b']) {
        equal([name, await failure(directory.getFileHandle(name))], [name, 'TypeError']);
        equal(
          [name, await failure(directory.getDirectoryHandle(name, { create: true }))],
          [name, 'TypeError'],
        );
      }
    },
  },
  {
    name: 'names that Chrome refuses in a folder are refused with a TypeError, also when they are only looked for',
    only: 'folder',
    async run(directory) {
      const refused = [
        'con',
        'CON.txt',
        'a:b',
        'a*b',
        'dot.',
        'space ',
        ' lead',
        '~x',
        'x~',
        'a\\b',
        'a.lnk',
        'a.url',
      ];
      for (const name of [
        ...refused,
        'a.scf',
        'desktop.ini',
        'foo.{a}',
        'a\u202eb',
        'a\u00adb',
        'thumbs.db',
      ]) {
        equal([name, await failure(directory.getFileHandle(name))], [name, 'TypeError']);
        equal([name, await failure(directory.getFileHandle(name, { create: true }))], [name, 'TypeError']);
      }
      equal(await names(directory), []);
    },
  },
  {
    name: 'OPFS holds the names that folders refuse',
    only: 'browser',
    async run(directory) {
      for (const name of ['con', 'a:b', 'dot.', 'space ', '~x', 'a.lnk', 'a\u202eb']) {
        await write(directory, name, name);
        equal(await read(directory, name), name);
      }
    },
  },
  {
    name: 'isSameEntry tells a directory from its like',
    async run(directory) {
      const a = await directory.getDirectoryHandle('a', { create: true });
      const b = await directory.getDirectoryHandle('b', { create: true });
      equal(await a.isSameEntry(await directory.getDirectoryHandle('a')), true);
      equal(await a.isSameEntry(b), false);
      equal(await a.isSameEntry(directory), false);
    },
  },
];
