/**
 * A TCP proxy on loopback, between a browser and the relay, that makes the faults of a network: half-open
 * connections, resets, delay, narrow lines. Knows bytes, no protocol.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

export interface TcpProxy {
  readonly port: number;
  /** How many connections are open now. */
  readonly connections: number;
  /** How many were ever accepted, refused ones included. */
  readonly accepted: number;
  /** Half-open: nothing is forwarded either way and nobody is told; new connections are left waiting too. */
  pause(): void;
  /** Ends `pause`: what had piled up is forwarded. */
  resume(): void;
  /** Resets every connection (RST on both sides). */
  cut(): void;
  /** Everything that arrives from now on is forwarded so many milliseconds later, each way. */
  delay(ms: number): void;
  /** At most so many bytes a second for each connection and direction; 0 lifts it. */
  throttle(bytesPerSecond: number): void;
  /** New connections are closed at once; `refuse(false)` ends it. */
  refuse(on?: boolean): void;
  /** Resets everything and stops listening. */
  close(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';
/** A direction takes no more from its source while it holds so much. */
const HELD_BYTES = 256 * 1024;
/** A throttled direction forwards in steps of this length. */
const STEP_MS = 20;

interface Line {
  paused: boolean;
  delay_ms: number;
  bytesPerSecond: number;
}

/** One direction of one connection: a queue between two sockets. `null` in the queue is the end. */
class Pipe {
  private readonly queue: { bytes: Buffer | null; due: number }[] = [];
  private held = 0;
  private timer: NodeJS.Timeout | undefined;
  private draining = false;

  constructor(
    private readonly line: Line,
    private readonly from: Socket,
    private readonly to: Socket,
  ) {
    from.on('data', (bytes: Buffer) => this.take(bytes));
    from.on('end', () => this.take(null));
    to.on('drain', () => {
      this.draining = false;
      this.pump();
    });
  }

  stop(): void {
    clearTimeout(this.timer);
    this.queue.length = 0;
  }

  /** Forwards what is due, and looks again when the next is. */
  pump(): void {
    clearTimeout(this.timer);
    if (this.line.paused) {
      this.from.pause();
      return;
    }
    while (!this.draining) {
      const next = this.queue[0];
      if (!next) break;
      const wait = next.due - performance.now();
      if (wait > 0) {
        this.again(wait);
        break;
      }
      if (next.bytes === null) {
        this.queue.shift();
        this.to.end();
        continue;
      }
      const { bytesPerSecond } = this.line;
      if (bytesPerSecond > 0) {
        this.forward(next, Math.max(1, Math.floor((bytesPerSecond * STEP_MS) / 1_000)));
        this.again(STEP_MS);
        break;
      }
      this.forward(next, next.bytes.length);
    }
    if (this.held < HELD_BYTES) this.from.resume();
  }

  private take(bytes: Buffer | null): void {
    this.queue.push({ bytes, due: performance.now() + this.line.delay_ms });
    this.held += bytes?.length ?? 0;
    if (this.held >= HELD_BYTES) this.from.pause();
    // While a timer of the throttle runs, it is what forwards next.
    if (this.queue.length === 1) this.pump();
  }

  private forward(entry: { bytes: Buffer | null }, most: number): void {
    const bytes = entry.bytes ?? Buffer.alloc(0);
    const part = bytes.subarray(0, most);
    if (part.length === bytes.length) this.queue.shift();
    else entry.bytes = bytes.subarray(most);
    this.held -= part.length;
    if (!this.to.write(part)) this.draining = true;
  }

  private again(ms: number): void {
    this.timer = setTimeout(() => this.pump(), ms);
  }
}

/** Starts a proxy to `port` on loopback, listening on a free port. */
export async function startTcpProxy(target: { port: number }): Promise<TcpProxy> {
  const line: Line = { paused: false, delay_ms: 0, bytesPerSecond: 0 };
  const open = new Set<{ client: Socket; upstream: Socket; pipes: Pipe[] }>();
  let accepted = 0;
  let refusing = false;

  const server = createServer({ allowHalfOpen: true }, (client) => {
    accepted += 1;
    client.on('error', () => undefined);
    if (refusing) {
      client.destroy();
      return;
    }
    const upstream = connect({ port: target.port, host: LOOPBACK, allowHalfOpen: true });
    upstream.on('error', () => undefined);
    const entry = {
      client,
      upstream,
      pipes: [new Pipe(line, client, upstream), new Pipe(line, upstream, client)],
    };
    open.add(entry);
    const end = (): void => {
      open.delete(entry);
      for (const pipe of entry.pipes) pipe.stop();
    };
    // A side that broke takes the other with it; one that ended properly lets the other finish.
    client.on('close', (broken) => {
      if (broken) upstream.destroy();
      if (upstream.destroyed) end();
    });
    upstream.on('close', (broken) => {
      if (broken) client.destroy();
      if (client.destroyed) end();
    });
    if (line.paused) pumpAll();
  });

  const pumpAll = (): void => {
    for (const { pipes } of open) for (const pipe of pipes) pipe.pump();
  };
  const cut = (): void => {
    for (const { client, upstream } of open) {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    }
  };

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, LOOPBACK, resolve);
  });

  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return open.size;
    },
    get accepted() {
      return accepted;
    },
    pause() {
      line.paused = true;
      pumpAll();
    },
    resume() {
      line.paused = false;
      pumpAll();
    },
    cut,
    delay(ms) {
      line.delay_ms = ms;
    },
    throttle(bytesPerSecond) {
      line.bytesPerSecond = bytesPerSecond;
      pumpAll();
    },
    refuse(on = true) {
      refusing = on;
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      cut();
      await closed;
    },
  };
}
