import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { PING_FRAME } from '../../../src/protocol/frames';
import type { RelayConnection } from '../../fake-relay/connection';
import { agentFor, online, proxyTo, relayWith } from './helpers';

describe('wire.md §2, §3: the handshake of the stand-in', () => {
  test('a good agent gets online and breaks no rule', async () => {
    const { relay, device, agent } = await online();
    expect(await agent.opened).toBe('endue-os.v1');
    expect(
      relay.sent.map(
        ({ json }) => (json as { type: string; command?: string }).command ?? (json as { type: string }).type,
      ),
    ).toEqual(['relay_config', 'describe_tools', 'workspace_info']);
    expect(await agent.frame('relay_config')).toEqual({
      type: 'relay_config',
      max_inline_bytes: 262_144,
      blob_upload_url: `${relay.origin}/api/v1/relay/blobs`,
      max_concurrency: 4,
    });
    expect(device.describe()).toMatchObject({ online: true, agent: { os: 'linux' } });
    expect(device.tools.map(({ name }) => name)).toEqual(['describe_tools', 'workspace_info', 'greet']);
    expect(relay.violations).toEqual([]);
  });

  test('an unknown token is refused with 401, and dialing with it again is a violation', async () => {
    const relay = await relayWith();
    const enrollment = { ...relay.createDevice().enrollment, token: 'osat_unknown' };
    expect(await agentFor(enrollment).refused).toBe(401);
    expect(relay.violations).toEqual([]);
    expect(await agentFor(enrollment).refused).toBe(401);
    expect(relay.violations.join()).toContain('rule 6');
    expect(relay.handshakes.map(({ status }) => status)).toEqual([401, 401]);
  });

  test('a revoked token is closed with 4001, then refused with 401', async () => {
    const { relay, device, agent } = await online();
    const { enrollment } = device;
    relay.revoke(device);
    expect(await agent.closed).toBe(4001);
    await relay.until(() => device.connections[0]?.closed, 'the close');
    expect(relay.violations).toEqual([]);
    expect(await agentFor(enrollment).refused).toBe(401);
    expect(relay.violations.join()).toContain('rule 6');
  });

  test('a rotated token goes on under the new one', async () => {
    const { relay, device, agent } = await online();
    relay.rotate(device);
    expect(await agent.closed).toBe(4001);
    agentFor(device.enrollment);
    await relay.waitForOnline(device, { after: 1 });
    expect(relay.violations).toEqual([]);
  });

  test('a second connection with the token closes the first with 1012', async () => {
    const { relay, device, agent } = await online();
    expect(device.maxOpenSockets).toBe(1);
    agentFor(device.enrollment);
    expect(await agent.closed).toBe(1012);
    await relay.waitForOnline(device, { after: 1 });
    expect(device.maxOpenSockets).toBe(2);
    expect(relay.connections).toHaveLength(2);
  });

  test('a token in the URL works but is a violation', async () => {
    const relay = await relayWith();
    const device = relay.createDevice();
    const { endpoint, token } = device.enrollment;
    agentFor({ endpoint: `${endpoint}?token=${token}`, token }, { protocols: ['endue-os.v1'] });
    await relay.waitForOnline(device);
    expect(relay.violations).toEqual(['the token stands in the URL of the handshake']);
  });

  test('a handshake that does not offer the protocol is a violation', async () => {
    const relay = await relayWith();
    const { enrollment } = relay.createDevice();
    const agent = agentFor(enrollment, { protocols: [`endue-os.token.${enrollment.token}`] });
    expect(await agent.refused).toBe(400);
    expect(relay.violations.join()).toContain('does not offer endue-os.v1');
  });

  test('an agent that never says ready is closed', async () => {
    const relay = await relayWith({ ready_deadline_ms: 50 });
    const agent = agentFor(relay.createDevice().enrollment, { mute: true });
    expect(await agent.closed).toBe(1008);
    expect(relay.violations.join()).toContain('no ready frame');
  });

  test('a device without usable tools does not get online', async () => {
    const relay = await relayWith();
    const device = relay.createDevice();
    agentFor(device.enrollment, { tools: { describe_tools: () => ({ tools: [] }) } });
    await relay.until(() => relay.violations.length > 0, 'a violation');
    expect(relay.violations.join()).toContain('no tools');
    expect(device.online).toBe(false);
  });

  test('a catalogue with a bad schema and a repeated name, and a workspace_info over 64 KiB, are violations', async () => {
    const tool = {
      name: 'a',
      description: 'Does a.',
      input_schema: { type: 'objekt' },
      requires_confirmation: false,
    };
    const { relay, device } = await online(
      {},
      {
        tools: {
          describe_tools: () => ({ tools: [tool, tool] }),
          workspace_info: () => ({ text: 'x'.repeat(65_536) }),
        },
      },
    );
    const all = relay.violations.join('\n');
    expect(all).toContain('input_schema of "a"');
    expect(all).toContain('lists "a" twice');
    expect(all).toContain('workspace_info of');
    expect(device.workspaceInfo).toEqual({ truncated: true });
  });
});

