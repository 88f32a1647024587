import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { followToolPolicy, toolPolicy } from '../../../src/router/tool-policy';
import { effectiveSettings } from '../../../src/settings/effective-settings';
import { NO_POLICY, type ToolPermission } from '../../../src/settings/managed-policy';
import { NOTHING_STORED } from '../../../src/settings/stored-settings';
import { type PermissionSubject, toolPermission } from '../../../src/settings/tool-permissions';

const tool = (name: string, toolClass: string): PermissionSubject => ({
  name,
  class: toolClass,
  requires_confirmation: toolClass === 'powerful',
});
const TOOLS = [
  tool('describe_tools', 'observe'),
  tool('workspace_info', 'observe'),
  tool('screenshot', 'observe'),
  tool('tab_open', 'interact'),
  tool('tab_close', 'interact'),
  tool('page_evaluate', 'powerful'),
];

type Rules = Record<string, ToolPermission>;

function policyFor(managed: Rules, person: Rules = {}) {
  const sources = { managed: new Map(Object.entries(managed)), person: new Map(Object.entries(person)) };
  const { blocked_tools, asked_tools } = toolPolicy(sources, true, TOOLS);
  return { shut: [...blocked_tools], asked: [...asked_tools] };
}

describe('policy.md: tool_permissions', () => {
  test('nothing said: all open; the powerful ones ask', () => {
    expect(policyFor({})).toEqual({ shut: [], asked: ['page_evaluate'] });
    expect(policyFor({ interact: 'allow', no_such_tool: 'deny' })).toEqual({
      shut: [],
      asked: ['page_evaluate'],
    });
  });

  test('what stands for tools of every class is shut by its own name only', () => {
    const { blocked_tools } = toolPolicy(
      { managed: new Map([['observe', 'deny']]), person: new Map() },
      true,
      [tool('os_execute', 'observe'), tool('os_capabilities', 'observe'), tool('screenshot', 'observe')],
    );
    expect([...blocked_tools]).toEqual(['screenshot']);
  });

  test('a class rules its tools, a tool’s own name counts before its class', () => {
    expect(policyFor({ interact: 'deny' }).shut).toEqual(['tab_open', 'tab_close']);
    expect(policyFor({ interact: 'deny', tab_open: 'allow' }).shut).toEqual(['tab_close']);
    expect(policyFor({ tab_open: 'deny' }).shut).toEqual(['tab_open']);
    expect(policyFor({ interact: 'ask', tab_open: 'deny', powerful: 'allow' })).toEqual({
      shut: ['tab_open'],
      asked: ['tab_close'],
    });
  });

  test('the person’s settings count where policy says nothing', () => {
    expect(policyFor({}, { observe: 'ask', tab_open: 'deny', powerful: 'allow' })).toEqual({
      shut: ['tab_open'],
      asked: ['screenshot'],
    });
  });

  test('policy wins, its word on a class also over the person’s on a tool', () => {
    expect(policyFor({ interact: 'allow' }, { tab_open: 'deny' }).shut).toEqual([]);
    expect(policyFor({ interact: 'deny' }, { tab_open: 'allow' }).shut).toEqual(['tab_open', 'tab_close']);
    expect(policyFor({ tab_open: 'ask' }, { interact: 'deny' })).toMatchObject({
      shut: ['tab_close'],
      asked: ['tab_open', 'page_evaluate'],
    });
  });

  test('wire.md §3: a class does not shut the handshake, nor lets it wait; its own name does', () => {
    expect(policyFor({ observe: 'deny' }).shut).toEqual(['screenshot']);
    expect(policyFor({}, { observe: 'ask' }).asked).toEqual(['screenshot', 'page_evaluate']);
    expect(policyFor({ workspace_info: 'deny' }).shut).toEqual(['workspace_info']);
  });

  test('of any rules: the first word in this order holds: policy on the tool, on its class, the person on the tool, on its class, the default', () => {
    const word = fc.option(fc.constantFrom<ToolPermission>('allow', 'ask', 'deny'), { nil: undefined });
    const names = fc.constantFrom(...TOOLS.slice(2));
    fc.assert(
      fc.property(names, word, word, word, word, (subject, own, ofClass, persons, personsOfClass) => {
        const rules = (name?: ToolPermission, byClass?: ToolPermission) =>
          new Map<string, ToolPermission>([
            ...(name ? [[subject.name, name] as const] : []),
            ...(byClass ? [[subject.class, byClass] as const] : []),
          ]);
        const found = toolPermission(subject, {
          managed: rules(own, ofClass),
          person: rules(persons, personsOfClass),
        });
        const usual = subject.class === 'powerful' ? 'ask' : 'allow';
        expect(found.permission).toBe(own ?? ofClass ?? persons ?? personsOfClass ?? usual);
        expect(found.managed).toBe((own ?? ofClass) !== undefined);
      }),
    );
  });

  test('wire.md §8: a change counts from the next request on', async () => {
    let policy = NO_POLICY;
    let reads = 0;
    let change = () => {};
    const current = followToolPolicy(
      {
        settled: async () => {
          reads += 1;
          return effectiveSettings({
            managed: { policy, problems: [], managed: true },
            stored: { ...NOTHING_STORED, tool_permissions: [['tab_open', 'ask']] },
            digestOf: () => '',
          });
        },
        onChanged: (listener) => {
          change = listener;
          return () => {};
        },
      },
      TOOLS,
    );
    expect([...(await current()).blocked_tools]).toEqual([]);
    expect([...(await current()).asked_tools]).toEqual(['tab_open', 'page_evaluate']);
    expect(reads).toBe(1);
    policy = { ...NO_POLICY, tool_permissions: new Map([['screenshot', 'deny' as const]]) };
    change();
    expect([...(await current()).blocked_tools]).toEqual(['screenshot']);
    expect((await current()).managed).toBe(true);
  });
});
