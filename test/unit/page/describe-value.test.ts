/** What is kept of the values a page writes to its console. */
import { describe, expect, test } from 'vitest';
import { describeArguments, describeError, describeValue } from '../../../src/page/describe-value';
import { natives } from '../../../src/page/natives';
import { LONGEST_CONSOLE_TEXT } from '../../../src/protocol/console-events';

class Point {
  x = 1;
}
const circle: Record<string, unknown> = { name: 'circle' };
circle.self = circle;

describe('describeArguments', () => {
  test.each<[unknown[], string]>([
    [[], ''],
    [['a', 'b'], 'a b'],
    [[1, -0, 10n, true, null, undefined, Symbol('s')], '1 -0 10n true null undefined Symbol(s)'],
    [[{ a: 'text', b: [1, { c: null }] }], '{a: "text", b: [1, {c: null}]}'],
    [[new Point(), () => 1, function named() {}], 'Point {x: 1} ƒ () ƒ named()'],
    [[{ a: { b: { c: { d: 1 } } } }], '{a: {b: {c: {…}}}}'],
    [[circle], '{name: "circle", self: [Circular]}'],
    [[new Date(0), /x/g], `${String(new Date(0))} /x/g`],
    [[Object.create(null)], '{}'],
    [
      ['%s is %d years, %i, %f %o %%', 'Ann', '41.5', 7.9, '0.5', { a: 1 }, 'rest'],
      'Ann is 41 years, 7, 0.5 {a: 1} % rest',
    ],
    [['%c red', 'color: red', 'x'], ' red x'],
    [['100% %s'], '100% %s'],
    [['%s'], '%s'],
    [['%x %', 1], '%x % 1'],
    [[['', 'a']], '["", "a"]'],
  ])('arguments %#', (args, text) => {
    expect(describeArguments(args)).toMatchObject({ text, truncated: false });
  });

  test('a getter is not called, and what throws harms nobody', () => {
    const object = {
      get evil(): never {
        throw new Error('called');
      },
    };
    expect(describeValue(object).text).toBe('{evil: (…)}');
  });

  test('it is cut at its longest, however it got there', () => {
    for (const value of ['x'.repeat(1e6), Array.from({ length: 90 }, () => 'y'.repeat(1_000))]) {
      const { text, truncated } = describeValue(value);
      expect([text.length, truncated]).toEqual([LONGEST_CONSOLE_TEXT, true]);
    }
    expect(describeValue(Array.from({ length: 150 }, (_, n) => n)).text).toMatch(/99, … 50 more\]$/);
  });

  test('an uncaught error is its stack; without one, what Chrome said', () => {
    const error = new TypeError('broken');
    expect(describeError(error, 'Uncaught TypeError: broken').text).toBe(`Uncaught ${error.stack}`);
    expect(describeError('just text', 'Uncaught just text').text).toBe('Uncaught just text');
  });
});

test('the place that called is the first line of the stack that is not the hook', () => {
  const stack = `Error
    at record (chrome-extension://abc/console-hook.js:1:2)
    at Object.apply (chrome-extension://abc/console-hook.js:3:4)
    at work (https://a.test/app.js:10:20)
    at https://a.test/app.js:30:1`;
  expect(natives.placeInStack(stack)).toBe('https://a.test/app.js:10:20');
  expect(natives.placeInStack('Error\n    at https://a.test/app.js:30:1')).toBe('https://a.test/app.js:30:1');
  expect(natives.placeInStack('Error: at night')).toBe('');
});
