/** The transport against the stand-in's storage service: real HTTP, real files; only clock and chance are ours. */
import { createHash } from 'node:crypto';
import { AgentError } from '../../../src/protocol/errors';
import type { Clock, Transport, TransportBase } from '../../../src/storage/ports';
import { transportsTo } from '../../../src/storage/transport';
import { type Served, serve } from '../storage-service/served';

/** Longer than any wait between attempts, so that the clock can tell a watch from a wait. */
export const STALL_MS = 10 ** 12;
const LONGEST_WAIT_MS = 10 ** 9;

/** Waits for retries pass at once and are noted; a watch on silence lasts until `stall()`. */
export class TestClock implements Clock {
  readonly waits: number[] = [];
  #now = Date.UTC(2026, 0, 1);
  #watches = new Set<() => void>();

  now(): number {
    return this.#now;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (ms < LONGEST_WAIT_MS) {
      this.waits.push(ms);
      this.#now += ms;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const wake = (): void => {
        this.#watches.delete(wake);
        resolve();
      };
      this.#watches.add(wake);
      signal.addEventListener('abort', () => {
        this.#watches.delete(wake);
        reject(signal.reason);
      });
    });
  }

  /** Lets so much time pass that every silence is noticed; or less, in parts of the stall time. */
  stall(parts = 10): void {
    this.#now += parts * STALL_MS;
    for (const wake of [...this.#watches]) wake();
  }

  get watching(): number {
    return this.#watches.size;
  }
}

export interface Bench extends Served {
  clock: TestClock;
  transport: Transport;
  token: string;
  /** How many answers' heads the transport has got. */
  heads: number;
  connect(base: TransportBase, token: string): Transport;
}

/** A service with Storage `s1` and a transport to it. `random` is 0: waits are the plain backoff. */
export async function bench(): Promise<Bench> {
  const served = await serve();
  await served.service.createStorage('s1');
  const clock = new TestClock();
  const connect = transportsTo({
    endpoint: `${served.origin.replace('http:', 'ws:')}/device?x=1`,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      made.heads += 1;
      return response;
    },
    clock,
    random: () => 0,
    stall_ms: STALL_MS,
  });
  const token = served.service.issueToken({ storage_id: 's1' });
  const transport = connect({ storage_id: 's1' }, token);
  const made: Bench = { ...served, clock, heads: 0, connect, token, transport };
  return made;
}

export const never = (): AbortSignal => new AbortController().signal;

export const sha256 = (bytes: string | Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');

/** The code a promise fails with; fails itself when there is none, or when it is no `AgentError`. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (thrown) {
    if (thrown instanceof AgentError) return thrown.code;
    throw thrown;
  }
  throw new Error('it did not fail');
}

export async function readAll(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value);
  return Buffer.concat(chunks);
}

/** Resolves once `condition` holds, and what follows from it at once has been done. */
export async function until(condition: () => boolean): Promise<void> {
  const tick = () => new Promise((resolve) => setImmediate(resolve));
  while (!condition()) await tick();
  await tick();
}

/** Bytes that do not repeat, the same at every run. */
export function bytesOf(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = 1;
  for (let at = 0; at < length; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}
