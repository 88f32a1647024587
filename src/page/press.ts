/**
 * Presses keys: the events pages listen for, and then, unless the page prevents it, what Chrome would do, as far
 * as a script can: type, delete, move the caret and the focus, submit, toggle, choose, scroll.
 */

import type { Key } from '../protocol/keys';
import { pressEffect, releaseEffect } from './key-effects';
import { modifierFlags } from './pointer';
import { focusedElement } from './tree';

export interface Pressed {
  /** What the field that has the focus holds now; left out for passwords and where there is no field. */
  value?: string;
}

export function press(keys: readonly Key[]): Pressed {
  for (const key of keys) pressOne(key);
  return heldByFocus();
}

/** What the field with the focus holds now. */
export function heldByFocus(): Pressed {
  const field = focusedElement();
  const isField = field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement;
  return isField && field.type !== 'password' ? { value: field.value } : {};
}

function pressOne(key: Key): void {
  const { modifiers } = key;
  const held = modifiers.map((name, index) => ({ name, with: modifiers.slice(0, index + 1) }));
  for (const { name, with: flags } of held) send('keydown', modifierKey(name, flags));
  const target = focusOrPage();
  const isShortcut = modifiers.some((one) => one !== 'Shift');
  if (send('keydown', key)) {
    const types = key.text !== '' && !isShortcut;
    if (!types || send('keypress', key)) pressEffect(target, key);
    if (send('keyup', key)) releaseEffect(target, key);
  } else {
    send('keyup', key);
  }
  for (const { name, with: flags } of held.reverse()) send('keyup', modifierKey(name, flags.slice(0, -1)));
}

function modifierKey(name: Key['key'], modifiers: Key['modifiers']): Key {
  const key_code = { Shift: 16, Control: 17, Alt: 18, Meta: 91 }[name] ?? 0;
  return { key: name, code: `${name}Left`, key_code, text: '', modifiers };
}

function focusOrPage(): Element {
  return focusedElement() ?? document.body ?? document.documentElement;
}

/** Returns false when the page prevented what would follow. */
function send(
  type: 'keydown' | 'keypress' | 'keyup',
  { key, code, key_code, text, modifiers }: Key,
): boolean {
  const shown = modifiers.includes('Shift') && /^[a-z]$/.test(key) ? key.toUpperCase() : key;
  const number = type === 'keypress' ? (text.codePointAt(0) ?? 0) : key_code;
  return focusOrPage().dispatchEvent(
    new KeyboardEvent(type, {
      bubbles: true,
      cancelable: true,
      composed: true,
      view: window,
      key: shown,
      code,
      keyCode: number,
      charCode: type === 'keypress' ? number : 0,
      ...modifierFlags(modifiers),
    }),
  );
}
