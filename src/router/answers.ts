/**
 * Answers as the ledger keeps them and the relay host sends them: the one place where an outcome becomes
 * JSON text. Pure.
 */
import type { AnswerMessage, AttachmentFacts } from '../platform/messages';
import { type AnswerBody, contentSize } from '../protocol/content';
import { ERROR_SENTENCES, type ErrorCode } from '../protocol/errors';
import type { Outcome } from '../protocol/frames';
import { utf8Length } from '../protocol/json';
import { MAX_FRAME_BYTES } from '../protocol/limits';
import type { Attachment, ToolResult } from '../tools/tool';

/** An answer, and what the activity says of it. */
export interface Answer {
  message: AnswerMessage;
  /** What is stored under the message's `body_key`; null without attachments. */
  body: AnswerBody | null;
  outcome: 'ok' | ErrorCode;
}

export function errorAnswer(
  code: ErrorCode,
  sentence: string = ERROR_SENTENCES[code],
  duration_ms = 0,
): Answer {
  const outcome: Outcome = {
    status: 'error',
    output: null,
    // A sentence is never empty on the wire.
    error: sentence || ERROR_SENTENCES[code],
    error_code: code,
  };
  return {
    message: { outcome: JSON.stringify(outcome), duration_ms, attachments: [], body_key: null },
    body: null,
    outcome: code,
  };
}

/**
 * The answer of a tool that succeeded, its attachments to be stored under `body_key`. An output that JSON
 * cannot hold is `internal_error`; one that no frame could hold is `output_too_large` (wire.md §6).
 */
export function okAnswer(
  { output, attachments = [] }: ToolResult,
  body_key: () => string,
  duration_ms: number,
): Answer {
  let text: string | undefined;
  try {
    text = JSON.stringify(output);
  } catch {
    text = undefined;
  }
  if (!text?.startsWith('{')) return errorAnswer('internal_error', undefined, duration_ms);
  if (isLongerThan(text, MAX_FRAME_BYTES)) return errorAnswer('output_too_large', undefined, duration_ms);
  return {
    message: {
      outcome: `{"status":"ok","output":${text},"error":null}`,
      duration_ms,
      attachments: attachments.map(factsOf),
      body_key: attachments.length > 0 ? body_key() : null,
    },
    body:
      attachments.length > 0
        ? Object.fromEntries(attachments.map(({ field, content }) => [field, content]))
        : null,
    outcome: 'ok',
  };
}

function factsOf({ field, mime_type, content, inside }: Attachment): AttachmentFacts {
  const facts = { field, mime_type, size: contentSize(content) };
  return inside === undefined ? facts : { ...facts, inside };
}

/** What an answer takes in the stores, in bytes. */
export function answerBytes(message: AnswerMessage): number {
  return message.attachments.reduce((sum, { size }) => sum + size, utf8Length(message.outcome));
}

/** Whether `text` has more UTF-8 bytes than `limit`; encodes only where that is in doubt. */
function isLongerThan(text: string, limit: number): boolean {
  if (text.length > limit) return true;
  return text.length * 3 > limit && utf8Length(text) > limit;
}
