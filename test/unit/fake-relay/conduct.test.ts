import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Conduct, type ConductSocket } from '../../fake-relay/conduct';
import { agentFor, online, relayWith } from './helpers';

/** What the rules say about a story of frames. */
function story(): {
  violations: string[];
  conduct: Conduct;
  socket(number: number, epoch?: string, broke?: boolean): ConductSocket;
} {
  const violations: string[] = [];
  const conduct = new Conduct((connection, sentence) => violations.push(`${connection}: ${sentence}`));
  return { violations, conduct, socket: (number, epoch = 'e', broke = false) => ({ number, epoch, broke }) };
}

describe('wire.md §5, §8: the order of frames', () => {
  test('ack, progress, answer is right', () => {
    const { violations, conduct, socket } = story();
    const one = socket(1);
    conduct.requestSent(one, 'r');
    conduct.acked(one, 'r');
    conduct.progressed(one, 'r', 0);
    conduct.answered(one, 'r', 'ok');
    expect(violations).toEqual([]);
    expect(conduct.settled('r')).toBe(true);
  });

  test('an answer before the ack', () => {
    const { violations, conduct, socket } = story();
    conduct.requestSent(socket(1), 'r');
    conduct.answered(socket(1), 'r', 'ok');
    expect(violations).toEqual(['1: tool_response for "r" before its tool_ack']);
  });

  test('frames for ids that were never asked, hostile ones included', () => {
    const { violations, conduct, socket } = story();
    for (const id of ['x', '__proto__', 'constructor']) {
      conduct.acked(socket(1), id);
      conduct.progressed(socket(1), id, 0);
      conduct.answered(socket(1), id, 'ok');
    }
    expect(violations).toHaveLength(9);
  });

  test('two answers to one request; two acks of one request', () => {
    const { violations, conduct, socket } = story();
    conduct.requestSent(socket(1), 'r');
    conduct.acked(socket(1), 'r');
    conduct.acked(socket(1), 'r');
    conduct.answered(socket(1), 'r', 'ok');
    conduct.answered(socket(1), 'r', 'ok');
    expect(violations).toEqual(['1: more tool_acks than requests for "r"']);
    conduct.answered(socket(1), 'r', 'ok');
    expect(violations.at(-1)).toBe('1: more tool_responses than requests for "r"');
  });

  test('a repeated request may be acked and answered each time, or be joined while it runs', () => {
    const { violations, conduct, socket } = story();
    const one = socket(1);
    for (let n = 0; n < 2; n += 1) conduct.requestSent(one, 'twice');
    for (let n = 0; n < 2; n += 1) conduct.acked(one, 'twice');
    conduct.answered(one, 'twice', 'ok');
    expect(conduct.settled('twice')).toBe(false);
    conduct.answered(one, 'twice', 'ok');
    expect(violations).toEqual([]);
    expect(conduct.settled('twice')).toBe(true);
  });

  test('rule 4: one id has one outcome, beside request_id_conflict and result_expired', () => {
    const { violations, conduct, socket } = story();
    for (const outcome of ['ok', 'request_id_conflict', 'ok', 'result_expired', 'timeout']) {
      conduct.requestSent(socket(1), 'r');
      conduct.acked(socket(1), 'r');
      conduct.answered(socket(1), 'r', outcome);
    }
    expect(violations).toEqual(['1: "r" was answered ok first, then timeout']);
  });

  test('§8: a kept answer comes once after the reconnection in the same epoch, before a resend is answered', () => {
    const { violations, conduct, socket } = story();
    conduct.requestSent(socket(1), 'r');
    conduct.acked(socket(1), 'r');
    conduct.answered(socket(2), 'r', 'ok');
    conduct.requestSent(socket(2), 'r');
    conduct.acked(socket(2), 'r');
    conduct.answered(socket(2), 'r', 'ok');
    expect(violations).toEqual([]);
    conduct.answered(socket(2), 'r', 'ok');
    expect(violations).toEqual(['2: more tool_responses than requests for "r"']);
  });

  test('a kept answer is not sent twice on one connection', () => {
    const { violations, conduct, socket } = story();
    conduct.requestSent(socket(1), 'r');
    conduct.acked(socket(1), 'r');
    conduct.answered(socket(2), 'r', 'ok');
    conduct.answered(socket(2), 'r', 'ok');
    expect(violations).toEqual(['2: more tool_responses than requests for "r"']);
  });

  test('§8: a kept answer that a resend already delivered is not sent again', () => {
    const { violations, conduct, socket } = story();
    conduct.requestSent(socket(1), 'r');
    conduct.acked(socket(1), 'r');
    conduct.requestSent(socket(2), 'r');
    conduct.acked(socket(2), 'r');
    conduct.answered(socket(2), 'r', 'ok');
    conduct.answered(socket(2), 'r', 'ok');
    expect(violations).toHaveLength(1);
  });

  test.each([
    ['before', ['request_id_conflict', 'ok']],
    ['after', ['ok', 'request_id_conflict']],
  ] as const)('a conflict answered %s the kept answer does not stand in its place', (_when, outcomes) => {
    const { violations, conduct, socket } = story();
    conduct.requestSent(socket(1), 'r');
    conduct.acked(socket(1), 'r');
    const two = socket(2);
    conduct.requestSent(two, 'r');
    conduct.acked(two, 'r');
    for (const outcome of outcomes) conduct.answered(two, 'r', outcome);
    expect(violations).toEqual([]);
    for (const outcome of outcomes) {
      conduct.answered(two, 'r', outcome);
      expect(violations.at(-1)).toBe('2: more tool_responses than requests for "r"');
    }
  });

  test('an answer that arrived is not sent again on the next connection, unless the first one broke', () => {
    for (const broke of [false, true]) {
      const { violations, conduct, socket } = story();
      const first = socket(1, 'e', broke);
      conduct.requestSent(first, 'r');
      conduct.acked(first, 'r');
      conduct.answered(first, 'r', 'ok');
      conduct.answered(socket(2), 'r', 'ok');
      expect(violations).toHaveLength(broke ? 0 : 1);
      conduct.answered(socket(3), 'r', 'ok');
      expect(violations).toHaveLength(broke ? 1 : 2);
    }
  });

  test('nothing is kept across epochs', () => {
    const { violations, conduct, socket } = story();
    conduct.requestSent(socket(1, 'a'), 'r');
    conduct.acked(socket(1, 'a'), 'r');
    conduct.answered(socket(2, 'b'), 'r', 'ok');
    expect(violations).toHaveLength(1);
  });

  test('progress at most 2 a second for each id, only while it runs', () => {
    const { violations, conduct, socket } = story();
    const one = socket(1);
    for (const id of ['slow', 'fast', 'done']) {
      conduct.requestSent(one, id);
      conduct.acked(one, id);
    }
    for (let at = 0; at < 20_000; at += 500) conduct.progressed(one, 'slow', at);
    expect(violations).toEqual([]);
    for (let at = 0; at < 2_000; at += 250) conduct.progressed(one, 'fast', at);
    expect(violations.join()).toContain('more than 2 tool_progress a second for "fast"');
    violations.length = 0;
    conduct.answered(one, 'done', 'ok');
    conduct.progressed(one, 'done', 0);
    expect(violations).toEqual(['1: tool_progress for "done" before its tool_ack or after its answer']);
  });
});

