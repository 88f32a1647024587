/**
 * Makes the router's answer into the one frame that leaves (wire.md §6, §8): binary of more than
 * `max_inline_bytes` is uploaded first; what cannot be uploaded goes inline, a picture scaled down if need
 * be. Knows no socket; bytes, upload and shrinking are passed in.
 */
import type { AnswerMessage, AttachmentFacts } from '../platform/messages';
import { AgentError } from '../protocol/errors';
import type { BlobReference } from '../protocol/frames';
import type { JsonObject } from '../protocol/json';
import type { ShrunkPicture } from './picture-shrink';
import {
  errorOutcome,
  inlineRoom,
  type Place,
  type ResponseFrame,
  readOutcome,
  responseFrame,
  withFields,
  withInline,
  withReference,
} from './response-frame';

export interface ComposeParts {
  /** The bytes of one attachment, or undefined when they are no longer kept. */
  readBody(bodyKey: string, field: string): Promise<Blob | undefined>;
  /** Null when there is no address for it, or the upload failed. */
  upload(attachment: AttachmentFacts, blob: Blob): Promise<BlobReference | null>;
  /** The bytes as base64. */
  base64(blob: Blob): Promise<string>;
  /** Null when it cannot be made to fit. */
  shrink(blob: Blob, maxBytes: number): Promise<ShrunkPicture | null>;
}

/** Never rejects: what cannot be sent is answered with the code that says so. */
export async function composeAnswer(
  id: string,
  answer: AnswerMessage,
  maxInlineBytes: number,
  parts: ComposeParts,
): Promise<ResponseFrame> {
  const { duration_ms } = answer;
  try {
    const outcome = readOutcome(answer.outcome);
    if (outcome.status === 'error') return responseFrame(id, outcome, duration_ms);
    let output: JsonObject | null = outcome.output;
    for (const attachment of answer.attachments) {
      const blob = await bytesOf(answer, attachment, parts);
      output = await place(id, output ?? {}, attachment, blob, { duration_ms, maxInlineBytes, parts });
    }
    return responseFrame(id, { status: 'ok', output, error: null }, duration_ms);
  } catch (thrown) {
    const code = thrown instanceof AgentError ? thrown.code : 'internal_error';
    return responseFrame(id, errorOutcome(code), duration_ms);
  }
}

async function bytesOf(
  { body_key }: AnswerMessage,
  { field }: AttachmentFacts,
  parts: ComposeParts,
): Promise<Blob> {
  const blob = body_key === null ? undefined : await parts.readBody(body_key, field);
  if (!blob) throw new AgentError('result_expired');
  return blob;
}

async function place(
  id: string,
  output: JsonObject,
  attachment: AttachmentFacts,
  blob: Blob,
  {
    duration_ms,
    maxInlineBytes,
    parts,
  }: { duration_ms: number; maxInlineBytes: number; parts: ComposeParts },
): Promise<JsonObject> {
  const { mime_type } = attachment;
  const room = inlineRoom(id, output, attachment, duration_ms);
  if (room < 0) throw new AgentError('output_too_large');
  if (blob.size > maxInlineBytes || blob.size > room) {
    const reference = await parts.upload(attachment, blob);
    if (reference) return withReference(output, attachment, reference);
  }
  if (blob.size <= room) return withInline(output, attachment, await parts.base64(blob));
  const smaller = mime_type.startsWith('image/') ? await parts.shrink(blob, room - FACTS_ROOM) : null;
  if (!smaller) throw new AgentError('blob_upload_failed');
  return withInline(withTrueFacts(output, attachment, smaller), attachment, await parts.base64(smaller.blob));
}

/** The facts of a smaller picture may be longer texts than those of the original. */
const FACTS_ROOM = 1_024;

/** What the output says about the picture, corrected for the one that is sent. */
function withTrueFacts(output: JsonObject, place: Place, { blob, width, height }: ShrunkPicture): JsonObject {
  const facts: JsonObject = { width, height, mime_type: blob.type };
  return withFields(output, place, (around) =>
    Object.fromEntries(Object.entries(facts).filter(([fact]) => Object.hasOwn(around, fact))),
  );
}
