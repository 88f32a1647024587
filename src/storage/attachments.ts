/**
 * Which Storages are attached to this device, and to what (storage.md, Attaching): one database, shared by the pages,
 * the service worker and the storage worker. Never touches what is in a Storage. Knows no `chrome` and no engine.
 */
import { createStore, del, entries, get, set, update } from 'idb-keyval';
import { AgentError } from '../protocol/errors';
import { utf8Length } from '../protocol/json';
import type { DirectoryHandle, RootKind } from './ports';

/** The part of a real folder's handle that tells about permission; the types of the DOM lack it. */
export interface FolderHandle extends DirectoryHandle {
  queryPermission(descriptor: { mode: 'read' | 'readwrite' }): Promise<PermissionState>;
}

/** `kept`: on every visit. `this_session`: until the last tab of the extension closes. `lost`: a person must repair it. */
export type StoragePermission = 'kept' | 'this_session' | 'lost';

export interface Attachment {
  storage_id: string;
  name: string;
  backing: RootKind;
  /** Of a folder only. Hold it no longer than needed: a held handle keeps an old grant alive (chrome-facts.md). */
  handle?: FolderHandle;
  permission: StoragePermission;
  /** Declared by an administrator: no person can detach it. */
  managed: boolean;
  /** New: what is remembered under its id is of another attachment, and is forgotten at the next look. */
  fresh: boolean;
}

/** What an administrator says of Storages (policy.md). */
export interface StoragePolicy {
  storages: readonly { storage_id: string; name: string }[];
  allow_local_folders: boolean;
}

interface StoredAttachment {
  storage_id: string;
  name: string;
  backing: RootKind;
  handle?: FolderHandle;
  /** Chrome does not tell the kinds of a grant apart: what the Storages page found out. */
  kept: boolean;
  /** Attached anew: what was remembered of an earlier attachment under this id does not count. */
  fresh: boolean;
}

export const MAX_STORAGE_ID_BYTES = 128;

const store = createStore('endue-storages', 'storages');
const POLICY_KEY = 'policy';
const PREFIX = 'attached/';

const NO_POLICY: StoragePolicy = { storages: [], allow_local_folders: true };

/** All attached Storages, the administrator's first. A folder that policy forbids is not among them. */
export async function listStorages(): Promise<Attachment[]> {
  const rows = await entries<string, unknown>(store);
  const policy = (rows.find(([key]) => key === POLICY_KEY)?.[1] as StoragePolicy | undefined) ?? NO_POLICY;
  const managed = policy.storages.map(managedAttachment);
  const ids = new Set(managed.map(({ storage_id }) => storage_id));
  const stored = rows
    .filter(([key]) => key.startsWith(PREFIX))
    .map(([, row]) => row as StoredAttachment)
    .filter(({ storage_id, backing }) => !ids.has(storage_id) && isAllowed(backing, policy));
  return [...managed, ...(await Promise.all(stored.map(attachmentOf)))];
}

/** The attached Storage of that id, or null. */
export async function findStorage(storage_id: string): Promise<Attachment | null> {
  const [row, policy = NO_POLICY] = await Promise.all([
    get<StoredAttachment>(keyOf(storage_id), store),
    get<StoragePolicy>(POLICY_KEY, store),
  ]);
  const managed = policy.storages.find((other) => other.storage_id === storage_id);
  if (managed) return managedAttachment(managed);
  return row && isAllowed(row.backing, policy) ? attachmentOf(row) : null;
}

/**
 * Attaches a picked folder. For an id that is attached already this is a repair: the new handle replaces the old one and
 * what is remembered of the Storage stays. `invalid_input` when the id or the name cannot be used.
 */
export async function attachFolder(folder: {
  storage_id: string;
  name: string;
  handle: FolderHandle;
}): Promise<void> {
  await attach({ ...folder, backing: 'folder' });
}

