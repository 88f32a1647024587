/**
 * Compiles the JSON Schemas to validators while building: MV3 forbids `eval`, which ajv would need at run
 * time. Serves `virtual:frame-validators` for what the relay sends, `virtual:tool-validators` for the tools' inputs,
 * and `virtual:agent-frame-validators`, by which tests check what the agent sends.
 */
import Ajv2020 from 'ajv/dist/2020';
import standaloneCode from 'ajv/dist/standalone';
import type { Plugin } from 'vite';
import { AGENT_FRAME_SCHEMAS, RELAY_FRAME_SCHEMAS } from '../src/protocol/schemas';
import { TOOLS } from '../src/tools/registry';

type Schemas = Record<string, object>;

const MODULES: Record<string, () => Schemas> = {
  'virtual:frame-validators': () => RELAY_FRAME_SCHEMAS,
  'virtual:agent-frame-validators': () => AGENT_FRAME_SCHEMAS,
  'virtual:tool-validators': () => Object.fromEntries(TOOLS.map((tool) => [tool.name, tool.input_schema])),
};

export function validators(): Plugin {
  return {
    name: 'endue-validators',
    resolveId: (id) => (id in MODULES ? `\0${id}` : undefined),
    load(id) {
      const schemas = id.startsWith('\0') ? MODULES[id.slice(1)] : undefined;
      return schemas ? compile(schemas()) : undefined;
    },
  };
}

/** One ES module whose default export maps each schema's name to its validator. */
export function compile(schemas: Schemas): string {
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    code: { source: true, esm: true, lines: true },
  });
  const names = Object.keys(schemas);
  // Copies: two names with one schema object would share a function, which then is declared twice.
  for (const [index, name] of names.entries()) ajv.addSchema({ ...schemas[name] }, `schema${index}`);
  // `check`, because ajv names its own functions `validate` and a number.
  const code = standaloneCode(
    ajv,
    Object.fromEntries(names.map((_name, index) => [`check${index}`, `schema${index}`])),
  );
  const table = names.map((name, index) => `${JSON.stringify(name)}: check${index}`).join(',\n  ');
  return `${importsForRequires(code)}\nexport default {\n  ${table}\n};\n`;
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
