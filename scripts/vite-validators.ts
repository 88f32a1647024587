/**
 * Compiles the JSON Schemas to validators while building: MV3 forbids `eval`, which ajv would need at run
 * time. Serves `virtual:frame-validators` for what the relay sends, `virtual:tool-validators` for the tools' inputs
 * (with the tool behind each OS action type, so that nobody needs the registry for that), and
 * `virtual:agent-frame-validators`, by which tests check what the agent sends.
 */
import Ajv2020 from 'ajv/dist/2020';
import standaloneCode from 'ajv/dist/standalone';
import type { Plugin } from 'vite';
import type { JsonObject, JsonValue } from '../src/protocol/json';
import { AGENT_FRAME_SCHEMAS, RELAY_FRAME_SCHEMAS } from '../src/protocol/schemas';
import { TOOLS } from '../src/tools/registry';

type Schemas = Record<string, object>;

const MODULES: Record<string, () => string> = {
  'virtual:frame-validators': () => compile(RELAY_FRAME_SCHEMAS),
  'virtual:agent-frame-validators': () => compile(AGENT_FRAME_SCHEMAS),
  'virtual:tool-validators': () => {
    const schemas = Object.fromEntries(TOOLS.map((tool) => [tool.name, tool.input_schema]));
    const table = (name: string, value: object) =>
      `export const ${name} = ${JSON.stringify(value, null, 2)};\n`;
    return compile(schemas) + table('os_actions', osActions()) + table('input_fields', inputFields());
  },
};

export function validators(): Plugin {
  return {
    name: 'endue-validators',
    resolveId: (id) => (id in MODULES ? `\0${id}` : undefined),
    load(id) {
      return id.startsWith('\0') ? MODULES[id.slice(1)]?.() : undefined;
    },
  };
}

function osActions(): Record<string, string> {
  return Object.fromEntries(
    TOOLS.flatMap(({ name, os_action }) => (os_action === null ? [] : [[os_action, name]])),
  );
}

function inputFields(): Record<string, { all: string[]; required: string[] }> {
  return Object.fromEntries(
    TOOLS.map(({ name, input_schema: { properties = {}, required = [] } }) => [
      name,
      { all: Object.keys(properties as JsonObject), required: required as string[] },
    ]),
  );
}

/** One ES module whose default export maps each schema's name to its validator. */
export function compile(schemas: Schemas): string {
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    code: { source: true, esm: true, lines: true },
  });
  const text = JSON.stringify(schemas);
  // The bookkeeping for these is a fifth of the code, also where no schema asks for it.
  ajv.opts.unevaluated = text.includes('"unevaluated');
  ajv.opts.dynamicRef = text.includes('"$dynamic');
  const names = Object.keys(schemas);
  for (const [index, name] of names.entries()) {
    ajv.addSchema(withoutDescriptions(schemas[name] as JsonObject), `schema${index}`);
  }
  // `check`, because ajv names its own functions `validate` and a number.
  const code = standaloneCode(
    ajv,
    Object.fromEntries(names.map((_name, index) => [`check${index}`, `schema${index}`])),
  );
  const table = names.map((name, index) => `${JSON.stringify(name)}: check${index}`).join(',\n  ');
  return `${importsForRequires(withoutSchemaPaths(code))}\nexport default {\n  ${table}\n};\n`;
}

/** Where one keyword is generated from a whole schema, that schema is in the code: with what only a reader needs. */
function withoutDescriptions(schema: JsonObject): JsonObject {
  const kept = Object.entries(schema).filter(([key]) => key !== 'description');
  return Object.fromEntries(
    kept.map(([key, value]) => [
      key,
      key === 'properties' || key === '$defs' ? mapValues(value, subschema) : subschema(value),
    ]),
  );
}

function subschema(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(subschema);
  return typeof value === 'object' && value !== null ? withoutDescriptions(value) : value;
}

/** The names in it are properties, not keywords. */
function mapValues(value: JsonValue, change: (value: JsonValue) => JsonValue): JsonValue {
  return Object.fromEntries(Object.entries(value as JsonObject).map(([name, one]) => [name, change(one)]));
}

/** Of an error, `protocol/validation.ts` reads the place in the value, never the one in the schema. */
function withoutSchemaPaths(code: string): string {
  return code.replace(/schemaPath:\s*"(?:[^"\\]|\\.)*",\s*/g, '');
}

/** ajv's ES output still takes its small run-time helpers by `require`; a browser needs imports. */
function importsForRequires(code: string): string {
  const imports: string[] = [];
  const body = code.replace(/require\("([^"]+)"\)\.default/g, (_whole, module: string) => {
    const name = `ajvRuntime${imports.length}`;
    imports.push(`import ${name}Module from ${JSON.stringify(module)};`);
    imports.push(`const ${name} = ${name}Module.default ?? ${name}Module;`);
    return name;
  });
  return `${imports.join('\n')}\n${body}`;
}
