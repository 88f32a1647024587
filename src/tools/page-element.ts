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
    const facts = await focusIn(context, page, frame);
    if (!facts.in_frame) return frame;
    const inner = page.frames.filter(({ parent_frame_id }) => parent_frame_id === frame.frame_id);
    const all = await Promise.all(
      inner.map((one) => focusIn(context, page, one, FRAME_PATIENCE_MS).catch(() => NO_FOCUS)),
    );
    const withKeyboard = inner.filter((_one, index) => all[index]?.keyboard);
    const withFocus = inner.filter((_one, index) => all[index]?.some);
    const chosen = withKeyboard.length === 1 ? withKeyboard : withFocus.length === 1 ? withFocus : inner;
    const [next] = chosen;
    if (chosen.length !== 1 || !next) {
      throw new AgentError(
        'invalid_input',
        'input: it is not clear which frame of the page has the focus. Name the element by ref or selector.',
      );
    }
    frame = next;
  }
}

const NO_FOCUS = { some: false, in_frame: false, keyboard: false };

async function focusIn(
  context: ToolContext,
  page: PageTarget,
  frame: PageFrame,
  timeout_ms?: number,
): Promise<typeof NO_FOCUS> {
  const options = timeout_ms === undefined ? {} : { timeout_ms };
  const { result } = await callFrame(context, page, frame, 'focus_facts', {}, options);
  if (!isJsonObject(result)) return NO_FOCUS;
  const { some, in_frame, keyboard } = result;
  return { some: some === true, in_frame: in_frame === true, keyboard: keyboard === true };
}
