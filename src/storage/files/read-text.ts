/**
 * Reading a text file in pieces that fit together exactly (os-interface.md, Resumable reads). UTF-8 with or without BOM,
 * UTF-16 with BOM; each piece ends between two characters. Sees a snapshot of the file; knows no path and no seal.
 */
import { AgentError } from '../../protocol/errors';
import type { FileSnapshot } from '../ports';

/** os-interface.md: text of one answer, in UTF-8 bytes. */
export const TEXT_PIECE_BYTES = 256 * 1024;

export type TextEncodingName = 'utf-8' | 'utf-16le' | 'utf-16be';

/** Where the next piece begins, and of what: a file that is no longer this one must not be continued. */
export interface TextPlace {
  /** Bytes from the beginning of the file. */
  offset: number;
  size: number;
  /** Epoch ms. */
  modified_at: number;
}

export interface TextPiece {
  text: string;
  encoding: TextEncodingName;
  next: TextPlace | null;
}

interface Mark {
  encoding: TextEncodingName;
  /** Bytes of the byte order mark. */
  length: number;
}

/**
 * The piece at `place`, or the first one. At most `limit` bytes as UTF-8, but at least one character. Throws
 * `not_a_text_file`, and `cursor_invalid` when the file is not the one that `place` speaks of.
 */
export async function readTextPiece(
  file: FileSnapshot,
  place: TextPlace | null,
  limit = TEXT_PIECE_BYTES,
): Promise<TextPiece> {
  const { size, lastModified } = file;
  if (place && (place.size !== size || place.modified_at !== lastModified)) throw changed();
  const mark = markOf(await bytesOf(file, 0, 3));
  const unit = mark.encoding === 'utf-8' ? 1 : 2;
  const start = place?.offset ?? mark.length;
  if (start < mark.length || start > size || (start - mark.length) % unit !== 0) throw invalid();
  if ((size - mark.length) % unit !== 0) throw notText();
  const bytes = await bytesOf(file, start, start + sourceBytes(unit, limit));
  const isLast = start + bytes.length === size;
  const end = isLast ? bytes.length : boundary(bytes, mark.encoding);
  if (place && !isCharacterStart(bytes, mark.encoding)) throw invalid();
  const text = decode(bytes.subarray(0, end), mark.encoding);
  const offset = start + end;
  return {
    text,
    encoding: mark.encoding,
    next: offset < size ? { offset, size, modified_at: lastModified } : null,
  };
}

/** A character of UTF-16 is at most 3 bytes of UTF-8 per 2 bytes; a character of either has at most 4 bytes. */
function sourceBytes(unit: number, limit: number): number {
  const bytes = unit === 1 ? limit : Math.floor(limit / 3) * 2;
  return Math.max(bytes, 4);
}

function markOf(head: Uint8Array): Mark {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return { encoding: 'utf-8', length: 3 };
  if (head[0] === 0xff && head[1] === 0xfe) return { encoding: 'utf-16le', length: 2 };
  if (head[0] === 0xfe && head[1] === 0xff) return { encoding: 'utf-16be', length: 2 };
  return { encoding: 'utf-8', length: 0 };
}

/** How many of the bytes are whole characters; not 0 where at least 4 bytes are given. */
function boundary(bytes: Uint8Array, encoding: TextEncodingName): number {
  const { length } = bytes;
  if (encoding !== 'utf-8') {
    const whole = length - (length % 2);
    return isHighSurrogate(bytes, whole - 2, encoding) ? whole - 2 : whole;
  }
  let lead = length - 1;
  while (lead > 0 && length - lead < 4 && isContinuation(bytes[lead])) lead -= 1;
  return length - lead >= lengthOf(bytes[lead] ?? 0) ? length : lead;
}

function isCharacterStart(bytes: Uint8Array, encoding: TextEncodingName): boolean {
  if (bytes.length === 0) return true;
  return encoding === 'utf-8' ? !isContinuation(bytes[0]) : !isLowSurrogate(bytes, encoding);
}

function isContinuation(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Bytes of the UTF-8 character that begins with this one. */
function lengthOf(lead: number): number {
  if (lead >= 0xf0) return 4;
  if (lead >= 0xe0) return 3;
  return lead >= 0xc0 ? 2 : 1;
}

function unitAt(bytes: Uint8Array, at: number, encoding: TextEncodingName): number {
  const [low = 0, high = 0] = [bytes[at], bytes[at + 1]];
  return encoding === 'utf-16le' ? low | (high << 8) : high | (low << 8);
}

function isHighSurrogate(bytes: Uint8Array, at: number, encoding: TextEncodingName): boolean {
  return at >= 0 && (unitAt(bytes, at, encoding) & 0xfc00) === 0xd800;
}

function isLowSurrogate(bytes: Uint8Array, encoding: TextEncodingName): boolean {
  return (unitAt(bytes, 0, encoding) & 0xfc00) === 0xdc00;
}

function decode(bytes: Uint8Array, encoding: TextEncodingName): string {
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw notText();
  }
}

async function bytesOf(file: FileSnapshot, from: number, to: number): Promise<Uint8Array> {
  const slice = file.slice(from, Math.min(to, file.size));
  const bytes = new Uint8Array(await slice.arrayBuffer());
  if (bytes.length !== slice.size) throw changed();
  return bytes;
}

function changed(): AgentError {
  return new AgentError('cursor_invalid', 'The file changed since the last piece: read it from the start.');
}

function invalid(): AgentError {
  return new AgentError('cursor_invalid', 'next is not what the last answer gave: read from the start.');
}

function notText(): AgentError {
  return new AgentError('not_a_text_file');
}
