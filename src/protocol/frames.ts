/**
 * The frames of the wire (wire.md §4) as types. Their JSON Schemas are in `schemas.ts`; what an incoming
 * one means is decided in `read-frame.ts`. Pure.
 */
import type { ErrorCode } from './errors';
import type { JsonObject } from './json';

/** The tokens of `Sec-WebSocket-Protocol` (wire.md §2). */
export const SUBPROTOCOL = 'endue-os.v1';
export const TOKEN_SUBPROTOCOL_PREFIX = 'endue-os.token.';

/** The exact 15 bytes of a ping (wire.md §5 rule 1). */
export const PING_FRAME = '{"type":"ping"}';

/** WebSocket close codes with a meaning of their own (wire.md §5 rules 6 and 7, §8). */
export const CLOSE_TOKEN_STOPPED = 4001;
export const CLOSE_LIVENESS_FAILED = 4008;
export const CLOSE_REPLACED = 1012;

export interface ReadyFrame {
  type: 'ready';
  version: string;
  tools: string[];
  os: string;
  arch: string;
  session_epoch: string;
  capabilities: string[];
}

export interface ToolAckFrame {
  type: 'tool_ack';
  id: string;
}

export type ProgressUnit = 'bytes' | 'files' | 'steps';

export interface Progress {
  completed: number;
  total: number | null;
  unit: ProgressUnit;
  message?: string;
}

export interface ToolProgressFrame extends Progress {
  type: 'tool_progress';
  id: string;
}

/** What one request came to, as it stands in a `tool_response` and in the ledger. */
export type Outcome =
  | { status: 'ok'; output: JsonObject | null; error: null }
  | { status: 'error'; output: null; error: string; error_code: ErrorCode };

export type ToolResponseFrame = { type: 'tool_response'; id: string; duration_ms: number } & Outcome;

export type AgentFrame = ReadyFrame | ToolAckFrame | ToolProgressFrame | ToolResponseFrame;

/** `relay_config` after reading: fields that were absent or unusable are absent. */
export interface RelayConfig {
  max_inline_bytes?: number;
  blob_upload_url?: string;
  max_concurrency?: number;
}

/** A `tool_request` as it arrived and was found well-formed; a missing `input` is already `{}`. */
export interface ToolRequest {
  id: string;
  command: string;
  input: JsonObject;
  /** Milliseconds from receipt; 60 000 when the frame named none. */
  timeout_ms: number;
}

/** What the answer to a blob upload says (wire.md §6); placed in the output as `{field}_blob`. */
export interface BlobReference {
  name: string;
  mime_type: string;
  size: number;
  sha256: string;
}
