import Ajv2020 from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { complaint, type Validate } from '../../../src/protocol/validation';

const schema = {
  type: 'object',
  required: ['url'],
  properties: {
    url: { type: 'string', minLength: 1, maxLength: 9 },
    keys: { type: 'array', minItems: 1, maxItems: 2 },
    format: { enum: ['jpeg', 'png'] },
    kind: { const: 'page' },
    quality: { type: 'integer', minimum: 1, maximum: 100 },
    'a/b~c': { type: 'object', properties: { list: { type: 'array', items: { type: 'number' } } } },
  },
  additionalProperties: false,
};
const validate = new Ajv2020().compile(schema) as unknown as Validate;

describe('wire.md §7: the sentence of invalid_input names the field', () => {
  test.each([
    [{}, 'input lacks the field "url".'],
    [{ url: 'x', colour: 1 }, 'input has an unknown field "colour".'],
    [JSON.parse('{"url":"x","__proto__":1}'), 'input has an unknown field "__proto__".'],
    [{ url: 'x', format: 'gif' }, 'input.format must be one of ["jpeg","png"].'],
    [{ url: 'x', kind: 'tab' }, 'input.kind must be "page".'],
    [{ url: '' }, 'input.url must have at least 1 character.'],
    [{ url: '0123456789' }, 'input.url must have at most 9 characters.'],
    [{ url: 'x', keys: [] }, 'input.keys must have at least 1 item.'],
    [{ url: 'x', keys: [1, 2, 3] }, 'input.keys must have at most 2 items.'],
    [{ url: 7 }, 'input.url must be string.'],
    [{ url: 'x', quality: 0 }, 'input.quality must be >= 1.'],
    [{ url: 'x', 'a/b~c': { list: [1, 'two'] } }, 'input.a/b~c.list.1 must be number.'],
    ['text', 'input must be object.'],
  ])('%j', (value, sentence) => {
    expect(validate(value)).toBe(false);
    expect(complaint(validate.errors, 'input')).toBe(sentence);
  });

  test('is a sentence even when the validator says nothing', () => {
    for (const errors of [undefined, null, []])
      expect(complaint(errors, 'input')).toBe('input is malformed.');
  });
});
