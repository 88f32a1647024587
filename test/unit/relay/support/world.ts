/** A relay host in a world of its own: false clock, router and relay; nothing of it needs a browser. */
import { createHash } from 'node:crypto';
import type { ConnectionState } from '../../../../src/platform/messages';
import { asBlob } from '../../../../src/protocol/content';
import { RelayHost, type RelayHostParts } from '../../../../src/relay/relay-host';
import { FakeClock, settled } from './fake-clock';
import { FakeRouter } from './fake-router';
import { FakeSocket } from './fake-socket';

export interface Put {
  url: string;
  at: number;
  bytes: number;
  authorization: string | null;
}

export class World {
  readonly clock = new FakeClock();
  readonly router = new FakeRouter(this.clock);
  readonly sockets: FakeSocket[] = [];
  readonly puts: Put[] = [];
  readonly states: ConnectionState[] = [];
  /** What must never happen. */
  readonly violations: string[] = [];
  readonly host: RelayHost;
  /** What happens to a new socket. */
  dialling: 'accept' | 'refuse' | 'hang' | 'throw' = 'accept';
  /** Whether a new connection is greeted as the platform greets it. */
  greets = true;
  /** What the blob route answers; null: it hangs. */
  putStatus: number | null = 201;
  onSocket: (socket: FakeSocket) => void = () => {};

  constructor(changes: Partial<RelayHostParts> = {}) {
    this.host = new RelayHost({
      createSocket: (endpoint, protocols, events) => this.#createSocket(endpoint, protocols, events),
      router: this.router.ask,
      readBody: async (key) => this.router.pictures.get(key),
      base64: async (content) => Buffer.from(await asBlob(content, '').arrayBuffer()).toString('base64'),
      shrink: async () => ({ blob: new Blob(['small'], { type: 'image/png' }), width: 1, height: 1 }),
      clock: this.clock,
      random: () => 0,
      fetch: (url, init) => this.#fetch(String(url), init),
      sha256: async (bytes) => createHash('sha256').update(new Uint8Array(bytes)).digest('hex'),
      network: true,
      screen: () => ({ width: 1280, height: 800, scale: 1 }),
      storages: { isEmpty: true, facts: async () => [] },
      complain: () => null,
      names: async (platform, id, content) => ({ key: JSON.stringify([platform, id]), input_hash: content }),
      ...changes,
    });
    this.host.onConnection((state) => this.states.push(state));
  }

  get socket(): FakeSocket {
    const socket = this.sockets.at(-1);
    if (!socket) throw new Error('no socket yet');
    return socket;
  }

  /** Starts the host and waits until it is connected, or at rest. */
  async start(): Promise<this> {
    this.host.start();
    await this.clock.pass(10);
    return this;
  }

  request(id: string, input: Record<string, unknown> = {}, more: Record<string, unknown> = {}): void {
    this.socket.say({ type: 'tool_request', id, command: 'work', input, timeout_ms: 60_000, ...more });
  }

  /** All answers for an id that reached the relay, by whatever socket. */
  answers(id: string): Record<string, unknown>[] {
    return this.sockets.flatMap((socket) => socket.answers(id));
  }

  #createSocket(...[endpoint, protocols, events]: Parameters<RelayHostParts['createSocket']>): FakeSocket {
    if (this.dialling === 'throw') throw new SyntaxError(`The subprotocol '${protocols[1]}' is invalid.`);
    const alive = this.sockets.filter(({ state }) => state === 'opening' || state === 'open');
    if (alive.length > 0) this.violations.push('a second socket');
    const socket = new FakeSocket(this.sockets.length + 1, endpoint, protocols, events, this.clock);
    this.sockets.push(socket);
    socket.onArrived = ({ frame }) => {
      if (frame.type === 'ping') queueMicrotask(() => socket.say({ type: 'pong' }));
      if (frame.type === 'ready' && this.greets) {
        socket.say({ type: 'relay_config', max_inline_bytes: 262_144, max_concurrency: 4 });
        for (const command of ['describe_tools', 'workspace_info']) {
          socket.say({
            type: 'tool_request',
            id: `${command}-${socket.number}`,
            command,
            input: {},
            timeout_ms: 10_000,
          });
        }
      }
    };
    this.onSocket(socket);
    const { dialling } = this;
    queueMicrotask(() => {
      if (dialling === 'accept') socket.accept();
      else if (dialling === 'refuse') socket.end(1006);
    });
    return socket;
  }

  async #fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const blob = init.body as Blob;
    const authorization = new Headers(init.headers).get('authorization');
    this.puts.push({ url, at: this.clock.passed, bytes: blob.size, authorization });
    if (this.putStatus === null) {
      return new Promise((_resolve, reject) =>
        init.signal?.addEventListener('abort', () => reject(new Error('aborted'))),
      );
    }
    const sha256 = createHash('sha256')
      .update(new Uint8Array(await blob.arrayBuffer()))
      .digest('hex');
    const mime_type = new Headers(init.headers).get('content-type');
    const name = decodeURIComponent(new URL(url).pathname.split('/').at(-1) ?? '');
    return new Response(JSON.stringify({ name, mime_type, size: blob.size, sha256 }), {
      status: this.putStatus,
    });
  }
}

export { settled };
