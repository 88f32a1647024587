/**
 * The accessibility outline of this document: which elements mean something, what they are and are called, and
 * the text between them, in the order of the page. Elements that only group stand for nothing and are left out.
 */
import {
  attribute,
  body,
  characters,
  hasAttribute,
  isContentEditable,
  isElement,
  isText,
  parentNode,
  tagOf,
} from './dom';
import { fold, Names } from './names';
import { GENERIC } from './roles';
import { DEEPEST, View } from './view';

export interface OutlineNode {
  element: Element;
  role: string;
  name: string;
  children: OutlineChild[];
}

export type OutlineChild = OutlineNode | string;

/** Roles whose content is only a picture of the name. */
const PICTURES = new Set(['image', 'math', 'graphics-symbol']);

export interface Outline {
  names: Names;
  view: View;
  children: OutlineChild[];
}

/** Looks at the whole document, or at one element and what is in it. */
export function outlineOf(root: Element | null = body(document)): Outline {
  const view = new View();
  const names = new Names(view);
  const walker = new Walker(view, names);
  if (root) walker.element(root);
  return { names, view, children: walker.finish() };
}

class Walker {
  private children: OutlineChild[] = [];
  private text = '';
  private depth = 0;

  constructor(
    private readonly view: View,
    private readonly names: Names,
  ) {}

  finish(): OutlineChild[] {
    this.flush();
    return this.children;
  }

  /** Text so far is a piece of its own: what comes next stands on another line. */
  private flush(): void {
    const text = fold(this.text);
    this.text = '';
    if (text !== '') this.children.push(text);
  }

  element(element: Element): void {
    const { view } = this;
    if (this.depth > DEEPEST || view.isGone(element) || view.isAriaHidden(element)) return;
    const tag = tagOf(element);
    if (tag === 'br' || tag === 'wbr') {
      if (tag === 'br') this.text += ' ';
      return;
    }
    const style = view.style(element);
    const role = view.roles.of(element);
    if (tag === 'input' && role === GENERIC) return;
    // The label of an option may be an attribute; its name holds it.
    const name = style.visible ? this.names.of(element) : '';
    const isBlock = style.display !== 'inline' && style.display !== 'contents';
    if (!style.visible || (role === GENERIC && name === '' && !this.canBeUsed(element))) {
      if (isBlock) this.flush();
      this.inside(element, style.visible);
      if (isBlock) this.flush();
      return;
    }
    this.flush();
    const outer = this.children;
    this.children = [];
    if (!PICTURES.has(role)) this.inside(element, true);
    this.flush();
    const { children } = this;
    this.children = outer;
    const isEmpty = role === 'paragraph' && name === '' && children.length === 0;
    if (!isEmpty) outer.push({ element, role, name, children });
  }

  private inside(element: Element, visible: boolean): void {
    this.depth += 1;
    if (visible) this.text += this.view.styles.generated(element, '::before');
    for (const node of this.view.children(element)) {
      if (isText(node)) {
        if (visible) this.text += characters(node);
      } else if (isElement(node)) {
        this.element(node);
      }
    }
    if (visible) this.text += this.view.styles.generated(element, '::after');
    this.depth -= 1;
  }

  /** An element without a role that a person can use all the same: it takes the focus, the pointer or text. */
  private canBeUsed(element: Element): boolean {
    if (element === body(document)) return false;
    if (element instanceof HTMLElement && !tagOf(element).startsWith('label')) {
      if (hasAttribute(element, 'tabindex') || hasAttribute(element, 'onclick')) return true;
      if (isEditingHost(element)) return true;
      return this.view.style(element).pointer && this.beginsPointer(element);
    }
    return false;
  }

  /** The pointer is inherited: the element that asked for it is the one that is meant. */
  private beginsPointer(element: Element): boolean {
    const parent = parentNode(element);
    return parent === null || !isElement(parent) || !this.view.style(parent).pointer;
  }
}

/** The element that makes its content editable, not what is inside it. */
export function isEditingHost(element: Element): boolean {
  if (!hasAttribute(element, 'contenteditable')) return false;
  return (
    element instanceof HTMLElement &&
    attribute(element, 'contenteditable') !== 'false' &&
    isContentEditable(element)
  );
}
