/**
 * Puts a value into a field, with the events that pages listen for: beforeinput, input, change, focus. The value
 * is set through this world's own setter, so that a page that watches the property (React) sees a change.
 */
import { AgentError } from '../protocol/errors';
import { controlOf, whyReadOnly } from './actionability';
import { click } from './click';
import { describeElement } from './describe-element';
import { isConnected, isContentEditable } from './dom';
import { giveFocus } from './focus';
import type { Point } from './pointer';
import { attributeOf, fits, isWithin, nearest, shownTextOf, textOf } from './tree';

export interface Filled {
  /** What the field holds now; left out for passwords. */
  value?: string;
  checked?: boolean;
}

export type TextField = HTMLInputElement | HTMLTextAreaElement;

/** What the value of a field must look like, by its type. */
const FORMATS: Record<string, string> = {
  color: 'a colour as #rrggbb',
  date: 'a date as YYYY-MM-DD',
  'datetime-local': 'a date and time as YYYY-MM-DDThh:mm',
  month: 'a month as YYYY-MM',
  number: 'a number',
  range: 'a number between its min and max, on one of its steps',
  time: 'a time as hh:mm',
  week: 'a week as YYYY-Www',
};

/** Fields that are filled by other means, and how. */
const NOT_FILLED: Record<string, string> = {
  file: 'Files can be chosen only by a person.',
  hidden: 'A hidden field is not for people to fill.',
  button: 'It is a button: use page_click.',
  submit: 'It is a button: use page_click.',
  reset: 'It is a button: use page_click.',
  image: 'It is a button: use page_click.',
};

export function fill(target: Element, value: string | boolean, point: Point): Filled {
  const element = controlOf(target);
  const readOnly = whyReadOnly(element);
  if (readOnly) throw new AgentError('element_not_actionable', readOnly);
  if (element instanceof HTMLInputElement) return fillInput(element, value, point);
  if (element instanceof HTMLTextAreaElement) return fillText(element, asText(value));
  if (element instanceof HTMLSelectElement) {
    throw new AgentError('element_not_actionable', 'It is a list of options: use page_select.');
  }
  if (isToggle(element)) return toggle(element, asBoolean(value), point);
  const editor = editorOf(element);
  if (editor) return fillEditor(editor, asText(value));
  throw new AgentError(
    'element_not_actionable',
    `The element ${describeElement(element)} takes no text. Name an input, a textarea or an editable element.`,
  );
}

function fillInput(input: HTMLInputElement, value: string | boolean, point: Point): Filled {
  const reason = NOT_FILLED[input.type];
  if (reason) throw new AgentError('element_not_actionable', reason);
  if (isToggle(input)) return toggle(input, asBoolean(value), point);
  const wanted = asText(value);
  refuseUnfit(input, wanted);
  return fillText(input, wanted);
}

function asText(value: string | boolean): string {
  if (typeof value === 'string') return value;
  throw new AgentError('invalid_input', 'input.value must be a text for this field.');
}

function asBoolean(value: string | boolean): boolean {
  if (typeof value === 'boolean') return value;
  if (value === 'true' || value === 'false') return value === 'true';
  throw new AgentError('invalid_input', 'input.value must be true or false for this field.');
}

/** What the browser would silently change or drop is refused before anything is touched. */
function refuseUnfit(input: HTMLInputElement, wanted: string): void {
  const probe = input.cloneNode() as HTMLInputElement;
  probe.value = wanted;
  const isSame =
    probe.value.toLowerCase() === wanted.toLowerCase() ||
    (input.type === 'range' && probe.value !== '' && Number(probe.value) === Number(wanted)) ||
    (/email|url/.test(input.type) && probe.value === wanted.trim()) ||
    // Seconds and their fractions come back in the shortest way.
    (/time/.test(input.type) &&
      probe.value !== '' &&
      wanted.replace('T', ' ').startsWith(probe.value.replace('T', ' ')));
  if (isSame) return;
  const format = FORMATS[input.type];
  throw new AgentError(
    'invalid_input',
    format
      ? `input.value must be ${format} for this field.`
      : 'input.value must be a single line for this field.',
  );
}

export function fillText(field: TextField, wanted: string): Filled {
  if (field.maxLength >= 0 && wanted.length > field.maxLength) {
    throw new AgentError(
      'invalid_input',
      `input.value must have at most ${field.maxLength} characters for this field.`,
    );
  }
  mustFocus(field);
  if (field.value === wanted) return filled(field);
  const isText = field instanceof HTMLTextAreaElement || !(field.type in FORMATS) || field.type === 'number';
  if (isText) selectAll(field);
  const inputType = wanted === '' ? 'deleteContentBackward' : 'insertText';
  const data = wanted === '' ? null : wanted;
  if (!isText || sendInput(field, 'beforeinput', inputType, data)) {
    field.value = wanted;
    if (isText) sendInput(field, 'input', inputType, data);
    else field.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  }
  sendChange(field);
  return filled(field);
}

/** What a field holds now; nothing of one that the page has taken away. */
export function heldBy(target: Element): Filled {
  const element = controlOf(target);
  if (!isConnected(element)) return {};
  if (isToggle(element)) return { checked: isChecked(element) };
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) return filled(element);
  const editor = editorOf(element);
  return editor ? { value: editorText(editor) } : {};
}

function editorText(editor: HTMLElement): string {
  return shownTextOf(editor).replace(/\n$/, '');
}

function filled(field: TextField): Filled {
  return field.type === 'password' ? {} : { value: field.value };
}

