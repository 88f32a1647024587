/**
 * Which elements a style sheet may put text before or behind. Asking the browser for the style of a pseudo-element
 * costs more than all else that is asked of an element, so the style sheets are read instead, once: only the
 * elements their rules fit are asked. Where a sheet cannot be read, every element is.
 */
import { queryAll, rootNode, tagOf } from './dom';

type Root = Document | ShadowRoot;

export class Generated {
  private readonly roots = new Map<Node, ReadonlySet<Element> | 'any'>();

  /** False when it surely has no generated text. */
  isPossible(element: Element): boolean {
    // The browser's own style sheet puts quotation marks there.
    if (tagOf(element) === 'q') return true;
    const root = rootNode(element);
    let fitting = this.roots.get(root);
    if (fitting === undefined) {
      fitting = root instanceof Document || root instanceof ShadowRoot ? elementsWithText(root) : 'any';
      this.roots.set(root, fitting);
    }
    return fitting === 'any' || fitting.has(element);
  }
}

function elementsWithText(root: Root): ReadonlySet<Element> | 'any' {
  const selectors: string[] = [];
  try {
    for (const sheet of [...sheetsOf(root)]) if (!sheet.disabled) collect(sheet.cssRules, selectors);
    return new Set(selectors.length === 0 ? [] : queryIn(root, selectors.join(',')));
  } catch {
    // A sheet of another site, or a selector that means something only where it stands.
    return 'any';
  }
}

const documentSheets = Object.getOwnPropertyDescriptor(Document.prototype, 'styleSheets')?.get;
const documentAdopted = Object.getOwnPropertyDescriptor(Document.prototype, 'adoptedStyleSheets')?.get;

function sheetsOf(root: Root): CSSStyleSheet[] {
  const own: StyleSheetList = root instanceof Document ? documentSheets?.call(root) : root.styleSheets;
  const adopted: CSSStyleSheet[] =
    root instanceof Document ? (documentAdopted?.call(root) ?? []) : root.adoptedStyleSheets;
  return [...own, ...adopted];
}

function queryIn(root: Root, selector: string): Iterable<Element> {
  return root instanceof Document ? queryAll(root, selector) : root.querySelectorAll(selector);
}

const PSEUDO = /::?(?:before|after)$/;
/** Selectors that reach out of their tree. */
const REACHES_OUT = /:host|::slotted|::part/;

/** Throws for what cannot be read or told. */
function collect(rules: CSSRuleList, selectors: string[], isNested = false): void {
  for (const rule of rules) {
    if (rule instanceof CSSStyleRule) {
      if (/:(?:before|after)/.test(rule.selectorText) && hasText(rule.style.content)) {
        if (isNested || REACHES_OUT.test(rule.selectorText)) throw new Error('no selector of its own');
        selectors.push(...elementsOf(rule.selectorText));
      }
      collect(rule.cssRules, selectors, true);
    } else if (rule instanceof CSSImportRule) {
      if (rule.styleSheet) collect(rule.styleSheet.cssRules, selectors);
    } else if ('cssRules' in rule) {
      collect((rule as CSSGroupingRule).cssRules, selectors, isNested);
    }
  }
}

function hasText(content: string): boolean {
  return content !== '' && content !== '""' && content !== 'none' && content !== 'normal';
}

/** `a::before, b, .c > ::after` → `a`, `.c > *`. */
function elementsOf(selectorText: string): string[] {
  return splitList(selectorText)
    .filter((selector) => PSEUDO.test(selector))
    .map((selector) => {
      const element = selector.replace(PSEUDO, '');
      return element === '' || /[\s>+~]$/.test(element) ? `${element}*` : element;
    });
}

/** At the commas that separate selectors, not those inside of them. */
function splitList(selectorText: string): string[] {
  const list: string[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: found, index } of selectorText.matchAll(/\\.|"(?:[^"\\]|\\.)*"|[(),[\]]/g)) {
    if (found === '(' || found === '[') depth += 1;
    else if (found === ')' || found === ']') depth -= 1;
    else if (found === ',' && depth === 0) {
      list.push(selectorText.slice(start, index).trim());
      start = index + 1;
    }
  }
  return [...list, selectorText.slice(start).trim()];
}
