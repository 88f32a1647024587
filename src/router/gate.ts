/**
 * What must be true of a request before its tool may start (wire.md §7, tools.md): well-formed, a known
 * tool, allowed now, an input that fits the schema. Pure.
 */
import type { RequestText } from '../platform/messages';
import { AgentError } from '../protocol/errors';
import { isJsonObject, type JsonObject } from '../protocol/json';
import { complaint, type Validate } from '../protocol/validation';
import type { Tool, ToolPolicy } from '../tools/tool';

export interface GateRules {
  findTool(name: string): Tool | undefined;
  /** Compiled input schemas, keyed by tool name. */
  validators: Readonly<Record<string, Validate>>;
  policy: ToolPolicy;
}

export type Passed =
  /** `policy` is what was looked at; the tool gets the same. `ask`: the person must allow it first. */
  | { pass: true; tool: Tool; input: JsonObject; policy: ToolPolicy; ask: boolean }
  /** With `invalid_request`, `unknown_tool`, `capability_denied` or `invalid_input`. */
  | { pass: false; refusal: AgentError };

export function gate(request: RequestText, rules: GateRules): Passed {
  const { command, input, malformed } = request;
  if (malformed !== null || command === null || !isJsonObject(input)) {
    return refuse(new AgentError('invalid_request', malformed ?? undefined));
  }
  const tool = rules.findTool(command);
  if (!tool) return refuse(new AgentError('unknown_tool'));
  if (rules.policy.blocked_tools.has(tool.name)) return refuse(new AgentError('capability_denied'));
  const validate = rules.validators[tool.name];
  if (!validate?.(input))
    return refuse(new AgentError('invalid_input', complaint(validate?.errors, 'input')));
  return { pass: true, tool, input, policy: rules.policy, ask: rules.policy.asked_tools.has(tool.name) };
}

function refuse(refusal: AgentError): Passed {
  return { pass: false, refusal };
}