/**
 * Throws `element_not_actionable` when the element cannot have the focus. Of what stands in an editor, the editor
 * has it.
 */
export function mustFocus(element: Element): void {
  const looks = describeElement(element);
  if (giveFocus(editingHost(element) ?? element) && isConnected(element)) return;
  if (!isConnected(element)) {
    throw new AgentError(
      'element_not_actionable',
      `The page put another element in the place of ${looks} when it got the focus. Nothing was entered. Take a new page_snapshot.`,
    );
  }
  const modal = modalAbove(element);
  const because = modal ? `: ${describeElement(modal)} is open above it` : '';
  throw new AgentError('element_not_actionable', `The element ${looks} cannot take the focus${because}.`);
}

function modalAbove(element: Element): Element | null {
  const modal = [...document.querySelectorAll('dialog:modal')].at(-1);
  return modal && !isWithin(element, modal) ? modal : null;
}

function selectAll(field: TextField): void {
  try {
    field.select();
  } catch {
    // Some types have no selection.
  }
}

/** Returns false when the page prevented the change. */
export function sendInput(
  element: Element,
  type: 'beforeinput' | 'input',
  inputType: string,
  data: string | null,
  targetRanges: StaticRange[] = [],
): boolean {
  return element.dispatchEvent(
    new InputEvent(type, {
      bubbles: true,
      cancelable: type === 'beforeinput',
      composed: true,
      view: window,
      inputType,
      data,
      targetRanges,
    }),
  );
}

export function sendChange(element: Element): void {
  element.dispatchEvent(new Event('change', { bubbles: true }));
}

const TOGGLE_ROLES =
  '[role="checkbox"], [role="radio"], [role="switch"], [role="menuitemcheckbox"], [role="menuitemradio"]';

function isToggle(element: Element): boolean {
  if (element instanceof HTMLInputElement) return element.type === 'checkbox' || element.type === 'radio';
  return fits(element, TOGGLE_ROLES);
}

function isChecked(element: Element): boolean {
  if (element instanceof HTMLInputElement) return element.checked && !element.indeterminate;
  return attributeOf(element, 'aria-checked') === 'true';
}

/** A box is ticked as a person does it, with a click, and only when it is not yet as wanted. */
function toggle(element: Element, wanted: boolean, point: Point): Filled {
  const modal = modalAbove(element);
  if (modal) {
    throw new AgentError(
      'element_not_actionable',
      `The element ${describeElement(element)} is out of reach: ${describeElement(modal)} is open above it.`,
    );
  }
  const isRadio =
    element instanceof HTMLInputElement
      ? element.type === 'radio'
      : /radio/.test(attributeOf(element, 'role') ?? '');
  if (isRadio && !wanted && isChecked(element)) {
    throw new AgentError(
      'invalid_input',
      'input.value must be true: a radio button is taken back by choosing another one.',
    );
  }
  if (isChecked(element) !== wanted) {
    click(element, point, { button: 'left', count: 1, modifiers: [] });
    // From neither to ticked and on.
    if (element instanceof HTMLInputElement && element.checked !== wanted) {
      click(element, point, { button: 'left', count: 1, modifiers: [] });
    }
  }
  return { checked: isChecked(element) };
}

/** What has the focus when this is edited, if it is: the editor it stands in, or the whole page. */
export function editingHost(element: Element): Element | null {
  if (!(element instanceof HTMLElement) || !isContentEditable(element)) return null;
  return nearest(element, EDITOR) ?? document.body;
}

const EDITOR = '[contenteditable]:not([contenteditable="false" i])';

/** The element whose whole content is edited, or null. */
export function editorOf(element: Element): HTMLElement | null {
  if (!(element instanceof HTMLElement) || !isContentEditable(element)) {
    const inner = element.querySelector(EDITOR);
    const holdsOne = inner && element.querySelectorAll('[contenteditable]').length === 1;
    return holdsOne && fits(element, '[role="textbox"], [role="combobox"]') ? (inner as HTMLElement) : null;
  }
  return editingHost(element) as HTMLElement | null;
}

/** Replaces what an editor holds. Editors that keep a model of their own take the text from beforeinput. */
function fillEditor(editor: HTMLElement, wanted: string): Filled {
  mustFocus(editor);
  getSelection()?.selectAllChildren(editor);
  const before = textOf(editor);
  // Where the browser's own editing is switched off, the text is put in plainly.
  if (insertText(editor, wanted) === 'refused' && textOf(editor) === before) {
    editor.textContent = wanted;
    sendInput(editor, 'input', 'insertText', wanted);
  }
  sendChange(editor);
  return { value: editorText(editor) };
}

/** Puts text where the selection is; an empty one deletes. Says whether the browser did it, or the page kept it. */
export function insertText(editor: HTMLElement, text: string): 'done' | 'prevented' | 'refused' {
  const inputType = text === '' ? 'deleteContentBackward' : 'insertText';
  if (!sendInput(editor, 'beforeinput', inputType, text === '' ? null : text, selectedRanges())) {
    return 'prevented';
  }
  const done = text === '' ? document.execCommand('delete') : document.execCommand('insertText', false, text);
  return done ? 'done' : 'refused';
}

function selectedRanges(): StaticRange[] {
  const selection = getSelection();
  if (!selection || selection.rangeCount === 0) return [];
  const { startContainer, startOffset, endContainer, endOffset } = selection.getRangeAt(0);
  return [new StaticRange({ startContainer, startOffset, endContainer, endOffset })];
}
