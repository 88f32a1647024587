/**
 * Which tools are shut, and which run only after the person was asked: by managed policy, then by the
 * person's settings (policy.md, `tool_permissions`). Knows no browser.
 */
import type { Settings } from '../settings/settings-store';
import { type PermissionSources, type PermissionSubject, toolPermission } from '../settings/tool-permissions';
import type { ToolPolicy } from '../tools/tool';
import { remembered } from './remembered';

export function toolPolicy(
  sources: PermissionSources,
  managed: boolean,
  tools: readonly PermissionSubject[],
): ToolPolicy {
  const named = (wanted: string): ReadonlySet<string> =>
    new Set(
      tools.filter((tool) => toolPermission(tool, sources).permission === wanted).map((tool) => tool.name),
    );
  return { managed, blocked_tools: named('deny'), asked_tools: named('ask') };
}

/** What holds now. Read again after every change of the settings, so that the next request follows it. */
export function followToolPolicy(
  settings: Pick<Settings, 'settled' | 'onChanged'>,
  tools: readonly PermissionSubject[],
): () => Promise<ToolPolicy> {
  const read = async () => {
    const { policy, tool_permissions, managed } = await settings.settled();
    return toolPolicy({ managed: policy.tool_permissions, person: tool_permissions }, managed, tools);
  };
  let known = remembered(read);
  settings.onChanged(() => {
    known = remembered(read);
  });
  return () => known();
}