describe('wire.md §5 rule 1: pings', () => {
  test('the exact bytes are answered with a pong', async () => {
    const { relay, agent } = await online();
    agent.send(PING_FRAME);
    await agent.frame('pong');
    expect(relay.violations).toEqual([]);
  });

  test.each(['{"type": "ping"}', '{"type":"ping","at":1}'])(
    '%s is a violation and gets no pong',
    async (ping) => {
      const { relay, device, agent } = await online();
      agent.send(ping);
      agent.send(PING_FRAME);
      await agent.frame('pong');
      expect(agent.frames.filter((text) => text.includes('pong'))).toHaveLength(1);
      expect(relay.violations).toHaveLength(1);
      expect(device.online).toBe(true);
    },
  );

  test('an agent that was silent for two announced intervals is closed with 4008 when a command comes', async () => {
    const { relay, device, agent } = await online({}, { ready: { capabilities: ['ping_interval:100'] } });
    const connection = device.connection as RelayConnection;
    connection.last_heard_at -= 150_000;
    expect((await relay.command(device, { command: 'greet' })).status).toBe('ok');
    connection.last_heard_at -= 250_000;
    const answer = relay.command(device, { command: 'greet', input: { name: 'you' } });
    expect(await agent.closed).toBe(4008);
    agentFor(device.enrollment);
    expect((await answer).output).toEqual({ greeting: 'hello you' });
  });

  test('a test may set another interval than the announced one', async () => {
    const { relay, device, agent } = await online();
    relay.settings.liveness_interval_ms = 0;
    relay.startCommand(device, { command: 'greet' });
    expect(await agent.closed).toBe(4008);
  });
});

describe('wire.md §3, §5 rule 4: commands', () => {
  test('go out, are acked and answered; the log holds every frame with its time', async () => {
    const { relay, device } = await online();
    const before = relay.now();
    const command = relay.startCommand(device, {
      command: 'greet',
      input: { name: 'you' },
      timeout_ms: 5_000,
    });
    expect(command.status).toBe('sent');
    expect(await command.finished).toMatchObject({ status: 'ok', output: { greeting: 'hello you' } });
    expect(command.describe()).toMatchObject({ status: 'done', outcome: { status: 'ok', error_code: null } });
    const response = await relay.waitForFrame(
      ({ json }) =>
        (json as { id?: string }).id === command.id && (json as { type: string }).type === 'tool_response',
    );
    expect(response.at).toBeGreaterThanOrEqual(before);
    expect(relay.sent.at(-1)?.json).toEqual({
      type: 'tool_request',
      id: command.id,
      command: 'greet',
      input: { name: 'you' },
      timeout_ms: 5_000,
    });
  });

  test('wait for a device that is not online', async () => {
    const relay = await relayWith();
    const device = relay.createDevice();
    const command = relay.startCommand(device, { command: 'greet', input: { name: 'late' } });
    expect(command.status).toBe('queued');
    agentFor(device.enrollment);
    expect((await command.finished).output).toEqual({ greeting: 'hello late' });
  });

  test('fail when the device does not come, or does not answer in time', async () => {
    const relay = await relayWith({ queue_deadline_ms: 20, answer_grace_ms: 20 });
    const device = relay.createDevice();
    await expect(relay.command(device, { command: 'greet' })).rejects.toMatchObject({
      error_code: 'not_sent',
    });
    agentFor(device.enrollment, { tools: { greet: () => null } });
    await relay.waitForOnline(device);
    await expect(relay.command(device, { command: 'greet', timeout_ms: 10 })).rejects.toMatchObject({
      error_code: 'no_answer',
    });
  });

  test('under way are sent again as the same frame to the same epoch', async () => {
    const epoch = randomUUID();
    const { relay, device, agent } = await online(
      { answer_grace_ms: 60_000 },
      { epoch, tools: { greet: () => null } },
    );
    const command = relay.startCommand(device, { command: 'greet', input: { name: 'again' } });
    await relay.until(() => command.status === 'running', 'the ack');
    agent.close();
    await relay.until(() => device.connections[0]?.closed, 'the close');
    agentFor(device.enrollment, { epoch });
    expect((await command.finished).output).toEqual({ greeting: 'hello again' });
    const frames = relay.sent.filter(({ text }) => text?.includes(command.id)).map(({ text }) => text);
    expect(frames).toEqual([command.frame, command.frame]);
    expect(relay.violations).toEqual([]);
  });

  test.each([
    [true, 'ok'],
    [false, 'agent_restarted'],
  ])(
    'with resend_after_new_epoch %s end as %s when the agent restarted',
    async (resend_after_new_epoch, outcome) => {
      const { relay, device, agent } = await online(
        { resend_after_new_epoch },
        { tools: { greet: () => null } },
      );
      const command = relay.startCommand(device, { command: 'greet' });
      await relay.until(() => command.status === 'running', 'the ack');
      agent.close();
      agentFor(device.enrollment);
      await relay.waitForOnline(device, { after: 1 });
      const ended = await command.finished.then(
        ({ status }) => status,
        (failure: { error_code: string }) => failure.error_code,
      );
      expect(ended).toBe(outcome);
    },
  );

  test('can be cancelled', async () => {
    const { relay, device, agent } = await online({}, { tools: { greet: () => null } });
    const command = relay.startCommand(device, { command: 'greet' });
    relay.cancel(device, command.id);
    expect(await agent.frame('cancel_request')).toEqual({ type: 'cancel_request', id: command.id });
    agent.fail(command.id, 'cancelled');
    expect(await command.finished).toMatchObject({ status: 'error', error_code: 'cancelled' });
  });

  test('a half-open connection is left by the agent, not by the relay', async () => {
    const relay = await relayWith();
    const device = relay.createDevice();
    const proxy = await proxyTo(relay.port);
    agentFor(relay.enrollmentVia(device, proxy.port));
    await relay.waitForOnline(device);
    proxy.pause();
    const command = relay.startCommand(device, { command: 'greet', input: { name: 'slow' } });
    expect(command.status).toBe('sent');
    expect(device.online).toBe(true);
    proxy.resume();
    expect((await command.finished).status).toBe('ok');
  });
});
