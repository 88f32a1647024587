import { describe, expect, test } from 'vitest';
import { LoggedFrame, Traffic } from '../../fake-relay/traffic';
import { agentFor, online, relayWith } from './helpers';

function frame(text: string): LoggedFrame {
  return new LoggedFrame('received', 0, 1, 'res', text, null, text.length);
}

describe('the log', () => {
  test('keeps all, or forgets the oldest beyond a number of bytes', () => {
    const all = new Traffic(Number.POSITIVE_INFINITY);
    const some = new Traffic(10);
    for (const text of ['aaaa', 'bbbb', 'cccc', 'dddd']) {
      all.addFrame(frame(text));
      some.addFrame(frame(text));
    }
    expect(all.frames).toHaveLength(4);
    expect(some.frames.map(({ text }) => text)).toEqual(['cccc', 'dddd']);
    some.addFrame(frame('e'.repeat(100)));
    expect(some.frames).toHaveLength(1);
  });

  test('shows frames that are no JSON, and binary ones, without failing', () => {
    expect(frame('{"a":1}').json).toEqual({ a: 1 });
    expect(frame('{').json).toBeUndefined();
    expect(new LoggedFrame('sent', 0, 1, 'res', null, Buffer.from([1]), 1).json).toBeUndefined();
  });

  test('holds every HTTP request with its headers, so that a token can be searched for', async () => {
    const { relay, device } = await online();
    await fetch(`${relay.origin}/api/v1/resources/${device.id}`, { headers: { 'X-Test': 'yes' } });
    expect(relay.requests.map(({ method, upgrade, status }) => [method, upgrade, status])).toEqual([
      ['GET', true, 101],
      ['GET', false, 200],
    ]);
    expect(relay.requests[1]?.headers['x-test']).toBe('yes');
    expect(relay.handshakes[0]?.headers['sec-websocket-protocol']).toContain(device.enrollment.token);
  });

  test('no line for a person holds a token', async () => {
    const lines: string[] = [];
    const relay = await relayWith({ note: (line) => lines.push(line) });
    const device = relay.createDevice();
    const { token, endpoint } = device.enrollment;
    relay.fault({ fault: 'subprotocol', answer: 'token', times: 1 });
    await agentFor({ token, endpoint: `${endpoint}?token=${token}` }).opened;
    agentFor(device.enrollment);
    await relay.waitForOnline(device, { after: 1 });
    await relay.command(device, { command: 'greet' });
    relay.revoke(device);
    await agentFor({ endpoint, token }).refused;
    expect(lines.length).toBeGreaterThan(5);
    expect(`${lines.join('\n')}${relay.violations.join('\n')}`).not.toContain(token);
  });
});

describe('waiting', () => {
  test('looks at once, then after each change', async () => {
    const traffic = new Traffic(1_000);
    traffic.addFrame(frame('a'));
    await expect(traffic.until(() => traffic.frames[0], 'a frame', 1_000)).resolves.toBeDefined();
    const second = traffic.until(() => traffic.frames[1]?.text, 'another frame', 5_000);
    traffic.addFrame(frame('b'));
    traffic.changed();
    expect(await second).toBe('b');
  });

  test('gives up with a sentence that names what did not come, and passes on a failure of the condition', async () => {
    const traffic = new Traffic(1_000);
    await expect(traffic.until(() => false, 'the impossible', 5)).rejects.toThrow(
      '5 ms in vain for the impossible',
    );
    const failing = traffic.until(
      () => {
        throw new Error('broken condition');
      },
      'nothing',
      1_000,
    );
    await expect(failing).rejects.toThrow('broken condition');
  });

  test('waitForFrame finds frames of the past unless told from when on', async () => {
    const { relay, agent } = await online();
    agent.send('{"type":"ping"}');
    await agent.frame('pong');
    const isPing = ({ text }: LoggedFrame): boolean => text === '{"type":"ping"}';
    const first = await relay.waitForFrame(isPing);
    const later = relay.waitForFrame(isPing, { since: first.at + 0.001 });
    agent.send('{"type":"ping"}');
    expect((await later).at).toBeGreaterThan(first.at);
  });

  test('waitForConnection counts the connections of one device, or of all', async () => {
    const { relay, device } = await online();
    const other = relay.createDevice();
    const second = relay.waitForConnection(2);
    const first = relay.waitForConnection(1, { device: other });
    agentFor(other.enrollment);
    expect(await second).toBe(await first);
    expect((await relay.waitForConnection(1, { device })).number).toBe(1);
  });
});
