/**
 * What must be true of a request before its tool may start (wire.md §7, tools.md): well-formed, a known
 * tool, allowed now, an input that fits the schema. Pure.
 */
import type { RequestText } from '../platform/messages';
import { AgentError, toAgentError } from '../protocol/errors';
import { isJsonObject, type JsonObject } from '../protocol/json';
import { complaint, type Validate } from '../protocol/validation';
import type { StoodFor, Tool, ToolPolicy } from '../tools/tool';

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
  const passed = judge({ tool, input, input_name: 'input' }, rules);
  return passed.pass && tool.standsFor ? judgeBehind(tool, input, rules) : passed;
}

function judge(
  { tool, input, input_name }: Pick<StoodFor, 'tool' | 'input' | 'input_name'>,
  { policy, validators }: GateRules,
): Passed {
  if (policy.blocked_tools.has(tool.name)) return refuse(new AgentError('capability_denied'));
  const validate = validators[tool.name];
  if (!validate?.(input))
    return refuse(new AgentError('invalid_input', complaint(validate?.errors, input_name)));
  return { pass: true, tool, input, policy, ask: policy.asked_tools.has(tool.name) };
}

/** The tool behind a type (os-interface.md) passes as itself; only its answer is put into other words. */
function judgeBehind(front: Tool, given: JsonObject, rules: GateRules): Passed {
  let behind: StoodFor | undefined;
  try {
    behind = front.standsFor?.(given);
  } catch (thrown) {
    return refuse(toAgentError(thrown));
  }
  if (!behind) return refuse(new AgentError('internal_error'));
  const { tool, wrap } = behind;
  const passed = judge(behind, rules);
  if (!passed.pass) return passed;
  return {
    ...passed,
    ask: passed.ask || rules.policy.asked_tools.has(front.name),
    tool: {
      ...tool,
      run: async (input, context, looked) => wrap(await tool.run(input, context, looked)),
    },
  };
}

function refuse(refusal: AgentError): Passed {
  return { pass: false, refusal };
}
