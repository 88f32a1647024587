/**
 * One connection of an agent (wire.md §3, §5): the handshake, the answers to pings, the liveness check, and
 * the commands that travel on it.
 */
import { randomUUID } from 'node:crypto';
import type { RawData, WebSocket } from 'ws';
import type { AgentFrame, ReadyFrame, ToolResponseFrame } from '../../src/protocol/frames';
import { CLOSE_LIVENESS_FAILED, CLOSE_TOKEN_STOPPED } from '../../src/protocol/frames';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/protocol/json';
import {
  ANNOUNCED_CONCURRENCY,
  BLOB_UPLOAD_PATH,
  DEFAULT_MAX_INLINE_BYTES,
  PING_INTERVAL_MS,
  WORKSPACE_INFO_BYTES,
} from '../../src/protocol/limits';
import { checkCatalogue } from './catalogue-checks';
import { Command, CommandFailed, requestFrame } from './commands';
import { type ConductSocket, requestedId } from './conduct';
import type { RelayContext } from './context';
import type { Device } from './devices';
import { checkAgentFrame } from './frame-checks';
import { checkOutput } from './output-checks';
import { LoggedFrame, now } from './traffic';

const HANDSHAKE_TIMEOUT_MS = 30_000;
const CLOSE_POLICY_VIOLATION = 1008;
const CLOSE_ABNORMAL = 1006;
const PONG_FRAME = '{"type":"pong"}';

export interface Dialed {
  /** From 1, in the order of opening, over all devices. */
  number: number;
  token: string;
  /** The origin the agent dialed, as `http://host:port`. */
  origin: string;
}

export class RelayConnection implements ConductSocket {
  readonly number: number;
  readonly opened_at = now();
  ready: ReadyFrame | null = null;
  online = false;
  online_at: number | null = null;
  /** When and how it ended; null while it is open. */
  closed: { at: number; code: number } | null = null;
  last_heard_at = now();

  private readonly handshakeCalls = new Map<string, Command>();
  private readonly readyTimer: NodeJS.Timeout;
  private readonly delayed = new Set<NodeJS.Timeout>();
  private lastDue = 0;
  private maxInlineBytes = DEFAULT_MAX_INLINE_BYTES;

  constructor(
    private readonly context: RelayContext,
    readonly device: Device,
    private readonly dialed: Dialed,
    private readonly socket: WebSocket,
  ) {
    this.number = dialed.number;
    this.readyTimer = setTimeout(() => this.onNoReady(), context.settings.ready_deadline_ms);
    socket.on('message', (data, isBinary) => this.onMessage(data, isBinary));
    socket.on('close', (code) => this.onClose(code));
    // An error is always followed by `close`, which tells enough.
    socket.on('error', () => undefined);
  }

