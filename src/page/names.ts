/**
 * Accessible names, by dom-accessibility-api. The library is not shown the page itself but this view of it:
 * the flat tree, with our roles, each style asked once, and no property that a page could have shadowed.
 * Where Chrome's names differ from the library's (spaces between words, generated text), the view makes them equal.
 */
import { computeAccessibleName } from 'dom-accessibility-api';
import {
  attribute,
  attributeNames,
  byId,
  characters,
  closest,
  hasAttribute,
  isContentEditable,
  isElement,
  isText,
  tagOf,
  textContent,
  tokens,
} from './dom';
import { GENERIC, inputType } from './roles';
import type { View } from './view';

/** Roles whose name is their content when nothing else names them. */
export const NAMED_BY_CONTENT = new Set(
  (
    'button cell checkbox columnheader disclosure gridcell heading link menuitem menuitemcheckbox menuitemradio option radio ' +
    'rowheader switch tab term tooltip treeitem'
  ).split(' '),
);

/** Roles that only an ARIA attribute names: a title describes them. */
const NOT_NAMED_BY_TITLE = new Set(
  'caption code definition deletion emphasis generic insertion mark paragraph strong subscript superscript time'.split(
    ' ',
  ),
);

/** Tags that HTML names in ways of its own. */
const NAMED_BY_HTML = new Set(
  'area button fieldset img input meter optgroup option output progress select svg:svg table textarea'.split(
    ' ',
  ),
);

const PLACEHOLDERS = new Set(['textbox', 'searchbox', 'combobox', 'spinbutton']);

/** Our role, as the library knows it: what matters to it is whether the content names it. */
const LIBRARY_ROLES: Readonly<Record<string, string>> = {
  disclosure: 'button',
  image: 'img',
  term: 'legend',
  row: 'rowgroup',
};

/** A node of the view is its own computed style. */
const LIBRARY_OPTIONS = {
  getComputedStyle: ((node: unknown) => node) as typeof getComputedStyle,
  computedStyleSupportsPseudoElements: false,
};

export class Names {
  private readonly nodes = new Map<Node, NameNode>();

  constructor(readonly view: View) {}

  /** The name, white space folded; empty when it has none. */
  of(element: Element): string {
    const role = this.view.roles.of(element);
    const tag = tagOf(element);
    const byAria = hasAttribute(element, 'aria-label') || hasAttribute(element, 'aria-labelledby');
    if (!byAria && NOT_NAMED_BY_TITLE.has(role)) return '';
    const isByContent = this.isNamedByContent(element, role);
    if (!byAria && !isByContent && !NAMED_BY_HTML.has(tag) && !hasAttribute(element, 'title')) {
      return PLACEHOLDERS.has(role) ? placeholder(element) : '';
    }
    if (
      isByContent &&
      !byAria &&
      role === 'heading' &&
      element instanceof HTMLElement &&
      isContentEditable(element)
    )
      return '';
    if (tag === 'img' && !byAria && attribute(element, 'alt') === '') return '';
    // Naming is the same for what the library refuses to name: Chrome tells the name a page gave.
    const name = fold(this.compute(this.node(element)));
    return name === '' && PLACEHOLDERS.has(role) ? placeholder(element) : name;
  }

  /** What further describes it: the text of aria-describedby, or a title that is not the name. */
  description(element: Element, name: string): string {
    const byIds = tokens(element, 'aria-describedby');
    if (byIds.length > 0) {
      const texts = byIds.map((id) => byId(element, id)).filter((found) => found !== null);
      return fold(texts.map((found) => this.textOf(found)).join(' '));
    }
    const own = attribute(element, 'aria-description') ?? attribute(element, 'title') ?? '';
    const text = fold(own);
    return text === name ? '' : text;
  }

  /** In a table that is no grid, rows are named by nobody. */
  isNamedByContent(element: Element, role: string): boolean {
    if (NAMED_BY_CONTENT.has(role)) return true;
    if (role !== 'row') return false;
    return this.gridOf(element);
  }

  private gridOf(row: Element): boolean {
    const grid = closest(row, 'table, [role~="table"], [role~="grid"], [role~="treegrid"]');
    const role = grid ? this.view.roles.of(grid) : '';
    return role === 'grid' || role === 'treegrid';
  }

