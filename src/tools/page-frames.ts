/**
 * The text of a whole page from the texts of its documents: each gives its own, with holes where its frames are
 * shown, and the frames' texts go into the holes. A frame that may not be entered or does not answer is told of.
 */
import type { PageText } from '../page/snapshot';
import { AgentError } from '../protocol/errors';
import { isJsonObject } from '../protocol/json';
import { hasOwnAddress } from '../settings/url-rules';
import { type CallContext, callFrame, DocumentGone } from './page-call';
import { type ElementInput, frameOfElement } from './page-element';
import { type ClosedFrame, findPage, type PageFrame, type PageTarget } from './page-target';
import type { ToolContext } from './tool';

/** A frame that has not answered by then is left out. The page itself has the request's whole time. */
const FRAME_PATIENCE_MS = 5_000;
/** A page that is replaced while it is read is read anew. */
const MOST_TRIES = 4;

export interface WholeText {
  page: PageTarget;
  url: string;
  title: string;
  text: string;
  /** The addresses whose text is in it, as the rules are asked about them. */
  rule_urls: string[];
}

export interface TextWanted extends ElementInput {
  tab_id?: number;
}

/** Reads the page, or one element of it, by a command of the page agent. Throws as `findPage` and `callFrame` do. */
export async function wholeText(
  context: ToolContext,
  command: 'snapshot' | 'text',
  { tab_id, ...target }: TextWanted,
): Promise<WholeText> {
  for (let tries = 1; ; tries += 1) {
    const page = await findPage(context, tab_id);
    try {
      return await readPage(context, page, command, target);
    } catch (thrown) {
      // A ref or a place in a page that is gone is gone with it; a whole page is read as it is now.
      const again = thrown instanceof DocumentGone && target.ref === undefined && tries < MOST_TRIES;
      if (!again) throw thrown;
      context.signal.throwIfAborted();
    }
  }
}

async function readPage(
  context: ToolContext,
  page: PageTarget,
  command: 'snapshot' | 'text',
  target: ElementInput,
): Promise<WholeText> {
  const isWhole = target.ref === undefined && target.selector === undefined;
  const root = isWhole ? page.main : await frameOfElement(context, page, target);
  if (!root) throw new AgentError('element_not_found');
  const inside = framesInside(page, root);
  const [{ text, url, rule_urls: root_urls }, ...others] = await Promise.all([
    readFrame(context, page, root, command, target),
    ...inside.map((frame) => readInner(context, page, frame, command)),
  ]);
  if (text.content_type === 'application/pdf') {
    throw new AgentError(
      'page_restricted',
      "This tab shows a PDF in Chrome's own viewer, whose content extensions cannot read. screenshot shows what is visible of it.",
    );
  }
  const read = new Map<number, FrameText>();
  const rule_urls = [...root_urls];
  for (const [index, frame] of inside.entries()) {
    const found = others[index] ?? 'silent';
    read.set(frame.frame_id, typeof found === 'string' ? found : found.text);
    if (typeof found !== 'string') rule_urls.push(...found.rule_urls);
  }
  const merge = new Merge(page, read, command === 'snapshot' ? '  ' : '');
  return {
    page,
    url: root === page.main ? url : page.main.url,
    title: root === page.main ? text.title : '',
    text: merge.text(root, text),
    rule_urls,
  };
}

/** The open frames below `root`, through open ones only. */
function framesInside({ frames }: PageTarget, root: PageFrame): PageFrame[] {
  const inside = new Set([root.frame_id]);
  return frames.filter((frame) => {
    if (frame === root || !inside.has(frame.parent_frame_id)) return false;
    inside.add(frame.frame_id);
    return true;
  });
}

interface ReadFrame {
  text: PageText;
  url: string;
  rule_urls: string[];
}

async function readFrame(
  context: CallContext,
  page: PageTarget,
  frame: PageFrame,
  command: 'snapshot' | 'text',
  target: ElementInput,
  timeout_ms?: number,
): Promise<ReadFrame> {
  const options = timeout_ms === undefined ? {} : { timeout_ms };
  const { result, url, rule_urls } = await callFrame(context, page, frame, command, target, options);
  if (!isPageText(result)) throw new AgentError('page_script_failed');
  // It may have changed its address while it was read.
  if (hasOwnAddress(url) && !context.urls.mayEnter(url)) throw new AgentError('page_restricted');
  return { text: result, url, rule_urls };
}

