/**
 * The upload of one binary (wire.md §6): three attempts within the time there is, the answer checked
 * against what was sent. Knows neither frames nor the browser; `fetch`, hash and clock are passed in.
 */
import type { BlobReference } from '../protocol/frames';
import { isJsonObject } from '../protocol/json';
import { BLOB_UPLOAD_ATTEMPTS } from '../protocol/limits';
import { type Clock, sleep } from './clock';

/** The wait before the second attempt when the relay names none; doubled before the third. [ours] */
const RETRY_FIRST_MS = 500;

export interface UploadParts {
  fetch: typeof fetch;
  clock: Clock;
  /** In [0, 1). */
  random(): number;
  /** Lower-case hexadecimal SHA-256. */
  sha256(bytes: ArrayBuffer): Promise<string>;
}

export interface Upload {
  /** From `blobAddress`. */
  address: string;
  token: string;
  name: string;
  mime_type: string;
  blob: Blob;
  /** Milliseconds from now in which the upload must have succeeded. */
  within_ms: number;
  /** Aborts when nobody may send it any more: the token is not used again from then on. */
  signal?: AbortSignal;
}

type Attempt = { done: BlobReference | null } | { again_after_ms: number | null };

/** The checked reference, or null when the upload failed in whatever way. Never rejects. */
export async function uploadBlob(upload: Upload, parts: UploadParts): Promise<BlobReference | null> {
  const { clock } = parts;
  const end = clock.monotonic() + upload.within_ms;
  const time = new AbortController();
  const cutOff = sleep(clock, upload.within_ms, time.signal).then(() => time.abort());
  const unwanted = (): void => time.abort();
  upload.signal?.addEventListener('abort', unwanted);
  try {
    if (upload.signal?.aborted) return null;
    const uploaded = attempts(upload, parts, end, time.signal);
    return await Promise.race([uploaded, cutOff.then(() => null)]);
  } catch {
    return null;
  } finally {
    time.abort();
    upload.signal?.removeEventListener('abort', unwanted);
  }
}

async function attempts(
  upload: Upload,
  parts: UploadParts,
  end: number,
  signal: AbortSignal,
): Promise<BlobReference | null> {
  const wanted: BlobReference = {
    name: upload.name,
    mime_type: upload.mime_type,
    size: upload.blob.size,
    sha256: await parts.sha256(await upload.blob.arrayBuffer()),
  };
  for (let number = 1; !signal.aborted; number += 1) {
    const attempt = await attemptOnce(upload, wanted, parts, signal);
    if ('done' in attempt) return attempt.done;
    if (number >= BLOB_UPLOAD_ATTEMPTS) return null;
    const pause = attempt.again_after_ms ?? RETRY_FIRST_MS * 2 ** (number - 1) * (1 + parts.random() / 2);
    // A wait that leaves no time for another attempt is not worth its while.
    if (parts.clock.monotonic() + pause >= end) return null;
    await sleep(parts.clock, pause, signal);
  }
  return null;
}

async function attemptOnce(
  { address, token, mime_type, blob }: Upload,
  wanted: BlobReference,
  parts: UploadParts,
  signal: AbortSignal,
): Promise<Attempt> {
  // Taken out of its object: the browser's fetch must not be called as a method.
  const { fetch } = parts;
  try {
    const response = await fetch(address, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': mime_type },
      body: blob,
      // A redirect is seen, not followed: the token goes nowhere else.
      redirect: 'manual',
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
      signal,
    });
    if (response.status === 429 || response.status >= 500) {
      return { again_after_ms: retryAfter(response.headers.get('retry-after'), parts.clock.wall()) };
    }
    if (!response.ok) return { done: null };
    return { done: matches(await response.text(), wanted) ? wanted : null };
  } catch {
    return { again_after_ms: null };
  }
}

/** `Retry-After` in milliseconds from now: seconds or a date; null when there is none to understand. */
export function retryAfter(header: string | null, wall: number): number | null {
  if (header === null) return null;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - wall);
}

function matches(body: string, wanted: BlobReference): boolean {
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    return false;
  }
  return (
    isJsonObject(answer) &&
    answer.name === wanted.name &&
    answer.mime_type === wanted.mime_type &&
    answer.size === wanted.size &&
    typeof answer.sha256 === 'string' &&
    answer.sha256.toLowerCase() === wanted.sha256
  );
}
