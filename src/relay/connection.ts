/**
 * The connection to the relay as a pure state machine (wire.md §2, §3, §5): events in, the next state and
 * what is to be done out. It knows neither sockets nor timers: every socket has a number here, events of a
 * number that is no longer current change nothing, and `connectionDeadline` says when to call again.
 * Times are milliseconds of one clock that counts sleep, unless they are called `epoch`.
 */
import type { ConnectionState, DialDecision } from '../platform/messages';
import {
  CLOSE_LIVENESS_FAILED,
  CLOSE_REPLACED,
  CLOSE_TOKEN_STOPPED,
  type ReadyFrame,
  SUBPROTOCOL,
} from '../protocol/frames';
import {
  LIVENESS_DEADLINE_MS,
  OPENING_DEADLINE_MS,
  PING_INTERVAL_MS,
  STABLE_ONLINE_MS,
} from '../protocol/limits';
import { backoffDelay, replacedWait } from './backoff';

/**
 * After waking, silence counts sooner: noticing the sleep takes up to 5 s, and the replacement must stand
 * within two ping intervals of waking. [ours]
 */
export const WOKEN_LIVENESS_MS = 25_000;
/**
 * A ping may go this much early, when a big frame would otherwise get in its way: half of what its interval may
 * be off, so that the one before may have been late. [ours]
 */
export const PING_EARLY_MS = 500;
/** A socket that sent at least this much since the last look is being read from. [ours] */
const DRAINING_BYTES = 16 * 1024;
/** How long a socket that was told to close may keep the next one from opening. [ours] */
export const LEAVING_MS = 1_000;
/** Answers of the router that take longer are given up. [ours] */
const PREPARE_DEADLINE_MS = 30_000;
const STATUS_DEADLINE_MS = 5_000;

const CLOSE_NORMAL = 1000;
const STATUS_UNAUTHORIZED = 401;

/** The tools whose answers make a connection online (wire.md §3). */
export type HandshakeTool = 'describe_tools' | 'workspace_info';

export type Dial = Extract<DialDecision, { dial: true }>;

interface OpenPhase {
  name: 'open';
  socket: number;
  ping_at: number;
  /** When silence will mean half-open; null while something came since the last ping. */
  dead_at: number | null;
  /** When something came last. */
  seen_at: number;
  /** Bytes the socket still had to send: the most since they were last seen to get fewer. */
  buffered: number;
  /** The machine woke and nothing has come since. */
  woken: boolean;
  answered: readonly HandshakeTool[];
  online: { at: number; epoch: number } | null;
}

type Phase =
  | { name: 'idle'; because: Extract<DialDecision, { dial: false }>['because'] }
  /** Wants to dial and is asking whether, and with what. */
  | { name: 'preparing' }
  /** May dial, but a socket that was told to close has not yet. */
  | { name: 'holding' }
  | { name: 'opening'; socket: number; since: number; hurry: boolean }
  | { name: 'asking_status'; socket: number; since: number; hurry: boolean }
  | OpenPhase
  | { name: 'waiting'; until: number; until_epoch: number; replaced: boolean };

/** The question to the router whether to dial: asked, or to be asked again after it failed. */
type Preparation = { number: number; until: number; asked: boolean };

export interface Connection {
  readonly phase: Phase;
  /** What was decided last; null before that, and while not enrolled. */
  readonly dial: Dial | null;
  /** The enrollment whose token was refused for good. */
  readonly stopped: string | null;
  /** Attempts that failed since the doubling started. */
  readonly attempt: number;
  readonly last_socket: number;
  readonly preparation: Preparation | null;
  readonly last_preparation: number;
  readonly preparation_failures: number;
  /** A socket that was told to close and has not said that it is. */
  readonly leaving: { socket: number; until: number } | null;
  /** Whether the computer says it has a network. */
  readonly network: boolean;
}

