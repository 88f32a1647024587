import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, isJsonObject, type JsonValue, utf8Length } from '../../../src/protocol/json';

/** Equality of JSON values by its definition, without any text: the reference for `canonicalJson`. */
function equalJson(a: JsonValue, b: JsonValue): boolean {
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => equalJson(item, b[index] as JsonValue))
    );
  }
  if (isJsonObject(a) && isJsonObject(b)) {
    const keys = Object.keys(a);
    return (
      keys.length === Object.keys(b).length &&
      keys.every((key) => Object.hasOwn(b, key) && equalJson(a[key] as JsonValue, b[key] as JsonValue))
    );
  }
  return a === b;
}

/** Few keys and few leaves, so that equal and almost equal values come up often. */
const key = fc.constantFrom('a', 'b', '__proto__', 'constructor', '', '10', '9', 'é', 'e\u0301', '\ud83d');
const leaf = fc.constantFrom<JsonValue>(null, true, 0, -0, 1, 1e21, '', '0', 'null', '\ud83d', '\ufffd');
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 2 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 3 }).map(parsedObject),
  ),
}));

/** As JSON.parse makes objects: a key `__proto__` is a key like any other. */
function parsedObject(members: [string, JsonValue][]): JsonValue {
  return JSON.parse(
    `{${members.map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member)}`).join(',')}}`,
  ) as JsonValue;
}

/** The same value with the keys of every object the other way round. */
function reversed(input: JsonValue): JsonValue {
  if (Array.isArray(input)) return input.map(reversed);
  if (!isJsonObject(input)) return input;
  return parsedObject(
    Object.keys(input)
      .reverse()
      .map((name): [string, JsonValue] => [name, reversed(input[name] as JsonValue)]),
  );
}

describe('wire.md §5 rule 4: canonical JSON', () => {
  test('two values have the same text exactly when they are equal as JSON values', () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(canonicalJson(a) === canonicalJson(b)).toBe(equalJson(a, b));
      }),
      { numRuns: 2_000 },
    );
  });

  test('the order of keys does not count', () => {
    fc.assert(
      fc.property(value, (input) => {
        expect(canonicalJson(reversed(input))).toBe(canonicalJson(input));
      }),
    );
  });

  test('the text is JSON for the same value, and well-formed Unicode', () => {
    fc.assert(
      fc.property(fc.oneof(value, fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>), (input) => {
        const text = canonicalJson(input);
        expect(equalJson(JSON.parse(text) as JsonValue, input)).toBe(true);
        expect(text).not.toMatch(/\p{Surrogate}/u);
      }),
    );
  });

  test('a key __proto__ counts like any other', () => {
    const read = (text: string): string => canonicalJson(JSON.parse(text) as JsonValue);
    expect(read('{"__proto__":{"a":1}}')).toBe('{"__proto__":{"a":1}}');
    expect(read('{"__proto__":{"a":1}}')).not.toBe(read('{}'));
    expect(read('{"__proto__":null,"a":1}')).toBe(read('{"a":1,"__proto__":null}'));
  });

  test('numbers count by value, not by spelling', () => {
    const read = (text: string): string => canonicalJson(JSON.parse(text) as JsonValue);
    expect(read('[1.0,1e2,-0]')).toBe(read('[1,100,0]'));
    expect(read('1')).not.toBe(read('"1"'));
  });
});

describe('isJsonObject', () => {
  test.each([null, [], 'x', 1, true, undefined])('is false for %j', (input) => {
    expect(isJsonObject(input)).toBe(false);
  });

  test('is true for objects', () => {
    expect(isJsonObject({})).toBe(true);
  });
});

test('wire.md §6: lengths are UTF-8 bytes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(utf8Length(text)).toBe(Buffer.byteLength(text));
    }),
  );
  expect(utf8Length('é한🖥')).toBe(2 + 3 + 4);
});
