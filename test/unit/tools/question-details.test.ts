/** tools.md, Permission classes and confirmation: what the person sees of the call before it may run. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MOST_CHARACTERS, questionDetails } from '../../../src/tools/question-details';
import { TOOLS } from '../../../src/tools/registry';

const shown = (tool: string, input: Parameters<typeof questionDetails>[1], secret?: string) =>
  questionDetails(tool, input, secret).map(({ kind, text }) => [kind, text]);

describe('what a tool was given', () => {
  test.each<[string, Parameters<typeof questionDetails>[1], string[][]]>([
    ['page_evaluate', { expression: 'a\n\tb', tab_id: 7 }, [['script', 'a\n\tb']]],
    ['tab_open', { url: 'https://a.test/x?y=1' }, [['address', 'https://a.test/x?y=1']]],
    ['tab_navigate', { action: 'reload' }, [['action', 'reload']]],
    ['page_fill', { ref: 'e1', value: true }, [['text', 'true']]],
    ['page_select', { ref: 'e1', label: ['One', 'Two'] }, [['option', 'One\nTwo']]],
    [
      'file_move',
      { path: 'a', to: 'b' },
      [
        ['path', 'a'],
        ['target', 'b'],
      ],
    ],
    ['page_scroll', { to: 'top' }, []],
    [
      'workspace_storage_path',
      { mode: 'path_sync', storage_id: 's', token: 'secret', paths: ['a', 'b/c'] },
      [
        ['action', 'path_sync'],
        ['storage', 's'],
        ['path', 'a\nb/c'],
      ],
    ],
    ['tab_list', {}, []],
    ['constructor', { url: 'x' }, []],
  ])('%s %j', (tool, input, details) => {
    expect(shown(tool, input)).toEqual(details);
  });

  test('every tool that takes one of these fields shows it', () => {
    for (const { name, input_schema } of TOOLS.filter((tool) => tool.class !== 'observe')) {
      const fields = Object.keys(input_schema.properties as object);
      for (const field of ['url', 'expression', 'path', 'value', 'message', 'filename']) {
        if (!fields.includes(field)) continue;
        expect(shown(name, { [field]: 'given' }), `${name}.${field}`).toEqual([[expect.anything(), 'given']]);
      }
    }
  });

  test('what is typed into a field may be a password, and is shown only when wanted', () => {
    const concealed = (tool: string, input: Record<string, string>) =>
      questionDetails(tool, input).map((detail) => detail.concealed);
    expect(concealed('page_fill', { selector: '#password', value: 'hunter2' })).toEqual([false, true]);
    expect(concealed('page_press', { text: 'hunter2' })).toEqual([true]);
    expect(concealed('page_evaluate', { expression: '1' })).toEqual([false]);
  });

  test('a long script is cut, and what is left out is told', () => {
    const [detail] = questionDetails('page_evaluate', { expression: '😀'.repeat(MOST_CHARACTERS + 7) });
    expect(detail).toMatchObject({ text: '😀'.repeat(MOST_CHARACTERS), left_out: 7 });
    expect(questionDetails('page_evaluate', { expression: 'x'.repeat(MOST_CHARACTERS) })[0]?.left_out).toBe(
      0,
    );
  });

  test('nothing in it is unseen or turns the reading direction', () => {
    expect(shown('page_evaluate', { expression: 'a\u202Eb\u0000\u200B\r\nc\u2028' })).toEqual([
      ['script', 'a\\u{202e}b\\u{0}\\u{200b}\nc\\u{2028}'],
    ]);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (expression) => {
        const [detail] = questionDetails('page_evaluate', { expression });
        expect(detail?.text).not.toMatch(/[^\P{C}\n\t]/u);
      }),
    );
  });

  test('the token of the enrollment is in nothing that is shown, not even where it would be cut', () => {
    const token = 'osat_SECRET9';
    const expression = `${'x'.repeat(MOST_CHARACTERS - 4)}${token}`;
    expect(JSON.stringify(shown('page_evaluate', { expression }, token))).not.toContain('osat');
    expect(shown('tab_open', { url: `https://a.test/${token}` }, token)).toEqual([
      ['address', 'https://a.test/…'],
    ]);
  });
});
