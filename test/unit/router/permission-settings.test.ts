import { describe, expect, test } from 'vitest';
import { isSettable, permissionSettings } from '../../../src/router/permission-settings';
import { NO_POLICY, type ToolPermission } from '../../../src/settings/managed-policy';

const TOOLS = [
  { name: 'describe_tools', class: 'observe', requires_confirmation: false },
  { name: 'screenshot', class: 'observe', requires_confirmation: false },
  { name: 'tab_open', class: 'interact', requires_confirmation: false },
  { name: 'tab_close', class: 'interact', requires_confirmation: false },
];

function shown(managed: Record<string, ToolPermission>, person: Record<string, ToolPermission>) {
  return permissionSettings(
    {
      managed: true,
      policy: {
        ...NO_POLICY,
        tool_permissions: new Map(Object.entries(managed)),
        url_blocklist: ['<all_urls>'],
      },
      tool_permissions: new Map(Object.entries(person)),
    },
    TOOLS,
  );
}

describe('tools.md, Permission classes: what the settings page shows', () => {
  test('what holds, the person’s own word, and what would hold without it', () => {
    const { classes, url_allowlist, url_blocklist } = shown({}, { interact: 'ask', tab_open: 'deny' });
    expect(classes).toEqual([
      {
        class: 'observe',
        permission: 'allow',
        managed: false,
        tools: [{ name: 'screenshot', permission: 'allow', managed: false, own: null, inherited: 'allow' }],
      },
      {
        class: 'interact',
        permission: 'ask',
        managed: false,
        tools: [
          { name: 'tab_open', permission: 'deny', managed: false, own: 'deny', inherited: 'ask' },
          { name: 'tab_close', permission: 'ask', managed: false, own: null, inherited: 'ask' },
        ],
      },
    ]);
    expect([url_allowlist, url_blocklist]).toEqual([null, ['<all_urls>']]);
  });

  test('what policy fixes is managed, a class with all its tools, and cannot be set', () => {
    const permissions = shown({ interact: 'deny', screenshot: 'ask' }, { tab_open: 'allow' });
    expect(permissions.classes.flatMap(({ tools }) => tools.map(({ managed }) => managed))).toEqual([
      true,
      true,
      true,
    ]);
    for (const name of ['interact', 'tab_open', 'screenshot', 'describe_tools']) {
      expect(isSettable(permissions, name), name).toBe(false);
    }
    expect(isSettable(permissions, 'observe')).toBe(true);
  });
});
