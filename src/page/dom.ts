/**
 * The DOM as it is, also on pages that shadow it: a field named `children` is what `form.children` gives, in
 * every world. Here each property is read by its own getter, taken from the prototype. Nothing else in the page
 * agent reads a property or calls a method of a node that a page could have replaced in this way.
 */

function getter<Of extends object, Value>(prototype: Of, name: string): (of: Of) => Value {
  const get = Object.getOwnPropertyDescriptor(prototype, name)?.get;
  if (!get) throw new Error(`no getter: ${name}`);
  return Function.prototype.call.bind(get) as (of: Of) => Value;
}

function method<Of extends object, Args extends unknown[], Value>(
  prototype: Of,
  name: string,
): (of: Of, ...args: Args) => Value {
  const call = Object.getOwnPropertyDescriptor(prototype, name)?.value;
  if (typeof call !== 'function') throw new Error(`no method: ${name}`);
  return Function.prototype.call.bind(call) as (of: Of, ...args: Args) => Value;
}

export const nodeType = getter<Node, number>(Node.prototype, 'nodeType');
export const firstChild = getter<Node, ChildNode | null>(Node.prototype, 'firstChild');
export const nextSibling = getter<Node, ChildNode | null>(Node.prototype, 'nextSibling');
export const parentNode = getter<Node, ParentNode | null>(Node.prototype, 'parentNode');
export const isConnected = getter<Node, boolean>(Node.prototype, 'isConnected');
export const ownerDocument = getter<Node, Document | null>(Node.prototype, 'ownerDocument');
export const textContent = getter<Node, string | null>(Node.prototype, 'textContent');
export const rootNode = method<Node, [], Node>(Node.prototype, 'getRootNode');
export const contains = method<Node, [Node | null], boolean>(Node.prototype, 'contains');

export const localName = getter<Element, string>(Element.prototype, 'localName');
export const namespaceURI = getter<Element, string | null>(Element.prototype, 'namespaceURI');
export const assignedSlot = getter<Element, HTMLSlotElement | null>(Element.prototype, 'assignedSlot');
export const attribute = method<Element, [string], string | null>(Element.prototype, 'getAttribute');
export const hasAttribute = method<Element, [string], boolean>(Element.prototype, 'hasAttribute');
export const attributeNames = method<Element, [], string[]>(Element.prototype, 'getAttributeNames');
export const matches = method<Element, [string], boolean>(Element.prototype, 'matches');
export const closest = method<Element, [string], Element | null>(Element.prototype, 'closest');
const openShadowRoot = getter<Element, ShadowRoot | null>(Element.prototype, 'shadowRoot');

export const characters = getter<CharacterData, string>(CharacterData.prototype, 'data');
export const assignedNodes = method<HTMLSlotElement, [], Node[]>(HTMLSlotElement.prototype, 'assignedNodes');
export const isContentEditable = getter<HTMLElement, boolean>(HTMLElement.prototype, 'isContentEditable');
export const tabIndex = getter<HTMLElement, number>(HTMLElement.prototype, 'tabIndex');

export const title = getter<Document, string>(Document.prototype, 'title');
export const body = getter<Document, HTMLElement | null>(Document.prototype, 'body');
export const documentElement = getter<Document, Element | null>(Document.prototype, 'documentElement');
export const activeElement = getter<Document, Element | null>(Document.prototype, 'activeElement');
export const readyState = getter<Document, string>(Document.prototype, 'readyState');
export const contentType = getter<Document, string>(Document.prototype, 'contentType');
export const queryAll = method<Document, [string], NodeListOf<Element>>(
  Document.prototype,
  'querySelectorAll',
);
const documentById = method<Document, [string], Element | null>(Document.prototype, 'getElementById');

/** The element of this id in the same tree (document or shadow root) as `near`. */
export function byId(near: Node, id: string): Element | null {
  const root = rootNode(near);
  if (root instanceof ShadowRoot) return root.getElementById(id);
  return root === document ? documentById(document, id) : null;
}

export function isElement(node: Node): node is Element {
  return nodeType(node) === 1;
}

export function isText(node: Node): node is Text {
  return nodeType(node) === 3;
}

const HTML = 'http://www.w3.org/1999/xhtml';

/** The local name of an HTML element; of any other, the name behind its namespace: `svg:a`, `math:mi`. */
export function tagOf(element: Element): string {
  const name = localName(element);
  switch (namespaceURI(element)) {
    case HTML:
      return name;
    case 'http://www.w3.org/2000/svg':
      return `svg:${name}`;
    case 'http://www.w3.org/1998/Math/MathML':
      return `math:${name}`;
    default:
      return `other:${name}`;
  }
}

interface ExtensionDom {
  openOrClosedShadowRoot?(element: Element): ShadowRoot | null;
}

const extensionDom = (globalThis as { chrome?: { dom?: ExtensionDom } }).chrome?.dom;

/** What a page hangs into an element, open or closed: a person sees both. The browser's own are not told. */
export function shadowRoot(element: Element): ShadowRoot | null {
  const open = openShadowRoot(element);
  if (open || !(element instanceof HTMLElement)) return open;
  return extensionDom?.openOrClosedShadowRoot?.(element) ?? null;
}

export function childrenOf(node: Node): Node[] {
  const children: Node[] = [];
  for (let child = firstChild(node); child; child = nextSibling(child)) children.push(child);
  return children;
}

/** The tokens of an attribute that is a list of words or ids. */
export function tokens(element: Element, name: string): string[] {
  return (
    attribute(element, name)
      ?.split(/[\t\n\f\r ]+/)
      .filter(Boolean) ?? []
  );
}
