/**
 * The role of an element: what it says of itself when that is an ARIA role, else what HTML, SVG and MathML make
 * of it (HTML-AAM), as Chrome's accessibility tree has it. `generic` stands for what has none.
 */
import {
  attribute,
  attributeNames,
  childrenOf,
  hasAttribute,
  isElement,
  parentNode,
  tabIndex,
  tagOf,
  tokens,
} from './dom';

export const GENERIC = 'generic';

const ARIA_ROLES = new Set(
  (
    'alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox comment ' +
    'complementary contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell group ' +
    'heading image img insertion link list listbox listitem log main mark marquee math menu menubar menuitem menuitemcheckbox ' +
    'menuitemradio meter navigation none note option paragraph presentation progressbar radio radiogroup region row rowgroup ' +
    'rowheader scrollbar search searchbox sectionfooter sectionheader separator slider spinbutton status strong subscript suggestion ' +
    'superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem ' +
    'graphics-document graphics-object graphics-symbol'
  ).split(' '),
);

/** HTML elements whose role depends on nothing else. */
const TAG_ROLES: Readonly<Record<string, string>> = {
  address: 'group',
  article: 'article',
  audio: 'audio',
  blockquote: 'blockquote',
  button: 'button',
  canvas: 'canvas',
  caption: 'caption',
  code: 'code',
  datalist: 'listbox',
  dd: 'definition',
  del: 'deletion',
  details: 'group',
  dfn: 'term',
  dialog: 'dialog',
  dt: 'term',
  em: 'emphasis',
  embed: 'embedded object',
  fieldset: 'group',
  figure: 'figure',
  form: 'form',
  frame: 'iframe',
  h1: 'heading',
  h2: 'heading',
  h3: 'heading',
  h4: 'heading',
  h5: 'heading',
  h6: 'heading',
  hgroup: 'group',
  hr: 'separator',
  iframe: 'iframe',
  ins: 'insertion',
  main: 'main',
  mark: 'mark',
  menu: 'list',
  meter: 'meter',
  nav: 'navigation',
  object: 'embedded object',
  ol: 'list',
  optgroup: 'group',
  option: 'option',
  output: 'status',
  p: 'paragraph',
  progress: 'progressbar',
  s: 'deletion',
  search: 'search',
  strong: 'strong',
  sub: 'subscript',
  sup: 'superscript',
  textarea: 'textbox',
  time: 'time',
  ul: 'list',
  video: 'video',
  'math:math': 'math',
};

const INPUT_ROLES: Readonly<Record<string, string>> = {
  button: 'button',
  checkbox: 'checkbox',
  color: 'color well',
  date: 'date',
  'datetime-local': 'date and time',
  file: 'button',
  image: 'button',
  month: 'date and time',
  number: 'spinbutton',
  radio: 'radio',
  range: 'slider',
  reset: 'button',
  submit: 'button',
  time: 'time input',
  week: 'date and time',
};

const SECTIONING = new Set(['article', 'aside', 'main', 'nav', 'section']);
const SECTIONING_ROLES = new Set(['article', 'complementary', 'main', 'navigation', 'region']);

/** What ARIA allows on every element; with one of these an element is more than presentation. */
const GLOBAL = new Set(
  (
    'aria-atomic aria-busy aria-controls aria-current aria-describedby aria-description aria-details aria-flowto aria-keyshortcuts ' +
    'aria-label aria-labelledby aria-live aria-owns aria-relevant aria-roledescription'
  ).split(' '),
);

export class Roles {
  private readonly known = new Map<Element, string>();

  of(element: Element): string {
    let role = this.known.get(element);
    if (role === undefined) {
      role = this.find(element);
      this.known.set(element, role);
    }
    return role;
  }

  private find(element: Element): string {
    if (hasAttribute(element, 'role')) {
      const own = tokens(element, 'role').map((token) => token.toLowerCase());
      for (const token of own) {
        if (token === 'none' || token === 'presentation') {
          if (!isMoreThanPresentation(element)) return GENERIC;
          break;
        }
        if (!ARIA_ROLES.has(token)) continue;
        if ((token === 'region' || token === 'form') && !hasNameAttribute(element)) continue;
        return token === 'img' ? 'image' : token === 'directory' ? 'list' : token;
      }
    }
    return this.implicit(element);
  }

