/** A command on its way to a device and back: its frame, its states, its outcome. */
import type { ToolResponseFrame } from '../../src/protocol/frames';
import type { JsonObject } from '../../src/protocol/json';
import { now } from './traffic';

export interface CommandSpec {
  command: string;
  /** Left out of the frame when undefined. */
  input?: JsonObject | undefined;
  /** Milliseconds; 30 000 when undefined. */
  timeout_ms?: number | undefined;
  /** A new UUID when undefined. */
  id?: string | undefined;
}

export type CommandStatus = 'queued' | 'sent' | 'running' | 'done';

/** Why the platform gave up on a command that the device did not answer. */
export type CommandFailure =
  | 'no_answer'
  | 'not_sent'
  | 'agent_restarted'
  | 'contract_broken'
  | 'relay_closed';

export class CommandFailed extends Error {
  constructor(
    readonly error_code: CommandFailure,
    sentence: string,
  ) {
    super(sentence);
    this.name = 'CommandFailed';
  }
}

const LARGEST_TIMER_MS = 2 ** 31 - 1;

export class Command {
  status: CommandStatus = 'queued';
  outcome: ToolResponseFrame | null = null;
  failure: CommandFailed | null = null;
  readonly created_at = now();
  sent_at: number | null = null;
  acked_at: number | null = null;
  done_at: number | null = null;
  /** The epoch of the run of the agent it was last sent to. */
  epoch: string | null = null;
  /** Resolves with the response frame; rejects with `CommandFailed`. */
  readonly finished: Promise<ToolResponseFrame>;

  private resolve!: (frame: ToolResponseFrame) => void;
  private reject!: (failure: CommandFailed) => void;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly id: string,
    readonly command: string,
    readonly timeout_ms: number,
    /** The `tool_request`, the same text at every sending. */
    readonly frame: string,
  ) {
    this.finished = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Nobody may be waiting, and a failure must not end the process.
    this.finished.catch(() => undefined);
  }

  get underWay(): boolean {
    return this.status === 'sent' || this.status === 'running';
  }

  /** Fails with `failure` unless something happens before; replaces the deadline before. */
  deadline(delay_ms: number, failure: CommandFailure, sentence: string): void {
    clearTimeout(this.timer);
    if (this.status === 'done') return;
    this.timer = setTimeout(
      () => this.fail(new CommandFailed(failure, sentence)),
      Math.min(delay_ms, LARGEST_TIMER_MS),
    );
  }

  sent(epoch: string | null): void {
    if (this.status === 'done') return;
    this.status = 'sent';
    this.sent_at ??= now();
    this.epoch = epoch;
  }

  acked(): void {
    if (this.status !== 'sent') return;
    this.status = 'running';
    this.acked_at ??= now();
  }

  settle(frame: ToolResponseFrame): void {
    if (this.status === 'done') return;
    this.outcome = frame;
    this.end();
    this.resolve(frame);
  }

  fail(failure: CommandFailed): void {
    if (this.status === 'done') return;
    this.failure = failure;
    this.end();
    this.reject(failure);
  }

  private end(): void {
    clearTimeout(this.timer);
    this.status = 'done';
    this.done_at = now();
  }

  /** As the command API shows it. */
  describe(): JsonObject {
    const { outcome, failure } = this;
    return {
      id: this.id,
      command: this.command,
      status: this.status,
      outcome: outcome
        ? {
            status: outcome.status,
            output: outcome.output,
            error: outcome.error,
            error_code: outcome.status === 'error' ? outcome.error_code : null,
            duration_ms: outcome.duration_ms,
          }
        : failure
          ? { status: 'error', output: null, error: failure.message, error_code: failure.error_code }
          : null,
      round_trip_ms:
        this.done_at !== null && this.sent_at !== null ? round(this.done_at - this.sent_at) : null,
    };
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** The `tool_request` of a command. */
export function requestFrame(id: string, spec: CommandSpec, timeout_ms: number): string {
  return JSON.stringify({
    type: 'tool_request',
    id,
    command: spec.command,
    ...(spec.input === undefined ? {} : { input: spec.input }),
    timeout_ms,
  });
}
