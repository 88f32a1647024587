import { describe, expect, test } from 'vitest';
import { keyOf, readKey } from '../../../src/protocol/keys';

describe('page_press: keys by their names', () => {
  test.each([
    ['Enter', 'Enter', 'Enter', 13, []],
    ['Return', 'Enter', 'Enter', 13, []],
    ['Esc', 'Escape', 'Escape', 27, []],
    ['Space', ' ', 'Space', 32, []],
    [' ', ' ', 'Space', 32, []],
    ['a', 'a', 'KeyA', 65, []],
    ['7', '7', 'Digit7', 55, []],
    ['&', '&', 'Digit7', 55, []],
    ['+', '+', 'Equal', 187, []],
    ['Control++', '+', 'Equal', 187, ['Control']],
    ['Control+a', 'a', 'KeyA', 65, ['Control']],
    ['Ctrl+Shift+Tab', 'Tab', 'Tab', 9, ['Control', 'Shift']],
    ['Shift+Shift+F5', 'F5', 'F5', 116, ['Shift']],
    ['ControlOrMeta+c', 'c', 'KeyC', 67, ['Control']],
    ['한', '한', '', 0, []],
    ['😀', '😀', '', 0, []],
  ])('%s', (spelled, key, code, key_code, modifiers) => {
    expect(readKey(spelled, false)).toMatchObject({ key, code, key_code, modifiers });
  });

  test('on a Mac shortcuts use Meta', () => {
    expect(readKey('ControlOrMeta+c', true).modifiers).toEqual(['Meta']);
  });

  test.each(['', 'Entr', 'F13', 'Hyper+a', 'ab', 'constructor', '__proto__', 'Control+', 'a+b'])(
    '%j is no key: invalid_input that shows how keys are named',
    (spelled) => {
      expect(() => readKey(spelled, false)).toThrow(/there is no key .*Enter/);
    },
  );

  test('a line break in a text is Enter, a tab is Tab', () => {
    expect([...'\n\t'].map((one) => keyOf(one).key)).toEqual(['Enter', 'Tab']);
  });
});
