/**
 * JSON Schemas (draft 2020-12) of every frame of the wire (wire.md §4). The build compiles them to
 * validators (an extension may not `eval`); the stand-in platform compiles them at run time.
 * Unknown fields are allowed everywhere: both sides ignore them (rule 2). Pure.
 */
import { ERROR_CODES } from './errors';
import { PING_FRAME } from './frames';

const id = { type: 'string', minLength: 1 } as const;
const count = { type: 'number', minimum: 0 } as const;

export const AGENT_FRAME_SCHEMAS = {
  ready: {
    type: 'object',
    required: ['type', 'version', 'tools', 'os', 'arch', 'session_epoch', 'capabilities'],
    properties: {
      type: { const: 'ready' },
      version: { type: 'string', minLength: 1 },
      tools: { type: 'array', minItems: 1, uniqueItems: true, items: { type: 'string', minLength: 1 } },
      os: { type: 'string', minLength: 1 },
      arch: { type: 'string', minLength: 1 },
      session_epoch: {
        type: 'string',
        pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
      },
      capabilities: {
        type: 'array',
        uniqueItems: true,
        items: { type: 'string', pattern: '^[a-z][a-z0-9_]*(:[^:]+)?$' },
      },
    },
  },
  ping: {
    type: 'object',
    required: ['type'],
    properties: { type: { const: (JSON.parse(PING_FRAME) as { type: string }).type } },
    additionalProperties: false,
  },
  tool_ack: {
    type: 'object',
    required: ['type', 'id'],
    properties: { type: { const: 'tool_ack' }, id },
  },
  tool_progress: {
    type: 'object',
    required: ['type', 'id', 'completed', 'total', 'unit'],
    properties: {
      type: { const: 'tool_progress' },
      id,
      completed: count,
      total: { anyOf: [count, { type: 'null' }] },
      unit: { enum: ['bytes', 'files', 'steps'] },
      message: { type: 'string' },
    },
  },
  tool_response: {
    type: 'object',
    required: ['type', 'id', 'status', 'output', 'error', 'duration_ms'],
    properties: {
      type: { const: 'tool_response' },
      id,
      status: { enum: ['ok', 'error'] },
      duration_ms: count,
    },
    oneOf: [
      {
        properties: {
          status: { const: 'ok' },
          output: { type: ['object', 'null'] },
          error: { type: 'null' },
          error_code: false,
        },
      },
      {
        required: ['error_code'],
        properties: {
          status: { const: 'error' },
          output: { type: 'null' },
          error: { type: 'string', minLength: 1 },
          error_code: { enum: [...ERROR_CODES] },
        },
      },
    ],
  },
} as const;

export const RELAY_FRAME_SCHEMAS = {
  relay_config: {
    type: 'object',
    required: ['type'],
    properties: {
      type: { const: 'relay_config' },
      max_inline_bytes: { type: 'number', exclusiveMinimum: 0 },
      blob_upload_url: { type: 'string' },
      max_concurrency: { type: 'number', exclusiveMinimum: 0 },
    },
  },
  tool_request: {
    type: 'object',
    required: ['type', 'id', 'command'],
    properties: {
      type: { const: 'tool_request' },
      id,
      command: { type: 'string', minLength: 1 },
      input: { type: 'object' },
      timeout_ms: { type: 'number', exclusiveMinimum: 0 },
    },
  },
  cancel_request: {
    type: 'object',
    required: ['type', 'id'],
    properties: { type: { const: 'cancel_request' }, id },
  },
} as const;

export type RelayFrameType = keyof typeof RELAY_FRAME_SCHEMAS;
export type AgentFrameType = keyof typeof AGENT_FRAME_SCHEMAS;
