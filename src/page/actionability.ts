/**
 * Whether a person could act on an element now: it is shown, enabled, at rest, and nothing covers it. When not,
 * a sentence says what is in the way. Scrolls the element into view, which is all it changes.
 */
import { describeElement } from './describe-element';
import { tagOf } from './dom';
import { areaBounds, areaImage } from './image-maps';
import type { Point } from './pointer';
import { attributeOf, boxesOf, boxOf, elementAt, fits, isWithin, nearest, nearestInTree } from './tree';

export interface Needs {
  /** A point of it must be free to be clicked. */
  pointer: boolean;
  /** It must take input. */
  enabled: boolean;
}

export type Readiness =
  | { ready: true; point: Point; hit: Element }
  /** A sentence for the caller. */
  | { ready: false; why: string };

/** How long an element must have been in its place to be at rest. */
const AT_REST_MS = 40;

const places = new WeakMap<Element, { box: string; since: number }>();

export function readiness(element: Element, needs: Needs): Readiness {
  const hidden = whyHidden(element);
  if (hidden) return no(`The element ${describeElement(element)} is not visible: ${hidden}.`);
  if (needs.enabled) {
    const disabled = whyDisabled(element);
    if (disabled !== null) return no(`The element ${describeElement(element)} is disabled${disabled}.`);
  }
  if (!needs.pointer) {
    scrollTo(element, 'center', isInView(element));
    return { ready: true, point: middleOf(element), hit: element };
  }
  const seen = freePointOrLabel(element);
  if (!isAtRest(element)) return no(`The element ${describeElement(element)} is moving.`);
  return seen;
}

function no(why: string): Readiness {
  return { ready: false, why };
}

/** Why nobody sees it, or null. */
export function whyHidden(meant: Element): string | null {
  const element = areaImage(meant) ?? meant;
  if (innerWidth === 0 || innerHeight === 0) return 'its frame has no size';
  if (!element.checkVisibility()) return 'it or what it is in is not displayed';
  if (getComputedStyle(element).visibility !== 'visible') return 'its style hides it';
  const { width, height } = boundsOf(element);
  return width > 0 && height > 0 ? null : 'it has no size';
}

/** The part of a sentence after "disabled", or null. */
export function whyDisabled(element: Element): string | null {
  if (fits(element, ':disabled')) return '';
  const marked = nearest(element, '[aria-disabled="true" i]');
  if (marked) return marked === element ? ' (aria-disabled)' : ` by ${describeElement(marked)}`;
  const inert = nearest(element, '[inert]');
  return inert ? ` by ${describeElement(inert)}, which is inert` : null;
}

/** An element without a box of its own (display: contents) is where its content is. */
function boundsOf(element: Element): DOMRect {
  const image = areaImage(element);
  if (image) return areaBounds(element as HTMLAreaElement, image);
  const box = boxOf(element);
  if (box.width > 0 && box.height > 0) return box;
  if (getComputedStyle(element).display !== 'contents' && tagOf(element) !== 'a') return box;
  const range = document.createRange();
  range.selectNodeContents(element);
  return range.getBoundingClientRect();
}

/** Looked at twice, some time apart, it must be in the same place. */
function isAtRest(element: Element): boolean {
  const { x, y, width, height } = boxOf(element);
  const box = `${x} ${y} ${width} ${height}`;
  const seen = places.get(element);
  if (seen?.box === box) return performance.now() - seen.since >= AT_REST_MS;
  places.set(element, { box, since: performance.now() });
  return false;
}

/** Boxes that are cut down to nothing, and drawn anew by their page, are clicked by their label. */
function freePointOrLabel(element: Element): Readiness {
  const own = freePoint(element);
  if (own.ready || !isBox(element)) return own;
  for (const label of element.labels ?? []) {
    const seen = whyHidden(label) === null ? freePoint(label) : own;
    if (seen.ready) return seen;
  }
  return own;
}

