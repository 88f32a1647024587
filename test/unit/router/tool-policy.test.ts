import { describe, expect, test } from 'vitest';
import { followToolPolicy, toolPolicy } from '../../../src/router/tool-policy';
import { effectiveSettings } from '../../../src/settings/effective-settings';
import { NO_POLICY, type ToolPermission } from '../../../src/settings/managed-policy';
import { NOTHING_STORED } from '../../../src/settings/stored-settings';
import type { ToolClass } from '../../../src/tools/tool';

const TOOLS: { name: string; class: ToolClass }[] = [
  { name: 'describe_tools', class: 'observe' },
  { name: 'workspace_info', class: 'observe' },
  { name: 'screenshot', class: 'observe' },
  { name: 'tab_open', class: 'interact' },
  { name: 'tab_close', class: 'interact' },
];

const shut = (rules: Record<string, ToolPermission>) => [
  ...toolPolicy({ tool_permissions: new Map(Object.entries(rules)) }, true, TOOLS).blocked_tools,
];

describe('policy.md: tool_permissions', () => {
  test('nothing said: all open', () => {
    expect(shut({})).toEqual([]);
    expect(shut({ interact: 'allow', no_such_tool: 'deny' })).toEqual([]);
  });

  test('a class shuts its tools, a tool’s own name counts before its class', () => {
    expect(shut({ interact: 'deny' })).toEqual(['tab_open', 'tab_close']);
    expect(shut({ interact: 'deny', tab_open: 'allow' })).toEqual(['tab_close']);
    expect(shut({ tab_open: 'deny' })).toEqual(['tab_open']);
  });

  test('what would have to be asked is shut while nobody can be asked', () => {
    expect(shut({ tab_close: 'ask' })).toEqual(['tab_close']);
  });

  test('wire.md §3: a class does not shut the handshake; its own name does', () => {
    expect(shut({ observe: 'deny' })).toEqual(['screenshot']);
    expect(shut({ workspace_info: 'deny' })).toEqual(['workspace_info']);
  });

  test('wire.md §8: a change counts from the next request on', async () => {
    let policy = NO_POLICY;
    let reads = 0;
    let change = () => {};
    const current = followToolPolicy(
      {
        current: async () => {
          reads += 1;
          return effectiveSettings({
            managed: { policy, problems: [], managed: true },
            stored: NOTHING_STORED,
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
    await current();
    expect(reads).toBe(1);
    policy = { ...NO_POLICY, tool_permissions: new Map([['screenshot', 'deny' as const]]) };
    change();
    expect([...(await current()).blocked_tools]).toEqual(['screenshot']);
    expect((await current()).managed).toBe(true);
  });
});
