/** What a key does in the place where it is pressed, when the page did not prevent it. */

import type { Key } from '../protocol/keys';
import { followByKey } from './click';
import { editorOf, insertText, sendChange, sendInput, type TextField } from './fill';
import { giveFocus } from './focus';
import { keyScroll } from './scroll';
import { isDisabled } from './select';
import { moveFocus, radioGroup } from './tab-order';
import { attributeOf, fits } from './tree';

/** Runs after keydown (and keypress, for keys that type). */
export function pressEffect(target: Element, key: Key): void {
  const shift = key.modifiers.includes('Shift');
  const command = key.modifiers.includes('Control') || key.modifiers.includes('Meta');
  if (key.modifiers.includes('Alt')) return;
  const field = textFieldOf(target);
  const editor = field ? null : editorOf(target);
  if (key.key === 'Tab' && !command) moveFocus(shift);
  else if (key.key === 'Escape') closeTopmost();
  else if (command) editCommand(field ?? editor, key);
  else if (key.key === 'Enter') enter(target, field, editor, shift);
  else if (target instanceof HTMLSelectElement) chooseByKey(target, key);
  else if (!actsInField(target, field ?? editor, key, shift)) {
    // Space presses a button when it is let go.
    if (!(key.key === ' ' && isPressable(target))) keyScroll(target, key.key, shift);
  }
}

/** Returns false for a key that means nothing there. */
function actsInField(target: Element, text: HTMLElement | null, key: Key, shift: boolean): boolean {
  if (target instanceof HTMLInputElement && (chooseInGroup(target, key) || step(target, key))) return true;
  return text !== null && edit(text, key, shift);
}

/** Runs after keyup: buttons and boxes are pressed when Space is let go. */
export function releaseEffect(target: Element, { key, modifiers }: Key): void {
  if (key !== ' ' || modifiers.some((one) => one !== 'Shift') || !isPressable(target)) return;
  const isChosen = target instanceof HTMLInputElement && target.type === 'radio' && target.checked;
  if (!isChosen) pressByKey(target);
}

const PRESSABLE =
  'button, summary, input[type="button"], input[type="submit"], input[type="reset"], input[type="image"], input[type="checkbox"], input[type="radio"]';

function isPressable(element: Element): boolean {
  return fits(element, PRESSABLE) && !fits(element, ':disabled');
}

/** A click as the keyboard makes it: no pointer moves. */
function pressByKey(element: Element): void {
  element.dispatchEvent(
    new PointerEvent('click', {
      bubbles: true,
      cancelable: true,
      composed: true,
      view: window,
      pointerId: -1,
    }),
  );
}

const TEXT_TYPES = /^(text|search|url|tel|email|password|number|date|datetime-local|month|week|time)$/;

function textFieldOf(element: Element): TextField | null {
  if (element instanceof HTMLTextAreaElement) return element;
  return element instanceof HTMLInputElement && TEXT_TYPES.test(element.type) ? element : null;
}

/** Fields changed by keys whose page has not heard `change` yet. */
const changed = new WeakSet<Element>();

function enter(target: Element, field: TextField | null, editor: HTMLElement | null, shift: boolean): void {
  if (field instanceof HTMLTextAreaElement) type(field, '\n', 'insertLineBreak');
  else if (editor) breakLine(editor, shift);
  else if (isPressable(target) && !fits(target, '[type="checkbox" i], [type="radio" i]')) pressByKey(target);
  else if (target instanceof HTMLInputElement) {
    if (changed.delete(target)) sendChange(target);
    submitFrom(target);
  } else if (fits(target, 'a[href], area[href]')) followLink(target);
}

function followLink(link: Element): void {
  followByKey(link, () => pressByKey(link));
}

function breakLine(editor: HTMLElement, shift: boolean): void {
  const inputType = shift ? 'insertLineBreak' : 'insertParagraph';
  if (!sendInput(editor, 'beforeinput', inputType, null)) return;
  document.execCommand(inputType);
}

/** Fields that keep a form without a button from being submitted when there are several of them. */
const BLOCKING = /^(text|search|url|tel|email|password|date|month|week|time|datetime-local|number)$/;

const formElements = Object.getOwnPropertyDescriptor(HTMLFormElement.prototype, 'elements')?.get;
const { requestSubmit } = HTMLFormElement.prototype;

/** What Enter in a field does: presses the form's first submit button, or submits a form that has none. */
function submitFrom(field: HTMLInputElement): void {
  const { form } = field;
  if (!form) return;
  const elements: Element[] = [...(formElements?.call(form) ?? [])];
  const images = [...treeQuery(form, 'input[type="image" i]')];
  const button = [...elements, ...images].find((one) =>
    fits(
      one,
      'button:not([type="button" i], [type="reset" i]), input[type="submit" i], input[type="image" i]',
    ),
  );
  if (button) {
    if (!fits(button, ':disabled')) pressByKey(button);
    return;
  }
  const blocking = elements.filter((one) => one instanceof HTMLInputElement && BLOCKING.test(one.type));
  if (blocking.length <= 1) requestSubmit.call(form);
}

const treeQuery = (element: Element, selector: string): NodeListOf<Element> =>
  Element.prototype.querySelectorAll.call(element, selector);

