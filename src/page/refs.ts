/**
 * Which element a `ref` names, for as long as the document lives. An element keeps its ref in every later
 * snapshot; a ref whose element left the document names nothing, and never another element.
 */
import { formatRef, parseRef } from '../protocol/element-ref';
import { AgentError } from '../protocol/errors';
import { isConnected, ownerDocument } from './dom';

export class Refs {
  private last = 0;
  private readonly numbers = new WeakMap<Element, number>();
  private readonly elements = new Map<number, WeakRef<Element>>();

  /** `prefix`: the first part of every ref of this document. */
  constructor(readonly prefix: string) {}

  /** The ref of an element of this document, given to it now if it has none. */
  of(element: Element): string {
    let number = this.numbers.get(element);
    if (number === undefined) {
      this.last += 1;
      number = this.last;
      this.numbers.set(element, number);
      this.elements.set(number, new WeakRef(element));
    }
    return formatRef(this.prefix, number);
  }

  /** The element, as long as it is in the document. Throws `element_not_found`. */
  find(ref: string): Element {
    const parsed = parseRef(ref);
    const element = parsed?.prefix === this.prefix ? this.elements.get(parsed.number)?.deref() : undefined;
    if (!element || !isInDocument(element)) throw new AgentError('element_not_found');
    return element;
  }
}

function isInDocument(element: Element): boolean {
  return isConnected(element) && ownerDocument(element) === document;
}
