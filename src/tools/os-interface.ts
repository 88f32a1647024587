/**
 * `os_capabilities` and `os_execute` (os-interface.md): the tools of the registry under the types of the common
 * OS contract. A type is its tool: the same code, the same checks. They are given the registry, which holds
 * them too.
 */
import { AgentError } from '../protocol/errors';
import { isJsonObject, type JsonObject } from '../protocol/json';
import { nearNames } from './near-names';
import { defineTool, type Tool } from './tool';
import { LIMITS } from './workspace-info';

export const INTERFACE_VERSION = '1.0';

/** Learned here without trying. */
export const UNSUPPORTED: readonly { type: string; reason: string }[] = [
  { type: 'process.*', reason: 'A browser runs no processes of the device.' },
  { type: 'terminal.*', reason: 'A browser has no terminal.' },
];

export function osCapabilities(catalogue: () => readonly Tool[]): Tool {
  return defineTool<Record<never, never>>({
    name: 'os_capabilities',
    description:
      'Tells which types of the common OS contract this device takes in os_execute. Use it when you know that contract; the same can be done with the tools of describe_tools. ' +
      'Returns interface_version, kind, types (for each its type, input_schema, result_schema and requires_confirmation), ' +
      'unsupported (types this kind of device never has, with the reason), policy and limits. Types that the policy of the device forbids are not listed.',
    input_schema: { type: 'object', properties: {}, additionalProperties: false },
    class: 'observe',
    read_only: true,
    os_action: null,
    requires_confirmation: false,
    async run(_input, { policy, osInterface }) {
      const file = await osInterface();
      const { types } = file;
      const typesIn = (names: ReadonlySet<string>) =>
        typesOf(catalogue().filter(({ name }) => names.has(name)));
      const blocked = typesIn(policy.blocked_tools);
      const asked = typesIn(policy.asked_tools);
      const allowed = (Array.isArray(types) ? types : []).flatMap((one) => {
        if (!isJsonObject(one) || blocked.includes(String(one.type))) return [];
        return [asked.includes(String(one.type)) ? { ...one, requires_confirmation: true } : one];
      });
      return {
        output: {
          ...file,
          types: allowed,
          policy: { managed: policy.managed, blocked_types: blocked.sort() },
          limits: LIMITS,
        },
      };
    },
  });
}

function typesOf(tools: readonly Tool[]): string[] {
  return tools.flatMap(({ os_action }) => (os_action === null ? [] : [os_action]));
}

interface ExecuteInput {
  type: string;
  input?: JsonObject;
}

export function osExecute(catalogue: () => readonly Tool[]): Tool {
  return {
    ...defineTool<ExecuteInput>({
      name: 'os_execute',
      description:
        'Runs an action of the common OS contract by its type, such as tab.open or screen.capture. It does what the tool of that type does, under the same rules. ' +
        'Use os_capabilities to learn the types and their inputs. Returns interface_version, type, and result, which is what the tool returns.',
      input_schema: {
        type: 'object',
        additionalProperties: false,
        required: ['type'],
        properties: {
          type: { type: 'string', description: 'A type that os_capabilities lists.' },
          input: { type: 'object', description: 'By the input_schema of the type. Default: {}.' },
        },
      },
      class: 'observe',
      read_only: false,
      os_action: null,
      requires_confirmation: false,
      async run() {
        // The router runs the tool behind the type instead.
        throw new AgentError('internal_error');
      },
    }),
    standsFor(given) {
      const { type, input = {} } = given as unknown as ExecuteInput;
      const tool = catalogue().find(({ os_action }) => os_action === type);
      if (!tool) throw unknownType(type, typesOf(catalogue()));
      return {
        tool,
        input,
        wrap: ({ output, attachments = [] }) => ({
          output: { interface_version: INTERFACE_VERSION, type, result: output },
          attachments: attachments.map((attachment) => ({ ...attachment, inside: 'result' })),
        }),
      };
    },
  };
}

const TYPE_SHOWN = 64;

function unknownType(type: string, known: readonly string[]): AgentError {
  const shown = JSON.stringify(type.slice(0, TYPE_SHOWN));
  const never = UNSUPPORTED.find((one) => type.startsWith(one.type.slice(0, -1)));
  if (never) return new AgentError('invalid_input', `input.type: ${shown} is not supported. ${never.reason}`);
  const near = nearNames(type, known);
  return new AgentError(
    'invalid_input',
    `input.type: there is no type ${shown}. ${near.length > 0 ? `Near are ${near.join(', ')}` : 'os_capabilities lists them'}.`,
  );
}
