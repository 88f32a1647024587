/**
 * What a console would show of the values it is given, as bounded text. It calls no getter of a page's
 * object, and every loop over what a page made has an end. Knows no document.
 */
import { LONGEST_CONSOLE_TEXT } from '../protocol/console-events';
import { natives } from './natives';

export interface Text {
  text: string;
  truncated: boolean;
}

const DEEPEST = 3;
const MOST_MEMBERS = 100;

class Writer {
  text = '';
  truncated = false;

  write(part: string): void {
    if (this.truncated) return;
    this.text += part;
    if (this.text.length <= LONGEST_CONSOLE_TEXT) return;
    this.text = natives.cut(this.text, LONGEST_CONSOLE_TEXT);
    this.truncated = true;
  }
}

/** All arguments of a console method; the directives `%s`, `%d`, `%o`, … of a first text are filled in. */
export function describeArguments(args: readonly unknown[]): Text {
  const writer = new Writer();
  let next = 0;
  if (typeof args[0] === 'string') {
    next = 1 + writeFormat(writer, args[0], args);
  }
  for (let index = next; index < args.length && !writer.truncated; index += 1) {
    if (index > 0) writer.write(' ');
    writeValue(writer, args[index], 0, []);
  }
  return writer;
}

export function describeValue(value: unknown): Text {
  const writer = new Writer();
  writeValue(writer, value, 0, []);
  return writer;
}

/** An error nobody caught: its stack, and the message Chrome gave when the stack does not hold it. */
export function describeError(error: unknown, message: string): Text {
  const writer = new Writer();
  if (message !== '' && !(typeof error === 'object' && error !== null && stackOf(error) !== ''))
    writer.write(message);
  else {
    if (message !== '') writer.write('Uncaught ');
    writeValue(writer, error, 0, []);
  }
  return writer;
}

/** Returns how many arguments the directives took. */
function writeFormat(writer: Writer, format: string, args: readonly unknown[]): number {
  let taken = 0;
  let from = 0;
  for (;;) {
    const at = natives.find(format, '%', from);
    if (at === -1 || at === format.length - 1) break;
    const directive = format[at + 1] as string;
    const isPercent = directive === '%';
    const takes = natives.find('sdifoOc', directive) !== -1 && taken + 1 < args.length;
    writer.write(natives.between(format, from, isPercent ? at + 1 : takes ? at : at + 1));
    from = at + (isPercent || takes ? 2 : 1);
    if (takes) {
      taken += 1;
      const value = args[taken];
      if (directive === 'd' || directive === 'i') writer.write(natives.String(whole(value)));
      else if (directive === 'f')
        writer.write(natives.String(typeof value === 'symbol' ? Number.NaN : Number(value)));
      else if (directive !== 'c') writeValue(writer, value, 0, []);
    }
  }
  writer.write(natives.between(format, from, format.length));
  return taken;
}

function whole(value: unknown): number {
  const number = typeof value === 'symbol' ? Number.NaN : Number(value);
  return number < 0 ? Math.ceil(number) : Math.floor(number);
}

function writeValue(writer: Writer, value: unknown, depth: number, around: readonly object[]): void {
  if (writer.truncated) return;
  if (typeof value === 'object' && value !== null) writeObject(writer, value, depth, around);
  else writer.write(plain(value, depth));
}

/** What is no object. */
function plain(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return depth === 0 ? value : natives.stringify(natives.cut(value, LONGEST_CONSOLE_TEXT));
    case 'bigint':
      return `${natives.String(value)}n`;
    case 'number':
      return value === 0 && 1 / value < 0 ? '-0' : natives.String(value);
    case 'function':
      return `ƒ ${ownText(value, 'name')}()`;
    default:
      return natives.String(value);
  }
}

function writeObject(writer: Writer, value: object, depth: number, around: readonly object[]): void {
  const short = shortForm(value, depth, around);
  if (short !== null) writer.write(short);
  else if (natives.isArray(value)) writeArray(writer, value, depth, joined(around, value));
  else {
    const name = nameOf(value, tagOf(value));
    if (name !== 'Object') writer.write(`${name} `);
    writeMembers(writer, value, depth, joined(around, value));
  }
}

/** Of objects that are not shown by their members; null for the others. */
function shortForm(value: object, depth: number, around: readonly object[]): string | null {
  for (let index = 0; index < around.length; index += 1) {
    if (around[index] === value) return '[Circular]';
  }
  const tag = tagOf(value);
  const stack = tag === 'Error' || tag === 'DOMException' ? stackOf(value) : '';
  if (stack !== '') return stack;
  if (natives.Element && value instanceof natives.Element) return elementText(value);
  if (tag === 'Date' || tag === 'RegExp') return plainText(value);
  if (depth >= DEEPEST) return natives.isArray(value) ? '[…]' : '{…}';
  return null;
}

/** No spread: it would ask the page's own iterator of arrays. */
function joined(around: readonly object[], value: object): readonly object[] {
  const all: object[] = [];
  for (let index = 0; index < around.length; index += 1) all[index] = around[index] as object;
  all[around.length] = value;
  return all;
}

function writeArray(
  writer: Writer,
  value: readonly unknown[],
  depth: number,
  inside: readonly object[],
): void {
  writer.write('[');
  for (let index = 0; index < value.length && !writer.truncated; index += 1) {
    if (index > 0) writer.write(', ');
    if (index === MOST_MEMBERS) {
      writer.write(`… ${value.length - index} more`);
      break;
    }
    writeMember(writer, value, natives.String(index), depth, inside);
  }
  writer.write(']');
}

function writeMembers(writer: Writer, value: object, depth: number, inside: readonly object[]): void {
  const keys = natives.ownKeys(value);
  writer.write('{');
  let written = 0;
  for (let index = 0; index < keys.length && !writer.truncated; index += 1) {
    const key = keys[index] as string | symbol;
    if (written > 0) writer.write(', ');
    if (written === MOST_MEMBERS) {
      writer.write(`… ${keys.length - index} more`);
      break;
    }
    writer.write(`${natives.String(key)}: `);
    writeMember(writer, value, key, depth, inside);
    written += 1;
  }
  writer.write('}');
}

function writeMember(
  writer: Writer,
  value: object,
  key: string | symbol,
  depth: number,
  inside: readonly object[],
): void {
  const descriptor = natives.getOwnPropertyDescriptor(value, key);
  if (descriptor && 'value' in descriptor) writeValue(writer, descriptor.value, depth + 1, inside);
  else writer.write(descriptor ? '(…)' : 'undefined');
}

function elementText({ localName, id }: Element): string {
  return `<${localName}${id ? ` id="${id}"` : ''}>`;
}

/** `[object Error]` → `Error`. */
function tagOf(value: object): string {
  const text = natives.apply(natives.toStringOf, value, []) as string;
  return natives.between(text, 8, text.length - 1);
}

function nameOf(value: object, tag: string): string {
  const prototype = natives.getPrototypeOf(value);
  if (prototype === null) return 'Object';
  const made = natives.getOwnPropertyDescriptor(prototype, 'constructor')?.value as unknown;
  return (typeof made === 'function' && ownText(made, 'name')) || tag;
}

function ownText(value: object, key: string): string {
  const found = natives.getOwnPropertyDescriptor(value, key)?.value as unknown;
  return typeof found === 'string' ? natives.cut(found, 100) : '';
}

function stackOf(value: object): string {
  const { stack } = value as { stack?: unknown };
  return typeof stack === 'string' ? stack : '';
}

function plainText(value: object): string {
  try {
    return natives.String(value);
  } catch {
    return '(…)';
  }
}
