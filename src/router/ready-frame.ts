/** The frame that opens a connection (wire.md §3): what this agent is and what it takes now. Pure. */
import type { ReadyFrame } from '../protocol/frames';
import { ANNOUNCED_CONCURRENCY, PING_INTERVAL_MS } from '../protocol/limits';
import type { AgentFacts } from '../tools/tool';

const CAPABILITIES = [
  `concurrency:${ANNOUNCED_CONCURRENCY}`,
  `ping_interval:${PING_INTERVAL_MS / 1000}`,
  'ack',
  'progress',
  'blob_upload',
];

export function readyFrame(facts: AgentFacts, tools: string[], session_epoch: string): ReadyFrame {
  const { version, os, arch } = facts;
  return { type: 'ready', version, tools, os, arch, session_epoch, capabilities: CAPABILITIES };
}
