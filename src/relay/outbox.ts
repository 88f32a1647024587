/**
 * Answers on their way to the relay (wire.md §5, §8): they wait here for a socket and for room in its
 * buffer, and come back when a socket closed before it had sent them. Pure bookkeeping over numbers and
 * texts; whoever owns it holds the socket.
 */
import type { HandshakeTool } from './connection';

/**
 * The next answer goes only when the socket has less than this to send: what stands in its buffer is in
 * front of the next ping. [ours]
 */
export const LITTLE_BUFFERED_BYTES = 64 * 1024;

export interface OutgoingAnswer {
  readonly id: string;
  /** What was asked (see `contentOf`); null for a conflict that was answered without the router. */
  readonly content: string | null;
  /** The socket by which the request, or its last resend, came. */
  readonly socket: number;
  readonly text: string;
  /** UTF-8 bytes of `text`. */
  readonly bytes: number;
  /** The handshake tool that it answers well, if it does. */
  readonly handshake: HandshakeTool | null;
}

export class Outbox {
  #waiting: OutgoingAnswer[] = [];
  /** Handed to the current socket; `end` is how much had been handed to it with this answer. */
  #handed: { answer: OutgoingAnswer; end: number }[] = [];
  #total = 0;
  #socket: number | null = null;
  /** The ids that were owed an answer when the socket opened: of the others nothing can be kept. */
  #earlier: ReadonlySet<string> = new Set();
  /** What of those was answered by this socket. */
  readonly #answeredHere = new Set<string>();

  put(answer: OutgoingAnswer): void {
    this.#waiting.push(answer);
  }

  /** A socket opened: what was kept is to go by it. `underWay` are the ids that will be answered later. */
  opened(socket: number, underWay: Iterable<string>): void {
    this.#socket = socket;
    this.#total = 0;
    this.#earlier = new Set([...underWay, ...this.#waiting.map(({ id }) => id)]);
    this.#answeredHere.clear();
  }

  /**
   * The socket closed with `buffered` bytes unsent: answers that had not left come back, in their order,
   * except to what is `underWay` again: that will be answered anyway.
   */
  closed(buffered: number, underWay: (id: string, content: string) => boolean): void {
    this.sent(buffered);
    const unsent = this.#handed.map(({ answer }) => answer);
    this.#waiting.unshift(...unsent.filter(({ id, content }) => content === null || !underWay(id, content)));
    this.#handed = [];
    this.#socket = null;
  }

  /** Something else than an answer was handed to the socket. */
  handedOther(bytes: number): void {
    this.#total += bytes;
  }

  /** The answer that would go next, given the socket's unsent bytes; null when there is none to go now. */
  peek(buffered: number): OutgoingAnswer | null {
    if (this.#socket === null || buffered >= LITTLE_BUFFERED_BYTES) return null;
    while (this.#waiting[0] && this.#wasDelivered(this.#waiting[0])) this.#waiting.shift();
    return this.#waiting[0] ?? null;
  }

  /** The first waiting answer was handed to the socket. */
  handed(): void {
    const answer = this.#waiting.shift();
    if (!answer) return;
    this.#total += answer.bytes;
    this.#handed.push({ answer, end: this.#total });
    if (answer.content !== null && this.#earlier.has(answer.id)) this.#answeredHere.add(keyOf(answer));
  }

  /** The socket has `buffered` bytes unsent: what lies before them has left. */
  sent(buffered: number): void {
    const left = this.#total - buffered;
    this.#handed = this.#handed.filter(({ end }) => end > left);
  }

  /** True while an answer to exactly this waits here. */
  keeps(id: string, content: string): boolean {
    return this.#waiting.some((answer) => answer.id === id && answer.content === content);
  }

  /** Forgets all answers: they are nobody's business any more. */
  clear(): void {
    this.#waiting = [];
    this.#handed = [];
  }

  /** Answers that wait for a socket or for room in its buffer. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** True while answers wait or have not left: look at the socket's buffer again soon. */
  get busy(): boolean {
    return this.#waiting.length > 0 || this.#handed.length > 0;
  }

  /** §8: a kept answer that a resend already delivered is not sent twice on the same socket. */
  #wasDelivered(answer: OutgoingAnswer): boolean {
    return answer.socket !== this.#socket && this.#answeredHere.has(keyOf(answer));
  }
}

/** One text per id and content. */
function keyOf({ id, content }: OutgoingAnswer): string {
  return JSON.stringify([id, content]);
}