export type ConnectionEvent =
  /** The start, and whenever enrollment, pause or policy changed. */
  | { kind: 'reconfigure' }
  | { kind: 'prepared'; number: number; decision: DialDecision }
  | { kind: 'prepare_failed'; number: number }
  | { kind: 'opened'; socket: number; protocol: string }
  | { kind: 'closed'; socket: number; code: number }
  | { kind: 'handshake_status'; socket: number; status: number | null }
  /** Anything at all came (rule 1: whatever arrives counts as life). */
  | { kind: 'received'; socket: number }
  | { kind: 'answered'; socket: number; tool: HandshakeTool }
  /** A frame so big that a ping would have to wait behind it is about to go. */
  | { kind: 'big_frame_next' }
  /** Time passed; `buffered` is what the current socket has not sent yet. */
  | { kind: 'advance'; buffered: number }
  | { kind: 'woke' }
  | { kind: 'network'; online: boolean }
  | { kind: 'retry_now' };

export type CloseReason = 'not_wanted' | 'opening_deadline' | 'wrong_protocol' | 'half_open';

export type ConnectionEffect =
  | { kind: 'prepare'; number: number }
  | { kind: 'open'; socket: number; endpoint: string; token: string }
  /** Close it, and expect nothing of it any more. */
  | { kind: 'close'; socket: number; code: number; reason: CloseReason }
  | { kind: 'send_ready'; socket: number; ready: ReadyFrame }
  | { kind: 'ping'; socket: number }
  /** An open socket is of no use any more: what it did not send is to be kept. */
  | { kind: 'lost'; socket: number }
  | { kind: 'ask_status'; socket: number }
  | { kind: 'token_stopped'; enrollment_id: string }
  /** Another enrollment rules, or none: what the former relay asked for concerns nobody any more. */
  | { kind: 'forget_requests' };

export interface Moment {
  now: number;
  epoch: number;
  /** In [0, 1). */
  random: number;
}

export function initialConnection(network: boolean): Connection {
  return {
    phase: { name: 'preparing' },
    dial: null,
    stopped: null,
    attempt: 0,
    last_socket: 0,
    preparation: null,
    last_preparation: 0,
    preparation_failures: 0,
    leaving: null,
    network,
  };
}

/** One step of the machine; `before` is not changed. */
export function stepConnection(
  before: Connection,
  event: ConnectionEvent,
  moment: Moment,
): { connection: Connection; effects: ConnectionEffect[] } {
  const step = new Step(before, moment);
  step.take(event);
  return { connection: step.next, effects: step.effects };
}

/** When to send `advance` at the latest; Infinity when nothing is awaited. */
export function connectionDeadline({ phase, preparation, leaving }: Connection): number {
  return Math.min(
    phaseDeadline(phase),
    preparation?.until ?? Number.POSITIVE_INFINITY,
    leaving?.until ?? Number.POSITIVE_INFINITY,
  );
}

function phaseDeadline(phase: Phase): number {
  switch (phase.name) {
    case 'opening':
      return phase.since + OPENING_DEADLINE_MS;
    case 'asking_status':
      return phase.since + STATUS_DEADLINE_MS;
    case 'open':
      return Math.min(phase.ping_at, phase.dead_at ?? Number.POSITIVE_INFINITY);
    case 'waiting':
      return phase.until;
    default:
      return Number.POSITIVE_INFINITY;
  }
}

/** The number of the socket that is open, or null. */
export function openSocket({ phase }: Connection): number | null {
  return phase.name === 'open' ? phase.socket : null;
}

/** What a person sees (ui.md, States); null until it is known. */
export function shownState(connection: Connection): ConnectionState | null {
  const { phase, dial } = connection;
  if (phase.name === 'idle') return phase.because;
  if (!dial) return null;
  const host = hostOf(dial);
  // A first attempt is shown as one; after that, "offline" says why the attempts fail.
  const offline = !connection.network && connection.attempt > 0 && !isLoopback(dial);
  switch (phase.name) {
    case 'open':
      return phase.online
        ? { state: 'online', host, since: phase.online.epoch }
        : { state: 'handshaking', host };
    case 'waiting':
      if (phase.replaced) return { state: 'replaced', host, until: phase.until_epoch };
      return offline ? { state: 'no_network', host } : { state: 'waiting', host, until: phase.until_epoch };
    default:
      return { state: offline ? 'no_network' : 'connecting', host };
  }
}

