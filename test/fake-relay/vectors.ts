/**
 * Reads `test/vectors.json`: frames, valid and invalid, each with the behaviour it must cause. The format is
 * explained in `README.md` beside this file.
 */
import { readFileSync } from 'node:fs';
import type { ErrorCode } from '../../src/protocol/errors';
import type { RelayConfig } from '../../src/protocol/frames';
import type { DropReason } from '../../src/protocol/read-frame';
import type { FrameViolation } from './frame-checks';

/** A frame in parts, so that a long one takes little room in the file. */
type FramePart = string | { repeat: string; times: number };
type FrameSource = string | { binary_base64: string } | { parts: FramePart[] };

/** What a frame of the relay must cause in the agent. */
export type AgentBehaviour =
  /** No frame comes back; the diagnostics count the reason; the socket stays open. */
  | { kind: 'dropped'; reason: DropReason }
  /** One ack, then one answer under the frame's own id; without `status` either will do. */
  | { kind: 'answered'; status?: 'ok' }
  | { kind: 'answered'; status: 'error'; error_code: ErrorCode }
  /** No frame comes back; exactly these values are taken over. */
  | { kind: 'config'; applied: RelayConfig }
  /** No frame comes back: the id was never sent. */
  | { kind: 'cancel' };

/** What a frame of the agent must cause in the relay. */
export type RelayBehaviour = { kind: 'accepted' } | { kind: 'violation'; violation: FrameViolation };

interface VectorBase {
  name: string;
  /** Whether the contract lets the sender send this frame. */
  valid: boolean;
  /** What goes over the wire: text, or bytes in a binary frame. */
  data: string | Buffer;
}

export type RelayVector = VectorBase & { from: 'relay'; behaviour: AgentBehaviour };
export type AgentVector = VectorBase & { from: 'agent'; behaviour: RelayBehaviour };

type Stored<V extends VectorBase> = Omit<V, 'data'> & { frame: FrameSource };

const stored = JSON.parse(readFileSync(new URL('../vectors.json', import.meta.url), 'utf8')) as (
  | Stored<RelayVector>
  | Stored<AgentVector>
)[];

export const RELAY_VECTORS: readonly RelayVector[] = stored
  .filter((vector): vector is Stored<RelayVector> => vector.from === 'relay')
  .map(({ frame, ...vector }) => ({ ...vector, data: build(frame) }));

export const AGENT_VECTORS: readonly AgentVector[] = stored
  .filter((vector): vector is Stored<AgentVector> => vector.from === 'agent')
  .map(({ frame, ...vector }) => ({ ...vector, data: build(frame) }));

function build(frame: FrameSource): string | Buffer {
  if (typeof frame === 'string') return frame;
  if ('binary_base64' in frame) return Buffer.from(frame.binary_base64, 'base64');
  return frame.parts
    .map((part) => (typeof part === 'string' ? part : part.repeat.repeat(part.times)))
    .join('');
}
