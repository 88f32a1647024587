/**
 * The marker file tells that a root is the one that was attached (storage.md, Who wins): a root without it is
 * never read as "everything was deleted". Also finds out, once, whether the root folds names.
 */
import { AgentError } from '../protocol/errors';
import { lookAt } from './device-view';
import { isNotFound } from './foreign-errors';
import { TEMP_PREFIX } from './journal';
import type { AttachedStorage, DirectoryHandle } from './ports';
import type { Session, StorageRecord } from './session';

export const MARKER_NAME = '.endue-storage-id';

const GONE =
  'The folder of this Storage is gone or is another one. A person must repair it on the Storages page.';

/**
 * Throws `storage_unavailable` unless this root is the attached one. A root seen for the first time is marked; also one
 * that was another Storage before: a person attached it anew, perhaps because the id was wrong, and it is attached to no other.
 */
export async function requireAttachedRoot(session: Session): Promise<void> {
  const { record, root, storage } = session;
  const marked = await readMarker(root);
  if (marked === storage.storage_id && record.attached && record.kind === storage.kind) return;
  const isAnothers = marked !== null && marked !== storage.storage_id;
  if ((record.attached && marked === null) || (isAnothers && !storage.fresh)) throw gone();
  if (marked !== storage.storage_id) await writeMarker(root, storage.storage_id);
  record.attached = true;
  record.kind = storage.kind;
  if (record.folds === null) record.folds = storage.kind === 'folder' && (await foldsNames(session));
  await session.ports.state.batch([session.writeRecord()]);
}

/** The same in the middle of a job, before anything is concluded from what is not there. */
export async function requireSameRoot(session: Session): Promise<void> {
  if ((await readMarker(session.root)) !== session.storage.storage_id) throw gone();
}

/** For those who only look: whether the root is not where it was, or is another one. Changes nothing. */
export async function isRootGone(
  { root, storage_id, fresh }: AttachedStorage,
  { attached }: Pick<StorageRecord, 'attached'>,
): Promise<boolean> {
  const marked = await readMarker(root);
  if (marked === storage_id) return false;
  if ((marked !== null || attached) && !fresh) return true;
  try {
    await root.entries()[Symbol.asyncIterator]().next();
    return false;
  } catch (thrown) {
    return isNotFound(thrown);
  }
}

function gone(): AgentError {
  return new AgentError('storage_unavailable', GONE);
}

/** The id in the marker; null when there is none, or an empty one from an attaching that was cut off. */
async function readMarker(root: DirectoryHandle): Promise<string | null> {
  try {
    const file = await (await root.getFileHandle(MARKER_NAME)).getFile();
    const text = new TextDecoder().decode(await file.arrayBuffer());
    return text === '' ? null : readId(text);
  } catch (thrown) {
    if (isNotFound(thrown)) return null;
    throw thrown;
  }
}

function readId(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && 'storage_id' in value) return String(value.storage_id);
  } catch {
    // Not ours: no id is equal to it.
  }
  return `\0${text}`;
}

async function writeMarker(root: DirectoryHandle, storageId: string): Promise<void> {
  try {
    const handle = await root.getFileHandle(MARKER_NAME, { create: true });
    const writer = await handle.createWritable();
    await writer.write(new TextEncoder().encode(JSON.stringify({ storage_id: storageId })));
    await writer.close();
  } catch (thrown) {
    if (isNotFound(thrown)) throw gone();
    throw thrown;
  }
}

function foldsNames(session: Session): Promise<boolean> {
  return areSameNames(session, 'caf\u00e9', ['CAF\u00e9', 'cafe\u0301']);
}

/** Makes one name and looks for it under others: whether the root takes one of them for the same. */
export async function areSameNames(
  session: Session,
  one: string,
  others: readonly string[],
): Promise<boolean> {
  const name = `${TEMP_PREFIX}${session.newId()}`;
  const folder = await session.root.getDirectoryHandle(name, { create: true });
  try {
    await folder.getFileHandle(one, { create: true });
    for (const other of others) if ((await lookAt(folder, other)).kind === 'file') return true;
    return false;
  } finally {
    await session.root.removeEntry(name, { recursive: true });
  }
}
