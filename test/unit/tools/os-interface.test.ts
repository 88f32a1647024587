import 'fake-indexeddb/auto';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/protocol/json';
import { TOOLS } from '../../../src/tools/registry';
import { Rig } from './context';

const typesIn = (output: JsonObject): string[] =>
  (output.types as { type: string }[]).map(({ type }) => type);

describe('os_capabilities', () => {
  test('every type of the registry, with what is unsupported, policy and limits', async () => {
    const { output } = await new Rig().call('os_capabilities');
    expect(Object.keys(output)).toEqual([
      'interface_version',
      'kind',
      'types',
      'unsupported',
      'policy',
      'limits',
    ]);
    expect(typesIn(output)).toEqual(TOOLS.flatMap(({ os_action }) => os_action ?? []));
    expect(JSON.parse(JSON.stringify(output))).toEqual(output);
  });

  test('a type whose tool policy forbids is absent', async () => {
    const rig = new Rig();
    const policy = {
      ...rig.context.policy,
      managed: true,
      blocked_tools: new Set(['tab_open', 'screenshot']),
    };
    rig.context = { ...rig.context, policy };
    const { output } = await rig.call('os_capabilities');
    expect(typesIn(output)).not.toContain('tab.open');
    expect(typesIn(output)).not.toContain('screen.capture');
    expect(typesIn(output)).toContain('tab.list');
    expect(output.policy).toEqual({ managed: true, blocked_types: ['screen.capture', 'tab.open'] });
  });
});

describe('clipboard_write', () => {
  test('the text as it is; its length in UTF-8', async () => {
    const rig = new Rig();
    expect((await rig.call('clipboard_write', { text: '한 \ud83c\udf89' })).output).toEqual({ bytes: 8 });
    expect(rig.clipboard).toBe('한 \ud83c\udf89');
  });

  test('a browser that does not take it is unavailable', async () => {
    const rig = new Rig();
    rig.context = { ...rig.context, writeClipboard: async () => false };
    expect((await rig.fail('clipboard_write', { text: 'x' })).code).toBe('unavailable');
  });
});