  /** As if it were the target of aria-labelledby. */
  private textOf(element: Element): string {
    const label = attribute(element, 'aria-label')?.trim();
    return label || this.compute(new Referrer(this, element));
  }

  private compute(root: NameNode | Referrer): string {
    try {
      return computeAccessibleName(root as unknown as Element, LIBRARY_OPTIONS);
    } catch (thrown) {
      // A tree too deep for the library has no name; the page is read all the same.
      if (thrown instanceof RangeError) return '';
      throw thrown;
    }
  }

  node(node: Node): NameNode {
    let found = this.nodes.get(node);
    if (!found) {
      found = new NameNode(this, node);
      this.nodes.set(node, found);
    }
    return found;
  }
}

function placeholder(element: Element): string {
  return fold(
    attribute(element, 'placeholder') ??
      attribute(element, 'aria-placeholder') ??
      attribute(element, 'title') ??
      '',
  );
}

const FOLDED = /^(?:[\x21-\x7e]+(?: [\x21-\x7e]+)*)?$/;

/** White space as a reader has it: one space between words. Signs of icon fonts say nothing and are dropped. */
export function fold(text: string): string {
  if (FOLDED.test(text)) return text;
  return text
    .replace(/[\uE000-\uF8FF\u200b\u00ad]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

const ELEMENT_NODE = 1;
const TEXT_NODE = 3;

/** Inline elements that only group text: their content stands in their place, so that words stay apart or together. */
const TRANSPARENT = new Set(
  'b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup tt u var'.split(
    ' ',
  ),
);

/** A piece of text for the library. */
class TextPart {
  readonly nodeType = TEXT_NODE;
  readonly ELEMENT_NODE = ELEMENT_NODE;
  readonly TEXT_NODE = TEXT_NODE;
  readonly childNodes: NamePart[] = [];
  readonly ownerDocument = OWNER;
  constructor(readonly textContent: string) {}
}

type NamePart = TextPart | NameNode;

/** All the library asks of a document. */
const OWNER = { defaultView: {} } as const;

interface AttributePart {
  value: string;
}

/** An element as the library sees it. It names these properties; only those it reads are there. */
class NameNode {
  readonly ELEMENT_NODE = ELEMENT_NODE;
  readonly TEXT_NODE = TEXT_NODE;
  readonly nodeType = ELEMENT_NODE;
  readonly ownerDocument = OWNER;
  readonly localName: string;
  private readonly attributes = new Map<string, AttributePart | null>();
  private parts: NamePart[] | undefined;

  constructor(
    private readonly names: Names,
    readonly node: Node,
  ) {
    this.localName = isElement(node) ? libraryTag(node) : '#text';
  }

  private get element(): Element {
    return this.node as Element;
  }

  get ownerSVGElement(): null | undefined {
    return tagOf(this.element).startsWith('svg:') ? null : undefined;
  }

  hasAttribute(name: string): boolean {
    return this.getAttribute(name) !== null;
  }

  getAttribute(name: string): string | null {
    return this.getAttributeNode(name)?.value ?? null;
  }

  /** The same object each time: the library remembers which attributes it has used. */
  getAttributeNode(name: string): AttributePart | null {
    let part = this.attributes.get(name);
    if (part === undefined) {
      const value = this.read(name);
      part = value === null ? null : { value };
      this.attributes.set(name, part);
    }
    return part;
  }

  private read(name: string): string | null {
    switch (name) {
      case 'role':
        return this.role;
      // Whether it is shown is told by its style, which knows more.
      case 'hidden':
      case 'aria-owns':
        return null;
      default:
        return attribute(this.element, name);
    }
  }

  private get role(): string {
    if (this.localName === 'legend') return 'legend';
    const role = this.names.view.roles.of(this.element);
    if (role === 'row' && this.names.isNamedByContent(this.element, role)) return 'row';
    // The library would name none of these, whatever the page says.
    return LIBRARY_ROLES[role] ?? (role === GENERIC || NOT_NAMED_BY_TITLE.has(role) ? 'group' : role);
  }

  getRootNode(): { getElementById(id: string): NameNode | null } {
    return {
      getElementById: (id) => {
        const found = id === '' ? null : byId(this.element, id);
        return found && this.names.node(found);
      },
    };
  }

  get childNodes(): NamePart[] {
    this.parts ??= this.makeParts();
    return this.parts;
  }

  private makeParts(): NamePart[] {
    const { view } = this.names;
    const parts: NamePart[] = [];
    const addText = (text: string): void => {
      if (text !== '') parts.push(new TextPart(text));
    };
    const add = (of: Element): void => {
      addText(view.styles.generated(of, '::before'));
      for (const node of view.children(of)) {
        if (isText(node)) addText(characters(node).replace(/\s+/g, ' '));
        else if (isElement(node) && !this.isBranch(node)) addElement(node);
      }
      addText(view.styles.generated(of, '::after'));
    };
    const addElement = (child: Element): void => {
      const tag = tagOf(child);
      if (tag === 'br') addText(' ');
      else if (isTransparent(child, tag, view)) {
        if (view.style(child).visible) add(child);
      } else {
        const inline = view.style(child).display === 'inline';
        const text = inline ? (textContent(child) ?? '') : '';
        if (/^\s/.test(text)) addText(' ');
        parts.push(this.names.node(child));
        if (/\s$/.test(text)) addText(' ');
      }
    };
    add(this.element);
    return parts;
  }

  /** What hangs below an item of a tree is no part of its name. */
  private isBranch(child: Element): boolean {
    const { roles } = this.names.view;
    return isElement(this.node) && roles.of(this.node) === 'treeitem' && roles.of(child) === 'group';
  }

  assignedNodes(): NamePart[] {
    return this.childNodes;
  }

  get labels(): NameNode[] | null {
    const labels = this.names.view.labels(this.element);
    return labels.length > 0 ? labels.map((label) => this.names.node(label)) : null;
  }

  get type(): string {
    return inputType(this.element);
  }

  get value(): string {
    const { element } = this;
    return element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement ? element.value : '';
  }

  get selectedOptions(): NameNode[] | undefined {
    const { element } = this;
    if (!(element instanceof HTMLSelectElement)) return undefined;
    return Array.from(element.selectedOptions, (option) => this.names.node(option));
  }

  querySelectorAll(selector: string): NameNode[] {
    const { element } = this;
    if (element instanceof HTMLFormElement) return [];
    return Array.from(element.querySelectorAll(selector), (found) => this.names.node(found));
  }

  get textContent(): string {
    return textContent(this.node) ?? '';
  }

  /** Read by the library through `getComputedStyle`. */
  getPropertyValue(property: string): string {
    const { view } = this.names;
    if (property === 'display') {
      if (view.isGone(this.element)) return 'none';
      return this.localName === 'area' ? 'inline' : view.style(this.element).display;
    }
    if (property === 'visibility') return view.style(this.element).visible ? 'visible' : 'hidden';
    return '';
  }
}

/** Stands for an element that has nothing but a reference to another one. */
class Referrer {
  readonly ELEMENT_NODE = ELEMENT_NODE;
  readonly TEXT_NODE = TEXT_NODE;
  readonly nodeType = ELEMENT_NODE;
  readonly ownerDocument = OWNER;
  readonly localName = 'div';
  readonly childNodes: NamePart[] = [];
  private readonly reference: AttributePart = { value: 'it' };

  constructor(
    private readonly names: Names,
    private readonly referred: Element,
  ) {}

  hasAttribute(name: string): boolean {
    return name === 'aria-labelledby';
  }

  getAttribute(name: string): string | null {
    if (name === 'role') return 'group';
    return name === 'aria-labelledby' ? this.reference.value : null;
  }

  getAttributeNode(name: string): AttributePart | null {
    return name === 'aria-labelledby' ? this.reference : null;
  }

  getRootNode(): { getElementById(): NameNode } {
    return { getElementById: () => this.names.node(this.referred) };
  }

  getPropertyValue(property: string): string {
    return property === 'display' ? 'block' : '';
  }
}

function libraryTag(element: Element): string {
  const tag = tagOf(element);
  return tag.startsWith('svg:') ? tag.slice(4) : tag;
}

const NAMING = /^(?:role|title|aria-(?!level)|tabindex|contenteditable)/;

function isTransparent(element: Element, tag: string, view: View): boolean {
  if (!TRANSPARENT.has(tag) && tag !== 'slot' && !tag.includes('-')) return false;
  const { display } = view.style(element);
  if (display !== 'inline' && display !== 'contents') return false;
  return !attributeNames(element).some((name) => NAMING.test(name));
}
