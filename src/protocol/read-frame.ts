/**
 * What an incoming frame means (wire.md §4, §5 rule 2, §8): the one place where bytes of the relay become
 * values. Never throws. Pure.
 */
import validators from 'virtual:frame-validators';
import type { RelayConfig, ToolRequest } from './frames';
import { isJsonObject, type JsonObject, type JsonValue } from './json';
import { DEFAULT_TIMEOUT_MS } from './limits';
import { complaint } from './validation';

/** Why a frame was dropped; counted by reason in the diagnostics. */
export type DropReason = 'binary' | 'not_json' | 'not_an_object' | 'unknown_type' | 'unusable_id';

export type ReadFrame =
  | { kind: 'dropped'; reason: DropReason }
  | { kind: 'relay_config'; config: RelayConfig }
  | { kind: 'tool_request'; request: ToolRequest }
  /** A request with a usable id but otherwise malformed: acked and answered `invalid_request`. */
  | { kind: 'malformed_request'; id: string; command: JsonValue; input: JsonValue; sentence: string }
  | { kind: 'cancel_request'; id: string };

/** Deeper JSON than this is refused: walking it could exhaust the stack. [ours] */
const MAX_DEPTH = 200;

/** Reads one WebSocket message as it was received: a string, or anything else for a binary one. */
export function readFrame(data: unknown): ReadFrame {
  if (typeof data !== 'string') return { kind: 'dropped', reason: 'binary' };
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return { kind: 'dropped', reason: 'not_json' };
  }
  if (!isJsonObject(value)) return { kind: 'dropped', reason: 'not_an_object' };
  switch (value.type) {
    case 'relay_config':
      return { kind: 'relay_config', config: readConfig(value) };
    case 'tool_request':
      return readToolRequest(value);
    case 'cancel_request':
      return isUsableId(value.id)
        ? { kind: 'cancel_request', id: value.id }
        : { kind: 'dropped', reason: 'unusable_id' };
    default:
      return { kind: 'dropped', reason: 'unknown_type' };
  }
}

function isUsableId(id: unknown): id is string {
  return typeof id === 'string' && id !== '';
}

function readToolRequest(frame: JsonObject): ReadFrame {
  const { id } = frame;
  if (!isUsableId(id)) return { kind: 'dropped', reason: 'unusable_id' };
  const command = typeof frame.command === 'string' ? frame.command : null;
  const input = Object.hasOwn(frame, 'input') ? (frame.input as JsonValue) : {};
  const malformed = (sentence: string, kept: JsonValue = input): ReadFrame => ({
    kind: 'malformed_request',
    id,
    command,
    input: kept,
    sentence,
  });
  if (!isPlain(input, 0)) {
    return malformed(
      `tool_request.input is nested more than ${MAX_DEPTH} levels deep, or holds a number out of range.`,
      null,
    );
  }
  const validate = validators.tool_request;
  if (!validate?.(frame)) return malformed(complaint(validate?.errors, 'tool_request'));
  const timeout_ms = typeof frame.timeout_ms === 'number' ? frame.timeout_ms : DEFAULT_TIMEOUT_MS;
  return {
    kind: 'tool_request',
    request: { id, command: command as string, input: input as JsonObject, timeout_ms },
  };
}

/** False for JSON that could not travel on unchanged: too deep, or with a number like `1e400`. */
function isPlain(value: JsonValue, depth: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= MAX_DEPTH) return false;
  return Object.values(value).every((member) => isPlain(member, depth + 1));
}

/** Unusable values are ignored one by one (wire.md §8). */
function readConfig(frame: JsonObject): RelayConfig {
  const config: RelayConfig = {};
  const { max_inline_bytes, max_concurrency, blob_upload_url } = frame;
  if (isPositive(max_inline_bytes)) config.max_inline_bytes = max_inline_bytes;
  if (isPositive(max_concurrency) && max_concurrency >= 1) {
    config.max_concurrency = Math.floor(max_concurrency);
  }
  if (typeof blob_upload_url === 'string') config.blob_upload_url = blob_upload_url;
  return config;
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}
