/** Writes a stream into a file and verifies its size and hash on the way. Memory stays flat. */
import { createSHA256 } from 'hash-wasm';
import { cancellation, stopIfAborted } from './foreign-errors';
import { WHOLE_READ_BYTES } from './hash-file';
import type { DirectoryHandle, FileHandle, FileSnapshot, FileWriter } from './ports';
import { hex } from './tree-hash';

export interface Expected {
  size: number;
  sha256: string;
}

export interface Written {
  handle: FileHandle;
  /** Epoch ms. */
  mtime: number;
}

/** One call over the process boundary for that many bytes, whatever pieces the stream comes in. */
const WRITE_BYTES = 1024 * 1024;

/**
 * `source` is opened here and always closed. Resolves with the written file and its modification time (epoch ms), or null
 * when it did not have the expected size and hash: the file's content is then as it was before, or empty.
 */
export async function writeVerified(
  directory: DirectoryHandle,
  name: string,
  expected: Expected,
  source: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  written?: (bytes: number) => void,
): Promise<Written | null> {
  const reader = source.getReader();
  let writer: FileWriter | null = null;
  try {
    const handle = await directory.getFileHandle(name, { create: true });
    writer = await handle.createWritable();
    const found = await pump(reader, writer, expected.size, signal, written);
    if (found === expected.sha256) {
      await writer.close();
      writer = null;
      const file = await handle.getFile();
      // A full disk may write short without a word (chrome-facts.md).
      if (file.size === expected.size) return { handle, mtime: file.lastModified };
    }
    return null;
  } finally {
    await reader.cancel().catch(() => undefined);
    await writer?.abort().catch(() => undefined);
  }
}

/** The hash of what was written, or null as soon as there is another number of bytes than `size`. */
async function pump(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  writer: FileWriter,
  size: number,
  signal: AbortSignal,
  written?: (bytes: number) => void,
): Promise<string | null> {
  const hasher = size > WHOLE_READ_BYTES ? await createSHA256() : null;
  let total = 0;
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let digest: string | null = null;
  const flush = async (last: boolean) => {
    const bytes = concat(held, heldBytes);
    hasher?.update(bytes);
    if (last) digest = hasher ? hasher.digest('hex') : hex(await crypto.subtle.digest('SHA-256', bytes));
    if (bytes.length > 0) await writer.write(bytes);
    written?.(bytes.length);
    held = [];
    heldBytes = 0;
  };
  for (;;) {
    const { done, value } = await abortable(reader.read(), signal);
    if (done) break;
    total += value.length;
    if (total > size) return null;
    held.push(value);
    heldBytes += value.length;
    // A small file is held whole, so that one call hashes it.
    if (hasher && heldBytes >= WRITE_BYTES) await flush(false);
  }
  if (total !== size) return null;
  await flush(true);
  return digest;
}

function concat(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Also ends when a stream that hangs does not listen to the signal. */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  stopIfAborted(signal);
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(cancellation(signal));
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (stop) signal.removeEventListener('abort', stop);
  }
}

/** A snapshot's bytes as a stream of slices: reading ahead of the writer never happens. */
export function snapshotStream(file: FileSnapshot): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        if (at >= file.size) {
          controller.close();
          return;
        }
        const slice = file.slice(at, Math.min(at + WRITE_BYTES, file.size));
        const bytes = new Uint8Array(await slice.arrayBuffer());
        if (bytes.length === 0) {
          controller.close();
          return;
        }
        at += bytes.length;
        controller.enqueue(bytes);
      },
    },
    { highWaterMark: 0 },
  );
}
