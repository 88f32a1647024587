/** Files that the browser stops giving in the middle, without an error: read on from there (hash-file.ts). */
import { createHash } from 'node:crypto';
import { createSHA256 } from 'hash-wasm';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { hashSnapshot } from '../../../src/storage/hash-file';
import type { FileSnapshot } from '../../../src/storage/ports';

const MIB = 1024 * 1024;
const NEVER = new AbortController().signal;

beforeAll(async () => {
  // Compiled once for all, in its own time.
  await createSHA256();
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

function contentOf(size: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: size }, (_, at) => (at * 31 + (at >> 8)) & 255);
}

/** `stallsAt`: the offsets at which one reading each stops for ever, in turn. */
function snapshot(
  content: Uint8Array<ArrayBuffer>,
  stallsAt: number[],
): { file: FileSnapshot; opened: number[] } {
  const opened: number[] = [];
  const from = (start: number) => ({
    size: content.length - start,
    lastModified: 1,
    stream() {
      opened.push(start);
      const stop = stallsAt.shift() ?? Number.POSITIVE_INFINITY;
      let at = start;
      return new ReadableStream<Uint8Array<ArrayBuffer>>({
        pull(controller) {
          if (at >= stop) return new Promise(() => undefined);
          const end = Math.min(at + MIB / 2, stop, content.length);
          if (end > at) controller.enqueue(content.slice(at, end));
          if (end === content.length) controller.close();
          at = end;
          return undefined;
        },
        cancel: () => new Promise(() => undefined),
      });
    },
    slice: (at = 0) => from(start + at) as unknown as Blob,
    arrayBuffer() {
      opened.push(start);
      return stallsAt.shift() === undefined
        ? Promise.resolve(content.slice(start).buffer)
        : new Promise<ArrayBuffer>(() => undefined);
    },
  });
  return { file: from(0) as unknown as FileSnapshot, opened };
}

/** Lets everything happen that no timer is waited for, then the next timer. */
async function patience(times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersToNextTimerAsync();
  }
}

const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

describe('a file that Chrome stops giving', () => {
  it('is read on from the last whole piece, as often as it gives something', async () => {
    const content = contentOf(6 * MIB + 5);
    const { file, opened } = snapshot(content, [2.5 * MIB, 3.5 * MIB, 3.5 * MIB, 5 * MIB]);
    let total = 0;
    const hash = hashSnapshot(file, NEVER, (bytes) => {
      total += bytes;
    });
    await patience(4);
    expect(await hash).toBe(sha256(content));
    expect(total).toBe(content.length);
    expect(opened).toEqual([0, 2 * MIB, 3 * MIB, 3 * MIB, 5 * MIB]);
  });

  it('is read again when it is small', async () => {
    const content = contentOf(100);
    const { file, opened } = snapshot(content, [0, 0]);
    const hash = hashSnapshot(file, NEVER);
    await patience(2);
    expect(await hash).toBe(sha256(content));
    expect(opened).toEqual([0, 0, 0]);
  });

  it.each([100, 3 * MIB])('of %i bytes is given up in the end, and the next one is read', async (size) => {
    const { file } = snapshot(contentOf(size), [0, 0, 0, 0]);
    const hash = hashSnapshot(file, NEVER);
    const refused = expect(hash).rejects.toMatchObject({ code: 'storage_unavailable' });
    await patience(4);
    await refused;
    const next = contentOf(2 * MIB);
    expect(await hashSnapshot(snapshot(next, []).file, NEVER)).toBe(sha256(next));
  });

  it.each([100, 3 * MIB])('of %i bytes keeps no job that was cancelled', async (size) => {
    const cancel = new AbortController();
    const hash = hashSnapshot(snapshot(contentOf(size), [0]).file, cancel.signal);
    const refused = expect(hash).rejects.toMatchObject({ code: 'cancelled' });
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    cancel.abort();
    await refused;
  });
});
