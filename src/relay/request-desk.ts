/**
 * The relay host's promise for requests (wire.md §5, design.md): each is acked at once and answered once,
 * by its deadline, even if the router dies. Decides nothing about frames' bytes and holds no socket: both
 * are passed in.
 */
import type { AnswerMessage, ScreenFacts, StorageOverview } from '../platform/messages';
import type { ErrorCode } from '../protocol/errors';
import type { Progress, ToolAckFrame } from '../protocol/frames';
import type { JsonValue } from '../protocol/json';
import type { ReadFrame } from '../protocol/read-frame';
import { contentOf, type RequestNames } from '../protocol/request-names';
import type { HandshakeTool } from './connection';
import type { Outbox } from './outbox';
import { ProgressThrottle } from './progress-throttle';
import { type QueuedRequest, type ReceivedRequest, RequestQueue, requestText } from './request-queue';
import { isTooLarge, standIn, TOO_LARGE } from './request-size';
import { errorOutcome, isAnswerable, type ResponseFrame, responseFrame } from './response-frame';
import type { RouterLine } from './router-line';

export type RequestFrame = Extract<ReadFrame, { kind: 'tool_request' | 'malformed_request' }>;

export interface DeskParts {
  router: RouterLine;
  outbox: Outbox;
  /** Milliseconds of the clock that counts sleep. */
  now(): number;
  screen(): ScreenFacts;
  storages: {
    /** True when it is known that nothing is attached. */
    readonly isEmpty: boolean;
    /** What is attached; null when it is not known in time. */
    facts(): Promise<StorageOverview[] | null>;
  };
  /** Origin of the relay. */
  platform(): string;
  /** The ledger's names of a request. Never rejects. */
  names(platform: string, id: string, content: string): Promise<RequestNames>;
  /** What is wrong with the input of a tool, as a sentence; null when it fits or there is no such tool. Never throws. */
  complain(command: string, input: JsonValue): string | null;
  /** Sends a small frame at once, ahead of all answers; does nothing while no socket is open. */
  sendNow(text: string): void;
  /** Makes an answer into its frame, which may take an upload. Never rejects. */
  compose(request: QueuedRequest, answer: AnswerMessage): Promise<ResponseFrame>;
  /** Something was put into the outbox, or deadlines changed. */
  changed(): void;
}

/** A router that says "still running" without having waited is not asked again sooner than this. */
const ASK_GAP_MS = 250;
/** The deadline of the answer to a malformed request: nothing runs for it. */
const MALFORMED_TIMEOUT_MS = 60_000;

/** The tool that tells what is attached: it comes with the request, so that the router need not ask for it. */
const TELLS_STORAGES = 'workspace_info';

const HANDSHAKE_TOOLS: readonly (string | null)[] = ['describe_tools', 'workspace_info'];

export class RequestDesk {
  readonly #parts: DeskParts;
  readonly #queue = new RequestQueue();
  readonly #progress = new ProgressThrottle();

  constructor(parts: DeskParts) {
    this.#parts = parts;
  }

