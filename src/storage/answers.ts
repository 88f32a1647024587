/**
 * Reads the bodies of the storage service's answers (storage-transport.md). Strict about types: whatever does
 * not fit is `storage_transport_failed`, since acting on half an answer could lose files. Knows nothing of
 * paths: a name only has to be a string here, the engine checks what it says. Unknown fields are left out. Pure.
 */
import { AgentError } from '../protocol/errors';
import { isJsonObject } from '../protocol/json';
import type {
  ChangesPage,
  CommitReply,
  LinkFacts,
  RemoteChange,
  RemoteEntry,
  Revision,
  TreePage,
} from './ports';

type Fields = Record<string, unknown>;

function misfit(what: string): AgentError {
  return new AgentError(
    'storage_transport_failed',
    `The answer of the storage service does not fit the contract: ${what}.`,
  );
}

/** The text of a body as an object. */
export function readObject(text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw misfit('it is not JSON');
  }
  return object(value, 'it');
}

/** The `error_code` of an error's body, or null: such a body may be anything, also a proxy's page. */
export function readErrorCode(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && typeof value.error_code === 'string' ? value.error_code : null;
  } catch {
    return null;
  }
}

export function readLink(body: Fields): LinkFacts {
  const target = object(body.target, 'target');
  return {
    link_id: string(body.link_id, 'link_id'),
    storage_id: string(body.storage_id, 'storage_id'),
    path: string(body.path, 'path'),
    target: {
      storage_id: string(target.storage_id, 'target.storage_id'),
      path: string(target.path, 'target.path'),
    },
  };
}

export function readTreePage(body: Fields): TreePage {
  return {
    revision: revision(body.revision),
    entries: array(body.entries, 'entries').map((value) => entry(object(value, 'an entry'))),
    next_cursor: cursor(body.next_cursor),
  };
}

export function readChangesPage(body: Fields): ChangesPage {
  return {
    expired: false,
    revision: revision(body.revision),
    changes: array(body.changes, 'changes').map((value) => change(object(value, 'a change'))),
    next_cursor: cursor(body.next_cursor),
  };
}

export function readMissing(body: Fields): string[] {
  return array(body.missing, 'missing').map((value) => hash(value));
}

export function readCommitReply(body: Fields): CommitReply {
  return {
    revision: revision(body.revision),
    overwritten: array(body.overwritten, 'overwritten').map((value) => string(value, 'overwritten')),
  };
}

function change(value: Fields): RemoteChange {
  if (value.op === 'delete') return { op: 'delete', path: string(value.path, 'path') };
  if (value.op === 'put') return { op: 'put', ...entry(value) };
  throw misfit('op is neither put nor delete');
}

function entry(value: Fields): RemoteEntry {
  const path = string(value.path, 'path');
  if (value.type === 'directory') return { type: 'directory', path };
  if (value.type !== 'file') throw misfit('type is neither file nor directory');
  const file = { type: 'file' as const, path, size: size(value.size), sha256: hash(value.sha256) };
  const { mtime } = value;
  if (mtime === undefined || mtime === null) return file;
  if (typeof mtime !== 'number' || !Number.isFinite(mtime)) throw misfit('mtime is not a number');
  return { ...file, mtime };
}

function object(value: unknown, what: string): Fields {
  if (!isJsonObject(value)) throw misfit(`${what} is not an object`);
  return value;
}

function array(value: unknown, what: string): unknown[] {
  if (!Array.isArray(value)) throw misfit(`${what} is not an array`);
  return value;
}

function string(value: unknown, what: string): string {
  if (typeof value !== 'string') throw misfit(`${what} is not a string`);
  return value;
}

function revision(value: unknown): Revision {
  if (typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))) return value;
  throw misfit('revision is neither a string nor a number');
}

function cursor(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const text = string(value, 'next_cursor');
  if (text === '') throw misfit('next_cursor is empty');
  return text;
}

function size(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw misfit('size is not a count of bytes');
  }
  return value;
}

function hash(value: unknown): string {
  if (typeof value !== 'string' || !/^[0-9a-f]{64}$/.test(value)) throw misfit('sha256 is not a hash');
  return value;
}
