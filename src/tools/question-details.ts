/**
 * What a call would do in particular, for the person who is asked whether it may run: the script, the address,
 * the path … (tools.md, Permission classes). It comes from the platform: it is cut, and what would not be seen, or
 * would make it look like something else, is written out. Tokens are in no list. Pure.
 */
import type { QuestionDetail, QuestionDetailKind } from '../platform/messages';
import type { JsonObject, JsonValue } from '../protocol/json';

/** More than anybody reads; what is left out is told. */
export const MOST_CHARACTERS = 10_000;

const STORAGE = ['storage_id', 'storage'] as const;
const SELECTOR = ['selector', 'element'] as const;

type Fields = readonly (readonly [field: string, kind: QuestionDetailKind])[];

/** By tool, in the order in which they are shown. */
const FIELDS: Readonly<Record<string, Fields>> = {
  tab_open: [['url', 'address']],
  tab_navigate: [
    ['url', 'address'],
    ['action', 'action'],
  ],
  page_click: [SELECTOR],
  page_fill: [SELECTOR, ['value', 'text']],
  page_select: [SELECTOR, ['value', 'option'], ['label', 'option'], ['index', 'option']],
  page_press: [SELECTOR, ['key', 'key'], ['text', 'text']],
  page_hover: [SELECTOR],
  page_scroll: [SELECTOR],
  page_evaluate: [SELECTOR, ['expression', 'script']],
  file_list: [STORAGE, ['path', 'path']],
  file_stat: [STORAGE, ['path', 'path']],
  file_read_text: [STORAGE, ['path', 'path']],
  file_read_image: [STORAGE, ['path', 'path']],
  file_write: [STORAGE, ['path', 'path'], ['text', 'content']],
  file_move: [STORAGE, ['path', 'path'], ['to', 'target']],
  file_remove: [STORAGE, ['path', 'path']],
  workspace_storage_path: [
    ['mode', 'action'],
    STORAGE,
    ['link_id', 'link'],
    ['path', 'path'],
    ['paths', 'path'],
  ],
  download_start: [
    ['url', 'address'],
    ['filename', 'path'],
  ],
  clipboard_write: [['text', 'content']],
  notify: [
    ['title', 'content'],
    ['message', 'content'],
  ],
};

/** What is typed into a field may be a password: the person has it shown. */
const CONCEALED: ReadonlySet<QuestionDetailKind> = new Set(['text']);

/** `secret` is shown to nobody. */
export function questionDetails(
  tool: string,
  input: JsonObject,
  secret: string | null = null,
): QuestionDetail[] {
  const fields = Object.hasOwn(FIELDS, tool) ? (FIELDS[tool] ?? []) : [];
  return fields.flatMap(([field, kind]) => {
    const given = Object.hasOwn(input, field) ? asText(input[field]) : null;
    if (given === null) return [];
    const text = secret ? given.replaceAll(secret, '…') : given;
    const characters = [...text];
    return [
      {
        kind,
        text: visibleText(characters.slice(0, MOST_CHARACTERS).join('')),
        left_out: Math.max(0, characters.length - MOST_CHARACTERS),
        concealed: CONCEALED.has(kind),
      },
    ];
  });
}

/** Lines stay lines; every other character that is not seen is written as its number. */
function visibleText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/gu, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`);
}

function asText(value: JsonValue | undefined): string | null {
  if (Array.isArray(value)) return value.map((one) => asText(one) ?? '').join('\n');
  return value === undefined || value === null || typeof value === 'object' ? null : String(value);
}