  get open(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  get epoch(): string | null {
    return this.ready?.session_epoch ?? null;
  }

  get broke(): boolean {
    return this.closed ? this.closed.code === CLOSE_ABNORMAL : !this.open;
  }

  /** 1006 breaks the TCP connection without a word; every other code is sent. */
  close(code: number, reason = ''): void {
    this.context.note(`connection ${this.number}: closing with ${code}`);
    if (code === CLOSE_ABNORMAL) this.socket.terminate();
    else this.socket.close(code, reason);
  }

  /** Sends a frame as it stands; false when it did not and will not go out. */
  send(frame: string | Uint8Array): boolean {
    if (!this.open || this.context.faults.take('silence', this.device.id)) return false;
    const slow = this.context.faults.take('slow', this.device.id);
    const due = Math.max(this.lastDue, now() + (slow?.delay_ms ?? 0));
    this.lastDue = due;
    if (due <= now() && this.delayed.size === 0) {
      this.sendNow(frame);
      return true;
    }
    const timer = setTimeout(() => {
      this.delayed.delete(timer);
      if (this.open) this.sendNow(frame);
    }, due - now());
    this.delayed.add(timer);
    return true;
  }

  /**
   * Sends a command's frame, after the liveness check: an agent that was silent for more than two ping
   * intervals is closed with 4008, and the command waits for the next connection.
   */
  sendCommand(command: Command): void {
    if (now() - this.last_heard_at > 2 * this.pingInterval()) {
      this.context.note(`connection ${this.number}: failed the liveness check`);
      this.close(CLOSE_LIVENESS_FAILED, 'liveness');
      return;
    }
    command.deadline(
      command.timeout_ms + this.context.settings.answer_grace_ms,
      'no_answer',
      `${command.command} was not answered by its deadline`,
    );
    command.sent(this.epoch);
    this.send(command.frame);
  }

  private pingInterval(): number {
    const { liveness_interval_ms } = this.context.settings;
    if (liveness_interval_ms !== null) return liveness_interval_ms;
    const announced = this.ready?.capabilities.find((text) => text.startsWith('ping_interval:'));
    const seconds = Number(announced?.slice('ping_interval:'.length));
    return seconds > 0 ? seconds * 1_000 : PING_INTERVAL_MS;
  }

  private sendNow(frame: string | Uint8Array): void {
    const binary = typeof frame === 'string' ? null : Buffer.from(frame);
    const text = typeof frame === 'string' ? frame : null;
    const id = text === null ? null : requestedId(text);
    if (id !== null) this.device.conduct.requestSent(this, id);
    this.log('sent', now(), text, binary);
    this.socket.send(frame, { binary: binary !== null });
    this.context.traffic.changed();
  }

  private log(direction: 'received' | 'sent', at: number, text: string | null, binary: Buffer | null): void {
    const bytes = text === null ? (binary?.length ?? 0) : Buffer.byteLength(text);
    const { number, device } = this;
    this.context.traffic.addFrame(new LoggedFrame(direction, at, number, device.id, text, binary, bytes));
  }

  private violation(sentence: string): void {
    this.context.violation(this.number, sentence);
  }

  private onMessage(data: RawData, isBinary: boolean): void {
    const at = now();
    this.last_heard_at = at;
    const bytes = data as Buffer;
    const raw = isBinary ? bytes : bytes.toString('utf8');
    this.log('received', at, typeof raw === 'string' ? raw : null, typeof raw === 'string' ? null : raw);
    this.onFrame(raw, at);
    // Told last, so that whoever waits for a frame finds what it caused.
    this.context.traffic.changed();
  }

  private onFrame(raw: string | Buffer, at: number): void {
    const checked = checkAgentFrame(raw);
    if (!checked.ok) {
      this.violation(checked.sentence);
      if (checked.value) this.giveUpOn(checked.value);
      return;
    }
    const { frame } = checked;
    if (this.ready === null && frame.type !== 'ready') {
      this.violation(`the first frame must be ready, not ${frame.type}`);
      return;
    }
    if (frame.type === 'ping') {
      if (!this.context.faults.take('no_pong', this.device.id)) this.send(PONG_FRAME);
      return;
    }
    this.onAgentFrame(frame, at);
  }

  private onAgentFrame(frame: AgentFrame, at: number): void {
    switch (frame.type) {
      case 'ready':
        this.onReady(frame);
        return;
      case 'tool_ack':
        this.device.conduct.acked(this, frame.id);
        this.commandOf(frame.id)?.acked();
        return;
      case 'tool_progress':
        this.device.conduct.progressed(this, frame.id, at);
        return;
      case 'tool_response':
        this.onResponse(frame);
        return;
    }
  }

  private onResponse(frame: ToolResponseFrame): void {
    const command = this.commandOf(frame.id);
    this.device.conduct.answered(this, frame.id, frame.status === 'ok' ? 'ok' : frame.error_code);
    for (const sentence of checkOutput(
      this.context.blobs,
      this.device,
      frame,
      command,
      this.maxInlineBytes,
    )) {
      this.violation(sentence);
    }
    if (!command) return;
    command.settle(frame);
    this.context.note(
      `${command.command}: ${frame.status === 'ok' ? 'ok' : frame.error_code} in ${frame.duration_ms} ms`,
    );
  }

  private commandOf(id: string): Command | undefined {
    return this.handshakeCalls.get(id) ?? this.device.commands.get(id);
  }

  /** A response that breaks its schema ends its command: nothing better will come. */
  private giveUpOn(value: JsonObject): void {
    if (value.type !== 'tool_response' || typeof value.id !== 'string') return;
    this.commandOf(value.id)?.fail(
      new CommandFailed('contract_broken', 'the tool_response does not fit its schema'),
    );
  }

  private onNoReady(): void {
    this.violation('no ready frame within the deadline');
    this.close(CLOSE_POLICY_VIOLATION, 'no ready');
  }

  private onReady(frame: ReadyFrame): void {
    if (this.ready) {
      this.violation('ready was sent twice on one connection');
      return;
    }
    clearTimeout(this.readyTimer);
    this.ready = frame;
    this.context.note(`connection ${this.number}: ready, version ${frame.version} on ${frame.os}`);
    void this.handshake();
  }

  private async handshake(): Promise<void> {
    const { faults } = this.context;
    if (!faults.take('no_relay_config', this.device.id)) this.sendConfig();
    if (faults.take('no_handshake_calls', this.device.id)) return;
    const catalogue = await this.call('describe_tools');
    if (!catalogue) return;
    const checked = checkCatalogue(catalogue);
    for (const sentence of checked.violations) this.violation(sentence);
    if (checked.tools.length === 0) return;
    this.device.tools = checked.tools;
    const info = await this.call('workspace_info');
    if (!info) return;
    const length = Buffer.byteLength(JSON.stringify(info));
    if (length > WORKSPACE_INFO_BYTES) this.violation(`workspace_info of ${length} bytes`);
    this.device.workspaceInfo = length > WORKSPACE_INFO_BYTES ? { truncated: true } : info;
    if (!this.open) return;
    this.online = true;
    this.online_at = now();
    this.context.note(`connection ${this.number}: online`);
    this.sendWaiting();
    this.context.traffic.changed();
  }

  private sendConfig(): void {
    const config: Record<string, JsonValue> = {
      max_inline_bytes: DEFAULT_MAX_INLINE_BYTES,
      blob_upload_url: `${this.dialed.origin}${BLOB_UPLOAD_PATH}`,
      max_concurrency: ANNOUNCED_CONCURRENCY,
      ...this.context.settings.relay_config,
    };
    const { max_inline_bytes } = config;
    if (typeof max_inline_bytes === 'number' && max_inline_bytes > 0) this.maxInlineBytes = max_inline_bytes;
    this.send(JSON.stringify({ type: 'relay_config', ...config }));
  }

  /** One of the two calls of the handshake; null when it failed, and then the device is not online. */
  private async call(tool: string): Promise<JsonObject | null> {
    const spec = { command: tool, input: {} };
    const id = randomUUID();
    const command = new Command(id, tool, HANDSHAKE_TIMEOUT_MS, requestFrame(id, spec, HANDSHAKE_TIMEOUT_MS));
    this.handshakeCalls.set(id, command);
    this.sendCommand(command);
    try {
      const answer = await command.finished;
      if (answer.status === 'ok' && isJsonObject(answer.output)) return answer.output;
      this.violation(`${tool} of the handshake was answered without an output object`);
    } catch (thrown) {
      if (!(thrown instanceof CommandFailed)) throw thrown;
      this.context.note(`connection ${this.number}: ${tool} failed: ${thrown.message}`);
    }
    return null;
  }

  /** Once online: what waits, and what was under way, in the order it was given. */
  private sendWaiting(): void {
    for (const command of this.device.commands.values()) {
      if (command.status === 'done') continue;
      const restarted = command.underWay && command.epoch !== this.epoch;
      if (restarted && !this.context.settings.resend_after_new_epoch) {
        command.fail(new CommandFailed('agent_restarted', 'the agent restarted before it answered'));
        continue;
      }
      this.sendCommand(command);
    }
  }

  private onClose(code: number): void {
    this.closed = { at: now(), code };
    this.online = false;
    if (code === CLOSE_TOKEN_STOPPED) this.context.devices.refuse(this.dialed.token);
    clearTimeout(this.readyTimer);
    for (const timer of this.delayed) clearTimeout(timer);
    for (const command of this.handshakeCalls.values()) {
      command.fail(new CommandFailed('no_answer', 'the connection closed'));
    }
    this.context.note(`connection ${this.number}: closed with ${code}`);
    this.context.traffic.changed();
  }
}
