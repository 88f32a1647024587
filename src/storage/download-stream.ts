/**
 * The bytes of one blob as a stream that survives cut connections (storage-transport.md, `GET {base}/blobs`):
 * what is missing is asked for with `Range`. Holds one chunk at a time. The hash is the engine's to check.
 *
 * Large content is asked for in parts. What has arrived while nobody reads, Chrome copies into memory that only its rare
 * large collections free (measured: 64 MiB and more of it); who reads a part whole before writing it leaves nothing so.
 */
import { AgentError } from '../protocol/errors';
import type { Exchange } from './http-exchange';
import { PassingTrouble, type Patience } from './retry';

/** Opens the blob, or a range of it (the header's value); an answer of 200, 206 or 416. */
export type OpenBlob = (range: string | null) => Promise<Exchange>;

/** Content larger than this comes in parts of this size. [ours] */
export const DOWNLOAD_PART_BYTES = 8 * 1024 * 1024;

/** A body that ends early without bringing anything is asked for again this often (storage-transport.md: once). */
const BARREN_BODIES_ALLOWED = 1;

interface OpenBody {
  exchange: Exchange;
  /** Bytes to pass over, when the server sent the whole although a range was asked for. */
  skip: number;
  /** Nothing lies behind the position (416); what the body holds is an error's text. */
  empty: boolean;
  /** It brought bytes that were not there yet. */
  brought: boolean;
  /** Where the part ends that was asked for; null for all there is. */
  end: number | null;
}

/**
 * The first answer is awaited here, so that refusals are thrown; later trouble errors the stream:
 * `storage_hash_mismatch` when the body stays shorter than announced or its length changes,
 * `storage_transport_failed` when the connection could not be restored, `timeout` or `cancelled` with `signal`.
 */
export async function downloadStream(
  open: OpenBlob,
  offset: number,
  patience: Patience,
  signal: AbortSignal,
  size = 0,
): Promise<ReadableStream<Uint8Array>> {
  const download = new Download(open, offset, patience, signal, size > DOWNLOAD_PART_BYTES ? size : null);
  await download.connect();
  let rest: Uint8Array = new Uint8Array();
  return new ReadableStream(
    {
      type: 'bytes',
      async pull(controller) {
        if (rest.length === 0) {
          const next = await download.next();
          if (next === null) {
            controller.close();
            controller.byobRequest?.respond(0);
            return;
          }
          rest = next;
        }
        rest = handOver(controller, rest);
      },
      cancel() {
        download.cancel();
      },
    },
    // Nothing is read ahead of who reads the stream.
    { highWaterMark: 0 },
  );
}

/** Copies into the buffer of who reads, when there is one. Returns what did not fit. */
function handOver(controller: ReadableByteStreamController, bytes: Uint8Array): Uint8Array {
  const request = controller.byobRequest;
  const view = request?.view;
  if (!request || !view) {
    controller.enqueue(bytes.slice());
    return new Uint8Array();
  }
  const fitting = bytes.subarray(0, view.byteLength);
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(fitting);
  request.respond(fitting.length);
  return bytes.subarray(fitting.length);
}

class Download {
  readonly #open: OpenBlob;
  readonly #patience: Patience;
  readonly #signal: AbortSignal;
  #position: number;
  /** The whole blob's announced length; null while nobody said. */
  #total: number | null = null;
  #body: OpenBody | null = null;
  /** It comes in parts. */
  readonly #inParts: boolean;
  #barren = 0;
  #cancelled = false;

  /** `size`: of what is to come in parts. */
  constructor(open: OpenBlob, offset: number, patience: Patience, signal: AbortSignal, size: number | null) {
    this.#total = size;
    this.#inParts = size !== null;
    this.#open = open;
    this.#position = offset;
    this.#patience = patience;
    this.#signal = signal;
  }

  /** Opens the body at the present position; passing trouble is waited out. */
  async connect(): Promise<void> {
    while (this.#body === null) {
      try {
        this.#body = await this.#openHere();
      } catch (trouble) {
        await this.#patience.wait(trouble, this.#signal);
      }
    }
  }