/** What became of a frame that was to be read. */
type FrameText = PageText | 'silent' | 'closed' | 'gone' | 'large';

async function readInner(
  context: CallContext,
  page: PageTarget,
  frame: PageFrame,
  command: 'snapshot' | 'text',
): Promise<ReadFrame | Exclude<FrameText, PageText>> {
  try {
    const left = context.deadline - context.now();
    const patience = Math.min(FRAME_PATIENCE_MS, left / 2);
    return await readFrame(context, page, frame, command, {}, patience);
  } catch (thrown) {
    if (thrown instanceof DocumentGone) return 'gone';
    if (thrown instanceof AgentError && thrown.code === 'page_restricted') return 'closed';
    if (thrown instanceof AgentError && thrown.code === 'timeout' && !context.signal.aborted) return 'silent';
    if (thrown instanceof AgentError && thrown.code === 'page_script_failed') return 'silent';
    if (thrown instanceof AgentError && thrown.code === 'output_too_large') return 'large';
    throw thrown;
  }
}

const NOTES = {
  silent: 'it does not answer',
  closed: 'it is closed to the agent',
  gone: 'it was being replaced',
  large: 'it is too large to be read at once',
} as const;

class Merge {
  private readonly placed = new Set<number>();

  constructor(
    private readonly page: PageTarget,
    private readonly read: ReadonlyMap<number, FrameText>,
    /** One step of indentation. */
    private readonly step: string,
  ) {}

  /** The text of a document with those of its frames. */
  text(frame: PageFrame, { parts, holes }: PageText): string {
    const children = this.children(frame.frame_id);
    let merged = parts[0] ?? '';
    for (const [index, hole] of holes.entries()) {
      const child = this.childAt(children, hole);
      merged += child ? this.child(child, hole.depth) : '';
      merged += parts[index + 1] ?? '';
    }
    return merged;
  }

  private children(frame_id: number): (PageFrame | ClosedFrame)[] {
    const { frames, closed } = this.page;
    return [...frames, ...closed].filter(({ parent_frame_id }) => parent_frame_id === frame_id);
  }

  /** By its number, which both sides know; in shadow trees and where a frame told none, by address and order. */
  private childAt(
    children: readonly (PageFrame | ClosedFrame)[],
    { index, src }: PageText['holes'][number],
  ): PageFrame | ClosedFrame | undefined {
    const known = index >= 0 && children.find((child) => this.placeOf(child) === index);
    if (known) return this.take(known);
    // One that answered and has no number is in a shadow tree; one that did not answer may be anywhere.
    const possible = children.filter(
      (child) =>
        !this.placed.has(child.frame_id) &&
        (index === -1 ? (this.placeOf(child) ?? -1) === -1 : this.placeOf(child) === null),
    );
    return this.take(possible.find(({ url }) => src !== '' && url === src) ?? possible[0]);
  }

  private take<Frame extends PageFrame | ClosedFrame>(frame: Frame | undefined): Frame | undefined {
    if (frame) this.placed.add(frame.frame_id);
    return frame;
  }

  /** Null when it told nothing. */
  private placeOf({ frame_id }: ClosedFrame): number | null {
    const text = this.read.get(frame_id);
    return typeof text === 'object' ? text.place : null;
  }

  private child(child: PageFrame | ClosedFrame, depth: number): string {
    const text = this.read.get(child.frame_id) ?? 'closed';
    if (typeof text === 'string') {
      return this.step === '' ? `\n[a frame is left out: ${NOTES[text]}]` : ` [not read: ${NOTES[text]}]`;
    }
    const inner = this.text(child as PageFrame, text);
    if (inner === '') return '';
    const indent = this.step.repeat(depth);
    return `\n${indent}${inner.replaceAll('\n', `\n${indent}`)}`;
  }
}

function isPageText(value: unknown): value is PageText {
  if (!isJsonObject(value)) return false;
  const { parts, holes, title, content_type, place } = value;
  return (
    Array.isArray(parts) &&
    parts.every((part) => typeof part === 'string') &&
    Array.isArray(holes) &&
    holes.every(isHole) &&
    typeof title === 'string' &&
    typeof content_type === 'string' &&
    Number.isInteger(place)
  );
}

const DEEPEST = 1_000;

function isHole(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { depth, index, src } = value;
  return (
    Number.isInteger(index) &&
    typeof src === 'string' &&
    Number.isInteger(depth) &&
    (depth as number) >= 0 &&
    (depth as number) < DEEPEST
  );
}
