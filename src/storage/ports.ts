/**
 * What the storage engine needs from outside, as interfaces: directory handles, the transport, a durable
 * store, a clock. The engine sees nothing else: no `chrome`, no socket, no clock of its own. Types only.
 */

/** Opaque (storage.md, Words): echoed unchanged, compared only for equality. */
export type Revision = string | number;

// --- Directory handles: the structural subset of the File System Access API that is used ---------------

/** A `File` as `getFile()` gives it: a snapshot whose reading fails once the file on disk has changed. */
export type FileSnapshot = Pick<File, 'size' | 'lastModified' | 'stream' | 'slice' | 'arrayBuffer'>;

/** A `FileSystemWritableFileStream`: nothing is visible in the file before `close()`. */
export interface FileWriter {
  write(data: Uint8Array<ArrayBuffer>): Promise<void>;
  close(): Promise<void>;
  abort(): Promise<void>;
}

export interface FileHandle {
  readonly kind: 'file';
  readonly name: string;
  getFile(): Promise<FileSnapshot>;
  createWritable(options?: { keepExistingData?: boolean }): Promise<FileWriter>;
  /** Moves over an existing file without asking (chrome-facts.md): look first. */
  move(parent: DirectoryHandle, name: string): Promise<void>;
  isSameEntry(other: Handle): Promise<boolean>;
}

export interface DirectoryHandle {
  readonly kind: 'directory';
  readonly name: string;
  entries(): AsyncIterable<[string, Handle]>;
  getDirectoryHandle(name: string, options?: { create?: boolean }): Promise<DirectoryHandle>;
  getFileHandle(name: string, options?: { create?: boolean }): Promise<FileHandle>;
  removeEntry(name: string, options?: { recursive?: boolean }): Promise<void>;
  isSameEntry(other: Handle): Promise<boolean>;
}

export type Handle = DirectoryHandle | FileHandle;

// --- Transport (storage-transport.md) -------------------------------------------------------------------

export interface RemoteFile {
  type: 'file';
  path: string;
  /** Bytes. */
  size: number;
  /** Lowercase hex. */
  sha256: string;
  /** Milliseconds since 1970, advisory. */
  mtime?: number;
}

/** Only empty directories are listed; one that holds anything is implied. */
export interface RemoteDirectory {
  type: 'directory';
  path: string;
}

export type RemoteEntry = RemoteFile | RemoteDirectory;

/** A `delete` takes everything under its path. */
export type RemoteChange = ({ op: 'put' } & RemoteEntry) | { op: 'delete'; path: string };

export interface LinkFacts {
  link_id: string;
  /** The Storage that holds the link, and the link's folder in it. */
  storage_id: string;
  path: string;
  target: { storage_id: string; path: string };
}

export interface TreePage {
  revision: Revision;
  entries: RemoteEntry[];
  /** Null after the last page. */
  next_cursor: string | null;
}

/** `expired`: the server no longer knows `since` (410 `revision_expired`). */
export type ChangesPage =
  | { expired: true }
  | { expired: false; revision: Revision; changes: RemoteChange[]; next_cursor: string | null };

export interface CommitBody {
  /** Null for a Storage never saved. */
  base_revision: Revision | null;
  /** What the commit is about: the saved, placed or removed path; `""` for the root or a link's target. */
  path: string;
  changes: RemoteChange[];
  expected_hash?: string;
}

export interface CommitReply {
  revision: Revision;
  /** Paths whose content another writer had committed since `base_revision`. */
  overwritten: string[];
}

export type TransportBase = { storage_id: string } | { link_id: string };

/**
 * One base with one token, for one job. Retries with backoff by itself as storage-transport.md says.
 * Checks the shape of answers; the names in them are checked by the engine.
 *
 * Every call throws `signal.reason` when the signal is aborted (an `AgentError` `cancelled` or `timeout`), else
 * `AgentError`: `storage_token_rejected` (401, 403), `link_target_gone` (410 on a link base),
 * `path_not_found` (404), `storage_transport_failed` (everything that retrying did not mend).
 */
