import 'fake-indexeddb/auto';
import validators, { os_actions } from 'virtual:tool-validators';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../../src/protocol/json';
import { inputComplaints } from '../../../src/tools/input-complaint';
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
  'file_list',
  'file_stat',
  'file_read_text',
  'file_read_image',
  'file_write',
  'file_move',
  'file_remove',
  'workspace_storage_path',
  'console_read',
  'console_watch',
  'download_start',
  'download_list',
  'clipboard_write',
  'notify',
  'os_capabilities',
  'os_execute',
];

const complain = inputComplaints(validators, os_actions);

function sentence(name: string, input: unknown): string {
  if (!validators[name]) throw new Error(`no validator for ${name}`);
  return complain(name, input as JsonValue) ?? '';
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
      ['file_list', 'files', true, 'file.list'],
      ['file_stat', 'files', true, 'file.stat'],
      ['file_read_text', 'files', true, 'file.read_text'],
      ['file_read_image', 'files', true, 'file.read_image'],
      ['file_write', 'files', false, 'file.write'],
      ['file_move', 'files', false, 'file.move'],
      ['file_remove', 'files', false, 'file.remove'],
      ['workspace_storage_path', 'files', false, 'storage.path'],
      ['console_read', 'observe', true, 'console.read'],
      ['console_watch', 'observe', true, 'console.watch'],
      ['download_start', 'powerful', false, 'download.start'],
      ['download_list', 'powerful', true, 'download.list'],
      ['clipboard_write', 'interact', false, 'clipboard.write'],
      ['notify', 'interact', false, 'notification.show'],
      ['os_capabilities', 'observe', true, null],
      ['os_execute', 'observe', false, null],
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

  test('only a tool that changes nothing looks around before its id is written down', () => {
    const looking = TOOLS.filter(({ look }) => look);
    expect(looking.length).toBeGreaterThan(0);
    expect(looking.filter(({ read_only }) => !read_only)).toEqual([]);
  });

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
    ['console_read', { after: -1 }, 'input.after must be >= 0.'],
    [
      'console_read',
      { levels: ['loud'] },
      'input.levels.0 must be one of ["debug","log","info","warn","error"].',
    ],
    ['console_read', { wait_ms: 1 }, 'input has an unknown field "wait_ms".'],
    ['console_watch', { wait_ms: 0.5 }, 'input.wait_ms must be integer.'],
    ['download_start', { url: '' }, 'input.url must have at least 1 character.'],
    [
      'download_start',
      { url: 'data:,', conflict: 'prompt' },
      'input.conflict must be one of ["uniquify","overwrite"].',
    ],
    ['download_list', { limit: 201 }, 'input.limit must be <= 200.'],
    ['clipboard_write', {}, 'input lacks the field "text".'],
    ['notify', { title: 'x', message: 'y', iconUrl: 'z' }, 'input has an unknown field "iconUrl".'],
    ['os_execute', {}, 'input lacks the field "type".'],
    ['os_execute', { type: 'tab.list', input: [] }, 'input.input must be object.'],
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

  test('requires_confirmation: for powerful tools, and for whatever would be asked', async () => {
    for (const tool of TOOLS) {
      if (tool.class === 'powerful') expect(tool.requires_confirmation, tool.name).toBe(true);
    }
    const rig = new Rig();
    rig.context = {
      ...rig.context,
      policy: { managed: true, asked_tools: new Set(['tab_open']), blocked_tools: new Set() },
    };
    const { output } = await rig.call('describe_tools');
    const asks = (output.tools as { name: string; requires_confirmation: boolean }[])
      .filter(({ requires_confirmation }) => requires_confirmation)
      .map(({ name }) => name);
    expect(asks).toEqual(
      TOOLS.filter((tool) => tool.requires_confirmation || tool.name === 'tab_open').map(({ name }) => name),
    );
  });

  test('a tool that policy forbids is absent', async () => {
    const rig = new Rig();
    rig.context = {
      ...rig.context,
      policy: { managed: true, asked_tools: new Set(), blocked_tools: new Set(['screenshot', 'tab_open']) },
    };
    const { output } = await rig.call('describe_tools');
    const names = (output.tools as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(NAMES.filter((name) => name !== 'screenshot' && name !== 'tab_open'));
  });
});

