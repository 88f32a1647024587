/** What `os-interface.json` holds (os-interface.md), from the registry. Pure. */
import type { JsonObject, JsonValue } from '../src/protocol/json';
import { INTERFACE_VERSION, UNSUPPORTED } from '../src/tools/os-interface';
import { RESULT_SCHEMAS } from '../src/tools/result-schemas';
import type { Tool } from '../src/tools/tool';

/** The types of the tools, in the registry's order. */
export function osInterface(tools: readonly Tool[]): JsonObject {
  const types = tools.flatMap(({ name, os_action, input_schema, requires_confirmation }): JsonValue[] =>
    os_action === null
      ? []
      : [
          {
            type: os_action,
            input_schema,
            // Whoever adds a tool says what it returns: a test looks for it.
            result_schema: RESULT_SCHEMAS[name] ?? { type: 'object' },
            requires_confirmation,
          },
        ],
  );
  return {
    interface_version: INTERFACE_VERSION,
    kind: 'chrome',
    types,
    unsupported: UNSUPPORTED.map((one) => ({ ...one })),
  };
}
