import { describe, expect, test, vi } from 'vitest';
import { ByteReader } from '../../../src/storage/byte-reader';

/** Pieces of these lengths, of bytes that count on; a byte stream takes the reader's buffer. */
function streamOf(lengths: readonly number[], type?: 'bytes'): ReadableStream<Uint8Array> {
  const pieces = [...lengths];
  let next = 0;
  const source = {
    pull(controller: { enqueue(piece: Uint8Array<ArrayBuffer>): void; close(): void }) {
      const length = pieces.shift();
      if (length === undefined) {
        controller.close();
        if ('byobRequest' in controller) (controller as ReadableByteStreamController).byobRequest?.respond(0);
        return;
      }
      controller.enqueue(Uint8Array.from({ length }, () => next++ % 251));
    },
  };
  return type ? new ReadableStream({ type, ...source }) : new ReadableStream(source);
}

async function lengthsAndBytes(reader: ByteReader): Promise<{ lengths: number[]; bytes: number[] }> {
  const lengths: number[] = [];
  const bytes: number[] = [];
  for (let piece = await reader.read(); piece !== null; piece = await reader.read()) {
    lengths.push(piece.length);
    bytes.push(...piece);
  }
  expect(await reader.read()).toBeNull();
  return { lengths, bytes };
}

const TEN = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

describe.each(['bytes', undefined] as const)('the byte reader on a stream of type %s', (type) => {
  test('fills its buffer, whatever pieces come; the last may be shorter', async () => {
    const reader = new ByteReader(streamOf([3, 1, 6], type), { bytes: 4, fill: true });
    expect(await lengthsAndBytes(reader)).toEqual({ lengths: [4, 4, 2], bytes: TEN });
  });

  test('ends with the last whole piece', async () => {
    const reader = new ByteReader(streamOf([5, 5], type), { bytes: 5, fill: true });
    expect(await lengthsAndBytes(reader)).toEqual({ lengths: [5, 5], bytes: TEN });
  });

  test('or gives what there is, as soon as it is there', async () => {
    const reader = new ByteReader(streamOf([3, 1, 6], type), { bytes: 8, fill: false });
    expect(await lengthsAndBytes(reader)).toEqual({ lengths: [3, 1, 6], bytes: TEN });
  });

  test('an empty stream has no piece', async () => {
    for (const fill of [true, false]) {
      expect(await new ByteReader(streamOf([], type), { bytes: 4, fill }).read()).toBeNull();
    }
  });

  test('is cancelled while a piece is awaited', async () => {
    const cancel = vi.fn();
    const source = { pull: () => new Promise<void>(() => {}), cancel };
    const stream = type ? new ReadableStream({ type, ...source }) : new ReadableStream(source);
    const reader = new ByteReader(stream, { bytes: 4, fill: true });
    const awaited = reader.read();
    await reader.cancel();
    expect(await awaited).toBeNull();
    expect(cancel).toHaveBeenCalledOnce();
  });
});

test('one buffer is used for all pieces of a byte stream', async () => {
  const reader = new ByteReader(streamOf([4, 4], 'bytes'), { bytes: 4, fill: true });
  const first = await reader.read();
  await reader.read();
  // It went back to the stream.
  expect(first?.length).toBe(0);
});