describe('storage.md, Modes: what each mode needs', () => {
  const TOKEN = 'S3CRET-TOKEN';
  test.each([
    [{}, 'input lacks the field "mode".'],
    [{ mode: 'save' }, /^input\.mode must be one of \["save_path",/],
    [{ mode: 'save_path', token: TOKEN, path: '' }, 'input lacks the field "storage_id".'],
    [{ mode: 'save_path', token: TOKEN, storage_id: 's' }, 'input lacks the field "path".'],
    [{ mode: 'save_path', storage_id: 's', path: '' }, 'input lacks the field "token".'],
    [{ mode: 'unseal_path', storage_id: 's' }, 'input lacks the field "path".'],
    [{ mode: 'place_path', storage_id: 's', path: 'p', token: TOKEN }, 'input lacks the field "revision".'],
    [
      { mode: 'remove_path', storage_id: 's', path: 'p', token: TOKEN },
      'input lacks the field "expected_hash".',
    ],
    [{ mode: 'link_pull', path: 'p', token: TOKEN, revision: 1 }, 'input lacks the field "link_id".'],
    [{ mode: 'link_push', link_id: 'l' }, 'input lacks the field "token".'],
    [{ mode: 'link_remove', link_id: 'l' }, 'input lacks the field "path".'],
    [{ mode: 'path_sync', storage_id: 's', token: TOKEN, revision: 1 }, 'input lacks the field "paths".'],
    [
      { mode: 'path_sync', storage_id: 's', token: TOKEN, revision: {}, paths: [] },
      /^input\.revision must be/,
    ],
    [
      { mode: 'remove_path', storage_id: 's', path: 'p', token: TOKEN, expected_hash: 'AB' },
      /^input\.expected_hash must match/,
    ],
    [{ mode: 'link_push', link_id: 'l', token: TOKEN, force: true }, 'input has an unknown field "force".'],
  ])('%j', (input, complaintOf) => {
    const said = sentence('workspace_storage_path', input);
    if (typeof complaintOf === 'string') expect(said).toBe(complaintOf);
    else expect(said).toMatch(complaintOf);
    expect(said).not.toContain(TOKEN);
  });

  test.each([
    { mode: 'save_path', storage_id: 's', path: '', token: 't', seal: true, seal_until: 1_900_000_000 },
    { mode: 'unseal_path', storage_id: 's', path: 'p' },
    { mode: 'place_path', storage_id: 's', path: 'p', token: 't', revision: 'r' },
    { mode: 'remove_path', storage_id: 's', path: 'p', token: 't', expected_hash: 'a'.repeat(64) },
    { mode: 'link_pull', link_id: 'l', path: 'p', token: 't', revision: 7 },
    { mode: 'link_push', link_id: 'l', token: 't' },
    { mode: 'link_remove', link_id: 'l', path: 'p' },
    { mode: 'path_sync', storage_id: 's', token: 't', revision: 'r', paths: ['p'] },
  ])('$mode is taken', (input) => {
    expect(sentence('workspace_storage_path', input)).toBe('');
  });
});

describe('tools.md, file_*: the inputs', () => {
  test.each([
    ['file_list', {}, 'input lacks the field "path".'],
    ['file_write', { path: 'a' }, 'input must have exactly one of the fields "base64", "text".'],
    [
      'file_write',
      { path: 'a', text: 'x', base64: 'eA==' },
      'input must have exactly one of the fields "base64", "text".',
    ],
    ['file_move', { path: 'a' }, 'input lacks the field "to".'],
    ['file_read_text', { path: 'a', next: 'x' }, 'input.next must be object.'],
    ['file_remove', { path: 'a', force: true }, 'input has an unknown field "force".'],
    ['file_write', { path: 'a', text: '' }, ''],
    ['file_write', { path: 'a', base64: '', overwrite: false }, ''],
    ['file_list', { path: '', recursive: true }, ''],
  ])('%s %j', (tool, input, expected) => {
    expect(sentence(tool, input)).toBe(expected);
  });

  test('what writes is joined where it was begun, what only looks may begin again', () => {
    for (const { name, class: toolClass, read_only, resumable } of TOOLS) {
      expect([name, resumable === true]).toEqual([name, toolClass === 'files' && !read_only]);
    }
  });

  test('every one hands its input to the storage worker', async () => {
    const rig = new Rig();
    for (const { name } of TOOLS.filter((tool) => tool.class === 'files')) {
      expect(await rig.call(name, { path: 'p' })).toEqual({ output: { done: name } });
      expect(rig.jobs.at(-1)).toEqual({ tool: name, input: { path: 'p' } });
    }
  });
});
