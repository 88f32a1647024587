/** Computed styles of one look at a page: each element is asked once, because asking is what takes the time. */
import { Generated } from './generated';

/** What the outline and the text need to know of an element's style. */
export class StyleFacts {
  readonly display: string;
  /** False for visibility hidden and collapse: the element shows nothing itself, its children may. */
  readonly visible: boolean;

  constructor(private readonly style: CSSStyleDeclaration) {
    this.display = style.display;
    const { visibility } = style;
    this.visible = visibility === 'visible' || visibility === '';
  }

  /** content-visibility: hidden: nothing inside is rendered. */
  get hides_content(): boolean {
    return this.style.contentVisibility === 'hidden';
  }

  get pointer(): boolean {
    return this.style.cursor === 'pointer';
  }

  /** white-space keeps line breaks. */
  get keeps_lines(): boolean {
    return this.style.whiteSpaceCollapse.startsWith('preserve');
  }

  get transform(): string {
    return this.style.textTransform;
  }
}

export class Styles {
  private readonly facts = new Map<Element, StyleFacts>();
  private readonly generators = new Generated();

  of(element: Element): StyleFacts {
    let facts = this.facts.get(element);
    if (!facts) {
      facts = new StyleFacts(getComputedStyle(element));
      this.facts.set(element, facts);
    }
    return facts;
  }

  /** The text a style sheet puts before or behind the content. Counters are not known and left out. */
  generated(element: Element, where: '::before' | '::after'): string {
    if (!this.generators.isPossible(element)) return '';
    const { content } = getComputedStyle(element, where);
    if (content === 'none' || content === 'normal' || content === '') return '';
    return contentText(content);
  }
}

const PART = /"((?:[^"\\]|\\.)*)"|(open-quote)|(close-quote)|\/(?=\s*")/g;

/** The text of a computed `content`: of its alternative, when it names one. */
export function contentText(content: string): string {
  let text = '';
  for (const [part, string, open, close] of content.matchAll(PART)) {
    if (part === '/') text = '';
    else if (string !== undefined) text += unescapeCss(string);
    else if (open) text += '“';
    else if (close) text += '”';
  }
  return text;
}

function unescapeCss(text: string): string {
  return text.replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gi, (_whole, hex?: string, character?: string) =>
    hex ? String.fromCodePoint(Math.min(Number.parseInt(hex, 16), 0x10ffff)) : (character ?? ''),
  );
}

/** As text-transform shows it. */
export function transformed(text: string, transform: string): string {
  switch (transform) {
    case 'uppercase':
      return text.toUpperCase();
    case 'lowercase':
      return text.toLowerCase();
    case 'capitalize':
      return text.replace(
        /(^|[^\p{L}\p{N}'’])(\p{L})/gu,
        (_whole, before: string, letter: string) => before + letter.toUpperCase(),
      );
    default:
      return text;
  }
}
