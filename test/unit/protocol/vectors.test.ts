import { describe, expect, test } from 'vitest';
import { isJsonObject } from '../../../src/protocol/json';
import { readFrame } from '../../../src/protocol/read-frame';
import { requestedId } from '../../fake-relay/conduct';
import { checkAgentFrame, fitsRelaySchema } from '../../fake-relay/frame-checks';
import { AGENT_VECTORS, RELAY_VECTORS, type RelayVector } from '../../fake-relay/vectors';

function parsed(data: string | Buffer): unknown {
  if (typeof data !== 'string') return undefined;
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

describe('wire.md §4: test/vectors.json', () => {
  test('holds at least 52 frames, valid and invalid ones of both sides, each name once', () => {
    expect(RELAY_VECTORS.length + AGENT_VECTORS.length).toBeGreaterThanOrEqual(52);
    for (const vectors of [RELAY_VECTORS, AGENT_VECTORS]) {
      expect(vectors.some(({ valid }) => valid)).toBe(true);
      expect(vectors.some(({ valid }) => !valid)).toBe(true);
      expect(new Set(vectors.map(({ name }) => name)).size).toBe(vectors.length);
    }
  });

  test('uses no request id twice, so that all can be sent to one agent', () => {
    const ids = RELAY_VECTORS.map(({ data }) => (typeof data === 'string' ? requestedId(data) : null));
    const used = ids.filter((id) => id !== null);
    expect(new Set(used).size).toBe(used.length);
  });

  test('has a vector for every reason to drop a frame', () => {
    const reasons = RELAY_VECTORS.flatMap(({ behaviour }) =>
      behaviour.kind === 'dropped' ? [behaviour.reason] : [],
    );
    expect(new Set(reasons)).toEqual(
      new Set(['binary', 'not_json', 'not_an_object', 'unknown_type', 'unusable_id']),
    );
  });
});

/** What `readFrame` must make of a frame that causes this behaviour. */
function expectRead({ data, behaviour }: RelayVector): void {
  const read = readFrame(data);
  switch (behaviour.kind) {
    case 'dropped':
      expect(read).toEqual({ kind: 'dropped', reason: behaviour.reason });
      return;
    case 'config':
      expect(read).toEqual({ kind: 'relay_config', config: behaviour.applied });
      return;
    case 'cancel':
      expect(read).toEqual({ kind: 'cancel_request', id: (parsed(data) as { id: unknown }).id });
      return;
    case 'answered': {
      const { id, command, input, timeout_ms } = parsed(data) as Record<string, unknown>;
      if ('error_code' in behaviour && behaviour.error_code === 'invalid_request') {
        expect(read).toMatchObject({ kind: 'malformed_request', id });
        const { sentence } = read as { sentence: string };
        expect(sentence).toMatch(/\btool_request\b.*\.$/);
        return;
      }
      // Which answer it gets is decided behind `readFrame`, which must hand it on unchanged.
      expect(read).toStrictEqual({
        kind: 'tool_request',
        request: { id, command, input: input ?? {}, timeout_ms: timeout_ms ?? 60_000 },
      });
      return;
    }
  }
}

describe('wire.md §5 rule 2, §8, case 5: a frame of the relay causes', () => {
  test.each(RELAY_VECTORS)(
    '$behaviour.kind $behaviour.status $behaviour.error_code $behaviour.reason – $name',
    (vector) => {
      expectRead(vector);
    },
  );

  test.each(RELAY_VECTORS.filter(({ valid }) => valid))('fits its schema: $name', ({ data }) => {
    expect(fitsRelaySchema(parsed(data))).toBe(true);
  });

  test.each(RELAY_VECTORS.filter(({ valid }) => !valid))(
    'is not taken as it is: $name',
    ({ data, behaviour }) => {
      const value = parsed(data);
      const config = isJsonObject(value) && behaviour.kind === 'config' ? Object.keys(value).length - 1 : 0;
      const taken =
        behaviour.kind === 'config'
          ? Object.keys(behaviour.applied).length === config
          : behaviour.kind === 'cancel' || (behaviour.kind === 'answered' && !('error_code' in behaviour));
      expect(taken).toBe(false);
    },
  );
});

describe('wire.md §4, §6: a frame of the agent', () => {
  test.each(AGENT_VECTORS)('is $behaviour.kind $behaviour.violation: $name', ({ data, valid, behaviour }) => {
    const checked = checkAgentFrame(data);
    expect(checked.ok).toBe(valid);
    expect(checked.ok ? { kind: 'accepted' } : { kind: 'violation', violation: checked.violation }).toEqual(
      behaviour,
    );
    if (!checked.ok) expect(checked.sentence).not.toBe('');
  });
});
