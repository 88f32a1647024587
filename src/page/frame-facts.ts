/** Small questions about this document that the choice of a frame depends on. */
import type { PageContext } from './commands';
import { findAll } from './find-element';
import { focusedElement } from './tree';

/** How many elements here a selector fits. Throws `invalid_input` for a bad one. */
export function countMatches({ selector }: { selector: string }, _page: PageContext): { count: number } {
  return { count: findAll(selector).length };
}

export interface FocusFacts {
  /** Something in this document, or in a frame of it, has its focus. */
  some: boolean;
  /** It is a frame: what really has the focus is in there. */
  in_frame: boolean;
  /** The keyboard of the computer goes to this document now. */
  keyboard: boolean;
}

export function focusFacts(_args: Record<never, never>, _page: PageContext): FocusFacts {
  const focused = focusedElement();
  return {
    some: focused !== null,
    in_frame: focused instanceof HTMLIFrameElement || focused instanceof HTMLFrameElement,
    keyboard: document.hasFocus(),
  };
}