  private implicit(element: Element): string {
    const tag = tagOf(element);
    const fixed = Object.hasOwn(TAG_ROLES, tag) ? TAG_ROLES[tag] : undefined;
    if (fixed !== undefined) return fixed;
    switch (tag) {
      case 'a':
        return hasAttribute(element, 'href') || hasAttribute(element, 'onclick') ? 'link' : GENERIC;
      case 'area':
      case 'svg:a':
        return hasAttribute(element, 'href') || hasAttribute(element, 'xlink:href') ? 'link' : GENERIC;
      case 'aside':
        return !isInSection(element) || hasNameAttribute(element) || isInMain(element)
          ? 'complementary'
          : GENERIC;
      case 'header':
        return isInSection(element) ? 'sectionheader' : 'banner';
      case 'footer':
        return isInSection(element) ? 'sectionfooter' : 'contentinfo';
      case 'section':
        return hasNameAttribute(element) ? 'region' : GENERIC;
      case 'img':
        return attribute(element, 'alt') === '' &&
          !isMoreThanPresentation(element) &&
          !hasAttribute(element, 'title')
          ? GENERIC
          : 'image';
      case 'input':
        return inputRole(element as HTMLInputElement);
      case 'select':
        return isListbox(element) ? 'listbox' : 'combobox';
      case 'summary':
        return isSummaryOfDetails(element) ? 'disclosure' : GENERIC;
      case 'li':
        return this.listItem(element);
      case 'table':
        return isDataTable(element) || hasNameAttribute(element) ? 'table' : GENERIC;
      case 'thead':
      case 'tfoot':
        return this.tableOf(element) ? 'rowgroup' : GENERIC;
      case 'tr':
        return this.tableOf(element) ? 'row' : GENERIC;
      case 'td':
        return this.cell(element);
      case 'th':
        return this.tableOf(element) ? headerRole(element) : GENERIC;
      case 'svg:svg':
        return svgRole(element);
      default:
        return isGroup(element) ? 'group' : GENERIC;
    }
  }

  /** The items of a list without a meaning have none either. */
  private listItem(element: Element): string {
    const parent = parentElement(element);
    const isOfList = parent !== null && /^(?:ul|ol|menu)$/.test(tagOf(parent));
    return isOfList && this.of(parent) === GENERIC ? GENERIC : 'listitem';
  }

  private cell(element: Element): string {
    const role = this.tableOf(element);
    if (role === null) return GENERIC;
    return role === 'table' ? 'cell' : 'gridcell';
  }

  /** The role of the table a row or cell belongs to; null when it has none, and so nothing in it has. */
  private tableOf(element: Element): string | null {
    for (let at = parentElement(element); at; at = parentElement(at)) {
      if (tagOf(at) !== 'table') continue;
      const role = this.of(at);
      return role === 'table' || role === 'grid' || role === 'treegrid' ? role : null;
    }
    return null;
  }
}

/** What opens over the page, and what can be dragged: things of their own. */
function isGroup(element: Element): boolean {
  return hasAttribute(element, 'popover') || attribute(element, 'draggable') === 'true';
}

function parentElement(element: Element): Element | null {
  const parent = parentNode(element);
  return parent && isElement(parent) ? parent : null;
}

/** Whether it is given a name on purpose: for some roles that decides whether they have one at all. */
function hasNameAttribute(element: Element): boolean {
  return (
    (attribute(element, 'aria-label') ?? '').trim() !== '' ||
    tokens(element, 'aria-labelledby').length > 0 ||
    (attribute(element, 'title') ?? '').trim() !== ''
  );
}

function isMoreThanPresentation(element: Element): boolean {
  if (attributeNames(element).some((name) => GLOBAL.has(name))) return true;
  return isFocusable(element);
}

/** Whether Tab or a script can put the focus on it. */
export function isFocusable(element: Element): boolean {
  if (hasAttribute(element, 'tabindex')) return true;
  return element instanceof HTMLElement && tabIndex(element) >= 0;
}

function isInSection(element: Element): boolean {
  return hasAncestor(element, (tag, role) => SECTIONING.has(tag) || SECTIONING_ROLES.has(role));
}

function isInMain(element: Element): boolean {
  for (let at = parentElement(element); at; at = parentElement(at)) {
    const tag = tagOf(at);
    if (tag === 'main') return true;
    if (SECTIONING.has(tag)) return false;
  }
  return false;
}

