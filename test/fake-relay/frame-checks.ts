/**
 * What is wrong with one frame of the agent taken by itself (wire.md §4, §6). Rules about the order of
 * frames are in `conduct.ts`.
 */
import Ajv2020 from 'ajv/dist/2020.js';
import type { AgentFrame } from '../../src/protocol/frames';
import { PING_FRAME } from '../../src/protocol/frames';
import { isJsonObject, type JsonObject } from '../../src/protocol/json';
import { MAX_FRAME_BYTES } from '../../src/protocol/limits';
import { AGENT_FRAME_SCHEMAS, RELAY_FRAME_SCHEMAS } from '../../src/protocol/schemas';
import { complaint, type Validate } from '../../src/protocol/validation';

export type FrameViolation =
  | 'binary'
  | 'too_large'
  | 'not_json'
  | 'not_an_object'
  | 'unknown_type'
  | 'ping_bytes'
  | 'schema';

export type CheckedFrame =
  | { ok: true; frame: AgentFrame | { type: 'ping' } }
  | {
      ok: false;
      violation: FrameViolation;
      sentence: string;
      /** The frame as far as it could be read, or null. */
      value: JsonObject | null;
    };

const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true });

function compile(schemas: Record<string, object>): ReadonlyMap<string, Validate> {
  return new Map(
    Object.entries(schemas).map(([name, schema]) => [name, ajv.compile(schema) as unknown as Validate]),
  );
}

const agentFrames = compile(AGENT_FRAME_SCHEMAS);
const relayFrames = compile(RELAY_FRAME_SCHEMAS);

/** True when `value` fits the schema of the relay's frame that its `type` names. */
export function fitsRelaySchema(value: unknown): boolean {
  if (!isJsonObject(value) || typeof value.type !== 'string') return false;
  return relayFrames.get(value.type)?.(value) ?? false;
}

/** Checks one WebSocket message of the agent; `data` is a Buffer when it was binary. */
export function checkAgentFrame(data: string | Buffer): CheckedFrame {
  const wrong = (
    violation: FrameViolation,
    sentence: string,
    value: JsonObject | null = null,
  ): CheckedFrame => ({ ok: false, violation, sentence, value });

  if (typeof data !== 'string') return wrong('binary', 'a binary frame');
  const bytes = Buffer.byteLength(data);
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return wrong('not_json', `a frame of ${bytes} bytes that is not JSON`);
  }
  if (!isJsonObject(value)) return wrong('not_an_object', 'a frame that is JSON but not an object');
  if (bytes > MAX_FRAME_BYTES) return wrong('too_large', `a frame of ${bytes} bytes`, value);
  const { type } = value;
  const validate = typeof type === 'string' ? agentFrames.get(type) : undefined;
  if (!validate) return wrong('unknown_type', `a frame of unknown type ${shown(type)}`, value);
  if (type === 'ping' && data !== PING_FRAME) {
    return wrong('ping_bytes', `a ping that is not exactly ${PING_FRAME}: ${shown(data)}`, value);
  }
  if (!validate(value)) {
    const complaints = validate.errors?.map((error) => complaint([error], String(type))) ?? [];
    return wrong('schema', complaints.join(' '), value);
  }
  return { ok: true, frame: value as unknown as AgentFrame | { type: 'ping' } };
}

/** A value for a sentence, cut short. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length <= 80 ? text : `${text.slice(0, 77)}…`;
}
