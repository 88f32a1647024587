/** The permissions as the settings page shows them: what holds, who says so, and what would hold otherwise. Pure. */
import type { ClassPermissionState, PermissionSettings, ToolPermissionState } from '../platform/messages';
import type { EffectiveSettings } from '../settings/effective-settings';
import type { ManagedPolicy, PolicyProblem } from '../settings/managed-policy';
import {
  classPermission,
  OWN_NAME_ONLY,
  type PermissionSources,
  type PermissionSubject,
  toolPermission,
} from '../settings/tool-permissions';
import type { ToolClass } from '../tools/tool';

const LONGEST_KEY = 80;
const CLASSES: readonly ToolClass[] = ['observe', 'interact', 'files', 'powerful'];

/** Classes without a tool are left out; so are the tools without which there is no connection. */
export function permissionSettings(
  { policy, tool_permissions, managed }: Pick<EffectiveSettings, 'policy' | 'tool_permissions' | 'managed'>,
  tools: readonly PermissionSubject[],
): PermissionSettings {
  const sources = { managed: policy.tool_permissions, person: tool_permissions };
  return {
    managed,
    classes: CLASSES.flatMap((name) => classState(name, tools, sources)),
    url_allowlist: policy.url_allowlist && [...policy.url_allowlist],
    url_blocklist: [...policy.url_blocklist],
  };
}

/** Whether the name is that of a tool or class on the page, and policy leaves it to the person. */
export function isSettable({ classes }: PermissionSettings, name: string): boolean {
  const states = classes.flatMap((group) => [{ name: group.class, managed: group.managed }, ...group.tools]);
  return states.some((state) => state.name === name && !state.managed);
}

/** Names in `tool_permissions` that are no tool and no class: what was meant to be shut would stay open. */
export function unknownPermissions(
  { tool_permissions }: Pick<ManagedPolicy, 'tool_permissions'>,
  tools: readonly PermissionSubject[],
): PolicyProblem[] {
  const known = new Set<string>([...CLASSES, ...tools.map(({ name }) => name)]);
  return [...tool_permissions.keys()]
    .filter((name) => !known.has(name))
    .map((name) => ({
      key: `tool_permissions.${name}`.slice(0, LONGEST_KEY),
      reason: 'policy_reason_unknown_tool',
    }));
}

function classState(
  toolClass: ToolClass,
  all: readonly PermissionSubject[],
  sources: PermissionSources,
): ClassPermissionState[] {
  const tools = all.filter((tool) => tool.class === toolClass && !OWN_NAME_ONLY.includes(tool.name));
  if (tools.length === 0) return [];
  return [
    {
      class: toolClass,
      ...classPermission(toolClass, sources),
      tools: tools.map((tool) => toolState(tool, sources)),
    },
  ];
}

function toolState(tool: PermissionSubject, { managed, person }: PermissionSources): ToolPermissionState {
  const others = new Map([...person].filter(([name]) => name !== tool.name));
  return {
    name: tool.name,
    ...toolPermission(tool, { managed, person }),
    own: person.get(tool.name) ?? null,
    inherited: toolPermission(tool, { managed, person: others }).permission,
  };
}
