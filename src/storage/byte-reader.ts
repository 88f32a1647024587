/**
 * Reads a stream of bytes through one buffer, again and again: what a stream hands out by itself lies around until the
 * garbage is collected, which may be hundreds of MB of a big file (storage.md: memory stays flat). Pure.
 */

export interface ByteReaderOptions {
  /** Size of the buffer; at least 1. */
  bytes: number;
  /** A piece is `bytes` long, unless it is the last. Otherwise it is what there is by now. */
  fill: boolean;
}

export class ByteReader {
  readonly #pieces: { read(): Promise<Uint8Array<ArrayBuffer> | null>; cancel(): Promise<void> };

  constructor(stream: ReadableStream<Uint8Array>, options: ByteReaderOptions) {
    const own = byobReader(stream);
    if (own) this.#pieces = new OwnBuffer(own, options);
    else if (options.fill) this.#pieces = new Gathered(stream.getReader(), options.bytes);
    else this.#pieces = new AsTheyCome(stream.getReader());
  }

  /** The next piece, never empty; null at the end. It may be looked at until the next call. */
  read(): Promise<Uint8Array<ArrayBuffer> | null> {
    return this.#pieces.read();
  }

  /** Lets go of the stream; also while a piece is awaited. */
  cancel(): Promise<void> {
    return this.#pieces.cancel();
  }
}

/** Null for a stream that takes nobody's buffer. */
function byobReader(stream: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | null {
  try {
    return stream.getReader({ mode: 'byob' });
  } catch (thrown) {
    if (thrown instanceof TypeError && !stream.locked) return null;
    throw thrown;
  }
}

class OwnBuffer {
  #buffer: ArrayBuffer;
  #ended = false;

  constructor(
    private readonly reader: ReadableStreamBYOBReader,
    private readonly options: ByteReaderOptions,
  ) {
    this.#buffer = new ArrayBuffer(options.bytes);
  }

  async read(): Promise<Uint8Array<ArrayBuffer> | null> {
    if (this.#ended) return null;
    const min = this.options.fill ? this.options.bytes : 1;
    const { done, value } = await this.reader.read(new Uint8Array(this.#buffer), { min });
    // The end comes with what was filled before it.
    if (done) this.#ended = true;
    if (!value || value.length === 0) return null;
    this.#buffer = value.buffer;
    return value;
  }

  cancel(): Promise<void> {
    return this.reader.cancel();
  }
}

class AsTheyCome {
  constructor(protected readonly reader: ReadableStreamDefaultReader<Uint8Array>) {}

  async read(): Promise<Uint8Array<ArrayBuffer> | null> {
    for (;;) {
      const { done, value } = await this.reader.read();
      if (done) return null;
      if (value.length > 0) return value as Uint8Array<ArrayBuffer>;
    }
  }

  cancel(): Promise<void> {
    return this.reader.cancel();
  }
}

class Gathered extends AsTheyCome {
  readonly #buffer: Uint8Array<ArrayBuffer>;
  #rest: Uint8Array = new Uint8Array();

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>, bytes: number) {
    super(reader);
    this.#buffer = new Uint8Array(bytes);
  }

  override async read(): Promise<Uint8Array<ArrayBuffer> | null> {
    let filled = 0;
    while (filled < this.#buffer.length) {
      if (this.#rest.length === 0) {
        const next = await super.read();
        if (next === null) break;
        this.#rest = next;
      }
      const taken = this.#rest.subarray(0, this.#buffer.length - filled);
      this.#buffer.set(taken, filled);
      filled += taken.length;
      this.#rest = this.#rest.subarray(taken.length);
    }
    return filled === 0 ? null : this.#buffer.subarray(0, filled);
  }
}
