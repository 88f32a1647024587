import agentFrameValidators from 'virtual:agent-frame-validators';
import frameValidators from 'virtual:frame-validators';
import toolValidators, { os_actions } from 'virtual:tool-validators';
import { describe, expect, test } from 'vitest';
import { compile, validators } from '../../../scripts/vite-validators';
import { AGENT_FRAME_SCHEMAS, RELAY_FRAME_SCHEMAS } from '../../../src/protocol/schemas';
import { TOOLS } from '../../../src/tools/registry';

const EVALUATES = [/\beval\b/, /\bnew\s+Function\b/, /\bFunction\s*\(/, /\brequire\s*\(/];

describe('wire.md §4: validators are compiled at build time (an extension may not eval)', () => {
  test.each(['virtual:frame-validators', 'virtual:agent-frame-validators', 'virtual:tool-validators'])(
    '%s evaluates and requires nothing',
    (name) => {
      const { resolveId, load } = validators() as unknown as {
        resolveId(id: string): string;
        load(id: string): string;
      };
      const code = load(resolveId(name));
      expect(code).toContain('export default {');
      for (const pattern of EVALUATES) expect(code).not.toMatch(pattern);
    },
  );

  test('helpers of the generated code come by import', () => {
    // Unicode lengths and deep equality are what ajv takes from its run-time modules.
    const code = compile({
      a: { type: 'string', minLength: 2 },
      b: { type: 'array', uniqueItems: true, items: { type: 'object' } },
    });
    expect(code).toMatch(/^import .* from "ajv\/dist\/runtime\//m);
    for (const pattern of EVALUATES) expect(code).not.toMatch(pattern);
  });

  test('there is one for every frame and every tool', () => {
    expect(Object.keys(frameValidators).sort()).toEqual(Object.keys(RELAY_FRAME_SCHEMAS).sort());
    expect(Object.keys(agentFrameValidators).sort()).toEqual(Object.keys(AGENT_FRAME_SCHEMAS).sort());
    expect(Object.keys(toolValidators).sort()).toEqual(TOOLS.map(({ name }) => name).sort());
  });

  test('os-interface.md: beside them is the tool behind each type', () => {
    const typed = TOOLS.filter(({ os_action }) => os_action !== null);
    expect(typed.length).toBeGreaterThan(20);
    expect(os_actions).toEqual(Object.fromEntries(typed.map(({ name, os_action }) => [os_action, name])));
  });
});
