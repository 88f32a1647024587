/**
 * Makes the router's answer into the one frame that leaves (wire.md §6, §8): binary of more than
 * `max_inline_bytes` is uploaded first; what cannot be uploaded goes inline, a picture scaled down if need
 * be. Knows no socket; bytes, upload and shrinking are passed in.
 */
import type { AnswerMessage, AttachmentFacts } from '../platform/messages';
import { asBlob, type Content, contentSize } from '../protocol/content';
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
  readBody(bodyKey: string, field: string): Promise<Content | undefined>;
  /** Null when there is no address for it, or the upload failed. */
  upload(attachment: AttachmentFacts, blob: Blob): Promise<BlobReference | null>;
  /** The bytes as base64. */
  base64(content: Content): string | Promise<string>;
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
      const content = await bytesOf(answer, attachment, parts);
      output = await place(id, output ?? {}, attachment, content, { duration_ms, maxInlineBytes, parts });
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
): Promise<Content> {
  const content = body_key === null ? undefined : await parts.readBody(body_key, field);
  if (!content) throw new AgentError('result_expired');
  return content;
}

async function place(
  id: string,
  output: JsonObject,
  attachment: AttachmentFacts,
  content: Content,
  {
    duration_ms,
    maxInlineBytes,
    parts,
  }: { duration_ms: number; maxInlineBytes: number; parts: ComposeParts },
): Promise<JsonObject> {
  const { mime_type } = attachment;
  const room = inlineRoom(id, output, attachment, duration_ms);
  if (room < 0) throw new AgentError('output_too_large');
  const size = contentSize(content);
  if (size > maxInlineBytes || size > room) {
    const reference = await parts.upload(attachment, asBlob(content, mime_type));
    if (reference) return withReference(output, attachment, reference);
  }
  if (size <= room) return withInline(output, attachment, await parts.base64(content));
  const smaller = mime_type.startsWith('image/')
    ? await parts.shrink(asBlob(content, mime_type), room - FACTS_ROOM)
    : null;
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
