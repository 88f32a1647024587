/** Whether what `describe_tools` answered is a catalogue as tools.md wants it. */
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';
import { isJsonObject, type JsonObject } from '../../src/protocol/json';
import { shown } from './frame-checks';

const draft07 = new Ajv({ strict: false });
const draft2020 = new Ajv2020({ strict: false });

const REQUIRED: Record<string, (value: unknown) => boolean> = {
  name: (value) => typeof value === 'string' && value !== '',
  description: (value) => typeof value === 'string' && value !== '',
  input_schema: isSchema,
  requires_confirmation: (value) => typeof value === 'boolean',
};

/** The usable tools of an output of `describe_tools`, and a sentence for each thing that is wrong. */
export function checkCatalogue(output: JsonObject): { tools: JsonObject[]; violations: string[] } {
  if (!Array.isArray(output.tools) || output.tools.length === 0) {
    return { tools: [], violations: ['describe_tools answered no tools'] };
  }
  const violations: string[] = [];
  const names = new Set<unknown>();
  const tools = output.tools.filter(isJsonObject);
  if (tools.length !== output.tools.length) violations.push('describe_tools lists something that is no tool');
  for (const tool of tools) {
    for (const [field, fits] of Object.entries(REQUIRED)) {
      if (!fits(tool[field]))
        violations.push(`describe_tools: ${field} of ${shown(tool.name)} is not usable`);
    }
    if (names.has(tool.name)) violations.push(`describe_tools lists ${shown(tool.name)} twice`);
    names.add(tool.name);
  }
  return { tools, violations };
}

/** An object schema of draft 2020-12, or of draft 07 when it says so. */
function isSchema(value: unknown): boolean {
  if (!isJsonObject(value) || value.type !== 'object') return false;
  const old = typeof value.$schema === 'string' && value.$schema.includes('draft-07');
  return (old ? draft07 : draft2020).validateSchema(value) === true;
}
