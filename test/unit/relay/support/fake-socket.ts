/** Sockets to a relay that a test speaks for: they take time to send, stall, and close as they are told. */
import type { RelaySocket, SocketEvents } from '../../../../src/relay/socket';
import type { FakeClock } from './fake-clock';

export interface Arrived {
  at: number;
  text: string;
  frame: Record<string, unknown>;
}

export class FakeSocket implements RelaySocket {
  readonly number: number;
  readonly endpoint: string;
  readonly protocols: string[];
  /** What reached the relay. */
  readonly arrived: Arrived[] = [];
  /** The code the agent closed it with. */
  closedWith: number | null = null;
  state: 'opening' | 'open' | 'closing' | 'closed' = 'opening';
  buffered = 0;
  /** Bytes per millisecond. */
  rate = Number.POSITIVE_INFINITY;
  /** Nothing passes any more, in neither direction, and nobody says so. */
  stalled = false;
  onArrived: (arrived: Arrived) => void = () => {};
  readonly #events: SocketEvents;
  readonly #clock: FakeClock;
  readonly #sending: string[] = [];
  #busy = false;

  constructor(number: number, endpoint: string, protocols: string[], events: SocketEvents, clock: FakeClock) {
    this.number = number;
    this.endpoint = endpoint;
    this.protocols = protocols;
    this.#events = events;
    this.#clock = clock;
  }

  get open(): boolean {
    return this.state === 'open';
  }

  /** Frames of one type that arrived. */
  of(type: string): Arrived[] {
    return this.arrived.filter(({ frame }) => frame.type === type);
  }

  /** The answers that arrived for an id. */
  answers(id: string): Record<string, unknown>[] {
    return this.of('tool_response').flatMap(({ frame }) => (frame.id === id ? [frame] : []));
  }

  accept(protocol = 'endue-os.v1'): void {
    if (this.state !== 'opening') return;
    this.state = 'open';
    this.#events.opened(protocol);
  }

  /** The relay says something. */
  say(frame: unknown): void {
    if (this.stalled || this.state !== 'open') return;
    this.#events.received(
      typeof frame === 'object' && !(frame instanceof ArrayBuffer) ? JSON.stringify(frame) : frame,
    );
  }

  /** The connection ends; what was not sent is lost. */
  end(code: number): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.#events.closed(code);
  }

  send(text: string): void {
    if (this.state === 'opening') throw new Error('not open yet');
    const bytes = Buffer.byteLength(text);
    this.buffered += bytes;
    if (this.state !== 'open') return;
    this.#sending.push(text);
    void this.#sendAll();
  }

  close(code: number): void {
    this.closedWith = code;
    if (this.state === 'closed') return;
    this.state = 'closing';
    // A relay that hears it answers; one that does not leaves it closing.
    if (!this.stalled) this.#clock.setTimer(() => this.end(code), 1);
  }

  async #sendAll(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    for (let text = this.#sending[0]; text !== undefined; text = this.#sending[0]) {
      const bytes = Buffer.byteLength(text);
      if (this.rate === Number.POSITIVE_INFINITY) await Promise.resolve();
      else await new Promise<void>((resolve) => this.#clock.setTimer(resolve, bytes / this.rate));
      if (this.stalled || this.state === 'closed') return;
      this.#sending.shift();
      this.buffered -= bytes;
      const arrived = { at: this.#clock.passed, text, frame: JSON.parse(text) as Record<string, unknown> };
      this.arrived.push(arrived);
      this.onArrived(arrived);
    }
    this.#busy = false;
  }
}
