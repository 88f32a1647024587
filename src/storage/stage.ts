/**
 * Downloads content into the temp folder and verifies it there, before anything of the tree is touched
 * (storage.md, place_path; case 13). Over handles and transport.
 */
import pLimit from 'p-limit';
import { AgentError } from '../protocol/errors';
import { DOWNLOAD_PART_BYTES } from './download-stream';
import type { DirectoryHandle, Transport } from './ports';
import { type Expected, type Written, writeVerified } from './write-file';

const WRITES_IN_FLIGHT = 16;
/** Each takes a large buffer, and one fills the line. */
const LARGE_WRITES_IN_FLIGHT = 2;
const largeWrites = pLimit(LARGE_WRITES_IN_FLIGHT);
/** storage-transport.md: a short or wrong body is downloaded again once. */
const DOWNLOADS = 2;

export interface Wanted extends Expected {
  /** Its name in the temp folder. */
  temp: string;
}

/** Resolves with the files by their names in the temp folder. */
export async function stage(
  wanted: readonly Wanted[],
  folder: DirectoryHandle,
  transport: Pick<Transport, 'download'>,
  signal: AbortSignal,
  received: (bytes: number) => void,
): Promise<Map<string, Written>> {
  const limit = pLimit(WRITES_IN_FLIGHT);
  const staged = new Map<string, Written>();
  const stop = new AbortController();
  let failure: { thrown: unknown } | null = null;
  const both = AbortSignal.any([signal, stop.signal]);
  const work = wanted.map((file) =>
    limit(async () => {
      if (stop.signal.aborted) return;
      try {
        const work = () => download(file, folder, transport, both, received);
        staged.set(file.temp, await (file.size > DOWNLOAD_PART_BYTES ? largeWrites(work) : work()));
      } catch (thrown) {
        failure ??= { thrown };
        stop.abort();
      }
    }),
  );
  // Nobody may still be writing into the temp folder when the undoing starts.
  await Promise.all(work);
  rethrow(failure);
  return staged;
}

function rethrow(failure: { thrown: unknown } | null): void {
  if (failure) throw failure.thrown;
}

async function download(
  file: Wanted,
  folder: DirectoryHandle,
  transport: Pick<Transport, 'download'>,
  signal: AbortSignal,
  received: (bytes: number) => void,
): Promise<Written> {
  for (let tries = 0; tries < DOWNLOADS; tries++) {
    const source = file.size === 0 ? nothing() : await transport.download(file.sha256, 0, signal, file.size);
    const written = await writeVerified(folder, file.temp, file, source, signal, received);
    if (written !== null) return written;
  }
  throw new AgentError('storage_hash_mismatch');
}

function nothing(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}
