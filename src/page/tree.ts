/** The way from an element up and down the rendered tree, through slots and shadow roots, and what is at a place. */
import { assignedSlot, attribute, matches, parentNode, rootNode, shadowRoot, textContent } from './dom';

const { getBoundingClientRect, getClientRects, closest } = Element.prototype;

export const attributeOf = attribute;
export const fits = matches;
export const boxOf = (element: Element): DOMRect => getBoundingClientRect.call(element);
export const boxesOf = (element: Element): DOMRect[] => [...getClientRects.call(element)];
const innerText = Object.getOwnPropertyDescriptor(HTMLElement.prototype, 'innerText')?.get;
/** The text as it is shown, without what is hidden. */
export const shownTextOf = (element: HTMLElement): string => `${innerText?.call(element) ?? ''}`;
export const textOf = (node: Node): string => textContent(node) ?? '';

/** The nearest fitting ancestor in the same tree, the element itself included. */
export const nearestInTree = (element: Element, selector: string): Element | null =>
  closest.call(element, selector);

/** The parent as it is rendered: the slot it is assigned to, or the host of its shadow root. */
export function parentOf(node: Node): Element | null {
  if (node instanceof Element) {
    const slot = assignedSlot(node);
    if (slot) return slot;
  }
  const parent = parentNode(node);
  if (parent instanceof ShadowRoot) return parent.host;
  return parent instanceof Element ? parent : null;
}

/** The nearest fitting element up the rendered tree, the element itself included. */
export function nearest(element: Element, selector: string): Element | null {
  for (let one: Element | null = element; one; one = parentOf(one)) {
    if (matches(one, selector)) return one;
  }
  return null;
}

/** Whether `inner` is `outer` or is rendered within it. */
export function isWithin(inner: Element, outer: Element): boolean {
  for (let one: Element | null = inner; one; one = parentOf(one)) {
    if (one === outer) return true;
  }
  return false;
}

/** The document and every open shadow root in it, in the order of the document. */
export function openRoots(): (Document | ShadowRoot)[] {
  return rootsIn(document, ({ mode }) => mode === 'open');
}

/** The closed ones too: what a person sees is in all of them. */
export function allRoots(): (Document | ShadowRoot)[] {
  return rootsIn(document, () => true);
}

function rootsIn(
  root: Document | ShadowRoot,
  isMeant: (inner: ShadowRoot) => boolean,
): (Document | ShadowRoot)[] {
  const roots: (Document | ShadowRoot)[] = [root];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const inner = shadowRoot(node as Element);
    if (inner && isMeant(inner)) roots.push(...rootsIn(inner, isMeant));
  }
  return roots;
}

/** The document or shadow root an element is in. */
export function treeOf(element: Element): Document | ShadowRoot {
  const root = rootNode(element);
  return root instanceof ShadowRoot ? root : document;
}

/** What has the focus, inside of shadow roots too; null when only the page itself has it. */
export function focusedElement(): Element | null {
  let active = document.activeElement;
  for (;;) {
    const inner: Element | null | undefined = active && shadowRoot(active)?.activeElement;
    if (!inner) break;
    active = inner;
  }
  return active === document.body || active === document.documentElement ? null : active;
}

/** The innermost element at a point of the viewport, inside of shadow roots too. */
export function elementAt(x: number, y: number): Element | null {
  let root: Document | ShadowRoot = document;
  let found: Element | null = null;
  for (;;) {
    const next: Element | null = root.elementFromPoint(x, y);
    if (!next || next === found) return found;
    found = next;
    const inner = shadowRoot(next);
    if (!inner || inner === root) return found;
    root = inner;
  }
}
