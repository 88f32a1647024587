import { describe, expect, test } from 'vitest';
import { PING_FRAME } from '../../../src/protocol/frames';
import { readFault } from '../../fake-relay/faults';
import { agentFor, online, relayWith } from './helpers';

describe('faults of the handshake', () => {
  test('refuse_handshake: so many times, with any status', async () => {
    const relay = await relayWith();
    const { enrollment } = relay.createDevice();
    relay.fault({ fault: 'refuse_handshake', status: 503, times: 2 });
    expect(await agentFor(enrollment).refused).toBe(503);
    expect(await agentFor(enrollment).refused).toBe(503);
    expect(await agentFor(enrollment).opened).toBe('endue-os.v1');
    expect(relay.violations).toEqual([]);
  });

  test('refuse_handshake: always, until cleared', async () => {
    const relay = await relayWith();
    const { enrollment } = relay.createDevice();
    relay.fault({ fault: 'refuse_handshake', status: 502 });
    for (let n = 0; n < 3; n += 1) expect(await agentFor(enrollment).refused).toBe(502);
    relay.clearFaults('refuse_handshake');
    expect(await agentFor(enrollment).opened).toBe('endue-os.v1');
  });

  test('refuse_handshake with 401: dialing again is a violation', async () => {
    const relay = await relayWith();
    const { enrollment } = relay.createDevice();
    relay.fault({ fault: 'refuse_handshake', status: 401, times: 1 });
    expect(await agentFor(enrollment).refused).toBe(401);
    await agentFor(enrollment).opened;
    expect(relay.violations.join()).toContain('rule 6');
  });

  test('stall_handshake: no answer at all', async () => {
    const relay = await relayWith();
    const device = relay.createDevice();
    relay.fault({ fault: 'stall_handshake', times: 1 });
    agentFor(device.enrollment);
    await relay.until(() => relay.handshakes.length === 1, 'the handshake');
    agentFor(device.enrollment);
    await relay.waitForOnline(device);
    expect(relay.handshakes.map(({ status }) => status)).toEqual([null, 101]);
    expect(relay.connections).toHaveLength(1);
  });

  test('subprotocol: the token one is selected, or none', async () => {
    const relay = await relayWith();
    const { enrollment } = relay.createDevice();
    relay.fault({ fault: 'subprotocol', answer: 'token', times: 1 });
    expect(await agentFor(enrollment).opened).toBe(`endue-os.token.${enrollment.token}`);
    relay.fault({ fault: 'subprotocol', answer: 'none', times: 1 });
    // This client gives up by itself, as a browser does.
    expect(await agentFor(enrollment).closed).toBe(1006);
  });

  test('no_relay_config, no_handshake_calls', async () => {
    const relay = await relayWith();
    const device = relay.createDevice();
    relay.fault({ fault: 'no_relay_config', times: 1 });
    agentFor(device.enrollment);
    await relay.waitForOnline(device);
    expect(relay.sent.some(({ text }) => text?.includes('relay_config'))).toBe(false);
    relay.fault({ fault: 'no_handshake_calls', times: 1 });
    const agent = agentFor(device.enrollment);
    await agent.frame('relay_config');
    expect(device.online).toBe(false);
  });
});

describe('faults of a connection', () => {
  test('close with any code; 1006 without a close frame', async () => {
    for (const code of [1001, 1012, 4001, 4008, 1006]) {
      const { relay, agent } = await online();
      relay.fault({ fault: 'close', code });
      expect(await agent.closed).toBe(code);
    }
  });

  test('silence: receives everything, sends nothing', async () => {
    const { relay, device, agent } = await online({ answer_grace_ms: 10 });
    relay.fault({ fault: 'silence' });
    const sent = relay.sent.length;
    agent.send(PING_FRAME);
    await relay.waitForFrame(({ text }) => text === PING_FRAME);
    await expect(relay.command(device, { command: 'greet', timeout_ms: 1 })).rejects.toThrow('deadline');
    expect(relay.sent).toHaveLength(sent);
  });

  test('no_pong: only pings are not answered', async () => {
    const { relay, device, agent } = await online();
    relay.fault({ fault: 'no_pong' });
    agent.send(PING_FRAME);
    expect((await relay.command(device, { command: 'greet' })).status).toBe('ok');
    expect(agent.frames.some((text) => text.includes('pong'))).toBe(false);
  });

  test('slow: frames leave later, in order', async () => {
    const { relay, device, agent } = await online();
    relay.fault({ fault: 'slow', delay_ms: 60, times: 1 });
    const before = relay.now();
    relay.send(device, { type: 'x', n: 1 });
    relay.send(device, { type: 'x', n: 2 });
    expect((await agent.frame('x', 2)).n).toBe(2);
    const times = relay.sent.filter(({ text }) => text?.includes('"x"')).map(({ at }) => at - before);
    for (const time of times) expect(time).toBeGreaterThanOrEqual(55);
  });

  test('send: any text and any bytes', async () => {
    const { relay, agent } = await online();
    const binary = new Promise((resolve) =>
      agent.socket.on('message', (data, isBinary) => isBinary && resolve(data)),
    );
    relay.fault({ fault: 'send', text: '{"type":"odd"}' });
    relay.fault({ fault: 'send', binary_base64: 'AAEC' });
    expect(await agent.frame('odd')).toEqual({ type: 'odd' });
    expect(await binary).toEqual(Buffer.from([0, 1, 2]));
  });

  test('only the named device is meant', async () => {
    const { relay, device } = await online();
    const other = relay.createDevice({ name: 'other' });
    relay.fault({ fault: 'refuse_handshake', status: 500, device: device.id });
    agentFor(other.enrollment);
    await relay.waitForOnline(other);
    expect(await agentFor(device.enrollment).refused).toBe(500);
  });
});

describe('POST /__faults', () => {
  const call = (origin: string, method: string, body?: unknown): Promise<Response> =>
    fetch(`${origin}/__faults`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });

  test('adds one or several, lists and clears them', async () => {
    const { relay, agent } = await online();
    const added = await call(relay.origin, 'POST', [{ fault: 'no_pong' }, { fault: 'close', code: 1001 }]);
    expect(await added.json()).toEqual({ data: { active: [{ fault: 'no_pong' }] } });
    expect(await agent.closed).toBe(1001);
    expect(await (await call(relay.origin, 'DELETE')).json()).toEqual({ data: { active: [] } });
  });

  test.each([
    {},
    { fault: 'nonsense' },
    { fault: 'toString' },
    { fault: 'close' },
    { fault: 'refuse_handshake', status: 200 },
    { fault: 'silence', times: 0 },
    { fault: 'blob' },
    { fault: 'blob', answer: 'nonsense' },
    'silence',
    null,
  ])('refuses %j', async (body) => {
    const relay = await relayWith();
    expect(readFault(body)).toBeNull();
    const answer = await call(relay.origin, 'POST', body);
    expect(answer.status).toBe(400);
    expect(((await answer.json()) as { error_code: string }).error_code).toBe('invalid_fault');
  });
});
