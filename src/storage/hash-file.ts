/**
 * The SHA-256 of a file that others may be writing: read, then looked at again; changed means read again
 * (storage.md, Nothing is lost). Streams: small files whole through WebCrypto, big ones piece by piece.
 */
import { createSHA256 } from 'hash-wasm';
import pLimit from 'p-limit';
import { AgentError } from '../protocol/errors';
import { ByteReader } from './byte-reader';
import { isNotFound, isUnreadable, stopIfAborted } from './foreign-errors';
import { inTime } from './in-time';
import type { FileHandle, FileSnapshot } from './ports';
import { hex } from './tree-hash';

/** Read whole up to this: `READS_IN_FLIGHT` of them may be in memory at once. */
export const WHOLE_READ_BYTES = 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;
export const READS_IN_FLIGHT = 32;
const TRIES = 3;

/** Big files are read one after another: a disk gives no more for two, and memory stays flat. */
const bigReads = pLimit(1);

export type HashedFile =
  | { state: 'stable'; sha256: string; size: number; mtime: number }
  /** Changed whenever it was read. */
  | { state: 'unstable' }
  | { state: 'gone' };

/**
 * Who may be writing a file while it is read. `others`: other programs, into the very bytes that are read, so it is looked at
 * again afterwards. `nobody`: a root that only this extension writes, in whose queue the reader is; and there a
 * file is only ever replaced as a whole, so an open one keeps its bytes.
 */
export type Writers = 'others' | 'nobody';

/** `read` is told the bytes as they are read; `known` is a snapshot at hand. Throws what the API throws besides a changing or vanished file. */
export async function hashStable(
  handle: FileHandle,
  signal: AbortSignal,
  read?: (bytes: number) => void,
  known?: FileSnapshot,
  writers: Writers = 'others',
): Promise<HashedFile> {
  for (let tries = 0; tries < TRIES; tries++) {
    stopIfAborted(signal);
    try {
      const before = tries === 0 && known ? known : await handle.getFile();
      const sha256 = await hashSnapshot(before, signal, read);
      const after = writers === 'others' ? await handle.getFile() : before;
      if (sha256 !== null && after.size === before.size && after.lastModified === before.lastModified) {
        return { state: 'stable', sha256, size: before.size, mtime: before.lastModified };
      }
    } catch (thrown) {
      if (isNotFound(thrown)) return { state: 'gone' };
      if (!isUnreadable(thrown)) throw thrown;
    }
  }
  return { state: 'unstable' };
}

/**
 * Lowercase hex; null when it gave another number of bytes than its size. Throws `storage_unavailable` when Chrome gives no
 * more of it.
 */
export async function hashSnapshot(
  file: FileSnapshot,
  signal: AbortSignal,
  read?: (bytes: number) => void,
): Promise<string | null> {
  if (file.size > WHOLE_READ_BYTES) return bigReads(() => hashInPieces(file, signal, read));
  const bytes = await wholeOf(file, signal);
  read?.(bytes.byteLength);
  return bytes.byteLength === file.size ? hex(await crypto.subtle.digest('SHA-256', bytes)) : null;
}

/**
 * On a busy machine Chrome now and then stops giving the bytes of a file, without an error and for ever; read anew from there
 * it goes on (seen once in some GB). Twice as long is waited each time: a slow disk is no fault.
 */
const FIRST_PATIENCE_MS = 10_000;
const MOST_STALLS = 4;

class Stalls {
  #count = 0;

  get patience_ms(): number {
    return FIRST_PATIENCE_MS * 2 ** this.#count;
  }

  /** Throws when it is enough. */
  another(): void {
    this.#count += 1;
    if (this.#count < MOST_STALLS) return;
    throw new AgentError(
      'storage_unavailable',
      'The browser gives no more of a file in this Storage. Try again later.',
    );
  }

  none(): void {
    this.#count = 0;
  }
}

async function wholeOf(file: FileSnapshot, signal: AbortSignal): Promise<ArrayBuffer> {
  for (const stalls = new Stalls(); ; stalls.another()) {
    const bytes = await inTime(file.arrayBuffer(), stalls.patience_ms, signal);
    if (bytes !== null) return bytes;
  }
}

async function hashInPieces(
  file: FileSnapshot,
  signal: AbortSignal,
  read?: (bytes: number) => void,
): Promise<string | null> {
  const hasher = await createSHA256();
  let total = 0;
  for (const stalls = new Stalls(); ; stalls.another()) {
    const reader = new ByteReader((total === 0 ? file : file.slice(total)).stream(), {
      bytes: PIECE_BYTES,
      fill: true,
    });
    try {
      for (;;) {
        const piece = reader.read().then((bytes) => ({ bytes }));
        const come = await inTime(piece, stalls.patience_ms, signal);
        if (come === null) break;
        if (come.bytes === null) return total === file.size ? hasher.digest('hex') : null;
        stalls.none();
        hasher.update(come.bytes);
        total += come.bytes.length;
        read?.(come.bytes.length);
      }
    } catch (thrown) {
      stopIfAborted(signal);
      // Why a stream failed Chrome does not say: reading on from there does.
      await file.slice(total, total + 1).arrayBuffer();
      if (isNotFound(thrown)) throw thrown;
      return null;
    } finally {
      // Not waited for: one that has stalled may not let go either.
      reader.cancel().catch(() => undefined);
    }
  }
}
