/** What the outline tells of an element beside its role and name: its states, its value, where a link leads. */
import { attribute, body, hasAttribute, matches, tagOf } from './dom';
import { fold } from './names';
import { isEditingHost } from './outline';
import { inputType } from './roles';

const CHECKABLE = new Set([
  'checkbox',
  'radio',
  'switch',
  'menuitemcheckbox',
  'menuitemradio',
  'option',
  'treeitem',
]);
const SELECTABLE = new Set(['option', 'tab', 'row', 'gridcell', 'treeitem', 'columnheader', 'rowheader']);
const LEVELS = new Set(['heading', 'treeitem', 'row', 'listitem']);
const LONGEST_URL = 200;
const LONGEST_NOTE = 300;

/** Each as it stands in brackets: `checked`, `level=2`, `url=/cart`. */
export function statesOf(element: Element, role: string, name: string): string[] {
  const states: string[] = [];
  const add = (state: string | null): void => {
    if (state !== null) states.push(state);
  };
  const tag = tagOf(element);
  if (LEVELS.has(role)) add(level(element, tag, role));
  if (CHECKABLE.has(role)) add(tri('checked', checkedness(element)));
  if (SELECTABLE.has(role) && isSelected(element)) add('selected');
  add(tri('pressed', attribute(element, 'aria-pressed')));
  add(expanded(element, tag));
  if (isDisabled(element)) add('disabled');
  if (flag(element, 'aria-required') || isNative(element, 'required')) add('required');
  if (isReadOnly(element)) add('readonly');
  add(invalid(element));
  if (flag(element, 'aria-modal') || (tag === 'dialog' && matches(element, ':modal'))) add('modal');
  if (flag(element, 'aria-busy')) add('busy');
  if (flag(element, 'aria-multiselectable') || (tag === 'select' && hasAttribute(element, 'multiple')))
    add('multiple');
  add(word(element, 'aria-haspopup', 'popup'));
  add(word(element, 'aria-current', 'current'));
  add(word(element, 'aria-sort', 'sort'));
  if (element !== body(document) && matches(element, ':focus')) add('focused');
  if (isEditingHost(element)) add('editable');
  if (tag === 'input') {
    const type = inputType(element);
    if (type === 'password' || type === 'file') add(`type=${type}`);
  }
  if (role === 'link') add(urlState(element));
  const hint = attribute(element, 'placeholder') ?? '';
  if (fold(hint) !== '' && fold(hint) !== name) add(quoted('placeholder', hint));
  return states;
}

/** `key="text"`, cut: notes that come from the page. */
export function quoted(key: string, text: string): string {
  const folded = fold(text);
  return `${key}=${JSON.stringify(folded.length > LONGEST_NOTE ? `${folded.slice(0, LONGEST_NOTE)}…` : folded)}`;
}

function tri(key: string, value: string | null): string | null {
  if (value === 'true') return key;
  return value === 'mixed' ? `${key}=mixed` : null;
}

function checkedness(element: Element): string | null {
  if (element instanceof HTMLInputElement) {
    return element.indeterminate ? 'mixed' : String(element.checked);
  }
  return attribute(element, 'aria-checked');
}

function isSelected(element: Element): boolean {
  if (element instanceof HTMLOptionElement) return element.selected;
  return flag(element, 'aria-selected');
}

function expanded(element: Element, tag: string): string | null {
  const own = attribute(element, 'aria-expanded');
  if (own === 'true') return 'expanded';
  if (own === 'false') return 'expanded=false';
  if (tag !== 'summary') return null;
  return matches(element, 'details[open] > summary')
    ? 'expanded'
    : matches(element, 'details > summary')
      ? 'expanded=false'
      : null;
}

function level(element: Element, tag: string, role: string): string | null {
  const own = Number(attribute(element, 'aria-level'));
  if (Number.isInteger(own) && own > 0) return `level=${own}`;
  if (role !== 'heading') return null;
  return /^h[1-6]$/.test(tag) ? `level=${tag.slice(1)}` : 'level=2';
}

