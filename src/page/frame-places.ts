/**
 * Which child frame is which: a frame finds its number among its parent's frames, and the parent finds the
 * element that shows the frame of a number. Both may ask this across origins. Frames in shadow trees have none.
 */

/** This document's number in its parent; -1 for the main document and in a shadow tree. */
export function ownPlace(): number {
  if (window.parent === window) return -1;
  for (let index = 0; index < window.parent.length; index += 1) {
    if (window.parent[index] === window.self) return index;
  }
  return -1;
}

export interface FramePlace {
  /** The number among the document's frames; -1 in a shadow tree. */
  index: number;
  /** The address the element asks for, for when the number is not known. Empty when it names none. */
  src: string;
}

const contentWindows = [HTMLIFrameElement, HTMLFrameElement, HTMLObjectElement].map(
  ({ prototype }) => Object.getOwnPropertyDescriptor(prototype, 'contentWindow')?.get,
);

/** The place of what an element of this document shows. */
export function framePlaces(): (element: Element) => FramePlace {
  const indexes = new Map<unknown, number>();
  for (let index = 0; index < window.length; index += 1) indexes.set(window[index], index);
  return (element) => {
    const shown = contentWindow(element);
    return { index: indexes.get(shown) ?? -1, src: sourceOf(element) };
  };
}

/** True for an element that can show a document of its own. */
export function isFrame(element: Element): boolean {
  return contentWindow(element) !== null;
}

function contentWindow(element: Element): unknown {
  const [iframe, frame, object] = contentWindows;
  if (element instanceof HTMLIFrameElement) return iframe?.call(element) ?? null;
  if (element instanceof HTMLFrameElement) return frame?.call(element) ?? null;
  if (element instanceof HTMLObjectElement) return object?.call(element) ?? null;
  return null;
}

function sourceOf(element: Element): string {
  if (element instanceof HTMLIFrameElement && element.hasAttribute('srcdoc')) return 'about:srcdoc';
  const { src = '', data = '' } = element as Partial<HTMLIFrameElement & HTMLObjectElement>;
  return src || data;
}
