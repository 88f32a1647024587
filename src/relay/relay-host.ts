/**
 * The relay host (design.md): holds the one socket, and joins the cores around it: the connection's state
 * machine, the desk of requests, the outbox. Everything it touches is passed in, so that it runs without
 * a browser; it decides nothing that a core could.
 */
import type { AnswerMessage, ConnectionState, RelayDiagnostics, ScreenFacts } from '../platform/messages';
import {
  PING_FRAME,
  type Progress,
  type RelayConfig,
  SUBPROTOCOL,
  TOKEN_SUBPROTOCOL_PREFIX,
} from '../protocol/frames';
import { utf8Length } from '../protocol/json';
import { DEFAULT_MAX_INLINE_BYTES } from '../protocol/limits';
import { readFrame } from '../protocol/read-frame';
import { blobAddress } from './blob-address';
import { type UploadParts, uploadBlob } from './blob-upload';
import { type Clock, sleep } from './clock';
import { type ComposeParts, composeAnswer } from './compose-answer';
import {
  type Connection,
  type ConnectionEffect,
  type ConnectionEvent,
  connectionDeadline,
  initialConnection,
  openSocket,
  shownState,
  stepConnection,
} from './connection';
import { Outbox } from './outbox';
import { type DeskParts, RequestDesk } from './request-desk';
import type { QueuedRequest } from './request-queue';
import { errorOutcome, type ResponseFrame, responseFrame } from './response-frame';
import { type AskRouter, RouterLine } from './router-line';
import { SleepWatch, WATCH_INTERVAL_MS } from './sleep-watch';
import type { CreateSocket, RelaySocket } from './socket';

export interface RelayHostParts extends UploadParts, Pick<ComposeParts, 'readBody' | 'base64' | 'shrink'> {
  createSocket: CreateSocket;
  router: AskRouter;
  /** Whether the computer says it has a network, at the start. */
  network: boolean;
  screen(): ScreenFacts;
  storages: DeskParts['storages'];
  complain: DeskParts['complain'];
  names: DeskParts['names'];
}

/** An answer of this size or more waits for a ping that is about to be due. */
const BIG_FRAME_BYTES = 64 * 1024;
/** How soon the socket's buffer is looked at again while answers wait for room in it. */
const PUMP_INTERVAL_MS = 20;
/** Of the time to the deadline, what is kept for sending inline what could not be uploaded. */
const FALLBACK_SHARE = 0.25;
const FALLBACK_MOST_MS = 2_000;
/** How long past the deadline an answer may still be in the making. */
const COMPOSE_GRACE_MS = 5_000;
/** How often a change of state is offered to a router that does not answer. */
const REPORT_TRIES = 6;
const CLOSED_ABNORMALLY = 1006;

type Listener = (connection: ConnectionState) => void;

export class RelayHost {
  readonly #parts: RelayHostParts;
  readonly #clock: Clock;
  readonly #line: RouterLine;
  readonly #watch: SleepWatch;
  readonly #outbox = new Outbox();
  readonly #desk: RequestDesk;
  readonly #listeners = new Set<Listener>();
  /** Whoever waits for an open socket, or for the news that none is needed any more. */
  #waitingForSocket: (() => void)[] = [];
  #connection: Connection;
  #socket: { number: number; socket: RelaySocket } | null = null;
  /** What the relay said last, also on an earlier connection: answers kept since then follow it too. */
  #config: RelayConfig = {};
  /** Of the uploads with the present enrollment's token. */
  #uploads = new AbortController();
  #woke = false;
  #held = false;
  #shown: ConnectionState | null = null;
  #reporting = false;
  #callOffTimer = (): void => {};
  #pumping = false;
  #dials = 0;
  readonly #closes = new Map<string, number>();
  readonly #dropped = new Map<string, number>();

