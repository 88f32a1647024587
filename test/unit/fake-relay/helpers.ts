/** Starts stand-ins and agents that end with the test. */
import { onTestFinished } from 'vitest';
import type { Enrollment } from '../../../src/settings/enrollment';
import type { Device } from '../../fake-relay/devices';
import { type FakeRelay, type FakeRelayOptions, startFakeRelay } from '../../fake-relay/fake-relay';
import { startTcpProxy, type TcpProxy } from '../../fake-relay/tcp-proxy';
import { Agent, type AgentOptions } from './agent';

export async function relayWith(options: FakeRelayOptions = {}): Promise<FakeRelay> {
  const relay = await startFakeRelay(options);
  onTestFinished(() => relay.close());
  return relay;
}

export async function proxyTo(port: number): Promise<TcpProxy> {
  const proxy = await startTcpProxy({ port });
  onTestFinished(() => proxy.close());
  return proxy;
}

export function agentFor(enrollment: Enrollment, options: AgentOptions = {}): Agent {
  const agent = new Agent(enrollment, options);
  onTestFinished(() => agent.close());
  return agent;
}

/** A relay with one device whose agent is online. */
export async function online(
  relayOptions: FakeRelayOptions = {},
  agentOptions: AgentOptions = {},
): Promise<{ relay: FakeRelay; device: Device; agent: Agent }> {
  const relay = await relayWith(relayOptions);
  const device = relay.createDevice({ name: 'test' });
  const agent = agentFor(device.enrollment, agentOptions);
  await relay.waitForOnline(device);
  return { relay, device, agent };
}