function hostOf({ endpoint }: Dial): string {
  return URL.canParse(endpoint) ? new URL(endpoint).host : '';
}

/** A relay on this computer needs no network. */
function isLoopback({ endpoint }: Dial): boolean {
  if (!URL.canParse(endpoint)) return false;
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(endpoint).hostname);
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

class Step {
  readonly next: Writable<Connection>;
  readonly effects: ConnectionEffect[] = [];
  readonly #moment: Moment;

  constructor(before: Connection, moment: Moment) {
    this.next = { ...before };
    this.#moment = moment;
  }

  take(event: ConnectionEvent): void {
    switch (event.kind) {
      case 'reconfigure':
        this.#prepare();
        break;
      case 'prepared':
        this.#prepared(event.number, event.decision);
        break;
      case 'prepare_failed':
        this.#prepareFailed(event.number);
        break;
      case 'opened':
        this.#opened(event.socket, event.protocol);
        break;
      case 'closed':
        this.#closed(event.socket, event.code);
        break;
      case 'handshake_status':
        this.#handshakeStatus(event.socket, event.status);
        break;
      case 'received':
        this.#received(event.socket);
        break;
      case 'answered':
        this.#answered(event.socket, event.tool);
        break;
      case 'big_frame_next':
        this.#bigFrameNext();
        break;
      case 'advance':
        this.#advance(event.buffered);
        break;
      case 'woke':
        this.#woke();
        break;
      case 'network':
        this.next.network = event.online;
        if (event.online) this.#hurry();
        break;
      case 'retry_now':
        // A person who looks again and again does not make the waiting longer.
        if (this.next.phase.name === 'waiting') {
          if (!this.next.phase.replaced) this.next.attempt = Math.max(0, this.next.attempt - 1);
          this.#dialNow();
        } else this.#hurry();
        break;
    }
  }

  // Asking the router

  #prepare(): void {
    const number = this.next.last_preparation + 1;
    this.next.last_preparation = number;
    this.next.preparation = { number, until: this.#moment.now + PREPARE_DEADLINE_MS, asked: true };
    this.effects.push({ kind: 'prepare', number });
  }