export interface Transport {
  /** `GET {link base}`; only on a link base. `link_unknown` on 404. */
  link(signal: AbortSignal): Promise<LinkFacts>;
  tree(
    query: { revision: Revision; path: string; cursor: string | null; limit?: number },
    signal: AbortSignal,
  ): Promise<TreePage>;
  /** `since` null: everything. */
  changes(
    query: { since: Revision | null; cursor: string | null; limit?: number },
    signal: AbortSignal,
  ): Promise<ChangesPage>;
  /** Which of these the server lacks; any number (the transport asks in portions of 1000). */
  missing(sha256: readonly string[], signal: AbortSignal): Promise<string[]>;
  /**
   * Uploads one blob; picks PUT or the resumable PATCH by size. `sent` is told the bytes as they leave.
   * `storage_hash_mismatch` when the server finds another hash (409 `hash_mismatch`); an error of reading
   * `content` is passed on as it is (a `DOMException`): it means that the file changed meanwhile.
   */
  upload(
    sha256: string,
    content: Pick<Blob, 'size' | 'slice' | 'stream' | 'arrayBuffer'>,
    signal: AbortSignal,
    sent?: (bytes: number) => void,
  ): Promise<void>;
  /**
   * The raw bytes from `offset` on. A connection cut in the middle is resumed or errors the stream with
   * `storage_transport_failed`. Length and hash are checked by the engine, which downloads once more. `size`, when it is
   * known: large content is asked for in parts, each when the one before was read.
   */
  download(
    sha256: string,
    offset: number,
    signal: AbortSignal,
    size?: number,
  ): Promise<ReadableStream<Uint8Array>>;
  /** `storage_state_conflict` on 409: merge first, then again with another key. */
  commit(body: CommitBody, idempotencyKey: string, signal: AbortSignal): Promise<CommitReply>;
}

/** The token stays in memory, for this job only, and goes only to the socket's origin. */
export type ConnectTransport = (base: TransportBase, token: string) => Transport;

// --- Durable state --------------------------------------------------------------------------------------

export type StateChange = { key: string; value: unknown } | { key: string; delete: true };

/** Key → structured-cloneable value, durable across a crash of the browser. */
export interface StateStore {
  /** Undefined when there is nothing. */
  get(key: string): Promise<unknown>;
  /** All or nothing, on disk when it resolves; with `soon` it may be lost when the machine fails a moment later. */
  batch(changes: readonly StateChange[], soon?: 'soon'): Promise<void>;
  /** All keys that start with `prefix`. */
  keys(prefix: string): Promise<string[]>;
}

// --- Time and chance ------------------------------------------------------------------------------------

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Rejects with `signal.reason` when aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** In [0, 1), as `Math.random`. */
export type Random = () => number;

// --- Proof that nothing moved ---------------------------------------------------------------------------

/** A moment in the life of one root. */
export interface StillnessMark {
  readonly watch: object;
  readonly changes: number;
}

export interface Stillness {
  /** This moment; null where it can never be proven that nothing moved. */
  mark(storage: AttachedStorage): Promise<StillnessMark | null>;
  /** True only when it is proven that nothing under the root changed since. */
  stillSince(storage: AttachedStorage, mark: StillnessMark): Promise<boolean>;
}

// --- Attached Storages ----------------------------------------------------------------------------------

/** `folder`: a person's folder, other programs write there too. `browser`: OPFS, only this extension writes. */
export type RootKind = 'folder' | 'browser';

export interface AttachedStorage {
  storage_id: string;
  name: string;
  kind: RootKind;
  root: DirectoryHandle;
  /** Attached anew: what is durable of it is of another attachment under the same id. */
  fresh?: boolean;
}

export interface StorageDirectory {
  /** `storage_unknown` when it is not attached, `storage_unavailable` without permission. */
  open(storage_id: string): Promise<AttachedStorage>;
  list(): Promise<string[]>;
  /** From now on it is no longer `fresh`. */
  noteForgotten(storage_id: string): Promise<void>;
  /** A directory of the extension's own OPFS, where copies of sealed content of folders are kept. */
  vault(): Promise<DirectoryHandle>;
}
