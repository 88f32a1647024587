/** Every frame vector of the relay, sent to the built extension (wire.md §4, §5 rule 2, §8, case 5). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RELAY_VECTORS, type RelayVector } from '../fake-relay/vectors';
import { createWorld, type World } from './harness/world';

let world: World;

beforeAll(async () => {
  world = await createWorld();
});

afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

interface Answer {
  type: string;
  id: string;
  status?: string;
  error_code?: string;
}

/** The id as a JSON reader sees it: of two equal keys the last counts. */
function idOf(vector: RelayVector): string {
  return (JSON.parse(String(vector.data)) as { id: string }).id;
}

function framesFor(id: string, since: number): Answer[] {
  return world.relay.received
    .filter(({ at }) => at >= since)
    .map(({ json }) => json as Answer)
    .filter((frame) => frame?.id === id);
}

/** A round trip behind the frame under test: what it caused has been sent by then, if it is ever sent. */
async function settled(): Promise<void> {
  const response = await world.relay.command(world.device, { command: 'workspace_info' });
  expect(response.status).toBe('ok');
}

async function dropped(reason: string): Promise<number> {
  const { diagnostics } = await world.browser.message('relay.diagnostics', {});
  return diagnostics.dropped_frames[reason] ?? 0;
}

describe('a frame of the relay', () => {
  it.each(RELAY_VECTORS.filter(({ behaviour }) => behaviour.kind === 'answered'))(
    'is acked and answered once under its own id: $name',
    async (vector) => {
      const { behaviour } = vector;
      if (behaviour.kind !== 'answered') return;
      const since = world.relay.now();
      const id = idOf(vector);
      world.relay.send(world.device, vector.data);
      await world.relay.until(
        () => framesFor(id, since).some(({ type }) => type === 'tool_response'),
        'the answer',
      );
      await settled();
      const frames = framesFor(id, since);
      expect(frames.map(({ type }) => type)).toEqual(['tool_ack', 'tool_response']);
      if (behaviour.status) expect(frames[1]?.status).toBe(behaviour.status);
      if ('error_code' in behaviour) expect(frames[1]?.error_code).toBe(behaviour.error_code);
    },
  );

  it.each(
    RELAY_VECTORS.filter(({ behaviour }) => behaviour.kind === 'cancel' || behaviour.kind === 'config'),
  )('causes no frame: $name', async (vector) => {
    const connections = world.relay.connections.length;
    const before = world.relay.received.length;
    world.relay.send(world.device, vector.data);
    await settled();
    const caused = world.relay.received.slice(before).filter(({ text }) => text !== '{"type":"ping"}');
    // The ack and the answer of `settled`.
    expect(caused).toHaveLength(2);
    expect(world.relay.connections).toHaveLength(connections);
    world.relay.send(world.device, { type: 'relay_config', max_inline_bytes: 262_144, max_concurrency: 4 });
  });

  it('is dropped and counted by its reason, the socket staying open', async () => {
    const vectors = RELAY_VECTORS.filter(({ behaviour }) => behaviour.kind === 'dropped');
    const reasons = vectors.map(({ behaviour }) => ('reason' in behaviour ? behaviour.reason : ''));
    const counted = new Map<string, number>();
    for (const reason of new Set(reasons)) counted.set(reason, await dropped(reason));
    const connections = world.relay.connections.length;
    const before = world.relay.received.length;
    for (const { data } of vectors) world.relay.send(world.device, data);
    await settled();
    const caused = world.relay.received.slice(before).filter(({ text }) => text !== '{"type":"ping"}');
    expect(caused).toHaveLength(2);
    for (const reason of counted.keys()) {
      const sent = reasons.filter((name) => name === reason).length;
      expect(await dropped(reason), reason).toBe((counted.get(reason) ?? 0) + sent);
    }
    expect(world.relay.connections).toHaveLength(connections);
  });

  it('made the agent break no rule', () => {
    expect(world.relay.violations).toEqual([]);
  });
});