  constructor(parts: RelayHostParts) {
    this.#parts = parts;
    this.#clock = parts.clock;
    this.#line = new RouterLine(parts.router, parts.clock);
    this.#watch = new SleepWatch(parts.clock.wall(), parts.clock.monotonic());
    this.#connection = initialConnection(parts.network);
    this.#desk = new RequestDesk({
      router: this.#line,
      outbox: this.#outbox,
      now: () => this.#now(),
      screen: parts.screen,
      storages: parts.storages,
      complain: parts.complain,
      names: parts.names,
      platform: () => originOf(this.#connection.dial?.endpoint ?? ''),
      sendNow: (text) => this.#sendNow(text),
      compose: (request, answer) => this.#compose(request, answer),
      changed: () => this.#followUp(),
    });
  }

  /** Asks the router whether to dial, and goes on by itself from there. */
  start(): void {
    this.reconfigure();
  }

  /** Enrollment, pause or policy changed. */
  reconfigure(): void {
    this.#dispatch({ kind: 'reconfigure' });
  }

  /** A person does not want to wait. */
  retryNow(): void {
    this.#dispatch({ kind: 'retry_now' });
  }

  /** The computer lost its network, or got one. */
  networkChanged(online: boolean): void {
    this.#dispatch({ kind: 'network', online });
  }

  /** The connection's state; waits until the first is known. */
  connection(): Promise<ConnectionState> {
    return new Promise((resolve) => {
      const stop = this.onConnection((connection) => {
        queueMicrotask(() => stop());
        resolve(connection);
      });
    });
  }

  /** Tells the listener the current state, if known, and every later one. Returns how to stop that. */
  onConnection(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#shown) listener(this.#shown);
    return () => this.#listeners.delete(listener);
  }

  /**
   * The address of the socket's relay, while there is an enrollment with `platform`: a job's token may go to its origin
   * only. A job may be handed over while another enrollment takes the place of the one that sent it.
   */
  endpointOf(platform: string): string | null {
    const endpoint = this.#connection.dial?.endpoint ?? null;
    return endpoint !== null && originOf(endpoint) === platform ? endpoint : null;
  }

  progress(id: string, progress: Progress): void {
    this.#desk.progress(id, progress);
  }

  diagnostics(): RelayDiagnostics {
    const { queued, running, answered } = this.#desk.counts;
    return {
      dropped_frames: Object.fromEntries(this.#dropped),
      dials: this.#dials,
      closes: Object.fromEntries(this.#closes),
      queued,
      running,
      kept_answers: this.#outbox.waiting + answered,
    };
  }

  // Time and steps

  /** Milliseconds of the clock that counts sleep. A noticed sleep becomes an event of the next step. */
  #now(): number {
    const { now, woke } = this.#watch.read(this.#clock.wall(), this.#clock.monotonic());
    this.#woke ||= woke;
    return now;
  }

  #dispatch(event: ConnectionEvent): void {
    this.#step(event);
    this.#followUp();
  }

  #step(event: ConnectionEvent): void {
    const now = this.#now();
    if (this.#woke) {
      this.#woke = false;
      this.#stepAt(now, { kind: 'woke' });
    }
    this.#stepAt(now, event);
  }

  #stepAt(now: number, event: ConnectionEvent): void {
    const moment = { now, epoch: this.#clock.wall(), random: this.#parts.random() };
    const { connection, effects } = stepConnection(this.#connection, event, moment);
    this.#connection = connection;
    for (const effect of effects) this.#perform(effect);
  }

  /** What every change may make necessary. */
  #followUp(): void {
    this.#pump();
    const held = this.#connection.phase.name === 'idle';
    if (held !== this.#held) {
      this.#held = held;
      this.#desk.hold(held);
    }
    this.#publish();
    this.#schedule();
  }

  #schedule(): void {
    this.#callOffTimer();
    const next = Math.min(connectionDeadline(this.#connection), this.#desk.nextDeadline());
    const ms = Math.min(Math.max(1, Math.ceil(next - this.#now())), WATCH_INTERVAL_MS);
    this.#callOffTimer = this.#clock.setTimer(() => this.#tick(), ms);
  }

  #tick(): void {
    this.#step({ kind: 'advance', buffered: this.#socket?.socket.buffered ?? 0 });
    this.#desk.advance();
    this.#followUp();
  }

  // What the state machine wants done

  #perform(effect: ConnectionEffect): void {
    switch (effect.kind) {
      case 'prepare':
        void this.#prepare(effect.number);
        break;
      case 'open':
        this.#open(effect.socket, effect.endpoint, effect.token);
        break;
      case 'close':
        this.#close(effect.socket, effect.code);
        count(this.#closes, effect.reason);
        break;
      case 'send_ready':
        this.#sendNow(JSON.stringify(effect.ready));
        this.#outbox.opened(effect.socket, this.#desk.ids());
        this.#releaseWaiting();
        break;
      case 'ping':
        this.#sendNow(PING_FRAME);
        break;
      case 'lost':
        this.#outbox.closed(this.#socket?.socket.buffered ?? 0, (id, content) =>
          this.#desk.isUnderWay(id, content),
        );
        break;
      case 'ask_status':
        void this.#askStatus(effect.socket);
        break;
      case 'token_stopped':
        void this.#tellStopped(effect.enrollment_id);
        break;
      case 'forget_requests':
        this.#desk.forgetAll();
        this.#uploads.abort();
        this.#uploads = new AbortController();
        this.#config = {};
        this.#desk.limit(undefined);
        this.#releaseWaiting();
        break;
    }
  }

  async #prepare(number: number): Promise<void> {
    try {
      const decision = await this.#line.once('dial.prepare', {});
      this.#dispatch({ kind: 'prepared', number, decision });
    } catch {
      this.#dispatch({ kind: 'prepare_failed', number });
    }
  }

  async #askStatus(socket: number): Promise<void> {
    const seen = await this.#line.once('dial.handshake_status', {}).catch(() => null);
    this.#dispatch({ kind: 'handshake_status', socket, status: seen?.status ?? null });
  }

  async #tellStopped(enrollmentId: string): Promise<void> {
    const stopped = (): boolean => this.#connection.stopped === enrollmentId;
    await this.#line.until('dial.token_stopped', () => ({ enrollment_id: enrollmentId }), stopped);
  }

  #open(number: number, endpoint: string, token: string): void {
    this.#dials += 1;
    try {
      const socket = this.#parts.createSocket(endpoint, [SUBPROTOCOL, TOKEN_SUBPROTOCOL_PREFIX + token], {
        opened: (protocol) => this.#dispatch({ kind: 'opened', socket: number, protocol }),
        received: (data) => this.#received(number, data),
        closed: (code) => this.#closed(number, code),
      });
      this.#socket = { number, socket };
    } catch {
      // What was thrown quotes the token: it goes nowhere.
      this.#socket = null;
      queueMicrotask(() => this.#closed(number, CLOSED_ABNORMALLY));
    }
  }

  #close(number: number, code: number): void {
    if (this.#socket?.number !== number) return;
    const { socket } = this.#socket;
    this.#socket = null;
    socket.close(code);
  }

  #closed(number: number, code: number): void {
    if (number === this.#connection.last_socket) count(this.#closes, String(code));
    this.#dispatch({ kind: 'closed', socket: number, code });
    if (this.#socket?.number === number) this.#socket = null;
  }

  // Frames

  #received(number: number, data: unknown): void {
    if (openSocket(this.#connection) !== number) return;
    this.#dispatch({ kind: 'received', socket: number });
    const frame = readFrame(data);
    switch (frame.kind) {
      case 'dropped':
        count(this.#dropped, frame.reason);
        break;
      case 'relay_config':
        this.#config = { ...this.#config, ...frame.config };
        this.#desk.limit(this.#config.max_concurrency);
        break;
      case 'cancel_request':
        this.#desk.cancel(frame.id);
        break;
      default:
        if (!this.#desk.receive(frame, number)) count(this.#dropped, 'unusable_id');
    }
  }

  /** The socket if frames may go by it. */
  #live(): RelaySocket | null {
    const current = this.#socket;
    return current?.number === openSocket(this.#connection) && current?.socket.open ? current.socket : null;
  }

  #sendNow(text: string): void {
    const socket = this.#live();
    if (!socket) return;
    socket.send(text);
    this.#outbox.handedOther(utf8Length(text));
  }

  /** Hands over the answers for which the socket has room. */
  #pump(): void {
    const socket = this.#live();
    const number = openSocket(this.#connection);
    if (!socket || number === null) return;
    this.#outbox.sent(socket.buffered);
    for (let next = this.#outbox.peek(socket.buffered); next; next = this.#outbox.peek(socket.buffered)) {
      if (next.bytes >= BIG_FRAME_BYTES) this.#step({ kind: 'big_frame_next' });
      socket.send(next.text);
      this.#outbox.handed();
      if (next.handshake) this.#step({ kind: 'answered', socket: number, tool: next.handshake });
    }
    if (!this.#outbox.busy || this.#pumping) return;
    this.#pumping = true;
    this.#clock.setTimer(() => {
      this.#pumping = false;
      this.#followUp();
    }, PUMP_INTERVAL_MS);
  }

  // Answers

  async #compose(request: QueuedRequest, answer: AnswerMessage): Promise<ResponseFrame> {
    // Without a connection an upload would only fail: the bytes lie safe with the router until then.
    if (answer.attachments.length > 0) await this.#untilOpen();
    const untilDeadline = Math.max(0, request.deadline - this.#now());
    const time = new AbortController();
    const composed = composeAnswer(
      request.id,
      answer,
      this.#config.max_inline_bytes ?? DEFAULT_MAX_INLINE_BYTES,
      {
        readBody: this.#parts.readBody,
        base64: this.#parts.base64,
        shrink: this.#parts.shrink,
        upload: this.#uploader(request),
      },
    );
    const late = sleep(this.#clock, untilDeadline + COMPOSE_GRACE_MS, time.signal).then(() =>
      responseFrame(request.id, errorOutcome('timeout'), answer.duration_ms),
    );
    try {
      return await Promise.race([composed, late]);
    } finally {
      time.abort();
    }
  }

  /** Bound to the enrollment of this moment: the request's own. */
  #uploader(request: QueuedRequest): ComposeParts['upload'] {
    const { dial } = this.#connection;
    const { blob_upload_url } = this.#config;
    const wanted = this.#desk.has(request);
    const { signal } = this.#uploads;
    return async ({ field, mime_type }, blob) => {
      const address = dial && wanted && blobAddress(dial.endpoint, blob_upload_url, request.id, field);
      if (!address) return null;
      const remaining = request.deadline - this.#now();
      const within_ms = remaining - Math.min(FALLBACK_MOST_MS, remaining * FALLBACK_SHARE);
      if (within_ms <= 0) return null;
      const upload = { address, token: dial.token, name: field, mime_type, blob, within_ms, signal };
      return uploadBlob(upload, this.#parts);
    };
  }

  #untilOpen(): Promise<void> {
    if (this.#live()) return Promise.resolve();
    return new Promise((resolve) => this.#waitingForSocket.push(resolve));
  }

  #releaseWaiting(): void {
    const waiting = this.#waitingForSocket;
    this.#waitingForSocket = [];
    for (const resolve of waiting) resolve();
  }

  // What others see

  #publish(): void {
    const shown = shownState(this.#connection);
    if (!shown || JSON.stringify(shown) === JSON.stringify(this.#shown)) return;
    this.#shown = shown;
    for (const listener of [...this.#listeners]) listener(shown);
    void this.#report();
  }

  /** Tells the router the newest state; what changes meanwhile is told after it. */
  async #report(): Promise<void> {
    if (this.#reporting) return;
    this.#reporting = true;
    for (let told: ConnectionState | null = null; this.#shown && told !== this.#shown; ) {
      const connection: ConnectionState = this.#shown;
      let tries = 0;
      const wanted = (): boolean => {
        tries += 1;
        return connection === this.#shown && tries <= REPORT_TRIES;
      };
      const heard = await this.#line.until('connection.changed', () => ({ connection }), wanted);
      if (!heard && connection === this.#shown) break;
      told = connection;
    }
    this.#reporting = false;
  }
}

function count(counters: Map<string, number>, key: string): void {
  counters.set(key, (counters.get(key) ?? 0) + 1);
}

/** The platform of an endpoint: a token that was rotated, or another path, is still the same one. */
function originOf(endpoint: string): string {
  return URL.canParse(endpoint) ? new URL(endpoint).origin : '';
}
