/** Keys by the names that pages know them by, and what a keyboard event says of each. Pure. */
import { AgentError } from './errors';

export type Modifier = 'Alt' | 'Control' | 'Meta' | 'Shift';

export interface Key {
  key: string;
  code: string;
  /** The number old pages still ask for. */
  key_code: number;
  /** What it would type, without modifiers that make it a shortcut. */
  text: string;
  modifiers: Modifier[];
}

const NAMED: Record<string, [code: string, key_code: number, text?: string]> = {
  Enter: ['Enter', 13, '\r'],
  Tab: ['Tab', 9],
  Escape: ['Escape', 27],
  Backspace: ['Backspace', 8],
  Delete: ['Delete', 46],
  Insert: ['Insert', 45],
  Home: ['Home', 36],
  End: ['End', 35],
  PageUp: ['PageUp', 33],
  PageDown: ['PageDown', 34],
  ArrowLeft: ['ArrowLeft', 37],
  ArrowUp: ['ArrowUp', 38],
  ArrowRight: ['ArrowRight', 39],
  ArrowDown: ['ArrowDown', 40],
  ContextMenu: ['ContextMenu', 93],
  Shift: ['ShiftLeft', 16],
  Control: ['ControlLeft', 17],
  Alt: ['AltLeft', 18],
  Meta: ['MetaLeft', 91],
  ...Object.fromEntries(
    Array.from({ length: 12 }, (_none, index): [string, [string, number]] => [
      `F${index + 1}`,
      [`F${index + 1}`, 112 + index],
    ]),
  ),
};

const ALIASES: Record<string, string> = {
  Return: 'Enter',
  Esc: 'Escape',
  Del: 'Delete',
  Space: ' ',
  Spacebar: ' ',
  Left: 'ArrowLeft',
  Up: 'ArrowUp',
  Right: 'ArrowRight',
  Down: 'ArrowDown',
  Ctrl: 'Control',
  Cmd: 'Meta',
  Command: 'Meta',
  Option: 'Alt',
};

/** The keys of a US keyboard that are neither letters nor digits: code, number, without and with Shift. */
const SIGNS: [code: string, key_code: number, plain: string, shifted: string][] = [
  ['Space', 32, ' ', ' '],
  ['Minus', 189, '-', '_'],
  ['Equal', 187, '=', '+'],
  ['BracketLeft', 219, '[', '{'],
  ['BracketRight', 221, ']', '}'],
  ['Backslash', 220, '\\', '|'],
  ['Semicolon', 186, ';', ':'],
  ['Quote', 222, "'", '"'],
  ['Backquote', 192, '`', '~'],
  ['Comma', 188, ',', '<'],
  ['Period', 190, '.', '>'],
  ['Slash', 191, '/', '?'],
];
const SHIFTED_DIGITS = ')!@#$%^&*(';

const MODIFIERS: readonly string[] = ['Alt', 'Control', 'Meta', 'Shift'];

const SPELLING = /^((?:[^+]+\+)*)(\+|[^+]+)$/;

/** Reads `Enter`, `a`, `Control+Shift+K`, `Shift++`. Throws `invalid_input` for what is no key. */
export function readKey(spelled: string, is_mac: boolean): Key {
  const [, held = '', last] = SPELLING.exec(spelled) ?? [];
  if (last === undefined) throw unknownKey(spelled);
  const names = held.split('+').filter(Boolean);
  const modifiers = names.map((name) => readModifier(name, is_mac));
  return { ...readName(alias(last), spelled), modifiers: [...new Set(modifiers)] };
}

function alias(name: string): string {
  return Object.hasOwn(ALIASES, name) ? (ALIASES[name] ?? name) : name;
}

function readModifier(spelled: string, is_mac: boolean): Modifier {
  const name = spelled === 'ControlOrMeta' ? (is_mac ? 'Meta' : 'Control') : alias(spelled);
  if (MODIFIERS.includes(name)) return name as Modifier;
  throw unknownKey(spelled);
}

function readName(name: string, spelled: string): Omit<Key, 'modifiers'> {
  const named = Object.hasOwn(NAMED, name) ? NAMED[name] : undefined;
  if (named) {
    const [code, key_code, text = ''] = named;
    return { key: name, code, key_code, text };
  }
  if ([...name].length === 1) return keyOf(name);
  throw unknownKey(spelled);
}

function unknownKey(spelled: string): AgentError {
  return new AgentError(
    'invalid_input',
    `input.key: there is no key ${JSON.stringify(spelled.slice(0, 40))}. A key is one character or a name such as Enter, Tab, Escape, Backspace, ArrowDown, PageDown, F5; modifiers stand before it: Control+a, Shift+Tab.`,
  );
}

/** The key that types a character. */
export function keyOf(character: string): Omit<Key, 'modifiers'> {
  if (character === '\n' || character === '\r')
    return { key: 'Enter', code: 'Enter', key_code: 13, text: '\r' };
  if (character === '\t') return { key: 'Tab', code: 'Tab', key_code: 9, text: '' };
  const upper = character.toUpperCase();
  if (/^[A-Z]$/.test(upper)) {
    return { key: character, code: `Key${upper}`, key_code: upper.charCodeAt(0), text: character };
  }
  const digit = /^[0-9]$/.test(character) ? Number(character) : SHIFTED_DIGITS.indexOf(character);
  if (digit >= 0) return { key: character, code: `Digit${digit}`, key_code: 48 + digit, text: character };
  const sign = SIGNS.find(([, , plain, shifted]) => plain === character || shifted === character);
  return { key: character, code: sign?.[0] ?? '', key_code: sign?.[1] ?? 0, text: character };
}