describe('bad agents are noticed over a real socket', () => {
  test('a frame before ready', async () => {
    const relay = await relayWith();
    const agent = agentFor(relay.createDevice().enrollment, { mute: true });
    await agent.opened;
    agent.ack('r1');
    await relay.waitForFrame(({ text }) => text?.includes('tool_ack') ?? false);
    expect(relay.violations).toEqual(['connection 1: the first frame must be ready, not tool_ack']);
  });

  test('ready twice', async () => {
    const { relay, agent } = await online();
    agent.sayReady();
    await relay.until(() => relay.violations.length > 0, 'a violation');
    expect(relay.violations.join()).toContain('ready was sent twice');
  });

  test.each<[string, string | Buffer, string]>([
    ['a binary frame', Buffer.from([1]), 'a binary frame'],
    ['text that is not JSON', 'hello', 'not JSON'],
    ['an unknown type', '{"type":"hello"}', 'unknown type "hello"'],
    ['an ack of an unknown id', '{"type":"tool_ack","id":"x"}', 'not asked on this connection'],
    [
      'an answer to an unknown id',
      '{"type":"tool_response","id":"x","status":"ok","output":null,"error":null,"duration_ms":1}',
      'unknown id "x"',
    ],
    [
      'a frame over 8 MiB',
      JSON.stringify({ type: 'tool_ack', id: 'x'.repeat(8 * 1024 * 1024) }),
      'a frame of 8388635 bytes',
    ],
  ])('%s', async (_name, frame, sentence) => {
    const { relay, device, agent } = await online();
    agent.send(frame);
    await relay.until(() => relay.violations.length > 0, 'a violation');
    expect(relay.violations).toHaveLength(1);
    expect(relay.violations[0]).toContain(sentence);
    expect(device.online).toBe(true);
  });

  test('an error without error_code ends the command as a broken contract', async () => {
    const { relay, device, agent } = await online({}, { tools: { greet: () => null } });
    const command = relay.startCommand(device, { command: 'greet' });
    await agent.frame('tool_request', 3);
    agent.send({
      type: 'tool_response',
      id: command.id,
      status: 'error',
      output: null,
      error: 'No.',
      duration_ms: 1,
    });
    await expect(command.finished).rejects.toMatchObject({ error_code: 'contract_broken' });
    expect(relay.violations.join()).toContain('error_code');
  });

  test('an id that is an unpaired surrogate is answered under itself', async () => {
    const { relay, device } = await online();
    relay.send(
      device,
      '{"type":"tool_request","id":"\\ud83d","command":"greet","input":{},"timeout_ms":1000}',
    );
    const response = await relay.waitForFrame(
      ({ json }) =>
        (json as { id?: string }).id === '\ud83d' && (json as { type: string }).type === 'tool_response',
    );
    expect(response.text).toContain('\\ud83d');
    expect(relay.violations).toEqual([]);
  });

  test('an agent of a new epoch that answers unasked', async () => {
    const { relay, device, agent } = await online({}, { tools: { greet: () => null } });
    const command = relay.startCommand(device, { command: 'greet' });
    await relay.until(() => command.status === 'running', 'the ack');
    agent.close();
    await relay.until(() => device.connections[0]?.closed, 'the close');
    const other = agentFor(device.enrollment, { mute: true });
    await other.opened;
    other.send({
      type: 'ready',
      version: '1',
      tools: ['describe_tools'],
      os: 'linux',
      arch: 'arm64',
      session_epoch: randomUUID(),
      capabilities: [],
    });
    other.answer(command.id, {});
    await relay.until(() => relay.violations.length > 0, 'a violation');
    expect(relay.violations.join()).toContain('more tool_responses than requests');
  });
});
