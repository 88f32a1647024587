/** os-interface.md: a tool and its type run the same code with the same checks. */
import validators, { os_actions } from 'virtual:tool-validators';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/protocol/json';
import { type GatedRequest, gate, type Passed } from '../../../src/router/gate';
import { inputComplaints } from '../../../src/tools/input-complaint';
import { findTool, TOOLS } from '../../../src/tools/registry';
import type { ToolContext } from '../../../src/tools/tool';

const context = {} as ToolContext;
const complain = inputComplaints(validators, os_actions);

function judge(command: string, input: JsonObject, blocked: string[] = [], asked: string[] = []): Passed {
  const invalid = complain(command, input);
  const request: GatedRequest = {
    command,
    input,
    malformed: null,
    invalid,
  };
  return gate(request, {
    findTool,
    policy: { managed: false, blocked_tools: new Set(blocked), asked_tools: new Set(asked) },
  });
}

function refusal(passed: Passed): string {
  return passed.pass ? 'passed' : `${passed.refusal.code}: ${passed.refusal.message}`;
}

describe('wire.md §7: the order of the refusals', () => {
  const blocked = { managed: false, blocked_tools: new Set(['tab_open']), asked_tools: new Set<string>() };
  const open = { ...blocked, blocked_tools: new Set<string>() };
  const request: GatedRequest = {
    command: 'tab_open',
    input: {},
    malformed: 'tool_request is odd.',
    invalid: 'input lacks the field "url".',
  };

  test.each([
    ['malformed first', request, blocked, 'invalid_request: tool_request is odd.'],
    ['then a tool nobody knows', { ...request, malformed: null, command: 'zzz' }, blocked, /^unknown_tool/],
    ['then what is not allowed', { ...request, malformed: null }, blocked, /^capability_denied/],
    [
      'then the complaint that came with it, in its words',
      { ...request, malformed: null },
      open,
      'invalid_input: input lacks the field "url".',
    ],
    ['then nothing', { ...request, malformed: null, invalid: null }, open, 'passed'],
  ])('%s', (_what, asked, policy, expected) => {
    expect(refusal(gate(asked, { findTool, policy }))).toEqual(
      typeof expected === 'string' ? expected : expect.stringMatching(expected),
    );
  });

  test('a request without any word on its input does not pass', () => {
    const { invalid: _invalid, ...silent } = { ...request, malformed: null };
    expect(gate(silent as GatedRequest, { findTool, policy: open }).pass).toBe(false);
  });
});

describe('os_execute', () => {
  test.each(
    TOOLS.filter(({ os_action }) => os_action !== null).map((tool) => [tool.os_action, tool] as const),
  )('%s is judged as its tool: name, class, read-only and confirmation', (type, tool) => {
    const input: JsonObject = { tab_id: 1, url: 'https://a.test/', text: 'x', title: 'x', message: 'x' };
    const properties = Object.keys(tool.input_schema.properties as object);
    const own = Object.fromEntries(Object.entries(input).filter(([key]) => properties.includes(key)));
    const direct = judge(tool.name, own);
    const through = judge('os_execute', { type, input: own });
    expect(through.pass).toBe(direct.pass);
    if (!through.pass || !direct.pass) return;
    expect({ ...through.tool, run: tool.run }).toEqual(tool);
    expect(through.input).toBe(own);
  });

  test('a tool that policy forbids is forbidden as a type; os_execute itself can be forbidden', () => {
    const request = { type: 'tab.list', input: {} };
    expect(refusal(judge('os_execute', request, ['tab_list']))).toMatch(/^capability_denied/);
    expect(refusal(judge('os_execute', request, ['os_execute']))).toMatch(/^capability_denied/);
    expect(refusal(judge('os_execute', request, ['tab_open']))).toBe('passed');
  });

  test('as of the tool itself: what is forbidden is told before what does not fit', () => {
    expect(refusal(judge('tab_open', {}, ['tab_open']))).toMatch(/^capability_denied/);
    for (const input of [
      { type: 'tab.open' },
      { type: 'tab.open', input: 'x' },
      { type: 'tab.open', url: 'x' },
    ]) {
      expect(refusal(judge('os_execute', input, ['tab_open']))).toMatch(/^capability_denied/);
    }
    expect(refusal(judge('os_execute', {}, ['os_execute']))).toMatch(/^capability_denied/);
  });

  test.each([
    [{ type: 'tab.open' }, 'invalid_input: input.input lacks the field "url".'],
    [{ type: 'tab.open', input: { url: 7 } }, 'invalid_input: input.input.url must be string.'],
    [{ type: 'tab.open', input: 'x' }, 'invalid_input: input.input must be object.'],
    [{ type: 'tab.open', url: 'x' }, 'invalid_input: input has an unknown field "url".'],
    [{}, 'invalid_input: input lacks the field "type".'],
    [{ type: 7 }, 'invalid_input: input.type must be string.'],
    [{ type: 'zzz', url: 'x' }, 'invalid_input: input has an unknown field "url".'],
    [
      { type: 'terminal.open' },
      'invalid_input: input.type: "terminal.open" is not supported. A browser has no terminal.',
    ],
    [{ type: 'zzz' }, 'invalid_input: input.type: there is no type "zzz". os_capabilities lists them.'],
    [
      { type: 'os_execute' },
      'invalid_input: input.type: there is no type "os_execute". os_capabilities lists them.',
    ],
  ])('%j: %s', (input, sentence) => {
    expect(refusal(judge('os_execute', input as JsonObject))).toBe(sentence);
  });

  test('the person is asked for the tool behind the type, and for the front when that is to be asked for', () => {
    const asks = (asked: string[]) => judge('os_execute', { type: 'tab.list' }, [], asked);
    expect(asks([])).toMatchObject({ pass: true, ask: false });
    expect(asks(['tab_list'])).toMatchObject({ pass: true, ask: true });
    expect(asks(['os_execute'])).toMatchObject({ pass: true, ask: true });
  });

  test('its answer holds the result of the tool, and binary stands inside of the result', async () => {
    const tool = findTool('tab_list');
    if (!tool) throw new Error('no tab_list');
    const content = new Blob(['x']);
    const found = {
      ...tool,
      run: async () => ({
        output: { tabs: [] },
        attachments: [{ field: 'image', mime_type: 'image/png', content }],
      }),
    };
    const front = findTool('os_execute');
    if (!front?.standsFor) throw new Error('no os_execute');
    const standsFor = (input: JsonObject) => ({ ...front.standsFor?.(input), tool: found });
    const passed = gate(
      {
        command: 'os_execute',
        input: { type: 'tab.list' },
        malformed: null,
        invalid: null,
      },
      {
        findTool: () => ({ ...front, standsFor: standsFor as typeof front.standsFor & object }),
        policy: { managed: false, blocked_tools: new Set(), asked_tools: new Set() },
      },
    );
    if (!passed.pass) throw passed.refusal;
    expect(await passed.tool.run(passed.input, context, Promise.resolve(undefined))).toEqual({
      output: { interface_version: '1.0', type: 'tab.list', result: { tabs: [] } },
      attachments: [{ field: 'image', mime_type: 'image/png', content, inside: 'result' }],
    });
  });
});
