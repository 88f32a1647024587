/**
 * A small agent for the tests of the stand-in: keeps the contract unless a test has it break a rule. It
 * knows three tools, a ledger of one run, and no reconnecting of its own.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../../src/protocol/json';
import type { Enrollment } from '../../../src/settings/enrollment';

export interface Request {
  id: string;
  command: string;
  input: JsonObject;
}

type Answer = (request: Request) => JsonObject | null | Promise<JsonObject | null>;

export interface AgentOptions {
  epoch?: string;
  ready?: JsonObject;
  /** The offered protocols in place of the right ones. */
  protocols?: string[];
  /** Send nothing by itself: neither `ready` nor acks nor answers. */
  mute?: boolean;
  /** Outputs by tool; null: no answer. */
  tools?: Record<string, Answer>;
}

const CATALOGUE = {
  tools: ['describe_tools', 'workspace_info', 'greet'].map((name) => ({
    name,
    description: `Does ${name}.`,
    input_schema: { type: 'object', properties: {}, additionalProperties: true },
    requires_confirmation: false,
  })),
};

const TOOLS: Record<string, Answer> = {
  describe_tools: () => CATALOGUE,
  workspace_info: () => ({ agent: { name: 'test', version: '1' } }),
  greet: ({ input }) => ({ greeting: `hello ${String(input.name)}` }),
};

export const READY = {
  type: 'ready',
  version: '1.0.0',
  tools: Object.keys(TOOLS),
  os: 'linux',
  arch: 'x86_64',
  capabilities: ['concurrency:4', 'ping_interval:20', 'ack', 'progress', 'blob_upload'],
};

export class Agent {
  readonly socket: WebSocket;
  /** Every text frame that came. */
  readonly frames: string[] = [];
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
  /** Resolves with the HTTP status of a refused handshake. */
  readonly refused: Promise<number>;
  /** What stands in the handshake's answer as the chosen protocol, once open. */
  readonly opened: Promise<string>;

  constructor(
    enrollment: Enrollment,
    private readonly options: AgentOptions = {},
  ) {
    const protocols = options.protocols ?? ['endue-os.v1', `endue-os.token.${enrollment.token}`];
    this.socket = new WebSocket(enrollment.endpoint, protocols);
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.socket.on('close', resolve));
    this.refused = new Promise((resolve) =>
      this.socket.on('unexpected-response', (request, response) => {
        request.destroy();
        resolve(response.statusCode ?? 0);
      }),
    );
    this.opened = new Promise((resolve) => this.socket.on('open', () => resolve(this.socket.protocol)));
    if (!options.mute) this.socket.on('open', () => this.sayReady());
    this.socket.on('message', (data, isBinary) => {
      if (!isBinary) void this.onFrame(String(data));
    });
  }

  sayReady(): void {
    this.send({ ...READY, session_epoch: this.options.epoch ?? randomUUID(), ...this.options.ready });
  }

  send(frame: string | Buffer | JsonObject): void {
    const raw = typeof frame === 'string' || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame);
    this.socket.send(raw);
  }

  ack(id: string): void {
    this.send({ type: 'tool_ack', id });
  }

  answer(id: string, output: JsonObject): void {
    this.send({ type: 'tool_response', id, status: 'ok', output, error: null, duration_ms: 1 });
  }

  fail(id: string, error_code: string): void {
    this.send({
      type: 'tool_response',
      id,
      status: 'error',
      output: null,
      error: 'It failed.',
      error_code,
      duration_ms: 1,
    });
  }

  /** Resolves with the `n`-th frame (from 1) that came with this type. */
  async frame(type: string, n = 1): Promise<JsonObject> {
    for (;;) {
      const found = this.frames
        .map((text) => JSON.parse(text) as JsonObject)
        .filter((frame) => frame.type === type);
      if (found[n - 1]) return found[n - 1] as JsonObject;
      await once(this.socket, 'message');
    }
  }

  close(): void {
    this.socket.terminate();
  }

  private async onFrame(text: string): Promise<void> {
    this.frames.push(text);
    const frame = JSON.parse(text) as JsonObject & Partial<Request>;
    if (this.options.mute || frame.type !== 'tool_request' || frame.id === undefined) return;
    this.ack(frame.id);
    const tool = { ...TOOLS, ...this.options.tools }[frame.command ?? ''];
    if (!tool) {
      this.fail(frame.id, 'unknown_tool');
      return;
    }
    const output = await tool({ id: frame.id, command: frame.command ?? '', input: frame.input ?? {} });
    if (output) this.answer(frame.id, output);
  }
}
