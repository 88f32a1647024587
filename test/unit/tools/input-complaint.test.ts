/** wire.md §7, `invalid_input`; os-interface.md: a type's input is judged as its tool's. */
import validators, { input_fields, os_actions } from 'virtual:tool-validators';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../../src/protocol/json';
import type { Validate } from '../../../src/protocol/validation';
import { inputComplaints } from '../../../src/tools/input-complaint';
import { TOOLS } from '../../../src/tools/registry';

const complain = inputComplaints(validators, os_actions, input_fields);

describe('what is wrong with an input', () => {
  test.each<[string, JsonValue, string | null]>([
    ['tab_open', { url: 'https://a.test/' }, null],
    ['tab_open', {}, 'input lacks the field "url".'],
    ['tab_open', { url: 7 }, 'input.url must be string.'],
    ['tab_open', JSON.parse('{"url":"x","__proto__":1}'), 'input has an unknown field "__proto__".'],
    ['tab_list', [], 'input must be object.'],
    ['os_capabilities', {}, null],
  ])('%s %j', (command, input, sentence) => {
    expect(complain(command, input)).toBe(sentence);
  });

  test.each(['app_list', '', 'constructor', '__proto__', 'toString', 'tab.open'])(
    'a name that is no tool is not complained of: %j',
    (command) => expect(complain(command, { x: 1 })).toBeNull(),
  );
});

describe('a misspelt field: what is unknown, what may be meant, and what lacks', () => {
  test.each<[string, JsonValue, string]>([
    [
      'tab_open',
      { urll: 'https://a.test/' },
      'input lacks the field "url" and has an unknown field "urll". Did you mean "url"?',
    ],
    [
      'tab_close',
      { tabId: 7 },
      'input lacks the field "tab_id" and has an unknown field "tabId". Did you mean "tab_id"?',
    ],
    ['tab_open', { x: 1 }, 'input lacks the field "url" and has an unknown field "x".'],
    ['screenshot', { deliver: true }, 'input has an unknown field "deliver". Did you mean "deliver_image"?'],
    [
      'tab_open',
      { url: 'x', windowId: 1 },
      'input has an unknown field "windowId". Did you mean "window_id"?',
    ],
    // What is there already is not what was meant.
    ['tab_open', { url: 'x', urll: 'y' }, 'input has an unknown field "urll".'],
    ['file_move', {}, 'input lacks the fields "path", "to".'],
    [
      'tab_navigate',
      { adress: 'https://a.test/', ur: 'x' },
      'input must have exactly one of the fields "action", "url". It has an unknown field "adress".',
    ],
    [
      'os_execute',
      { type: 'tab.open', input: { link: 'x' } },
      'input.input lacks the field "url" and has an unknown field "link".',
    ],
    [
      'os_execute',
      { typ: 'tab.open' },
      'input lacks the field "type" and has an unknown field "typ". Did you mean "type"?',
    ],
  ])('%s %j', (command, input, sentence) => {
    expect(complain(command, input)).toBe(sentence);
  });

  test('of a name as long as a book the beginning is enough', () => {
    expect(complain('tab_open', { ['u'.repeat(1_000_000)]: 1 })?.length).toBeLessThan(200);
  });
});

describe('os_execute: first by its own schema, then by that of the tool behind', () => {
  test('is the one tool that stands for others', () => {
    expect(TOOLS.filter(({ standsFor }) => standsFor).map(({ name }) => name)).toEqual(['os_execute']);
  });

  test.each<[JsonValue, string | null]>([
    [{ type: 'tab.open', input: { url: 'https://a.test/' } }, null],
    [{ type: 'tab.list' }, null],
    [{ type: 'tab.open' }, 'input.input lacks the field "url".'],
    [{ type: 'tab.open', input: {} }, 'input.input lacks the field "url".'],
    [{ type: 'tab.open', input: { url: 7 } }, 'input.input.url must be string.'],
    [{ type: 'tab.open', input: 'x' }, 'input.input must be object.'],
    [{ type: 'tab.list', input: null }, 'input.input must be object.'],
    [{ type: 'tab.open', url: 'x' }, 'input has an unknown field "url".'],
    [{ type: 'tab.open', input: { url: 7 }, x: 1 }, 'input has an unknown field "x".'],
    [{ type: 7 }, 'input.type must be string.'],
    [{}, 'input lacks the field "type".'],
    // The router knows more to say of these.
    [{ type: 'zzz', input: { x: 1 } }, null],
    [{ type: 'terminal.open' }, null],
    [{ type: 'os_execute', input: { type: 7 } }, null],
    [{ type: 'constructor', input: { x: 1 } }, null],
    [{ type: '__proto__', input: { x: 1 } }, null],
  ])('%j', (input, sentence) => {
    expect(complain('os_execute', input)).toBe(sentence);
  });

  test.each(Object.entries(os_actions))('%s complains as %s does', (type, name) => {
    for (const input of [{ 'no such field': 1 }, {}, { tab_id: 'x' }]) {
      const direct = complain(name, input);
      const through = complain('os_execute', { type, input });
      expect(through).toBe(direct === null ? null : direct.replace(/^input/, 'input.input'));
    }
    expect(complain('os_execute', { type, input: { 'no such field': 1 } })).not.toBeNull();
  });

  test('no other tool is looked behind', () => {
    const never: Validate = () => false;
    const fits: Validate = () => true;
    const judge = inputComplaints({ os_execute: fits, other: fits, behind: never }, { 'a.b': 'behind' });
    expect(judge('other', { type: 'a.b' })).toBeNull();
    expect(judge('os_execute', { type: 'a.b' })).toBe('input.input is malformed.');
  });
});
