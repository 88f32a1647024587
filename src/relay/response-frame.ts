/**
 * The `tool_response` as bytes (wire.md §4, §6): its text, whether it fits a frame, and how much binary
 * has room in it. Pure.
 */
import { ERROR_SENTENCES, type ErrorCode } from '../protocol/errors';
import type { BlobReference, Outcome, ToolResponseFrame } from '../protocol/frames';
import { isJsonObject, type JsonObject, utf8Length } from '../protocol/json';
import { MAX_FRAME_BYTES } from '../protocol/limits';

export interface ResponseFrame {
  text: string;
  /** UTF-8 bytes of `text`. */
  bytes: number;
  status: Outcome['status'];
}

/** The answer with that code and its sentence from the table, or a better sentence. */
export function errorOutcome(code: ErrorCode, sentence: string = ERROR_SENTENCES[code]): Outcome {
  return { status: 'error', output: null, error: sentence, error_code: code };
}

/** Reads the JSON text of an `Outcome` as the router sends it; whatever is none becomes `internal_error`. */
export function readOutcome(text: string): Outcome {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value) && (value.status === 'ok' || value.status === 'error')) {
      return value as unknown as Outcome;
    }
  } catch {
    return errorOutcome('internal_error');
  }
  return errorOutcome('internal_error');
}

/** The frame, or `output_too_large` in its place when it would exceed 8 MiB. */
export function responseFrame(id: string, outcome: Outcome, duration_ms: number): ResponseFrame {
  const text = frameText(id, outcome, duration_ms);
  const bytes = utf8Length(text);
  if (bytes <= MAX_FRAME_BYTES) return { text, bytes, status: outcome.status };
  return responseFrame(id, errorOutcome('output_too_large'), duration_ms);
}

function frameText(id: string, outcome: Outcome, duration_ms: number): string {
  const frame: ToolResponseFrame = { type: 'tool_response', id, ...outcome, duration_ms };
  return JSON.stringify(frame);
}

/**
 * How many raw bytes can still be placed inline as `{field}_base64` in this output. Negative when the
 * frame is too large without them.
 */
export function inlineRoom(id: string, output: JsonObject, place: Place, duration_ms: number): number {
  const outcome: Outcome = { status: 'ok', output: withInline(output, place, ''), error: null };
  const free = MAX_FRAME_BYTES - utf8Length(frameText(id, outcome, duration_ms));
  return Math.floor(free / 4) * 3;
}

/** Where binary stands in an output: as `field`, in the output itself or in the object that is its field `inside`. */
export interface Place {
  field: string;
  inside?: string;
}

export function withInline(output: JsonObject, place: Place, base64: string): JsonObject {
  return withFields(output, place, () => ({ [`${place.field}_base64`]: base64 }));
}

export function withReference(output: JsonObject, place: Place, reference: BlobReference): JsonObject {
  return withFields(output, place, () => ({ [`${place.field}_blob`]: { ...reference } }));
}

/** The output with more fields around the place. */
export function withFields(
  output: JsonObject,
  { inside }: Place,
  fields: (around: JsonObject) => JsonObject,
): JsonObject {
  if (inside === undefined) return { ...output, ...fields(output) };
  const around = output[inside];
  const object = isJsonObject(around) ? around : {};
  return { ...output, [inside]: { ...object, ...fields(object) } };
}

/** True for an id whose every frame fits: no answer could leave for a larger one. */
export function isAnswerable(id: string): boolean {
  return id.length <= MAX_ID_LENGTH;
}

/** Every UTF-16 code unit becomes at most six bytes of JSON; the rest of a frame needs far less than 1 MiB. */
const MAX_ID_LENGTH = MAX_FRAME_BYTES / 8;
