/** Which tools are shut, by managed policy (policy.md, `tool_permissions`). Knows no browser. */
import type { ManagedPolicy } from '../settings/managed-policy';
import type { Settings } from '../settings/settings-store';
import type { Tool, ToolPolicy } from '../tools/tool';
import { remembered } from './remembered';

/** Without their answers no connection is ever online (wire.md §3): only their own name shuts them. */
const HANDSHAKE_TOOLS: readonly string[] = ['describe_tools', 'workspace_info'];

/**
 * A tool's own name counts before its class. `ask` shuts a tool, too, as long as nobody can be asked: a
 * rule must not be looser than it was meant.
 */
export function toolPolicy(
  { tool_permissions }: Pick<ManagedPolicy, 'tool_permissions'>,
  managed: boolean,
  tools: readonly Pick<Tool, 'name' | 'class'>[],
): ToolPolicy {
  const isShut = ({ name, class: toolClass }: Pick<Tool, 'name' | 'class'>) => {
    const byClass = HANDSHAKE_TOOLS.includes(name) ? undefined : tool_permissions.get(toolClass);
    return (tool_permissions.get(name) ?? byClass ?? 'allow') !== 'allow';
  };
  return { managed, blocked_tools: new Set(tools.filter(isShut).map(({ name }) => name)) };
}

/** What is shut now. Read again after every change of the settings, so that the next request follows it. */
export function followToolPolicy(
  settings: Pick<Settings, 'current' | 'onChanged'>,
  tools: readonly Pick<Tool, 'name' | 'class'>[],
): () => Promise<ToolPolicy> {
  const read = async () => {
    const { policy, managed } = await settings.current();
    return toolPolicy(policy, managed, tools);
  };
  let known = remembered(read);
  settings.onChanged(() => {
    known = remembered(read);
  });
  return () => known();
}