function editCommand(where: HTMLElement | null, { key }: Key): void {
  switch (key.toLowerCase()) {
    case 'a':
      if (where instanceof HTMLInputElement || where instanceof HTMLTextAreaElement) where.select();
      else if (where) getSelection()?.selectAllChildren(where);
      else document.execCommand('selectAll');
      break;
    case 'z':
      document.execCommand('undo');
      break;
    case 'y':
      document.execCommand('redo');
      break;
    case 'backspace':
    case 'delete':
      if (where) erase(where, key === 'Delete', 'word');
      break;
    case 'arrowleft':
    case 'arrowright':
      getSelection()?.modify('move', key === 'ArrowRight' ? 'right' : 'left', 'word');
      break;
    case 'home':
    case 'end':
      if (where) getSelection()?.modify('move', key === 'End' ? 'forward' : 'backward', 'documentboundary');
      else keyScroll(document.documentElement, key, false);
      break;
  }
}

/** Returns false for keys that mean nothing in a text. */
function edit(where: HTMLElement, { key, text }: Key, shift: boolean): boolean {
  const selection = getSelection();
  const alter = shift ? 'extend' : 'move';
  switch (key) {
    case 'Backspace':
    case 'Delete':
      erase(where, key === 'Delete', 'character');
      return true;
    case 'ArrowLeft':
    case 'ArrowRight':
      selection?.modify(alter, key === 'ArrowRight' ? 'right' : 'left', 'character');
      return true;
    case 'ArrowUp':
    case 'ArrowDown':
      selection?.modify(alter, key === 'ArrowDown' ? 'forward' : 'backward', 'line');
      return true;
    case 'Home':
    case 'End':
      selection?.modify(alter, key === 'End' ? 'forward' : 'backward', 'lineboundary');
      return true;
  }
  if (text === '') return false;
  type(where, text, 'insertText');
  return true;
}

/** Fields with a form of their own (dates) take no single characters from a script. */
function type(where: HTMLElement, text: string, inputType: string): void {
  const isField = where instanceof HTMLInputElement || where instanceof HTMLTextAreaElement;
  if (!isField) {
    insertText(where, text);
    return;
  }
  if (where.readOnly) return;
  if (!sendInput(where, 'beforeinput', inputType, text === '\n' ? null : text)) return;
  if (document.execCommand('insertText', false, text)) changed.add(where);
}

function erase(where: HTMLElement, forward: boolean, unit: 'character' | 'word'): void {
  const isField = where instanceof HTMLInputElement || where instanceof HTMLTextAreaElement;
  if (isField && where.readOnly) return;
  const inputType = `delete${unit === 'word' ? 'Word' : 'Content'}${forward ? 'Forward' : 'Backward'}`;
  if (!sendInput(where, 'beforeinput', inputType, null)) return;
  const selection = getSelection();
  const isCollapsed = isField
    ? where.selectionStart === where.selectionEnd
    : (selection?.isCollapsed ?? true);
  if (unit === 'word' && isCollapsed) selection?.modify('extend', forward ? 'forward' : 'backward', 'word');
  if (document.execCommand(forward ? 'forwardDelete' : 'delete')) changed.add(where);
}

function chooseByKey(list: HTMLSelectElement, { key, text }: Key): void {
  const options = [...list.options];
  const free = options.filter((option) => !isDisabled(option));
  const at = free.indexOf(options[list.selectedIndex] as HTMLOptionElement);
  const next: Record<string, HTMLOptionElement | undefined> = {
    ArrowDown: free[at + 1],
    ArrowRight: free[at + 1],
    ArrowUp: free[at - 1],
    ArrowLeft: free[at - 1],
    Home: free[0],
    End: free.at(-1),
  };
  const wanted = next[key] ?? (text.trim() === '' ? undefined : startingWith(free, at, text));
  if (!wanted || wanted.index === list.selectedIndex) return;
  list.selectedIndex = wanted.index;
  list.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  sendChange(list);
}

function startingWith(options: HTMLOptionElement[], at: number, text: string): HTMLOptionElement | undefined {
  const start = text.toLowerCase();
  return [...options.slice(at + 1), ...options.slice(0, at + 1)].find((option) =>
    option.label.trim().toLowerCase().startsWith(start),
  );
}

function chooseInGroup(radio: HTMLInputElement, { key }: Key): boolean {
  const way = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key];
  if (radio.type !== 'radio' || !way) return false;
  const group = radioGroup(radio);
  const next = group[(group.indexOf(radio) + way + group.length) % group.length];
  if (next && next !== radio) {
    giveFocus(next);
    pressByKey(next);
  }
  return true;
}

/** Up and down change numbers and sliders by their step. */
function step(input: HTMLInputElement, { key }: Key): boolean {
  const isRange = input.type === 'range';
  const way = { ArrowUp: 1, ArrowDown: -1, ...(isRange ? { ArrowRight: 1, ArrowLeft: -1 } : {}) }[key];
  if (!way || (!isRange && input.type !== 'number') || input.readOnly) return false;
  const before = input.value;
  if (way > 0) input.stepUp();
  else input.stepDown();
  if (input.value !== before) {
    input.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    sendChange(input);
  }
  return true;
}

/** A manual one (a toast) stays until its page takes it away. */
const LIGHT_POPOVER = '[popover]:not([popover="manual" i]):popover-open';

/** Escape closes what is open above the page, unless the page keeps it open. */
function closeTopmost(): void {
  const modal = [...document.querySelectorAll<HTMLDialogElement>('dialog:modal')].at(-1);
  const popover = [...document.querySelectorAll<HTMLElement>(LIGHT_POPOVER)].at(-1);
  if (popover) popover.hidePopover();
  else if (modal && attributeOf(modal, 'closedby')?.toLowerCase() === 'none') return;
  else if (modal?.dispatchEvent(new Event('cancel', { cancelable: true }))) modal.close();
}
