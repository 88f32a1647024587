/**
 * Finds the JSON objects inside a pasted text, whatever stands around them, and reads them leniently:
 * typographic or single quotes, trailing commas, bare keys and values. Pure; knows nothing of enrollments.
 *
 * Numbers come out as they were written and `true`, `false` and `null` as null: a reader of pasted text
 * wants strings only. Objects are Maps, so that no key has a meaning of its own.
 */

export type LenientValue = string | null | LenientValue[] | LenientObject;
export type LenientObject = Map<string, LenientValue>;

export interface ObjectsFound {
  /** The outermost objects, in order. */
  objects: LenientObject[];
  /** The text without them. */
  rest: string;
}

/** Deeper nesting is not read; it also keeps unclosed braces from costing quadratic time. */
const DEEPEST = 64;

/** Every object that can be read in `text`. Text that merely looks like one stays in `rest`. */
export function findObjects(text: string): ObjectsFound {
  const objects: LenientObject[] = [];
  let rest = '';
  let from = 0;
  for (let start = text.indexOf('{'); start >= 0; start = text.indexOf('{', start)) {
    const read = readValue(text, start, 0);
    if (read !== null && read.value instanceof Map) {
      objects.push(read.value);
      // A space, so that what stood before and after does not grow into one word.
      rest += `${text.slice(from, start)} `;
      start = from = read.end;
    } else {
      start += 1;
    }
  }
  return { objects, rest: rest + text.slice(from) };
}

interface Read<Value> {
  value: Value;
  end: number;
}

function readValue(text: string, at: number, depth: number): Read<LenientValue> | null {
  if (depth > DEEPEST) return null;
  const start = skipSpace(text, at);
  if (text[start] === '{') return readObject(text, start + 1, depth);
  if (text[start] === '[') return readArray(text, start + 1, depth);
  return readQuoted(text, start) ?? readBare(text, start);
}

function readObject(text: string, at: number, depth: number): Read<LenientObject> | null {
  const members: LenientObject = new Map();
  let next = skipSpace(text, at);
  while (text[next] !== '}') {
    const key = readQuoted(text, next) ?? readPattern(text, next, /[\w$-]+/y);
    if (key === null) return null;
    const colon = skipSpace(text, key.end);
    if (text[colon] !== ':') return null;
    const member = readValue(text, colon + 1, depth + 1);
    if (member === null) return null;
    members.set(key.value, member.value);
    const after = skipComma(text, member.end, '}');
    if (after === null) return null;
    next = after;
  }
  return { value: members, end: next + 1 };
}

function readArray(text: string, at: number, depth: number): Read<LenientValue[]> | null {
  const items: LenientValue[] = [];
  let next = skipSpace(text, at);
  while (text[next] !== ']') {
    const item = readValue(text, next, depth + 1);
    if (item === null) return null;
    items.push(item.value);
    const after = skipComma(text, item.end, ']');
    if (after === null) return null;
    next = after;
  }
  return { value: items, end: next + 1 };
}

/** The place after one comma, or of the closing bracket; null when neither is there. */
function skipComma(text: string, at: number, closing: string): number | null {
  const next = skipSpace(text, at);
  if (text[next] === ',') return skipSpace(text, next + 1);
  return text[next] === closing ? next : null;
}

function skipSpace(text: string, at: number): number {
  let next = at;
  while (next < text.length && /\s/.test(text.charAt(next))) next += 1;
  return next;
}

function readBare(text: string, at: number): Read<string | null> | null {
  const bare = readPattern(text, at, /[^\s,{}[\]"'“”„‟«»‘’‚‛]+/y);
  if (bare === null) return null;
  return /^(?:true|false|null)$/.test(bare.value) ? { value: null, end: bare.end } : bare;
}

function readPattern(text: string, at: number, sticky: RegExp): Read<string> | null {
  sticky.lastIndex = at;
  const value = sticky.exec(text)?.[0];
  return value === undefined ? null : { value, end: at + value.length };
}

/** What may close a string that was opened by the key; a straight quote is closed by itself alone. */
const CLOSING: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  ...Object.fromEntries([...'“”„‟«»'].map((quote) => [quote, '“”„‟«»"'])),
  ...Object.fromEntries([...'‘’‚‛'].map((quote) => [quote, "‘’‚‛'"])),
};

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

/** A quoted string with JSON's escapes that begins at `at`, or null. Looks no further than `longest`. */
export function readQuoted(text: string, at: number, longest = text.length): Read<string> | null {
  const closing = CLOSING[text.charAt(at)];
  if (closing === undefined) return null;
  const last = Math.min(text.length, at + longest);
  let value = '';
  for (let next = at + 1; next < last; next += 1) {
    const char = text.charAt(next);
    if (closing.includes(char)) return { value, end: next + 1 };
    if (char !== '\\') {
      value += char;
      continue;
    }
    next += 1;
    const escaped = text.charAt(next);
    const code = escaped === 'u' ? /^[0-9a-f]{4}/i.exec(text.slice(next + 1, next + 5))?.[0] : undefined;
    value += code ? String.fromCharCode(Number.parseInt(code, 16)) : (ESCAPES[escaped] ?? escaped);
    if (code) next += 4;
  }
  return null;
}
