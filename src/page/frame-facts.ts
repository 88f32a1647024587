/** Small questions about this document that the choice of a frame depends on. */
import { whyHidden } from './actionability';
import type { PageContext } from './commands';
import { describeElement } from './describe-element';
import { findAll } from './find-element';
import { framePlaces, isFrame, ownPlace } from './frame-places';
import { boxOf, elementAt, focusedElement, openRoots } from './tree';

/** How many elements here a selector fits. Throws `invalid_input` for a bad one. */
export function countMatches({ selector }: { selector: string }, _page: PageContext): { count: number } {
  return { count: findAll(selector).length };
}

export interface FocusFacts {
  /** This document's number among its parent's frames; -1 when it is not known. */
  place: number;
  /** The number of the frame that has the focus here: what really has it is in there. Null: none. */
  frame: number | null;
}

export function focusFacts(_args: Record<never, never>, _page: PageContext): FocusFacts {
  const focused = focusedElement();
  return {
    place: ownPlace(),
    frame: focused && isFrame(focused) ? framePlaces()(focused).index : null,
  };
}

export interface FramePointArgs {
  /** The number of the frame among this document's. */
  place: number;
  /** A point in it. */
  x: number;
  y: number;
}

export type FramePoint =
  /** The same point in this document. */
  | { free: true; x: number; y: number }
  /** A sentence for the caller. */
  | { free: false; why: string };

/** Whether a point of a frame can be clicked, as far as this document, around it, is concerned. */
export function framePoint({ place, x, y }: FramePointArgs, _page: PageContext): FramePoint {
  const frames = openRoots().flatMap((root) => [...root.querySelectorAll('iframe, frame, object')]);
  const placeOf = framePlaces();
  const frame = place < 0 ? undefined : frames.find((one) => placeOf(one).index === place);
  // Frames in shadow roots have no number: nothing is known against them.
  if (!frame) return { free: true, x, y };
  const inside = (): { x: number; y: number } => {
    const box = boxOf(frame);
    const { offsetWidth = 0, offsetHeight = 0 } = frame as Partial<HTMLElement>;
    const { paddingLeft, paddingTop } = getComputedStyle(frame);
    // As large as it is shown: a page may scale the frame, and with it what is in it.
    const across = offsetWidth > 0 ? box.width / offsetWidth : 1;
    const down = offsetHeight > 0 ? box.height / offsetHeight : 1;
    return {
      x: box.x + (frame.clientLeft + (Number.parseFloat(paddingLeft) || 0) + x) * across,
      y: box.y + (frame.clientTop + (Number.parseFloat(paddingTop) || 0) + y) * down,
    };
  };
  const hidden = whyHidden(frame);
  if (hidden)
    return {
      free: false,
      why: `The frame of the element, ${describeElement(frame)}, is not visible: ${hidden}.`,
    };
  let covering: Element | null = null;
  for (const block of [null, 'center', 'end', 'start'] as const) {
    if (block) bringIntoView(inside().y, block);
    const point = inside();
    const hit = elementAt(point.x, point.y);
    if (hit === frame) return { free: true, ...point };
    covering ??= hit;
  }
  if (!covering)
    return { free: false, why: 'The element cannot be scrolled into view: its frame is out of reach.' };
  return {
    free: false,
    why: `The element is covered by ${describeElement(covering)}, which lies over its frame. Close or scroll away what covers it.`,
  };
}

function bringIntoView(y: number, block: 'center' | 'end' | 'start'): void {
  const share = { start: 0.1, center: 0.5, end: 0.9 }[block];
  scrollBy({ top: y - innerHeight * share, behavior: 'instant' });
}
