/** JSON as values: types, canonical text, sizes. Pure. */

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** True for what JSON calls an object: neither null, nor an array, nor a primitive. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * One text per JSON value: keys sorted by UTF-16 code unit, no white space. Two values are equal as JSON
 * values (wire.md §5 rule 4) exactly when their canonical texts are equal. `-0` and `0` are one number.
 * Lone surrogates come out escaped, so the text is always well-formed Unicode.
 */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isJsonObject(value)) {
    const members = Object.keys(value)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] as JsonValue)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value);
}

const encoder = new TextEncoder();

/** The length of `text` in UTF-8 bytes. */
export function utf8Length(text: string): number {
  return encoder.encode(text).length;
}