function hasAncestor(element: Element, is: (tag: string, role: string) => boolean): boolean {
  for (let at = parentElement(element); at; at = parentElement(at)) {
    if (is(tagOf(at), attribute(at, 'role') ?? '')) return true;
  }
  return false;
}

function inputRole(input: HTMLInputElement): string {
  const type = inputType(input);
  if (type === 'hidden') return GENERIC;
  const role = Object.hasOwn(INPUT_ROLES, type) ? INPUT_ROLES[type] : undefined;
  if (role !== undefined) return role;
  if (hasAttribute(input, 'list')) return 'combobox';
  return type === 'search' ? 'searchbox' : 'textbox';
}

/** The type the browser takes it for: an unknown one is text. */
export function inputType(element: Element): string {
  return element instanceof HTMLInputElement ? element.type : '';
}

function isListbox(select: Element): boolean {
  return hasAttribute(select, 'multiple') || Number(attribute(select, 'size') ?? '1') > 1;
}

function isSummaryOfDetails(summary: Element): boolean {
  const parent = parentElement(summary);
  return parent !== null && tagOf(parent) === 'details' && firstSummary(parent) === summary;
}

/** The summary that opens and closes it: the first one that is a child. */
export function firstSummary(details: Element): Element | undefined {
  return childrenOf(details).find(
    (child): child is Element => isElement(child) && tagOf(child) === 'summary',
  );
}

/** A drawing with parts that mean something is a frame for them; every other is a picture. */
function svgRole(svg: Element): string {
  return hasMeaningfulPart(svg) ? GENERIC : 'image';
}

function hasMeaningfulPart(element: Element): boolean {
  return childrenOf(element).some(
    (child) =>
      isElement(child) &&
      (hasAttribute(child, 'role') ||
        hasAttribute(child, 'aria-label') ||
        hasAttribute(child, 'tabindex') ||
        /^svg:(?:a|text|image|foreignObject)$/.test(tagOf(child)) ||
        hasMeaningfulPart(child)),
  );
}

function headerRole(th: Element): string {
  const scope = (attribute(th, 'scope') ?? '').toLowerCase();
  if (scope === 'row' || scope === 'rowgroup') return 'rowheader';
  if (scope === 'col' || scope === 'colgroup') return 'columnheader';
  const row = parentElement(th);
  const cells = row ? childrenOf(row).filter(isElement) : [];
  const at = cells.indexOf(th);
  const beside = [cells[at - 1], cells[at + 1]].filter((cell) => cell !== undefined).map(tagOf);
  if (beside.length === 0 || beside.includes('th')) return 'columnheader';
  return beside.includes('td') ? 'rowheader' : 'columnheader';
}

const MOST_CELLS_LOOKED_AT = 200;
const ROWS_OF_DATA = 20;

/** Old pages lay themselves out by tables: a table counts when something in it says that it holds data. */
function isDataTable(table: Element): boolean {
  if (
    attributeNames(table).some((name) => name.startsWith('aria-') || name === 'summary' || name === 'rules')
  )
    return true;
  if (Number(attribute(table, 'border') ?? '0') >= 1 || attribute(table, 'border') === '') return true;
  let rows = 0;
  let columns = 0;
  let cells = 0;
  const isData = (at: Element): boolean => {
    for (const child of childrenOf(at)) {
      if (!isElement(child)) continue;
      switch (tagOf(child)) {
        case 'caption':
        case 'thead':
        case 'tfoot':
        case 'th':
        case 'colgroup':
          return true;
        case 'tbody':
          if (isData(child)) return true;
          break;
        case 'tr': {
          rows += 1;
          const before = cells;
          if (isData(child)) return true;
          columns = Math.max(columns, cells - before);
          break;
        }
        case 'td':
          cells += 1;
          if (attributeNames(child).some((name) => name === 'headers' || name === 'abbr' || name === 'scope'))
            return true;
          if (cells < MOST_CELLS_LOOKED_AT && hasBorder(child)) return true;
          break;
      }
    }
    return false;
  };
  if (isData(table)) return true;
  return rows >= ROWS_OF_DATA && columns > 1;
}

function hasBorder(cell: Element): boolean {
  const { borderTopWidth, borderTopStyle } = getComputedStyle(cell);
  return borderTopStyle !== 'none' && borderTopWidth !== '0px';
}
