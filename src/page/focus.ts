/**
 * Moves the focus inside the page. In a tab or window that is not in front Chrome moves it without telling the
 * page's scripts; they hear of it all the same, because nothing here brings the tab to the front.
 */
import { focusedElement, isWithin } from './tree';

/** Whether the element has the focus now. */
export function giveFocus(element: Element): boolean {
  const before = focusedElement();
  if (before === element) return true;
  // A page that is edited as a whole, as editors in frames are: it has the focus when nothing in it has.
  if (element === document.body) {
    if (before) dropFocus();
    document.body.focus({ preventScroll: true });
    return focusedElement() === null;
  }
  const heard = listen(() => (element as HTMLElement).focus({ preventScroll: true }));
  const after = focusedElement();
  if (after !== before && !heard) tellFocusMoved(before, after);
  return after !== null && isWithin(after, element);
}

/** Takes the focus from whatever has it. */
export function dropFocus(): void {
  const before = focusedElement();
  if (!before) return;
  const heard = listen(() => (before as HTMLElement).blur());
  if (!heard) tellFocusMoved(before, null);
}

/** Whether Chrome itself told the page about it. */
function listen(move: () => void): boolean {
  let heard = false;
  const hear = (): void => {
    heard = true;
  };
  const types = ['focus', 'blur'];
  for (const type of types) addEventListener(type, hear, true);
  try {
    move();
  } finally {
    for (const type of types) removeEventListener(type, hear, true);
  }
  return heard;
}

function tellFocusMoved(from: Element | null, to: Element | null): void {
  tell(from, 'blur', to, false);
  tell(from, 'focusout', to, true);
  tell(to, 'focus', from, false);
  tell(to, 'focusin', from, true);
}

function tell(element: Element | null, type: string, relatedTarget: Element | null, bubbles: boolean): void {
  element?.dispatchEvent(new FocusEvent(type, { relatedTarget, bubbles, composed: true, view: window }));
}
