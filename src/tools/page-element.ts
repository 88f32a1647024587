/** Which document an action is meant for: that of a ref, the one in which a selector fits, or that with the focus. */
import { AgentError } from '../protocol/errors';
import { isJsonObject } from '../protocol/json';
import { callFrame, DocumentGone } from './page-call';
import { frameOfRef, type PageFrame, type PageTarget } from './page-target';
import type { ToolContext } from './tool';

export interface ElementInput {
  ref?: string;
  selector?: string;
}

/** A frame that does not answer so long is passed over when a selector is looked for. */
const FRAME_PATIENCE_MS = 1_500;

/**
 * The document of the element; null when the selector fits in none yet. A selector that fits in the main document
 * means it; else it must fit in one frame alone. Throws `element_not_found`, `invalid_input`.
 */
export async function frameOfElement(
  context: ToolContext,
  page: PageTarget,
  { ref, selector }: ElementInput,
): Promise<PageFrame | null> {
  if (ref !== undefined) return frameOfRef(page, ref);
  if (selector === undefined) return focusedFrame(context, page);
  if ((await count(context, page, page.main, selector)) > 0) return page.main;
  const inner = page.frames.filter((frame) => frame !== page.main);
  const counts = await Promise.all(
    inner.map((frame) => count(context, page, frame, selector, FRAME_PATIENCE_MS).catch(passOver)),
  );
  const fitting = inner.filter((_frame, index) => (counts[index] ?? 0) > 0);
  if (fitting.length > 1) {
    throw new AgentError(
      'invalid_input',
      `input.selector fits in ${fitting.length} frames of the page. Use a ref of page_snapshot.`,
    );
  }
  return fitting[0] ?? null;
}

async function count(
  context: ToolContext,
  page: PageTarget,
  frame: PageFrame,
  selector: string,
  timeout_ms?: number,
): Promise<number> {
  const options = timeout_ms === undefined ? {} : { timeout_ms };
  const { result } = await callFrame(context, page, frame, 'count_matches', { selector }, options);
  return isJsonObject(result) && typeof result.count === 'number' ? result.count : 0;
}

/** What goes wrong in one frame says nothing about the others. */
function passOver(thrown: unknown): number {
  if (thrown instanceof DocumentGone) return 0;
  if (thrown instanceof AgentError && thrown.code !== 'invalid_input') return 0;
  throw thrown;
}

/** The document in which keys end up: from the main one into the frame that has the focus, and on. */
async function focusedFrame(context: ToolContext, page: PageTarget): Promise<PageFrame> {
  let frame = page.main;
  for (;;) {
    const { frame: wanted } = await focusIn(context, page, frame);
    if (wanted === null) return frame;
    const inner = page.frames.filter(({ parent_frame_id }) => parent_frame_id === frame.frame_id);
    const facts = await Promise.all(
      inner.map((one) => focusIn(context, page, one, FRAME_PATIENCE_MS).catch(() => NO_FOCUS)),
    );
    const next = inner.find((_one, index) => wanted >= 0 && facts[index]?.place === wanted);
    if (!next) {
      throw new AgentError(
        'page_restricted',
        'A frame of the page has the focus that the agent may not enter or cannot tell from others. Name the element by ref or selector.',
      );
    }
    frame = next;
  }
}

interface FrameFocus {
  place: number;
  frame: number | null;
}

const NO_FOCUS: FrameFocus = { place: -1, frame: null };

async function focusIn(
  context: ToolContext,
  page: PageTarget,
  frame: PageFrame,
  timeout_ms?: number,
): Promise<FrameFocus> {
  const options = timeout_ms === undefined ? {} : { timeout_ms };
  const { result } = await callFrame(context, page, frame, 'focus_facts', {}, options);
  if (!isJsonObject(result)) return NO_FOCUS;
  const { place, frame: inner } = result;
  return {
    place: typeof place === 'number' ? place : -1,
    frame: typeof inner === 'number' ? inner : null,
  };
}

/**
 * What the documents around a frame have against a click at a point of it, as a sentence, or null. They scroll the
 * frame into view. A document that may not be entered is not asked.
 */
export async function whyFrameBlocked(
  context: ToolContext,
  page: PageTarget,
  frame: PageFrame,
  point: { x: number; y: number },
): Promise<string | null> {
  let inner = frame;
  let { x, y } = point;
  while (inner.parent_frame_id >= 0) {
    const outer = page.frames.find(({ frame_id }) => frame_id === inner.parent_frame_id);
    if (!outer) return null;
    const { place } = await focusIn(context, page, inner);
    const { result } = await callFrame(context, page, outer, 'frame_point', { place, x, y });
    if (!isJsonObject(result)) return null;
    if (result.free === false) return typeof result.why === 'string' ? result.why : null;
    if (typeof result.x !== 'number' || typeof result.y !== 'number') return null;
    ({ x, y } = { x: result.x, y: result.y });
    inner = outer;
  }
  return null;
}
