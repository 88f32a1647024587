/**
 * A text that is longer than one answer: where it is cut, and what continues it (os-interface.md, Resumable
 * reads). Pure.
 */
import type { JsonObject } from '../protocol/json';

/** The most text in one answer, in UTF-8 bytes. */
export const MAX_TEXT_BYTES = 256 * 1024;
/** A line break so near the end of a piece is where it is cut. Counted in UTF-16 units. */
const NEAR_THE_END = 2_048;

/**
 * Where the piece of `text` that starts at `start` ends: at most `max_bytes` of UTF-8 further on, at a character
 * boundary, behind a line where one ends near. At least one character further, unless the text is at its end.
 */
export function pieceEnd(text: string, start: number, max_bytes: number): number {
  let bytes = 0;
  let end = start;
  while (end < text.length) {
    const point = text.codePointAt(end) as number;
    const size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (bytes + size > max_bytes && end > start) break;
    bytes += size;
    end += point > 0xffff ? 2 : 1;
  }
  if (end === text.length) return end;
  const lineEnd = text.lastIndexOf('\n', end - 1) + 1;
  return lineEnd > start && end - lineEnd <= Math.min(NEAR_THE_END, (end - start) / 2) ? lineEnd : end;
}

/** What continues a text that was taken once: which one, of which document, from where. */
export interface TextCursor extends JsonObject {
  text_id: string;
  tab_id: number;
  document_id: string;
  offset: number;
}

/** JSON Schema of a cursor. A caller passes it back as it was given. */
export const TEXT_CURSOR_SCHEMA: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['text_id', 'tab_id', 'document_id', 'offset'],
  properties: {
    text_id: { type: 'string', minLength: 1, maxLength: 64, description: 'Which text is read on.' },
    tab_id: { type: 'integer', minimum: 0, description: 'The tab it was taken from.' },
    document_id: { type: 'string', minLength: 1, maxLength: 64, description: 'The page it was taken from.' },
    offset: { type: 'integer', minimum: 1, description: 'Where the text before ended.' },
  },
};