function isDisabled(element: Element): boolean {
  return (
    matches(element, ':disabled') || matches(element, '[aria-disabled="true"], [aria-disabled="true"] *')
  );
}

function isReadOnly(element: Element): boolean {
  if (flag(element, 'aria-readonly')) return true;
  return (
    (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) &&
    hasAttribute(element, 'readonly')
  );
}

/** Only what the page says: an empty required field is no mistake yet. */
function invalid(element: Element): string | null {
  const own = attribute(element, 'aria-invalid');
  if (own === null || own === '' || own === 'false')
    return matches(element, ':user-invalid') ? 'invalid' : null;
  return own === 'grammar' || own === 'spelling' ? `invalid=${own}` : 'invalid';
}

function isNative(element: Element, name: string): boolean {
  return /^(?:input|select|textarea)$/.test(tagOf(element)) && hasAttribute(element, name);
}

function flag(element: Element, name: string): boolean {
  return attribute(element, name) === 'true';
}

function word(element: Element, attributeName: string, key: string): string | null {
  const value = attribute(element, attributeName)?.trim().toLowerCase();
  if (!value || value === 'false' || value === 'none' || !/^[a-z]+$/.test(value)) return null;
  return value === 'true' ? key : `${key}=${value}`;
}

/** Relative when it stays on the site. Scripts and inline data lead nowhere. */
function urlState(element: Element): string | null {
  const url = addressOf(element);
  if (!/^(?:https?|mailto|tel|file|ftp):/.test(url)) return null;
  const site = location.origin;
  const text = url.startsWith(`${site}/`) ? url.slice(site.length) : url;
  const plain = /[\]\s]/.test(text) ? text.replaceAll(']', '%5D').replace(/\s/g, '%20') : text;
  return `url=${plain.length > LONGEST_URL ? `${plain.slice(0, LONGEST_URL)}…` : plain}`;
}

/** Whole, as the browser would go there; empty when it leads nowhere. */
function addressOf(element: Element): string {
  if (element instanceof HTMLAnchorElement || element instanceof HTMLAreaElement) return element.href;
  const href = attribute(element, 'href') ?? attribute(element, 'xlink:href');
  return href !== null && URL.canParse(href, location.href) ? new URL(href, location.href).href : '';
}

const MASK = '•';

/** What is in a field or on a scale, or null for elements that hold nothing. One line; JSON when it has several. */
export function shownValue(element: Element, role: string): string | null {
  const value = rawValue(element, role);
  if (value === null || value === '') return null;
  return /[\n\r\u2028\u2029]/.test(value) ? JSON.stringify(value) : value;
}

function rawValue(element: Element, role: string): string | null {
  if (element instanceof HTMLInputElement) return inputValue(element);
  if (element instanceof HTMLTextAreaElement) return element.value;
  if (element instanceof HTMLSelectElement) {
    return role === 'listbox' ? null : fold(element.selectedOptions[0]?.label ?? '');
  }
  if (element instanceof HTMLProgressElement)
    return hasAttribute(element, 'value') ? String(element.value) : null;
  if (element instanceof HTMLMeterElement) return String(element.value);
  if (/^(?:slider|spinbutton|progressbar|meter|scrollbar)$/.test(role)) {
    return fold(attribute(element, 'aria-valuetext') ?? attribute(element, 'aria-valuenow') ?? '');
  }
  return null;
}

function inputValue(input: HTMLInputElement): string | null {
  switch (inputType(input)) {
    case 'button':
    case 'submit':
    case 'reset':
    case 'image':
    case 'checkbox':
    case 'radio':
    case 'hidden':
      return null;
    case 'password':
      return MASK.repeat(Math.min(input.value.length, 8));
    case 'file':
      return Array.from(input.files ?? [], ({ name }) => name).join(', ');
    default:
      return input.value;
  }
}
