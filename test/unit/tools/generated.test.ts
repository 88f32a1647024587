/** What is made from the registry agrees with it (os-interface.md; tools.md, Catalogue). */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import Ajv2020 from 'ajv/dist/2020';
import { describe, expect, test } from 'vitest';
import { generatedFiles, readExamples } from '../../../scripts/generated-files';
import { osInterface } from '../../../scripts/os-interface';
import { isJsonObject, type JsonObject } from '../../../src/protocol/json';
import { TOOLS } from '../../../src/tools/registry';
import { RESULT_SCHEMAS } from '../../../src/tools/result-schemas';

const ajv = new Ajv2020({ strict: true, strictTypes: false, formats: { 'date-time': isMoment } });
const examples = readExamples();
const typed = TOOLS.filter(({ os_action }) => os_action !== null);

function isMoment(text: string): boolean {
  return !Number.isNaN(Date.parse(text)) && text.includes('T');
}

/** Fields may be added to a result, but those that there are have to be told. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (!isJsonObject(schema)) return schema;
  const inside = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return isJsonObject(schema.properties) ? { ...inside, additionalProperties: false } : inside;
}

describe('generated files', () => {
  test.each(generatedFiles().map(({ path, text }) => [relative(process.cwd(), path), path, text]))(
    '%s is up to date: npx tsx scripts/generate.ts makes it anew',
    (_name, path, text) => {
      expect(readFileSync(path, 'utf8')).toBe(text);
    },
  );
});

describe('os-interface.md: one type per tool of the registry', () => {
  const file = osInterface(TOOLS);
  const types = file.types as { type: string; input_schema: JsonObject; result_schema: JsonObject }[];

  test('each is domain.verb, once, with the schemas of its tool', () => {
    expect(types.map(({ type }) => type)).toEqual(typed.map(({ os_action }) => os_action));
    expect(new Set(types.map(({ type }) => type)).size).toBe(types.length);
    for (const { type } of types) expect(type).toMatch(/^[a-z]+\.[a-z_]+$/);
    for (const [index, tool] of typed.entries()) {
      expect(types[index]?.input_schema).toBe(tool.input_schema);
    }
  });

  test('each tells what it returns, and nothing is told of tools that are not there', () => {
    expect(Object.keys(RESULT_SCHEMAS).sort()).toEqual(typed.map(({ name }) => name).sort());
  });

  test('process.* and terminal.* are unsupported, with a reason', () => {
    expect(file.unsupported).toEqual([
      { type: 'process.*', reason: expect.stringMatching(/\.$/) },
      { type: 'terminal.*', reason: expect.stringMatching(/\.$/) },
    ]);
  });
});

describe('docs/tools.md: one worked example per tool', () => {
  test('each tool has one', () => {
    expect(Object.keys(examples)).toEqual(TOOLS.map(({ name }) => name));
  });

  test.each(TOOLS.map((tool) => [tool.name, tool] as const))(
    '%s: what was asked and answered fits the schemas',
    (name, tool) => {
      const { input, output } = examples[name] ?? {};
      const validate = ajv.compile(tool.input_schema);
      expect([validate(input), validate.errors]).toEqual([true, null]);
      const schema = RESULT_SCHEMAS[name];
      if (!schema) return;
      const fits = ajv.compile(closed(schema) as JsonObject);
      expect([fits(output), fits.errors]).toEqual([true, null]);
    },
  );
});
