import 'fake-indexeddb/auto';
import validators from 'virtual:tool-validators';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020';
import { describe, expect, test } from 'vitest';
import { complaint } from '../../../src/protocol/validation';
import { findTool, TOOLS } from '../../../src/tools/registry';
import { Rig } from './context';

const NAMES = [
  'describe_tools',
  'workspace_info',
  'screenshot',
  'tab_list',
  'tab_open',
  'tab_close',
  'tab_activate',
  'tab_navigate',
  'page_snapshot',
  'page_text',
  'page_click',
  'page_fill',
  'page_select',
  'page_press',
  'page_hover',
  'page_scroll',
  'page_wait',
  'page_evaluate',
];

function sentence(name: string, input: unknown): string {
  const validate = validators[name];
  if (!validate) throw new Error(`no validator for ${name}`);
  return validate(input) ? '' : complaint(validate.errors, 'input');
}

describe('tools.md, Catalogue: one registry declares each tool once', () => {
  test('the tools, in order, each under its name', () => {
    expect(TOOLS.map(({ name }) => name)).toEqual(NAMES);
    for (const tool of TOOLS) expect(findTool(tool.name)).toBe(tool);
    for (const name of ['app_list', '__proto__', 'constructor', '']) expect(findTool(name)).toBeUndefined();
  });

  test('class, read-only and OS action of each', () => {
    expect(TOOLS.map((tool) => [tool.name, tool.class, tool.read_only, tool.os_action])).toEqual([
      ['describe_tools', 'observe', true, null],
      ['workspace_info', 'observe', true, 'workspace.info'],
      ['screenshot', 'observe', true, 'screen.capture'],
      ['tab_list', 'observe', true, 'tab.list'],
      ['tab_open', 'interact', false, 'tab.open'],
      ['tab_close', 'interact', false, 'tab.close'],
      ['tab_activate', 'interact', false, 'tab.activate'],
      ['tab_navigate', 'interact', false, 'tab.navigate'],
      ['page_snapshot', 'observe', true, 'page.snapshot'],
      ['page_text', 'observe', true, 'page.text'],
      ['page_click', 'interact', false, 'page.click'],
      ['page_fill', 'interact', false, 'page.fill'],
      ['page_select', 'interact', false, 'page.select'],
      ['page_press', 'interact', false, 'page.press'],
      ['page_hover', 'interact', false, 'page.hover'],
      ['page_scroll', 'interact', false, 'page.scroll'],
      ['page_wait', 'observe', true, 'page.wait'],
      ['page_evaluate', 'powerful', false, 'page.evaluate'],
    ]);
  });

  test.each(TOOLS.map((tool) => [tool.name, tool] as const))(
    '%s: a strict schema in which every field is described, and a description',
    (_name, tool) => {
      const { input_schema } = tool;
      expect(() => new Ajv2020({ strict: true, strictTypes: false }).compile(input_schema)).not.toThrow();
      expect(new Ajv({ strict: false }).validateSchema(input_schema)).toBe(true);
      expect(input_schema).toMatchObject({ type: 'object', additionalProperties: false });
      for (const property of Object.values(input_schema.properties as object)) {
        expect(property).toMatchObject({ description: expect.stringMatching(/\.$/) });
      }
      expect(tool.description.length).toBeGreaterThan(100);
      expect(tool.description).toMatch(/[Rr]eturns|[Tt]ells/);
    },
  );

  test.each([
    ['describe_tools', { x: 1 }, 'input has an unknown field "x".'],
    ['screenshot', { deliver: true }, 'input has an unknown field "deliver".'],
    ['screenshot', { quality: 0 }, 'input.quality must be >= 1.'],
    ['screenshot', { quality: 50.5 }, 'input.quality must be integer.'],
    ['screenshot', { format: 'gif' }, 'input.format must be one of ["jpeg","png","webp"].'],
    ['screenshot', { max_width: 0 }, 'input.max_width must be >= 1.'],
    ['screenshot', { max_age_ms: -1 }, 'input.max_age_ms must be >= 0.'],
    ['screenshot', { tab_id: '7' }, 'input.tab_id must be integer.'],
    ['tab_open', {}, 'input lacks the field "url".'],
    ['tab_open', { url: 7 }, 'input.url must be string.'],
    ['tab_close', {}, 'input lacks the field "tab_id".'],
    ['tab_activate', { tab_id: 1.5 }, 'input.tab_id must be integer.'],
    ['tab_navigate', {}, 'input must have exactly one of the fields "action", "url".'],
    ['tab_navigate', { tab_id: 1 }, 'input must have exactly one of the fields "action", "url".'],
    [
      'tab_navigate',
      { url: 'https://a.test/', action: 'back' },
      'input must have exactly one of the fields "action", "url".',
    ],
    ['tab_navigate', { action: 'up' }, 'input.action must be one of ["back","forward","reload"].'],
    ['tab_navigate', { url: 'https://a.test/', x: 1 }, 'input has an unknown field "x".'],
    ['page_click', {}, 'input must have exactly one of the fields "ref", "selector".'],
    [
      'page_click',
      { ref: 'a', selector: 'b' },
      'input must have exactly one of the fields "ref", "selector".',
    ],
    ['page_click', { ref: 'a', count: 4 }, 'input.count must be <= 3.'],
    ['page_fill', { ref: 'a' }, 'input lacks the field "value".'],
    ['page_fill', { ref: 'a', value: 7 }, 'input.value must be string,boolean.'],
    ['page_select', { ref: 'a' }, 'input must have exactly one of the fields "index", "label", "value".'],
    ['page_select', { label: 'x' }, 'input must have exactly one of the fields "ref", "selector".'],
    ['page_press', {}, 'input must have exactly one of the fields "key", "text".'],
    ['page_scroll', { to: 'up' }, 'input.to must be one of ["top","bottom","left","right"].'],
    ['page_wait', { idle: 'all' }, 'input.idle must be one of ["load","dom","network"].'],
    ['page_evaluate', {}, 'input lacks the field "expression".'],
  ])('%s %j: %s', (name, input, complaintText) => {
    expect(sentence(name, input)).toBe(complaintText);
  });

  test.each([
    ['describe_tools', {}],
    ['workspace_info', {}],
    ['screenshot', {}],
    [
      'screenshot',
      {
        deliver_image: true,
        format: 'webp',
        quality: 100,
        max_width: 1,
        max_height: 1,
        tab_id: 0,
        max_age_ms: 0,
      },
    ],
    ['screenshot', { image_id: 'x', deliver_image: true }],
    ['tab_list', { window_id: 1 }],
    ['tab_open', { url: 'https://a.test/', active: true, window_id: 1 }],
    ['tab_navigate', { url: 'https://a.test/' }],
    ['tab_navigate', { action: 'forward', tab_id: 3 }],
    [
      'page_click',
      { selector: 'a', count: 2, button: 'middle', modifiers: ['Shift'], dialogs: 'accept', prompt_text: '' },
    ],
    ['page_fill', { tab_id: 3, ref: 'a', value: false }],
    ['page_select', { selector: 'a', label: 'x' }],
    ['page_select', { ref: 'a', value: ['x', 'y'] }],
    ['page_select', { ref: 'a', index: [0, 2] }],
    ['page_press', { key: 'Enter' }],
    ['page_press', { selector: 'a', text: 'x', repeat: 3 }],
    ['page_hover', { ref: 'a' }],
    ['page_scroll', { by_y: -20.5 }],
    [
      'page_wait',
      { text: 'a', text_gone: 'b', ref: 'c', state: 'hidden', url: '*', idle: 'dom', timeout_ms: 1 },
    ],
    ['page_evaluate', { expression: '1' }],
  ])('%s takes %j', (name, input) => {
    expect(sentence(name, input)).toBe('');
  });
});

describe('describe_tools', () => {
  test('name, description, input_schema and requires_confirmation of each tool', async () => {
    const { output } = await new Rig().call('describe_tools');
    expect(output).toEqual({
      tools: TOOLS.map(({ name, description, input_schema, requires_confirmation }) => ({
        name,
        description,
        input_schema,
        requires_confirmation,
      })),
    });
    expect(JSON.parse(JSON.stringify(output))).toEqual(output);
  });

  test('a tool that policy forbids is absent', async () => {
    const rig = new Rig();
    rig.context = {
      ...rig.context,
      policy: { managed: true, blocked_tools: new Set(['screenshot', 'tab_open']) },
    };
    const { output } = await rig.call('describe_tools');
    const names = (output.tools as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(NAMES.filter((name) => name !== 'screenshot' && name !== 'tab_open'));
  });
});
