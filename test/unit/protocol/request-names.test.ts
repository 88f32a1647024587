/** The ledger's names of requests (wire.md §5 rule 4). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../../src/protocol/json';
import { contentOf, requestNames } from '../../../src/protocol/request-names';

const named = (id: string, command: string | null, input: JsonValue, platform = 'wss://r.test') =>
  requestNames(platform, id, contentOf(command, input));

describe('the names of a request', () => {
  test('stay what they are: an id that an earlier version wrote down is known to the next', async () => {
    expect(await named('r1', 'tab_open', { url: 'https://a.test/', active: true })).toEqual({
      key: '65654a0195117b5a03dd8adec3bf6e8b2464ca8f54b8db05d5b89935c40a00be',
      input_hash: 'a0f4d1eb374c85740332422ddf538917e2b891cf8c2903acab2ae3d1f1aa60cb',
    });
  });

  test('case 5: ids like __proto__, with lone surrogates, of 100 kB and of another platform are all different', async () => {
    const ids = ['__proto__', 'constructor', '\ud83d', '\udc00', '\ufffd', 'x'.repeat(100_000), ''];
    const keys = await Promise.all([
      ...ids.map(async (id) => (await named(id, 'tab_list', {})).key),
      named('__proto__', 'tab_list', {}, 'wss://other.test').then(({ key }) => key),
    ]);
    expect(new Set(keys).size).toBe(ids.length + 1);
  });

  test('are the same exactly for the same command and input, as JSON values', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (one, other) => {
        const [first, second] = await Promise.all([
          named('r', 'tool', one as JsonValue),
          named('r', 'tool', other as JsonValue),
        ]);
        const same = contentOf('tool', one as JsonValue) === contentOf('tool', other as JsonValue);
        expect(first.input_hash === second.input_hash).toBe(same);
      }),
    );
    const { input_hash } = await named('r', 'tool', { a: 1, b: [2] });
    expect((await named('r', 'tool', { b: [2], a: 1 })).input_hash).toBe(input_hash);
    expect((await named('r', 'other', { a: 1, b: [2] })).input_hash).not.toBe(input_hash);
    expect((await named('r', null, { a: 1, b: [2] })).input_hash).not.toBe(input_hash);
  });
});