/** Attaches a Storage inside the browser, which needs no permission. `invalid_input` as above. */
export async function attachBrowser(storage: { storage_id: string; name: string }): Promise<void> {
  await attach({ ...storage, backing: 'browser' });
}

async function attach({
  storage_id,
  name,
  backing,
  handle,
}: Pick<StoredAttachment, 'storage_id' | 'name' | 'backing' | 'handle'>): Promise<void> {
  const problem = storageIdProblem(storage_id);
  if (problem) throw new AgentError('invalid_input', `The storage id ${problem}.`);
  await update<StoredAttachment>(
    keyOf(storage_id),
    (before) => ({
      storage_id,
      name: name.trim() || storage_id,
      backing,
      ...(handle && { handle }),
      kept: false,
      fresh: before ? before.fresh || before.backing !== backing : true,
    }),
    store,
  );
}

/** Why this cannot be a storage id, as the end of a sentence, or null. */
export function storageIdProblem(storage_id: string): string | null {
  if (storage_id === '') return 'is empty';
  if (utf8Length(storage_id) > MAX_STORAGE_ID_BYTES) return `has more than ${MAX_STORAGE_ID_BYTES} bytes`;
  if (/\p{Cc}|\p{Surrogate}/u.test(storage_id)) return 'has characters that cannot be shown';
  return null;
}

/** Forgets the attachment. Never deletes a file. */
export async function detach(storage_id: string): Promise<void> {
  await del(keyOf(storage_id), store);
}

/** What the Storages page found out of the grant: whether it outlives the last tab. */
export async function noteKept(storage_id: string, kept: boolean): Promise<void> {
  await change(storage_id, (row) => ({ ...row, kept }));
}

/** What was remembered under its id was forgotten. */
export async function noteForgotten(storage_id: string): Promise<void> {
  await change(storage_id, (row) => ({ ...row, fresh: false }));
}

/**
 * What policy says now. Written by the service worker only; the others read it with the list. False when it said the same
 * before.
 */
export async function applyStoragePolicy({ storages, allow_local_folders }: StoragePolicy): Promise<boolean> {
  const policy: StoragePolicy = {
    storages: storages.map(({ storage_id, name }) => ({ storage_id, name })),
    allow_local_folders,
  };
  const before = (await get<StoragePolicy>(POLICY_KEY, store)) ?? NO_POLICY;
  if (JSON.stringify(before) === JSON.stringify(policy)) return false;
  await set(POLICY_KEY, policy, store);
  return true;
}

async function change(
  storage_id: string,
  changed: (row: StoredAttachment) => StoredAttachment,
): Promise<void> {
  if ((await get(keyOf(storage_id), store)) === undefined) return;
  await update<StoredAttachment>(keyOf(storage_id), (row) => changed(row as StoredAttachment), store);
}

function managedAttachment({ storage_id, name }: { storage_id: string; name: string }): Attachment {
  return { storage_id, name, backing: 'browser', permission: 'kept', managed: true, fresh: false };
}

async function attachmentOf(row: StoredAttachment): Promise<Attachment> {
  const { storage_id, name, backing, handle, fresh } = row;
  const permission = await permissionOf(row);
  return { storage_id, name, backing, ...(handle && { handle }), permission, managed: false, fresh };
}

async function permissionOf({ backing, handle, kept }: StoredAttachment): Promise<StoragePermission> {
  if (backing === 'browser') return 'kept';
  try {
    if ((await handle?.queryPermission({ mode: 'readwrite' })) === 'granted') {
      return kept ? 'kept' : 'this_session';
    }
  } catch {
    // A handle that cannot even be asked is of no use to anybody.
  }
  return 'lost';
}

function isAllowed(backing: RootKind, { allow_local_folders }: StoragePolicy): boolean {
  return backing === 'browser' || allow_local_folders;
}

function keyOf(storage_id: string): string {
  return PREFIX + storage_id;
}