  #prepareFailed(number: number): void {
    const { preparation, preparation_failures } = this.next;
    if (!preparation?.asked || preparation.number !== number) return;
    const until = this.#moment.now + backoffDelay(preparation_failures, this.#moment.random);
    this.next.preparation = { number, until, asked: false };
    this.next.preparation_failures = preparation_failures + 1;
  }

  #prepared(number: number, decision: DialDecision): void {
    const { preparation } = this.next;
    if (!preparation?.asked || preparation.number !== number) return;
    this.next.preparation = null;
    this.next.preparation_failures = 0;
    if (decision.dial) this.#wanted(decision);
    else this.#unwanted(decision.because);
  }

  #unwanted(because: Extract<Phase, { name: 'idle' }>['because']): void {
    this.#leave();
    if (because.state === 'not_enrolled') this.#forget();
    this.next.phase = { name: 'idle', because };
  }

  #wanted(dial: Dial): void {
    const { dial: former, phase } = this.next;
    if (dial.enrollment_id === this.next.stopped) {
      // The router had not heard of it yet: never dial with this token again (rule 6).
      this.#leave();
      this.next.dial = dial;
      this.#stop();
      return;
    }
    const changed = former !== null && former.enrollment_id !== dial.enrollment_id;
    if (changed) {
      this.#leave();
      this.#forget();
    }
    this.next.stopped = null;
    this.next.dial = dial;
    if (changed || phase.name === 'idle' || phase.name === 'preparing') this.#open();
  }

  #forget(): void {
    this.next.dial = null;
    this.next.attempt = 0;
    this.effects.push({ kind: 'forget_requests' });
  }

  // Opening

  /** The way to every dial: first the router is woken and asked (wire.md §2, the 401 watch). */
  #dialNow(): void {
    this.next.phase = { name: 'preparing' };
    this.#prepare();
  }

  #open(): void {
    const { dial, leaving } = this.next;
    if (!dial) return;
    if (leaving) {
      this.next.phase = { name: 'holding' };
      return;
    }
    const socket = this.next.last_socket + 1;
    this.next.last_socket = socket;
    this.next.phase = { name: 'opening', socket, since: this.#moment.now, hurry: false };
    this.effects.push({ kind: 'open', socket, endpoint: dial.endpoint, token: dial.token });
  }

  #opened(socket: number, protocol: string): void {
    const { phase, dial } = this.next;
    if (phase.name !== 'opening' || phase.socket !== socket || !dial) return;
    if (protocol !== SUBPROTOCOL) {
      this.#close(socket, CLOSE_NORMAL, 'wrong_protocol');
      this.#failed(phase.hurry);
      return;
    }
    this.next.phase = {
      name: 'open',
      socket,
      ping_at: this.#moment.now + PING_INTERVAL_MS,
      dead_at: null,
      seen_at: this.#moment.now,
      buffered: 0,
      woken: false,
      answered: [],
      online: null,
    };
    this.effects.push({ kind: 'send_ready', socket, ready: dial.ready });
  }

  #handshakeStatus(socket: number, status: number | null): void {
    const { phase } = this.next;
    if (phase.name !== 'asking_status' || phase.socket !== socket) return;
    if (status === STATUS_UNAUTHORIZED) this.#stop();
    else this.#failed(phase.hurry);
  }

  /** A failed attempt, or a connection that ended: the next one comes after the backoff, or at once. */
  #failed(hurry: boolean): void {
    if (hurry) this.#dialNow();
    else {
      this.#wait(backoffDelay(this.next.attempt, this.#moment.random), false);
      this.next.attempt += 1;
    }
  }

  #wait(ms: number, replaced: boolean): void {
    const { now, epoch } = this.#moment;
    this.next.phase = { name: 'waiting', until: now + ms, until_epoch: epoch + ms, replaced };
  }

  /** Rule 7: `online` events and waking retry at once, except in the 1012 wait. */
  #hurry(): void {
    const { phase, preparation } = this.next;
    if (phase.name === 'waiting' && !phase.replaced) this.#dialNow();
    else if (phase.name === 'opening' || phase.name === 'asking_status') {
      this.next.phase = { ...phase, hurry: true };
    } else if (preparation && !preparation.asked) this.#prepare();
  }

  // Ending

  #close(socket: number, code: number, reason: CloseReason): void {
    this.effects.push({ kind: 'close', socket, code, reason });
    this.next.leaving = { socket, until: this.#moment.now + LEAVING_MS };
  }

  /** Leaves the current socket, if there is one, because it is no longer wanted. */
  #leave(): void {
    const { phase } = this.next;
    if (phase.name === 'open') this.effects.push({ kind: 'lost', socket: phase.socket });
    if (phase.name === 'open' || phase.name === 'opening') {
      this.#close(phase.socket, CLOSE_NORMAL, 'not_wanted');
    }
  }

  #closed(socket: number, code: number): void {
    const { phase, leaving } = this.next;
    if (leaving?.socket === socket) this.#left();
    else if (phase.name === 'opening' && phase.socket === socket) {
      const { hurry } = phase;
      this.next.phase = { name: 'asking_status', socket, since: this.#moment.now, hurry };
      this.effects.push({ kind: 'ask_status', socket });
    } else if (phase.name === 'open' && phase.socket === socket) {
      this.effects.push({ kind: 'lost', socket });
      this.#startOverIfStable(phase, phase.woken ? phase.seen_at : this.#moment.now);
      if (code === CLOSE_TOKEN_STOPPED) this.#stop();
      else if (code === CLOSE_REPLACED) this.#wait(replacedWait(this.#moment.random), true);
      else this.#failed(phase.woken);
    }
  }

  #left(): void {
    this.next.leaving = null;
    if (this.next.phase.name === 'holding') this.#open();
  }

  #halfOpen(phase: OpenPhase): void {
    this.effects.push({ kind: 'lost', socket: phase.socket });
    this.#close(phase.socket, CLOSE_LIVENESS_FAILED, 'half_open');
    this.#startOverIfStable(phase, phase.seen_at);
    this.#failed(phase.woken);
  }

  /** Rule 7: only a connection that stayed online 60 s lets the doubling start over. */
  #startOverIfStable({ online }: OpenPhase, lastSeen: number): void {
    if (online && lastSeen - online.at >= STABLE_ONLINE_MS) this.next.attempt = 0;
  }

  /** Rule 6: never again with this token. */
  #stop(): void {
    const { dial } = this.next;
    if (!dial) return;
    this.next.stopped = dial.enrollment_id;
    this.next.phase = { name: 'idle', because: { state: 'token_stopped', host: hostOf(dial) } };
    this.effects.push({ kind: 'token_stopped', enrollment_id: dial.enrollment_id });
  }

  // While open

  #ifOpen(change: (phase: OpenPhase) => Partial<OpenPhase>): void {
    const { phase } = this.next;
    if (phase.name === 'open') this.next.phase = { ...phase, ...change(phase) };
  }

  #received(socket: number): void {
    const seen_at = this.#moment.now;
    this.#ifOpen((phase) => (phase.socket === socket ? { seen_at, dead_at: null, woken: false } : {}));
  }

  #answered(socket: number, tool: HandshakeTool): void {
    this.#ifOpen((phase) => {
      if (phase.socket !== socket || phase.answered.includes(tool)) return {};
      const answered = [...phase.answered, tool];
      const { now, epoch } = this.#moment;
      return { answered, online: answered.length === 2 ? { at: now, epoch } : null };
    });
  }

  #ping(): void {
    const { now } = this.#moment;
    this.#ifOpen((phase) => {
      this.effects.push({ kind: 'ping', socket: phase.socket });
      return { ping_at: now + PING_INTERVAL_MS, dead_at: phase.dead_at ?? now + LIVENESS_DEADLINE_MS };
    });
  }

  #bigFrameNext(): void {
    const { phase } = this.next;
    if (phase.name === 'open' && phase.ping_at - this.#moment.now <= PING_EARLY_MS) this.#ping();
  }

  #woke(): void {
    if (this.next.phase.name !== 'open') {
      this.#hurry();
      return;
    }
    this.#ping();
    this.#ifOpen(() => ({ woken: true, dead_at: this.#moment.now + WOKEN_LIVENESS_MS }));
  }

  // Time

  #advance(buffered: number): void {
    const { now } = this.#moment;
    const { leaving, preparation } = this.next;
    if (leaving && now >= leaving.until) this.#left();
    if (preparation && now >= preparation.until) {
      if (preparation.asked) this.#prepareFailed(preparation.number);
      else this.#prepare();
    }
    const { phase } = this.next;
    if (phase.name === 'open') this.#advanceOpen(phase, buffered);
    else if (now < phaseDeadline(phase)) return;
    else if (phase.name === 'opening') {
      this.#close(phase.socket, CLOSE_NORMAL, 'opening_deadline');
      this.#failed(phase.hurry);
    } else if (phase.name === 'asking_status') this.#failed(phase.hurry);
    else if (phase.name === 'waiting') this.#dialNow();
  }

  #advanceOpen(phase: OpenPhase, buffered: number): void {
    const { now } = this.#moment;
    // While much is being sent, the ping stands behind it and its echo cannot come yet; that the other
    // side goes on taking bytes shows it alive. Small frames prove nothing: the network stack takes them.
    const draining = phase.buffered - buffered >= DRAINING_BYTES;
    const dead_at =
      phase.dead_at !== null && draining
        ? Math.max(phase.dead_at, now + LIVENESS_DEADLINE_MS)
        : phase.dead_at;
    this.next.phase = {
      ...phase,
      dead_at,
      buffered: draining ? buffered : Math.max(buffered, phase.buffered),
    };
    if (dead_at !== null && now >= dead_at) this.#halfOpen(phase);
    else if (now >= phase.ping_at) this.#ping();
  }
}
