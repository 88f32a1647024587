/** The built-ins that scripts in a page's own world use, taken hold of before the page can change them. */

const { apply } = Reflect;
const { slice, indexOf, lastIndexOf, trim } = String.prototype;

function cut(text: string, length: number): string {
  return apply(slice, text, [0, length]) as string;
}

function find(text: string, part: string, from = 0): number {
  return apply(indexOf, text, [part, from]) as number;
}

function between(text: string, from: number, to: number): string {
  return apply(slice, text, [from, to]) as string;
}

const LONGEST_PLACE = 500;

/**
 * The place (`address:line:column`) that called into the extension's script, from a stack whose first lines
 * are of that script; empty when there is none.
 */
function placeInStack(stack: string): string {
  // Behind the title every line is a call.
  for (let at = find(stack, '\n'); at !== -1; ) {
    const end = find(stack, '\n', at + 1);
    const line = apply(trim, between(stack, at + 1, end === -1 ? stack.length : end), []) as string;
    if (find(line, 'chrome-extension://') === -1 && find(line, 'at ') === 0) {
      const bracket = apply(lastIndexOf, line, ['(']) as number;
      const place =
        bracket === -1 ? between(line, 3, line.length) : between(line, bracket + 1, line.length - 1);
      return cut(place, LONGEST_PLACE);
    }
    at = end;
  }
  return '';
}

export const natives = {
  apply,
  now: Date.now,
  instant: performance.now.bind(performance),
  stringify: JSON.stringify,
  dispatchEvent: EventTarget.prototype.dispatchEvent,
  CustomEvent,
  /** There is none outside of documents. */
  Element: globalThis.Element as typeof Element | undefined,
  Error,
  Proxy,
  toStringOf: Object.prototype.toString,
  getOwnPropertyDescriptor: Reflect.getOwnPropertyDescriptor,
  getPrototypeOf: Reflect.getPrototypeOf,
  ownKeys: Reflect.ownKeys,
  isArray: Array.isArray,
  String,
  cut,
  find,
  between,
  placeInStack,
} as const;
