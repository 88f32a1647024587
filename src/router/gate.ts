/**
 * What must be true of a request before its tool may start (wire.md §7, tools.md): well-formed, a known
 * tool, allowed now, an input that fits the schema. Pure. Whether the input fits was found out where the request
 * was received, and came with it.
 */
import type { RequestText } from '../platform/messages';
import { AgentError, toAgentError } from '../protocol/errors';
import { isJsonObject, type JsonObject } from '../protocol/json';
import type { StoodFor, Tool, ToolPolicy } from '../tools/tool';

export interface GateRules {
  findTool(name: string): Tool | undefined;
  policy: ToolPolicy;
}

export type Passed =
  /** `policy` is what was looked at; the tool gets the same. `ask`: the person must allow it first. */
  | { pass: true; tool: Tool; input: JsonObject; policy: ToolPolicy; ask: boolean }
  /** With `invalid_request`, `unknown_tool`, `capability_denied` or `invalid_input`. */
  | { pass: false; refusal: AgentError };

/** The part of a request that is looked at. */
export type GatedRequest = Pick<RequestText, 'command' | 'input' | 'malformed' | 'invalid'>;

export function gate(request: GatedRequest, rules: GateRules): Passed {
  const { command, input, malformed, invalid } = request;
  if (malformed !== null || command === null || !isJsonObject(input)) {
    return refuse(new AgentError('invalid_request', malformed ?? undefined));
  }
  const tool = rules.findTool(command);
  if (!tool) return refuse(new AgentError('unknown_tool'));
  if (rules.policy.blocked_tools.has(tool.name)) return refuse(new AgentError('capability_denied'));
  return tool.standsFor ? judgeBehind(tool, input, invalid, rules) : judge(tool, input, invalid, rules);
}

function judge(tool: Tool, input: JsonObject, invalid: string | null, { policy }: GateRules): Passed {
  if (policy.blocked_tools.has(tool.name)) return refuse(new AgentError('capability_denied'));
  if (invalid !== null) return refuse(new AgentError('invalid_input', invalid));
  return { pass: true, tool, input, policy, ask: policy.asked_tools.has(tool.name) };
}

/** The tool behind a type (os-interface.md) passes as itself; only its answer is put into other words. */
function judgeBehind(front: Tool, given: JsonObject, invalid: string | null, rules: GateRules): Passed {
  let behind: StoodFor | undefined;
  try {
    behind = front.standsFor?.(given);
  } catch (thrown) {
    // What does not fit need not be understood: then the complaint is why.
    return refuse(invalid === null ? toAgentError(thrown) : new AgentError('invalid_input', invalid));
  }
  if (!behind) return refuse(new AgentError('internal_error'));
  const { tool, wrap } = behind;
  const passed = judge(tool, behind.input, invalid, rules);
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
