/**
 * One HTTP request and its answer, as the storage transport sends all of them: the token in a header and
 * nowhere else, no cookies, no redirect followed, nothing cached, and a watch that gives up on a server that
 * has gone silent. Knows no routes and does not retry.
 */
import { AgentError } from '../protocol/errors';
import { ByteReader } from './byte-reader';
import type { Clock } from './ports';
import { abortError, PassingTrouble, readRetryAfter, throwIfAborted } from './retry';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface HttpEnvironment {
  fetch: Fetch;
  clock: Clock;
  /** Silence for this long, while something is awaited, is a network error. Milliseconds. */
  stall_ms: number;
  /** Shared by all exchanges with one origin. */
  pulse: Pulse;
}

/** When anything last came from an origin: a browser lets requests queue behind others, which is no silence. */
export interface Pulse {
  /** Epoch milliseconds. */
  at: number;
}

export interface HttpRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH';
  url: string;
  headers: Record<string, string>;
  body?: Blob;
}

/** An upload tells no progress, so its silence is allowed to last as long as a line of 16 kB/s would take. [ours] */
const SLOWEST_UPLOAD_BYTES_PER_MS = 16;
/** No JSON answer may be larger than this: it is held in memory. A page of 10 000 usual entries is about 2 MB. [ours] */
const LARGEST_JSON_BYTES = 64 * 1024 * 1024;
const LARGEST_ERROR_BYTES = 64 * 1024;
/** What Chrome has at hand of a body, at most: what does not fit it would copy into pieces of its own. */
const LARGEST_READ_BYTES = 512 * 1024;
/** For a body whose length is not announced. */
const USUAL_READ_BYTES = 64 * 1024;

export class Exchange {
  readonly #env: HttpEnvironment;
  readonly #signal: AbortSignal;
  readonly #request = new AbortController();
  readonly #watch = new AbortController();
  readonly #onAbort = (): void => this.#request.abort();
  #waitingSince: number | null = null;
  #allowedMs: number;
  #response: Response | null = null;
  #reader: ByteReader | null = null;
  #finished = false;

  private constructor(env: HttpEnvironment, request: HttpRequest, signal: AbortSignal) {
    this.#env = env;
    this.#signal = signal;
    this.#allowedMs = env.stall_ms + Math.ceil((request.body?.size ?? 0) / SLOWEST_UPLOAD_BYTES_PER_MS);
  }

  /**
   * Sends `request` and waits for the head of the answer. Throws `PassingTrouble` on a network error, a stall,
   * 429 and 5xx; `storage_token_rejected` on 401 and 403; `storage_transport_failed` on a redirect; what
   * `signal` was aborted with. Whatever else came is the caller's to judge, and to close.
   */
  static async open(env: HttpEnvironment, request: HttpRequest, signal: AbortSignal): Promise<Exchange> {
    throwIfAborted(signal);
    const exchange = new Exchange(env, request, signal);
    try {
      await exchange.#send(request);
      return exchange;
    } catch (thrown) {
      exchange.close();
      throw thrown;
    }
  }

  get status(): number {
    return this.#head.status;
  }

  header(name: string): string | null {
    return this.#head.headers.get(name);
  }

  /** The next bytes of the body, to be used before the next call; null at its end. A cut and a stall are `PassingTrouble`. */
  async read(): Promise<Uint8Array | null> {
    if (this.#finished) return null;
    if (this.#reader === null) {
      const body = this.#head.body;
      if (body === null) {
        this.#finished = true;
        return null;
      }
      this.#reader = new ByteReader(body, { bytes: readBytes(this.header('content-length')), fill: false });
    }
    const reader = this.#reader;
    const next = await this.#awaiting(() => reader.read());
    if (next === null) this.#finished = true;
    return next;
  }

  /** The whole body as UTF-8 text; `storage_transport_failed` when it is not, or is unreasonably large. */
  async text(): Promise<string> {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let bytes = 0;
    let text = '';
    for (let chunk = await this.read(); chunk !== null; chunk = await this.read()) {
      bytes += chunk.length;
      if (bytes > LARGEST_JSON_BYTES) {
        throw new AgentError('storage_transport_failed', 'The answer of the storage service is too large.');
      }
      text += decode(decoder, chunk);
    }
    return text + decode(decoder, undefined);
  }

  /** As much of an error's body as is worth reading; never throws for what is in it. */
  async errorText(): Promise<string> {
    const decoder = new TextDecoder();
    let text = '';
    for (let chunk = await this.read(); chunk !== null; chunk = await this.read()) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > LARGEST_ERROR_BYTES) return '';
    }
    return text;
  }

  /** Lets go of the connection; to be called once the answer is read, or given up. */
  close(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#watch.abort();
    // A connection whose answer was read to its end is used again; any other is cut.
    if (!this.#finished && this.#response?.body !== null) this.#request.abort();
  }

  get #head(): Response {
    if (this.#response === null) throw new AgentError('internal_error');
    return this.#response;
  }

  async #send(request: HttpRequest): Promise<void> {
    this.#signal.addEventListener('abort', this.#onAbort, { once: true });
    void this.#giveUpOnSilence();
    const response = await this.#awaiting(() =>
      this.#env.fetch(request.url, {
        method: request.method,
        headers: request.headers,
        ...(request.body === undefined ? {} : { body: request.body }),
        signal: this.#request.signal,
        credentials: 'omit',
        redirect: 'manual',
        cache: 'no-store',
        referrerPolicy: 'no-referrer',
      }),
    );
    this.#response = response;
    this.#allowedMs = this.#env.stall_ms;
    const { status } = response;
    if (status === 401 || status === 403) throw new AgentError('storage_token_rejected');
    if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
      throw new AgentError(
        'storage_transport_failed',
        'The storage service answered with a redirect, which is not followed.',
      );
    }
    if (status === 429 || status >= 500) {
      throw new PassingTrouble(readRetryAfter(response.headers.get('retry-after'), this.#env.clock.now()));
    }
  }

  /** Runs one step that waits for the server. Its error is never looked at: a foreign text may quote the token. */
  async #awaiting<T>(step: () => Promise<T>): Promise<T> {
    this.#waitingSince = this.#env.clock.now();
    try {
      const result = await step();
      this.#env.pulse.at = this.#env.clock.now();
      return result;
    } catch {
      if (this.#signal.aborted) throw abortError(this.#signal);
      throw new PassingTrouble();
    } finally {
      this.#waitingSince = null;
    }
  }

  #silentSince(): number {
    const { clock, pulse } = this.#env;
    if (this.#waitingSince === null) return clock.now();
    // Before its head has come a request may still be queueing; after that only its own body counts.
    return this.#response === null ? Math.max(this.#waitingSince, pulse.at) : this.#waitingSince;
  }

  async #giveUpOnSilence(): Promise<void> {
    const { clock } = this.#env;
    while (!this.#watch.signal.aborted) {
      const left = this.#silentSince() + this.#allowedMs - clock.now();
      if (left <= 0) {
        this.#request.abort();
        return;
      }
      try {
        await clock.sleep(left, this.#watch.signal);
      } catch {
        return;
      }
    }
  }
}

function readBytes(length: string | null): number {
  if (length === null || !/^\d+$/.test(length)) return USUAL_READ_BYTES;
  return Math.max(1, Math.min(Number(length), LARGEST_READ_BYTES));
}

function decode(decoder: TextDecoder, chunk: Uint8Array | undefined): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw new AgentError('storage_transport_failed', 'The answer of the storage service is not UTF-8.');
  }
}