/** A point at which the element itself would be clicked; scrolled there when it must be. */
function freePoint(element: Element): Readiness {
  let covering: Element | null = null;
  for (const block of [null, 'center', 'end', 'start'] as const) {
    if (block) scrollTo(element, block, false);
    for (const point of pointsOf(element)) {
      const hit = elementAt(point.x, point.y);
      if (hit && wouldReach(hit, element)) {
        return { ready: true, point, hit: isWithin(hit, element) ? hit : element };
      }
      covering ??= hit;
    }
  }
  const what = describeElement(element);
  if (getComputedStyle(element).pointerEvents === 'none') {
    return no(`The element ${what} takes no clicks: its style says pointer-events: none.`);
  }
  if (!covering) return no(`The element ${what} cannot be scrolled into view.`);
  return no(
    `The element ${what} is covered by ${describeElement(covering)}. Close or scroll away what covers it, or act on that instead.`,
  );
}

function scrollTo(element: Element, block: ScrollLogicalPosition, enough: boolean): void {
  if (!enough)
    (areaImage(element) ?? element).scrollIntoView({ block, inline: 'center', behavior: 'instant' });
}

function isInView(element: Element): boolean {
  const { top, left, bottom, right } = boundsOf(element);
  return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
}

function middleOf(element: Element): Point {
  const { x, y, width, height } = boundsOf(element);
  return { x: x + width / 2, y: y + height / 2 };
}

/** The middle of what is in the viewport, then points around it. A link over several lines has several boxes. */
function pointsOf(element: Element): Point[] {
  const boxes = boxesOf(element).filter(({ width, height }) => width > 0 && height > 0);
  const box = boxes.find(isPartlyIn) ?? boundsOf(element);
  const left = Math.max(0, box.left);
  const top = Math.max(0, box.top);
  const right = Math.min(innerWidth, box.right);
  const bottom = Math.min(innerHeight, box.bottom);
  if (right <= left || bottom <= top) return [];
  const at = (fx: number, fy: number): Point => ({
    x: left + (right - left) * fx,
    y: top + (bottom - top) * fy,
  });
  return [at(0.5, 0.5), at(0.25, 0.5), at(0.75, 0.5), at(0.5, 0.25), at(0.5, 0.75)];
}

function isPartlyIn({ top, left, bottom, right }: DOMRect): boolean {
  return right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
}

/** Whether a click on `hit` is one on `element`: inside of it, on its label, or on the link or button it is part of. */
function wouldReach(hit: Element, element: Element): boolean {
  if (isWithin(hit, element)) return true;
  const label = nearest(hit, 'label');
  if (label instanceof HTMLLabelElement && label.control === element) return true;
  const owner = nearest(element, 'a[href], button, label, summary, [role="button"], [role="link"]');
  return (
    owner !== null && owner !== element && isWithin(hit, owner) && isWithin(element, owner) && hit === owner
  );
}

/** The element that stands for a hidden checkbox or radio button: its visible label. */
export function standIn(element: Element): Element {
  if (!isBox(element)) return element;
  if (whyHidden(element) === null) return element;
  const label = [...(element.labels ?? [])].find((one) => whyHidden(one) === null);
  return label ?? element;
}

function isBox(element: Element): element is HTMLInputElement {
  return element instanceof HTMLInputElement && /^(checkbox|radio)$/.test(element.type);
}

/** The control a label is for; every other element is its own. */
export function controlOf(element: Element): Element {
  const label = nearestInTree(element, 'label');
  if (element !== label || !(label instanceof HTMLLabelElement)) return element;
  return label.control ?? element;
}

/** Whether a person may change what is in the field, or why not. */
export function whyReadOnly(element: Element): string | null {
  const native =
    (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) && element.readOnly;
  if (native || attributeOf(element, 'aria-readonly') === 'true') {
    return `The field ${describeElement(element)} is read-only.`;
  }
  return null;
}
