/**
 * Which permission holds for a class of tools or for one tool (policy.md, `tool_permissions`; tools.md,
 * Permission classes). Pure; knows no tool.
 */
import type { ToolPermission } from './managed-policy';

/** By tool class or tool name. */
export type Permissions = ReadonlyMap<string, ToolPermission>;

export interface PermissionSources {
  /** From the managed policy: wins, its word on a class over the person's on a tool, too. */
  managed: Permissions;
  /** From the person's settings. */
  person: Permissions;
}

export interface Permission {
  permission: ToolPermission;
  /** True when policy fixes it. */
  managed: boolean;
}

/**
 * Only their own name counts: without the first two no connection is ever online (wire.md §3), and the others stand
 * for tools of every class, which are judged by themselves.
 */
export const OWN_NAME_ONLY: readonly string[] = [
  'describe_tools',
  'workspace_info',
  'os_capabilities',
  'os_execute',
];

export interface PermissionSubject {
  name: string;
  class: string;
  /** What the tool says of itself: without a word from anybody the person is asked. */
  requires_confirmation: boolean;
}

/** What holds for a tool. Its own name counts before its class. */
export function toolPermission(
  { name, class: toolClass, requires_confirmation }: PermissionSubject,
  { managed, person }: PermissionSources,
): Permission {
  const standsAlone = OWN_NAME_ONLY.includes(name);
  const said = (by: Permissions) => by.get(name) ?? (standsAlone ? undefined : by.get(toolClass));
  const fixed = said(managed);
  if (fixed !== undefined) return { permission: fixed, managed: true };
  const permission = said(person) ?? (requires_confirmation ? 'ask' : defaultPermission(toolClass));
  return { permission, managed: false };
}

/** What holds for the tools of a class of which nothing else is said. */
export function classPermission(toolClass: string, { managed, person }: PermissionSources): Permission {
  const fixed = managed.get(toolClass);
  if (fixed !== undefined) return { permission: fixed, managed: true };
  return { permission: person.get(toolClass) ?? defaultPermission(toolClass), managed: false };
}

/** A person expects to be asked before the powerful things, and not before each click. */
function defaultPermission(toolClass: string): ToolPermission {
  return toolClass === 'powerful' ? 'ask' : 'allow';
}
