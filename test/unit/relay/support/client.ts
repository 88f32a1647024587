/** Drives the pure connection machine through time, with a relay that is told what to do. */
import type { DialDecision } from '../../../../src/platform/messages';
import {
  type Connection,
  type ConnectionEffect,
  type ConnectionEvent,
  connectionDeadline,
  type Dial,
  initialConnection,
  shownState,
  stepConnection,
} from '../../../../src/relay/connection';

export function dialDecision(changes: Partial<Dial> = {}): Dial {
  return {
    dial: true,
    endpoint: 'wss://relay.test/api/v1/relay/socket',
    token: 'abc123',
    enrollment_id: 'enrollment-1',
    ready: {
      type: 'ready',
      version: '0.1.0',
      tools: ['describe_tools'],
      os: 'linux',
      arch: 'x86_64',
      session_epoch: '00000000-0000-4000-8000-000000000000',
      capabilities: ['ack'],
    },
    ...changes,
  };
}

export type Logged = ConnectionEffect & { at: number };

const EPOCH = 1_700_000_000_000;

export class Client {
  now = 0;
  connection: Connection = initialConnection(true);
  /** What the router says to `dial.prepare`; null: it does not answer. */
  decision: DialDecision | null = dialDecision();
  /** The router neither answers nor dies. */
  routerHangs = false;
  /** What the handshake's status was, for the question after a failed dial. */
  status: number | null = null;
  /** What happens to a dial; `hang` leaves it to the test. */
  dialling: 'accept' | 'refuse' | 'hang' = 'accept';
  /** Sockets whose pings the relay does not answer. */
  readonly silent = new Set<number>();
  buffered = 0;
  readonly log: Logged[] = [];
  readonly #random: () => number;
  #pending: ConnectionEvent[] = [];

  constructor(random: () => number = () => 0) {
    this.#random = random;
  }

  get socket(): number {
    return this.connection.last_socket;
  }

  get shown() {
    return shownState(this.connection);
  }

  of<K extends ConnectionEffect['kind']>(kind: K): Extract<Logged, { kind: K }>[] {
    return this.log.filter((effect): effect is Extract<Logged, { kind: K }> => effect.kind === kind);
  }

  start(): this {
    return this.send({ kind: 'reconfigure' });
  }

  /** One event, and what the router and the relay do about its effects. */
  send(event: ConnectionEvent): this {
    this.#pending.push(event);
    for (let next = this.#pending.shift(); next; next = this.#pending.shift()) {
      const moment = { now: this.now, epoch: EPOCH + this.now, random: this.#random() };
      const { connection, effects } = stepConnection(this.connection, next, moment);
      this.connection = connection;
      for (const effect of effects) {
        this.log.push({ ...effect, at: this.now });
        this.#react(effect);
      }
    }
    return this;
  }

  /** Lets time pass, calling the machine whenever it wants to be called. */
  pass(ms: number): this {
    const end = this.now + ms;
    for (
      let next = connectionDeadline(this.connection);
      next <= end;
      next = connectionDeadline(this.connection)
    ) {
      this.now = Math.max(this.now, next);
      this.send({ kind: 'advance', buffered: this.buffered });
    }
    this.now = end;
    return this.send({ kind: 'advance', buffered: this.buffered });
  }

  /** The machine sleeps: the clock goes on, nothing is called, and waking is noticed. */
  sleep(ms: number): this {
    this.now += ms;
    this.send({ kind: 'woke' });
    return this.send({ kind: 'advance', buffered: this.buffered });
  }

  /** Answers both handshake tools. */
  goOnline(): this {
    this.send({ kind: 'answered', socket: this.socket, tool: 'describe_tools' });
    return this.send({ kind: 'answered', socket: this.socket, tool: 'workspace_info' });
  }

  close(code: number, socket = this.socket): this {
    return this.send({ kind: 'closed', socket, code });
  }

  #react(effect: ConnectionEffect): void {
    if (effect.kind === 'prepare') {
      if (this.routerHangs) return;
      const { number } = effect;
      const { decision } = this;
      this.#pending.push(
        decision ? { kind: 'prepared', number, decision } : { kind: 'prepare_failed', number },
      );
    } else if (effect.kind === 'open' && this.dialling !== 'hang') {
      const { socket } = effect;
      this.#pending.push(
        this.dialling === 'accept'
          ? { kind: 'opened', socket, protocol: 'endue-os.v1' }
          : { kind: 'closed', socket, code: 1006 },
      );
    } else if (effect.kind === 'ask_status') {
      this.#pending.push({ kind: 'handshake_status', socket: effect.socket, status: this.status });
    } else if (effect.kind === 'ping' && !this.silent.has(effect.socket)) {
      this.#pending.push({ kind: 'received', socket: effect.socket });
    }
  }
}
