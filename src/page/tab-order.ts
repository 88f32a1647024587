/** Where the Tab key goes next: through shadow roots and slots, past what is hidden, one stop per radio group. */
import { assignedNodes, childrenOf, isElement, shadowRoot, tabIndex } from './dom';
import { giveFocus } from './focus';
import { fits, focusedElement } from './tree';

/** Moves the focus on, or back; round at the ends, because there is no browser around the page to go to. */
export function moveFocus(backwards: boolean): void {
  const stops = stopsOf(document);
  if (backwards) stops.reverse();
  const at = stops.indexOf(focusedElement() as Element);
  for (const stop of [...stops.slice(at + 1), ...stops.slice(0, Math.max(0, at))]) {
    if (!giveFocus(stop)) continue;
    if (stop instanceof HTMLInputElement) selectText(stop);
    return;
  }
}

function selectText(input: HTMLInputElement): void {
  try {
    input.select();
  } catch {
    // Some types have no selection.
  }
}

/** Positive numbers first, in their order; a scope of its own (a shadow root) keeps together. */
function stopsOf(scope: Node): Element[] {
  const found: { order: number; elements: Element[] }[] = [];
  collect(scope, found);
  const numbered = found.filter(({ order }) => order > 0).sort((one, other) => one.order - other.order);
  return [...numbered, ...found.filter(({ order }) => order === 0)].flatMap(({ elements }) => elements);
}

function collect(node: Node, found: { order: number; elements: Element[] }[]): void {
  for (const child of renderedChildren(node)) {
    if (!isElement(child)) continue;
    const inner = shadowRoot(child);
    const order = orderOf(child);
    const own = order >= 0 && isStop(child) ? [child] : [];
    if (inner) {
      if (own.length > 0 && !inner.delegatesFocus) found.push({ order: Math.max(0, order), elements: own });
      found.push({ order: Math.max(0, order), elements: stopsOf(child) });
    } else {
      if (own.length > 0) found.push({ order, elements: own });
      collect(child, found);
    }
  }
}

/** What is edited can be reached by Tab, whatever its number says. */
function orderOf(element: Element): number {
  if (!(element instanceof HTMLElement)) return -1;
  const order = tabIndex(element);
  const isEditor = fits(element, '[contenteditable]:not([contenteditable="false" i], [tabindex])');
  return isEditor ? 0 : order;
}

function renderedChildren(node: Node): Node[] {
  if (node instanceof HTMLSlotElement) {
    const assigned = assignedNodes(node);
    return assigned.length > 0 ? assigned : childrenOf(node);
  }
  return childrenOf((isElement(node) && shadowRoot(node)) || node);
}

function isStop(element: Element): boolean {
  if (fits(element, ':disabled') || !element.checkVisibility({ checkVisibilityCSS: true })) return false;
  if (!(element instanceof HTMLInputElement) || element.type !== 'radio' || element.name === '') return true;
  const group = radioGroup(element);
  const checked = group.find((one) => one.checked);
  return (checked ?? group[0]) === element;
}

/** The radio buttons of which one can be chosen, in order. */
export function radioGroup(radio: HTMLInputElement): HTMLInputElement[] {
  const root = radio.getRootNode() as Document | ShadowRoot;
  return [...root.querySelectorAll('input')].filter(
    (one) =>
      one === radio ||
      (one.type === 'radio' &&
        one.name === radio.name &&
        one.name !== '' &&
        one.form === radio.form &&
        !fits(one, ':disabled')),
  );
}