  /** The next bytes, to be used before the next call; null at the end. */
  async next(): Promise<Uint8Array | null> {
    try {
      for (;;) {
        if (this.#cancelled) return null;
        await this.connect();
        const { bytes, trouble } = await this.#read();
        if (bytes !== null) return bytes;
        if (trouble === null && this.#isPartRead) {
          this.close();
          continue;
        }
        if (trouble === null) {
          this.close();
          return null;
        }
        await this.#afterShortBody(trouble);
      }
    } catch (thrown) {
      this.close();
      throw thrown;
    }
  }

  close(): void {
    this.#body?.exchange.close();
    this.#body = null;
  }

  /** Nobody wants the rest: nothing is asked for again. */
  cancel(): void {
    this.#cancelled = true;
    this.close();
  }

  /** The next bytes, or (both null) the end, or what went wrong before the end. */
  async #read(): Promise<{ bytes: Uint8Array | null; trouble: PassingTrouble | null }> {
    const body = this.#body;
    if (body === null || body.empty) return { bytes: null, trouble: null };
    try {
      for (let chunk = await body.exchange.read(); chunk !== null; chunk = await body.exchange.read()) {
        const passedOver = Math.min(body.skip, chunk.length);
        body.skip -= passedOver;
        if (passedOver === chunk.length) continue;
        const bytes = chunk.subarray(passedOver);
        this.#position += bytes.length;
        body.brought = true;
        this.#patience.progress();
        return { bytes, trouble: null };
      }
    } catch (trouble) {
      if (!(trouble instanceof PassingTrouble)) throw trouble;
      return { bytes: null, trouble };
    }
    const whole = this.#total === null ? body.skip === 0 : this.#position >= this.#total;
    return { bytes: null, trouble: whole || this.#isPartRead ? null : new PassingTrouble() };
  }

  /** The body brought its part, and there is another one. */
  get #isPartRead(): boolean {
    const end = this.#body?.end ?? null;
    return end !== null && this.#position >= end && this.#total !== null && this.#position < this.#total;
  }

  #range(): string | null {
    const from = this.#position;
    if (!this.#inParts) return from === 0 ? null : `bytes=${from}-`;
    // Also after a cut the next part begins where parts do.
    const part = Math.floor(from / DOWNLOAD_PART_BYTES) + 1;
    return `bytes=${from}-${part * DOWNLOAD_PART_BYTES - 1}`;
  }

  async #afterShortBody(trouble: PassingTrouble): Promise<void> {
    this.#barren = this.#body?.brought ? 0 : this.#barren + 1;
    this.close();
    if (this.#cancelled) return;
    if (this.#barren > BARREN_BODIES_ALLOWED) {
      throw new AgentError('storage_hash_mismatch', 'The content ends before its announced length.');
    }
    await this.#patience.wait(trouble, this.#signal);
  }

  async #openHere(): Promise<OpenBody> {
    const exchange = await this.#open(this.#range());
    try {
      return this.#accept(exchange);
    } catch (thrown) {
      exchange.close();
      throw thrown;
    }
  }

  #accept(exchange: Exchange): OpenBody {
    if (exchange.status === 200) {
      this.#announce(wholeLength(exchange));
      return { exchange, skip: this.#position, empty: false, brought: false, end: null };
    }
    const range = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(exchange.header('content-range') ?? '');
    const total = range?.[3] === undefined || range[3] === '*' ? null : Number(range[3]);
    if (exchange.status === 416) {
      // Nothing lies behind the position: the end when that is the length, else the blob is not what it was.
      this.#announce(total);
      if (total !== this.#position) throw new AgentError('storage_hash_mismatch');
    } else if (this.#range() === null || Number(range?.[1] ?? Number.NaN) !== this.#position) {
      throw new AgentError('storage_transport_failed', 'The storage service answered with another range.');
    } else {
      this.#announce(total);
    }
    const end = this.#inParts && range?.[2] !== undefined ? Number(range[2]) + 1 : null;
    return { exchange, skip: 0, empty: exchange.status === 416, brought: false, end };
  }

  #announce(total: number | null): void {
    if (total === null) return;
    if (this.#total !== null && this.#total !== total) throw new AgentError('storage_hash_mismatch');
    this.#total = total;
  }
}

/** `Content-Length`, unless it counts the bytes of a compressed form. */
function wholeLength(exchange: Exchange): number | null {
  const length = exchange.header('content-length') ?? '';
  const encoding = exchange.header('content-encoding');
  return /^\d+$/.test(length) && (encoding === null || encoding === 'identity') ? Number(length) : null;
}
