/** How the tools that read a page answer: the text, or its first piece and what continues it. */
import { AgentError } from '../protocol/errors';
import type { JsonObject } from '../protocol/json';
import { isOpenTab } from './open-tab';
import { type TextWanted, wholeText } from './page-frames';
import { findPage } from './page-target';
import { MAX_TEXT_BYTES, pieceEnd, TEXT_CURSOR_SCHEMA, type TextCursor } from './resumable-text';
import type { KeptText } from './text-shelf';
import type { ToolContext, ToolResult } from './tool';

export interface ReadingInput extends TextWanted {
  next?: TextCursor;
  max_bytes?: number;
}

export interface Reading {
  tool: string;
  command: 'snapshot' | 'text';
  /** The name of the text in the output. */
  field: string;
}

export const READING_SCHEMA: JsonObject = {
  type: 'object',
  additionalProperties: false,
  properties: {
    tab_id: {
      type: 'integer',
      minimum: 0,
      description: 'The tab to read. Default: the active tab of the window that was last focused.',
    },
    ref: {
      type: 'string',
      minLength: 1,
      maxLength: 32,
      description: 'Read only this element and what is in it: a ref from an earlier page_snapshot.',
    },
    selector: {
      type: 'string',
      minLength: 1,
      maxLength: 2_000,
      description: 'Read only the one element that this CSS selector fits. Not together with ref.',
    },
    next: {
      ...TEXT_CURSOR_SCHEMA,
      description:
        'The complete next object of the answer before: reads on where that one ended. Goes together with max_bytes only.',
    },
    max_bytes: {
      type: 'integer',
      minimum: 1_024,
      maximum: MAX_TEXT_BYTES,
      default: MAX_TEXT_BYTES,
      description: 'The most text in this answer, in UTF-8 bytes.',
    },
  },
};

/** Reads a page, or reads on. Throws `cursor_invalid` when the page that a cursor belongs to has changed. */
export async function readPageText(
  reading: Reading,
  input: ReadingInput,
  context: ToolContext,
): Promise<ToolResult> {
  const { next, max_bytes = MAX_TEXT_BYTES, ...wanted } = input;
  if (next) {
    refuseMixture(wanted);
    return readOn(reading, next, max_bytes, context);
  }
  if (wanted.ref !== undefined && wanted.selector !== undefined) {
    throw new AgentError('invalid_input', 'input: give either ref or selector, not both.');
  }
  const { page, url, title, text, rule_urls } = await wholeText(context, reading.command, wanted);
  const facts = { tab_id: page.tab_id, url, title: title || (await tabTitle(context, page.tab_id)) };
  const end = pieceEnd(text, 0, max_bytes);
  if (end === text.length) return { output: { ...facts, [reading.field]: text, next: null } };
  const { document_id } = page.main;
  const kept = await context.texts.keep({ ...facts, tool: reading.tool, document_id, rule_urls }, text);
  if (!kept) {
    throw new AgentError(
      'output_too_large',
      'The page is too large to be read at once. Read a part of it, by ref or selector.',
    );
  }
  return { output: { ...facts, [reading.field]: text.slice(0, end), next: cursor(kept, end) } };
}

/** '' when the tab has gone to a page that is closed. */
async function tabTitle(context: ToolContext, tab_id: number): Promise<string> {
  const tab = await context.browser.tabs.get(tab_id).catch(() => null);
  return tab && (await isOpenTab(context, tab)) ? (tab.title ?? '') : '';
}

function refuseMixture(wanted: TextWanted): void {
  const [other] = Object.keys(wanted);
  if (other !== undefined) {
    throw new AgentError(
      'invalid_input',
      `input.next says what is read on and goes together with max_bytes only, not with "${other}".`,
    );
  }
}

/** A cursor gives no right by itself: the page must still be there, and be allowed, as for a first read. */
async function readOn(
  { tool, field }: Reading,
  next: TextCursor,
  max_bytes: number,
  context: ToolContext,
): Promise<ToolResult> {
  const kept = await context.texts.find(next.text_id);
  const isSame =
    kept !== null &&
    kept.tool === tool &&
    kept.tab_id === next.tab_id &&
    kept.document_id === next.document_id &&
    next.offset < kept.length;
  if (!isSame) throw new AgentError('cursor_invalid');
  const page = await findPage(context, kept.tab_id).catch((thrown: unknown) => {
    throw isAbout(thrown, 'unavailable', 'navigation_failed') ? new AgentError('cursor_invalid') : thrown;
  });
  if (page.main.document_id !== kept.document_id) throw new AgentError('cursor_invalid');
  if (!kept.rule_urls.every((url) => context.urls.mayEnter(url))) throw new AgentError('page_restricted');
  // A character takes at least a byte.
  const text = await context.texts.read(kept, next.offset, max_bytes + 1);
  if (text === null) throw new AgentError('cursor_invalid');
  const end = pieceEnd(text, 0, max_bytes);
  const offset = next.offset + end;
  return {
    output: {
      tab_id: kept.tab_id,
      url: kept.url,
      title: kept.title,
      [field]: text.slice(0, end),
      next: offset < kept.length ? cursor(kept, offset) : null,
    },
  };
}

function isAbout(thrown: unknown, ...codes: string[]): boolean {
  return thrown instanceof AgentError && codes.includes(thrown.code);
}

function cursor({ text_id, tab_id, document_id }: KeptText, offset: number): TextCursor {
  return { text_id, tab_id, document_id, offset };
}
