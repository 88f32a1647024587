/** `page_text` in this document: what a person reads on it, block by block, line by line. */
import type { PageContext } from './commands';
import { attribute, body, characters, childrenOf, isElement, isText, tagOf } from './dom';
import type { ElementTarget } from './find-element';
import { framePlaces, isFrame } from './frame-places';
import { PartsWriter } from './parts';
import { type PageText, pageFacts, rootOf } from './snapshot';
import { shownValue } from './states';
import { transformed } from './styles';
import { DEEPEST, View } from './view';

const CELLS = new Set(['cell', 'gridcell', 'columnheader', 'rowheader']);
const SPACED = new Set([
  'p',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'ul',
  'ol',
  'dl',
  'table',
  'blockquote',
  'pre',
  'figure',
  'article',
  'section',
  'fieldset',
]);

/** The whole document, or what is in the element that `ref` or `selector` names. */
export function text(target: ElementTarget, { refs }: PageContext): PageText {
  const reader = new Reader();
  const root = rootOf(target, refs) ?? body(document);
  if (root) reader.element(root);
  return { ...pageFacts(), ...reader.finish() };
}

class Reader {
  private readonly view = new View();
  private readonly writer = new PartsWriter();
  private readonly placeOf = framePlaces();
  private line = '';
  private depth = 0;
  /** Empty lines that are due before the next text; none at the beginning. */
  private gap = 0;
  private hasText = false;
  /** What stands before the text of a list item or cell, once. */
  private lead = '';
  /** The lists this is in, the innermost last; null for those without numbers. */
  private readonly lists: (Numbering | null)[] = [];
  /** In a table row all is one line. */
  private inRow = 0;

  finish(): ReturnType<PartsWriter['finish']> {
    this.endLine();
    return this.writer.finish();
  }

  element(element: Element): void {
    const { view } = this;
    if (this.depth > DEEPEST || view.isGone(element)) return;
    const tag = tagOf(element);
    const role = view.roles.of(element);
    if (tag === 'br') {
      this.breakLine();
      return;
    }
    const style = view.style(element);
    if (isFrame(element)) {
      if (!style.visible) return;
      this.endLine();
      this.writer.hole({ ...this.placeOf(element), depth: 0 });
      return;
    }
    if (role === 'row') this.row(element);
    else if (CELLS.has(role) && this.inRow > 0) this.cell(element);
    else if (tag === 'hr') this.block(() => this.add('---', false), 0);
    else if (tag === 'select') this.field(element, role);
    else if (tag === 'input' || tag === 'textarea' || tag === 'progress' || tag === 'meter') {
      if (style.visible) this.field(element, role);
    } else if (style.display === 'inline' || style.display === 'contents') this.inside(element);
    else if (style.display.startsWith('inline')) {
      // Side by side, and yet apart.
      this.space();
      this.inside(element);
      this.space();
    } else if (tag === 'li') this.item(element);
    else if (tag === 'ul' || tag === 'ol' || tag === 'menu') this.list(element);
    else this.block(() => this.inside(element), SPACED.has(tag) ? 1 : 0);
  }

  private inside(element: Element): void {
    this.depth += 1;
    this.content(element);
    this.depth -= 1;
  }

  private content(element: Element): void {
    const style = this.view.style(element);
    if (style.visible) this.add(this.view.styles.generated(element, '::before'), false);
    for (const node of this.view.children(element)) {
      if (isElement(node)) this.element(node);
      else if (isText(node) && style.visible) {
        this.add(transformed(characters(node), style.transform), style.keeps_lines);
      }
    }
    if (style.visible) this.add(this.view.styles.generated(element, '::after'), false);
  }

  private block(read: () => void, gap: number): void {
    if (this.inRow > 0) {
      this.space();
      read();
      this.space();
      return;
    }
    this.endLine();
    this.gap = Math.max(this.gap, gap);
    read();
    this.endLine();
    this.gap = Math.max(this.gap, gap);
  }

  private list(element: Element): void {
    const gap = this.lists.length === 0 ? 1 : 0;
    this.lists.push(numbering(element));
    this.block(() => this.inside(element), gap);
    this.lists.pop();
  }

  private item(element: Element): void {
    this.block(() => {
      const outer = this.lead;
      this.lead = `${'  '.repeat(Math.max(0, this.lists.length - 1))}${this.marker(element)} `;
      this.inside(element);
      this.endLine();
      this.lead = outer;
    }, 0);
  }

  /** `-`, or the number of an item in a numbered list. */
  private marker(item: Element): string {
    const list = this.lists.at(-1);
    if (!list) return '-';
    const number = item instanceof HTMLLIElement && item.hasAttribute('value') ? item.value : list.next;
    list.next = number + list.step;
    return `${number}.`;
  }

  private row(element: Element): void {
    if (this.inRow > 0) {
      this.inside(element);
      return;
    }
    this.endLine();
    this.inRow += 1;
    this.inside(element);
    this.inRow -= 1;
    this.line = this.line.replace(/\s*\|\s*$/, '');
    this.endLine();
  }

  private cell(element: Element): void {
    this.inside(element);
    this.line = `${this.line.trimEnd()} | `;
  }

  private field(element: Element, role: string): void {
    const isButton = role === 'button';
    const value = isButton ? (attribute(element, 'value') ?? '') : shownValue(element, role);
    if (value === null || value === '') return;
    this.space();
    this.add(value, false);
    this.space();
  }

  private space(): void {
    if (this.line !== '' && !this.line.endsWith(' ')) this.line += ' ';
  }

  private add(text: string, keepsLines: boolean): void {
    if (text === '') return;
    if (keepsLines && this.inRow === 0) {
      const [first = '', ...rest] = text.replace(/\r\n?/g, '\n').split('\n');
      this.line += first;
      for (const next of rest) {
        this.breakLine();
        this.line = next;
      }
      return;
    }
    const folded = text.replace(/[ \t\n\r\f]+/g, ' ');
    if (folded === ' ') this.space();
    else this.line += this.line === '' || this.line.endsWith(' ') ? folded.trimStart() : folded;
  }

  private breakLine(): void {
    if (this.inRow > 0) this.space();
    else if (this.line.trim() === '') this.gap = Math.max(this.gap, this.hasText ? 1 : 0);
    else this.endLine();
  }

  private endLine(): void {
    if (this.inRow > 0) return;
    const line = this.line.trimEnd();
    this.line = '';
    if (line.trim() === '') return;
    if (this.hasText) for (let empty = 0; empty < this.gap; empty += 1) this.writer.line('');
    this.gap = 0;
    this.hasText = true;
    this.writer.line(this.lead + line);
    this.lead = ' '.repeat(this.lead.length);
  }
}

interface Numbering {
  next: number;
  step: 1 | -1;
}

function numbering(list: Element): Numbering | null {
  if (!(list instanceof HTMLOListElement)) return null;
  return list.reversed
    ? { next: list.hasAttribute('start') ? list.start : childrenOf(list).filter(isElement).length, step: -1 }
    : { next: list.start, step: 1 };
}
