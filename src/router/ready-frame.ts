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

/** Announced while a Storage can be attached: that is, unless policy shuts the tool (wire.md §3). */
const STORAGE_CAPABILITY = 'workspace_storage_path_v1';

export function readyFrame(facts: AgentFacts, tools: string[], session_epoch: string): ReadyFrame {
  const { version, os, arch } = facts;
  const capabilities = tools.includes('workspace_storage_path')
    ? [...CAPABILITIES, STORAGE_CAPABILITY]
    : CAPABILITIES;
  return { type: 'ready', version, tools, os, arch, session_epoch, capabilities };
}
