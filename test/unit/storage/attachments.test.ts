import 'fake-indexeddb/auto';
import { createStore, keys } from 'idb-keyval';
import { beforeEach, describe, expect, test } from 'vitest';
import { attachedRoots, directoryName } from '../../../src/storage/attached-roots';
import {
  applyStoragePolicy,
  attachBrowser,
  attachFolder,
  detach,
  type FolderHandle,
  findStorage,
  listStorages,
  noteForgotten,
  noteKept,
} from '../../../src/storage/attachments';
import type { DirectoryHandle } from '../../../src/storage/ports';
import { FakeDisk } from './fake-handles';
import { codeOf } from './world';

/** fake-indexeddb clones what is stored, and a handle's methods cannot be cloned: only its place is kept here. */
const store = createStore('endue-storages', 'storages');

beforeEach(async () => {
  await applyStoragePolicy({ storages: [], allow_local_folders: true });
  for (const { storage_id, managed } of await listStorages()) if (!managed) await detach(storage_id);
});

describe('storage.md, Attaching', () => {
  test('a browser-internal Storage needs no permission; attached anew it is fresh until that is noted', async () => {
    await attachBrowser({ storage_id: 's1', name: ' Notes ' });
    expect(await listStorages()).toEqual([
      {
        storage_id: 's1',
        name: 'Notes',
        backing: 'browser',
        permission: 'kept',
        managed: false,
        fresh: true,
      },
    ]);
    await noteForgotten('s1');
    expect(await findStorage('s1')).toMatchObject({ fresh: false });
    // A repair is no new attachment.
    await attachBrowser({ storage_id: 's1', name: 'Other' });
    expect(await findStorage('s1')).toMatchObject({ name: 'Other', fresh: false });
    await detach('s1');
    expect(await findStorage('s1')).toBeNull();
    await attachBrowser({ storage_id: 's1', name: 'Again' });
    expect(await findStorage('s1')).toMatchObject({ fresh: true });
  });

  test('a folder whose handle is gone is lost, and noting the unknown makes nothing', async () => {
    await attachFolder({ storage_id: 'f', name: 'Folder', handle: {} as FolderHandle });
    expect(await findStorage('f')).toMatchObject({ backing: 'folder', permission: 'lost' });
    await noteKept('none', true);
    await noteForgotten('none');
    expect(await keys(store)).not.toContain('attached/none');
  });

  test.each(['', 'a\nb', '\ud83d', 'x'.repeat(129), '한'.repeat(43)])(
    'an id that cannot be used is refused: %j',
    async (storage_id) => {
      expect(await codeOf(attachBrowser({ storage_id, name: 'x' }))).toBe('invalid_input');
      expect(await listStorages()).toEqual([]);
    },
  );
});

describe('policy.md, storages and allow_local_folders', () => {
  test('a managed Storage is there without a person, wins over one of the same id, and goes with the policy', async () => {
    await attachBrowser({ storage_id: 'm', name: 'Mine' });
    const storages = [{ storage_id: 'm', name: 'Managed' }];
    expect(await applyStoragePolicy({ storages, allow_local_folders: true })).toBe(true);
    expect(await applyStoragePolicy({ storages, allow_local_folders: true })).toBe(false);
    expect(await listStorages()).toMatchObject([{ storage_id: 'm', name: 'Managed', managed: true }]);
    await applyStoragePolicy({ storages: [], allow_local_folders: true });
    expect(await listStorages()).toMatchObject([{ name: 'Mine', managed: false }]);
  });

  test('false: folders are not attached, as long as it holds', async () => {
    await attachFolder({ storage_id: 'f', name: 'Folder', handle: {} as FolderHandle });
    await attachBrowser({ storage_id: 'b', name: 'Browser' });
    await applyStoragePolicy({ storages: [], allow_local_folders: false });
    expect((await listStorages()).map(({ storage_id }) => storage_id)).toEqual(['b']);
    expect(await findStorage('f')).toBeNull();
    await applyStoragePolicy({ storages: [], allow_local_folders: true });
    expect((await listStorages()).map(({ storage_id }) => storage_id)).toEqual(['b', 'f']);
  });
});

describe('where a Storage lies', () => {
  const disk = new FakeDisk({ kind: 'browser' });
  const roots = attachedRoots({
    listStorages,
    findStorage,
    noteForgotten,
    originRoot: async () => disk.root() as DirectoryHandle,
  });

  test('under storages/, each in a directory of its own, whatever its id', async () => {
    const ids = ['notes', 'Notes', '../x', 'a/b', '한글', '.', 'id.abc'];
    for (const storage_id of ids) await attachBrowser({ storage_id, name: storage_id });
    for (const storage_id of ids) {
      const { root, kind, fresh } = await roots.open(storage_id);
      expect([kind, fresh]).toEqual(['browser', true]);
      await root.getFileHandle('f', { create: true });
    }
    const found = Object.keys(disk.tree());
    expect(found).toHaveLength(ids.length);
    for (const path of found) expect(path).toMatch(/^storages\/[a-z0-9_.-]+\/f$/);
    expect(found).toContain('storages/notes/f');
    expect(await directoryName('Notes')).not.toBe(await directoryName('notes'));
  });

  test('storage_unknown when it is not attached, storage_unavailable without permission', async () => {
    await attachFolder({ storage_id: 'f', name: 'Folder', handle: {} as FolderHandle });
    expect(await codeOf(roots.open('none'))).toBe('storage_unknown');
    expect(await codeOf(roots.open('f'))).toBe('storage_unavailable');
    expect(await roots.list()).toEqual(['f']);
  });
});
