/**
 * One look at a page: which nodes are children of which as the page is shown (the flat tree: shadow roots in
 * place of their hosts' children, slots filled, aria-owns followed), and which are hidden from everybody.
 * What it learns it keeps, so it is good for one look only, in one turn.
 */
import {
  activeElement,
  assignedNodes,
  assignedSlot,
  attribute,
  body,
  byId,
  childrenOf,
  contains,
  documentElement,
  hasAttribute,
  isElement,
  parentNode,
  queryAll,
  rootNode,
  shadowRoot,
  tagOf,
  tokens,
} from './dom';
import { firstSummary, Roles } from './roles';
import { type StyleFacts, Styles } from './styles';

/** Elements further down than this are left out: deeper trees are made to break those who walk them. */
export const DEEPEST = 1_000;

/** What is never shown, whatever the style says, or whose content is not the page's. */
const NEVER = new Set([
  'script',
  'style',
  'template',
  'noscript',
  'head',
  'title',
  'meta',
  'link',
  'base',
  'param',
  'source',
  'track',
  'rp',
  'svg:title',
  'svg:desc',
  'svg:defs',
  'svg:symbol',
  'svg:style',
  'svg:script',
  'svg:metadata',
  'svg:clipPath',
  'svg:mask',
  'svg:linearGradient',
  'svg:radialGradient',
  'svg:filter',
  'svg:pattern',
  'svg:marker',
]);
/** Their content is shown by the browser in its own way, or is another document. */
const CLOSED = new Set([
  'iframe',
  'frame',
  'input',
  'textarea',
  'video',
  'audio',
  'embed',
  'object',
  'progress',
  'meter',
  'br',
  'wbr',
  'hr',
  'math:math',
]);

export class View {
  readonly styles = new Styles();
  readonly roles = new Roles();
  private readonly owners = new Map<Element, Element>();
  private readonly owned = new Map<Element, Element[]>();
  private readonly labelled = new Map<Node, Map<Element, Element[]>>();
  private readonly modal = topModal();
  private readonly modalPath = this.modal && pathTo(this.modal);

  constructor() {
    this.readOwners();
  }

  style(element: Element): StyleFacts {
    return this.styles.of(element);
  }

  /** The children as they are shown, hidden ones included. */
  children(element: Element): Node[] {
    const own = this.ownChildren(element);
    const owned = this.owned.get(element);
    const kept =
      this.owners.size === 0 ? own : own.filter((node) => !isElement(node) || !this.owners.has(node));
    return owned ? [...kept, ...owned] : kept;
  }

  /** True when neither it nor anything in it is there for anybody: not rendered, or made inert. */
  isGone(element: Element): boolean {
    const tag = tagOf(element);
    if (NEVER.has(tag)) return true;
    if (tag === 'area') return false;
    if (this.style(element).display === 'none') return true;
    if (hasAttribute(element, 'inert')) return true;
    return this.modalPath !== null && !this.modalPath.has(element) && !this.isInModal(element);
  }

  /** Hidden from those who cannot see the page, and so from the outline, though it is shown. */
  isAriaHidden(element: Element): boolean {
    return (
      attribute(element, 'aria-hidden') === 'true' &&
      element !== body(document) &&
      element !== documentElement(document)
    );
  }

  /** The labels of a field. Chrome's own list would look through the whole page for each field. */
  labels(field: Element): readonly Element[] {
    const root = rootNode(field);
    let byField = this.labelled.get(root);
    if (!byField) {
      byField = labelsIn(root);
      this.labelled.set(root, byField);
    }
    return byField.get(field) ?? [];
  }

  private ownChildren(element: Element): Node[] {
    const tag = tagOf(element);
    if (CLOSED.has(tag)) return [];
    if (this.style(element).hides_content) return [];
    switch (tag) {
      case 'slot': {
        const assigned = assignedNodes(element as HTMLSlotElement);
        return assigned.length > 0 ? assigned : childrenOf(element);
      }
      case 'details': {
        const summary = firstSummary(element);
        const rest = hasAttribute(element, 'open')
          ? childrenOf(element).filter((child) => child !== summary)
          : [];
        return summary ? [summary, ...rest] : rest;
      }
      case 'img':
        return areasOf(element);
      case 'select':
        return childrenOf(element).filter(isElement);
    }
    const root = shadowRoot(element);
    return childrenOf(root ?? element);
  }

  private isInModal(element: Element): boolean {
    for (let at: Node | null = element; at; at = above(at)) if (at === this.modal) return true;
    return false;
  }

  /** The first to claim an element owns it, unless it is inside that element itself. */
  private readOwners(): void {
    for (const owner of queryAll(document, '[aria-owns]')) {
      for (const id of tokens(owner, 'aria-owns')) {
        const element = byId(owner, id);
        if (!element || this.owners.has(element) || contains(element, owner)) continue;
        this.owners.set(element, owner);
        this.owned.set(owner, [...(this.owned.get(owner) ?? []), element]);
      }
    }
  }
}

function labelsIn(root: Node): Map<Element, Element[]> {
  const byField = new Map<Element, Element[]>();
  const labels = root instanceof ShadowRoot ? root.querySelectorAll('label') : queryAll(document, 'label');
  for (const label of labels) {
    const field = label instanceof HTMLLabelElement ? label.control : null;
    if (field) byField.set(field, [...(byField.get(field) ?? []), label]);
  }
  return byField;
}

/** The dialog that makes all the rest of the page inert: of several the one that has the focus, or the last. */
function topModal(): Element | null {
  const modals = [...queryAll(document, 'dialog:modal')];
  let focused = activeElement(document);
  for (let root = focused && shadowRoot(focused); root; root = focused && shadowRoot(focused)) {
    modals.push(...root.querySelectorAll('dialog:modal'));
    focused = root.activeElement;
  }
  const withFocus = modals.filter((modal) => focused !== null && pathTo(focused).has(modal));
  return withFocus.at(-1) ?? modals.at(-1) ?? null;
}

/** The element and all that contain it as the page is shown. */
function pathTo(element: Element): Set<Element> {
  const path = new Set<Element>();
  for (let at: Node | null = element; at; at = above(at)) if (isElement(at)) path.add(at);
  return path;
}

function above(node: Node): Node | null {
  if (node instanceof ShadowRoot) return node.host;
  return (isElement(node) && assignedSlot(node)) || parentNode(node);
}

function areasOf(image: Element): Element[] {
  const name = attribute(image, 'usemap')?.replace(/^#/, '');
  if (!name) return [];
  const map = [...queryAll(document, 'map')].find((one) => attribute(one, 'name') === name);
  return map
    ? childrenOf(map).filter((child): child is Element => isElement(child) && tagOf(child) === 'area')
    : [];
}