  /** Takes a request that came by socket `socket`; false when its id is too long for any frame. */
  receive(frame: RequestFrame, socket: number): boolean {
    const id = frame.kind === 'tool_request' ? frame.request.id : frame.id;
    if (!isAnswerable(id)) return false;
    const ack: ToolAckFrame = { type: 'tool_ack', id };
    this.#parts.sendNow(JSON.stringify(ack));
    const received = { id, socket, ...this.#partsOf(frame) };
    // The answer that still waits there is the answer of this resend too.
    if (this.#parts.outbox.keeps(id, received.content)) return true;
    const taken = this.#queue.receive(received, this.#parts.now());
    if (taken.as === 'conflict') this.#answerConflict(id, socket);
    else if (taken.request.stage === 'unheard') this.#answerFromHere(taken.request);
    this.#start();
    return true;
  }

  cancel(id: string): void {
    const cancelled = this.#queue.cancel(id);
    if (!cancelled) return;
    const { request, by } = cancelled;
    if (by === 'settling') void this.#settle(request);
    else void this.#tellCancel(request);
    this.#parts.changed();
  }

  progress(id: string, progress: Progress): void {
    if (!this.#queue.isRunning(id)) return;
    this.#progress.report(id, progress);
    this.advance();
  }

  /** `max_concurrency` of the relay; undefined when it named none. */
  limit(maxConcurrency: number | undefined): void {
    this.#queue.limit(maxConcurrency);
    this.#start();
  }

  /** While held, nothing that waits is started. */
  hold(held: boolean): void {
    this.#queue.hold(held);
    this.#start();
  }

  /** Does what is due. */
  advance(): void {
    const now = this.#parts.now();
    for (const request of this.#queue.expired(now)) void this.#settle(request);
    for (const request of this.#queue.overdue(now)) this.#answerFromHere(request);
    for (const frame of this.#progress.due(now)) this.#parts.sendNow(JSON.stringify(frame));
    this.#start();
  }

  nextDeadline(): number {
    return Math.min(this.#queue.nextDeadline(), this.#progress.nextDeadline());
  }

  /** Another enrollment rules, or none: nobody waits for the answers any more; what runs is told to stop. */
  forgetAll(): void {
    const running = this.#queue.clear();
    this.#progress.clear();
    this.#parts.outbox.clear();
    for (const { id } of running) {
      // If the router is dead, so is the run.
      this.#parts.router.once('request.cancel', { id: JSON.stringify(id) }).catch(() => undefined);
    }
  }

  get counts(): { queued: number; running: number; answered: number } {
    return this.#queue.counts;
  }

  /** True while an answer to exactly this is to come. */
  isUnderWay(id: string, content: string): boolean {
    return this.#queue.isUnderWay(id, content);
  }

  /** The ids that are owed an answer. */
  ids(): Iterable<string> {
    return this.#queue.ids();
  }

  /** False once a request was answered or forgotten. */
  has(request: QueuedRequest): boolean {
    return this.#queue.has(request);
  }

  #partsOf(frame: RequestFrame): Omit<ReceivedRequest, 'id' | 'socket'> {
    const parts = this.#wholePartsOf(frame);
    const { command, content } = parts;
    if (!isTooLarge(content)) return parts;
    return { ...parts, content: standIn(command, content), malformed: TOO_LARGE, invalid: null };
  }

  #wholePartsOf(frame: RequestFrame): Omit<ReceivedRequest, 'id' | 'socket'> {
    if (frame.kind === 'tool_request') {
      const { command, input, timeout_ms } = frame.request;
      const content = contentOf(command, input);
      return { command, content, malformed: null, invalid: this.#parts.complain(command, input), timeout_ms };
    }
    const command = typeof frame.command === 'string' ? frame.command : null;
    return {
      command,
      content: contentOf(command, frame.input),
      malformed: frame.sentence,
      invalid: null,
      timeout_ms: MALFORMED_TIMEOUT_MS,
    };
  }

  #start(): void {
    for (const request of this.#queue.start()) void this.#run(request);
    this.#parts.changed();
  }

  async #run(request: QueuedRequest): Promise<void> {
    const { router, now, screen, storages } = this.#parts;
    const tells = request.command === TELLS_STORAGES && !storages.isEmpty;
    const [text, asked] = await Promise.all([this.#textOf(request), tells ? storages.facts() : null]);
    const running = (): boolean => this.#queue.has(request) && request.stage === 'running';
    const input = () => ({
      request: text,
      remaining_ms: Math.max(1, request.deadline - now()),
      screen: screen(),
      storages: storages.isEmpty ? [] : asked,
      cancelled: request.cancelled,
    });
    while (running()) {
      const askedAt = now();
      const reply = await router.until('request.run', input, running);
      if (reply && !reply.running) {
        await this.#answer(request, reply.answer);
        return;
      }
      await router.pause(askedAt + ASK_GAP_MS - now());
    }
  }

  async #settle(request: QueuedRequest): Promise<void> {
    const input = { request: await this.#textOf(request), code: request.settle_as };
    // Asked on even after the answer left from here: a resend must not run what was answered.
    const wanted = (): boolean => this.#queue.has(request) && request.stage !== 'answered';
    const reply = await this.#parts.router.until('request.settle', () => input, wanted);
    if (reply) await this.#answer(request, reply.answer);
  }

  async #textOf(request: QueuedRequest): Promise<string> {
    const platform = this.#parts.platform();
    return requestText(request, platform, await this.#parts.names(platform, request.id, request.content));
  }

  async #tellCancel({ id }: QueuedRequest): Promise<void> {
    const running = (): boolean => this.#queue.isRunning(id);
    await this.#parts.router.until('request.cancel', () => ({ id: JSON.stringify(id) }), running);
  }

  async #answer(request: QueuedRequest, answer: AnswerMessage): Promise<void> {
    if (!this.#queue.answer(request)) return;
    this.#endProgress(request.id);
    this.#start();
    const frame = await this.#parts.compose(request, answer);
    if (!this.#queue.has(request)) return;
    this.#queue.finish(request);
    this.#put(request, frame);
  }

  /** The router did not even settle it: the answer comes from here. */
  #answerFromHere(request: QueuedRequest): void {
    const duration = this.#parts.now() - request.received_at;
    this.#endProgress(request.id);
    this.#put(request, responseFrame(request.id, errorOutcome(request.settle_as), Math.round(duration)));
  }

  #endProgress(id: string): void {
    if (!this.#queue.isRunning(id)) this.#progress.forget(id);
  }

  #answerConflict(id: string, socket: number): void {
    const code: ErrorCode = 'request_id_conflict';
    const { text, bytes } = responseFrame(id, errorOutcome(code), 0);
    this.#parts.outbox.put({ id, content: null, socket, text, bytes, handshake: null });
    this.#parts.changed();
  }

  #put({ id, content, socket, command }: QueuedRequest, { text, bytes, status }: ResponseFrame): void {
    const handshake =
      status === 'ok' && HANDSHAKE_TOOLS.includes(command) ? (command as HandshakeTool) : null;
    this.#parts.outbox.put({ id, content, socket, text, bytes, handshake });
    this.#parts.changed();
  }
}
