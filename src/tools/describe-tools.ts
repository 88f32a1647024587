/** `describe_tools`: the catalogue (tools.md, Catalogue). It is given the registry, which holds it too. */
import { defineTool, type Tool } from './tool';

export function describeTools(catalogue: () => readonly Tool[]): Tool {
  return defineTool<Record<never, never>>({
    name: 'describe_tools',
    description:
      'Lists the tools this device offers now. Use it first, to learn what can be done here and with which input. ' +
      'Returns tools: for each its name, a description, the JSON Schema of its input, and requires_confirmation, ' +
      'which is true when a person at the device is asked before it runs. Tools that the policy of the device forbids are not listed.',
    input_schema: { type: 'object', properties: {}, additionalProperties: false },
    class: 'observe',
    read_only: true,
    os_action: null,
    requires_confirmation: false,
    async run(_input, { policy }) {
      const tools = catalogue()
        .filter(({ name }) => !policy.blocked_tools.has(name))
        .map(({ name, description, input_schema, requires_confirmation }) => ({
          name,
          description,
          input_schema,
          requires_confirmation: requires_confirmation || policy.asked_tools.has(name),
        }));
      return { output: { tools } };
    },
  });
}
