/**
 * The order rules an agent must keep over the life of its connections (wire.md §3, §5, §8): `ready` first,
 * ack before answer, answers only to requests, no more answers than requests, one outcome per id, at most 2
 * progress frames a second. Knows frames and times, no sockets.
 */
import { PROGRESS_PER_SECOND } from '../../src/protocol/limits';
import { shown } from './frame-checks';

/** What these rules need to know of a connection. */
export interface ConductSocket {
  readonly number: number;
  /** The `session_epoch` it was opened with; null before `ready`. */
  readonly epoch: string | null;
  /** It ended without a closing handshake, so the agent cannot know what arrived. */
  readonly broke: boolean;
}

interface OnSocket {
  socket: ConductSocket;
  requests: number;
  acks: number;
  answers: number;
  /** Of the answers, those that said the request belongs to another one's id. */
  conflicts: number;
  /** Answers without a request on this socket: kept from an earlier one. */
  kept: number;
}

interface Known {
  perSocket: Map<number, OnSocket>;
  /** `ok` or the error code of the first answer; every later one must be the same (rule 4). */
  outcome: string | null;
  progress: { first: number; count: number } | null;
}

/** Clocks and buffers between the agent and here may squeeze progress frames together by so much. */
const PROGRESS_SLACK_MS = 250;

/** Answers that one id may get beside its own outcome (wire.md §5 rule 4). */
const CHANGING_OUTCOMES: ReadonlySet<string> = new Set(['request_id_conflict', 'result_expired']);

export class Conduct {
  private readonly ids = new Map<string, Known>();

  constructor(private readonly violation: (connection: number, sentence: string) => void) {}

  /** A `tool_request` with this id went out on `socket`. */
  requestSent(socket: ConductSocket, id: string): void {
    this.on(socket, id).requests += 1;
  }

  /** How many `tool_request` frames with this id went out so far, over all connections. */
  requests(id: string): number {
    let sum = 0;
    for (const { requests } of this.ids.get(id)?.perSocket.values() ?? []) sum += requests;
    return sum;
  }

  /** True when every request frame with this id has its answer. */
  settled(id: string): boolean {
    const sockets = [...(this.ids.get(id)?.perSocket.values() ?? [])];
    const last = sockets.at(-1);
    return last !== undefined && last.answers + last.kept >= last.requests;
  }

  acked(socket: ConductSocket, id: string): void {
    const here = this.ids.get(id)?.perSocket.get(socket.number);
    if (!here || here.requests === 0) {
      this.violation(socket.number, `tool_ack for ${shown(id)}, which was not asked on this connection`);
      return;
    }
    here.acks += 1;
    if (here.acks > here.requests) {
      this.violation(socket.number, `more tool_acks than requests for ${shown(id)}`);
    }
  }

  progressed(socket: ConductSocket, id: string, at: number): void {
    const known = this.ids.get(id);
    if (!known) {
      this.violation(socket.number, `tool_progress for unknown id ${shown(id)}`);
      return;
    }
    const here = known.perSocket.get(socket.number);
    const acked = here !== undefined && here.acks > here.answers;
    if (!acked && !this.owedFromBefore(known, socket)) {
      this.violation(socket.number, `tool_progress for ${shown(id)} before its tool_ack or after its answer`);
    }
    known.progress ??= { first: at, count: 0 };
    known.progress.count += 1;
    const seconds = (at - known.progress.first + PROGRESS_SLACK_MS) / 1_000;
    if (known.progress.count > PROGRESS_PER_SECOND * (seconds + 1)) {
      this.violation(
        socket.number,
        `more than ${PROGRESS_PER_SECOND} tool_progress a second for ${shown(id)}`,
      );
    }
  }

  /** `outcome` is `ok` or the error code. */
  answered(socket: ConductSocket, id: string, outcome: string): void {
    const known = this.ids.get(id);
    if (!known) {
      this.violation(socket.number, `tool_response for unknown id ${shown(id)}`);
      return;
    }
    if (!CHANGING_OUTCOMES.has(outcome)) {
      known.outcome ??= outcome;
      if (known.outcome !== outcome) {
        this.violation(socket.number, `${shown(id)} was answered ${known.outcome} first, then ${outcome}`);
      }
    }
    const here = this.on(socket, id);
    if (outcome === 'request_id_conflict') here.conflicts += 1;
    if (here.answers < here.acks) {
      here.answers += 1;
      return;
    }
    // Requests that were conflicts did not ask for the kept answer again.
    if (here.acks === here.conflicts && here.kept === 0 && this.owedFromBefore(known, socket)) {
      here.kept += 1;
      return;
    }
    this.violation(
      socket.number,
      here.answers < here.requests
        ? `tool_response for ${shown(id)} before its tool_ack`
        : `more tool_responses than requests for ${shown(id)}`,
    );
    here.answers += 1;
  }

  /**
   * An earlier connection of the same epoch took the request, and its answer did not go out since, or the
   * connection it went out on broke, so that the agent cannot know whether it arrived.
   */
  private owedFromBefore(known: Known, socket: ConductSocket): boolean {
    const before = [...known.perSocket.values()].filter(
      (other) => other.socket.number < socket.number && other.socket.epoch === socket.epoch,
    );
    if (!before.some((other) => other.requests > 0)) return false;
    const answeredLast = before.findLast((other) => other.answers + other.kept > 0);
    return answeredLast === undefined || answeredLast.socket.broke;
  }

  private on(socket: ConductSocket, id: string): OnSocket {
    let known = this.ids.get(id);
    if (!known) {
      known = { perSocket: new Map(), outcome: null, progress: null };
      this.ids.set(id, known);
    }
    let here = known.perSocket.get(socket.number);
    if (!here) {
      here = { socket, requests: 0, acks: 0, answers: 0, conflicts: 0, kept: 0 };
      known.perSocket.set(socket.number, here);
    }
    return here;
  }
}

/** The id of a `tool_request` text that an agent must answer; null for every other text. */
export function requestedId(text: string): string | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const { type, id } = value as Record<string, unknown>;
  return type === 'tool_request' && typeof id === 'string' && id !== '' ? id : null;
}
