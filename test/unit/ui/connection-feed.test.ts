import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConnectionState } from '../../../src/platform/messages';
import { type FeedPort, feedConnection, RETRY_MS, SILENCE_MS } from '../../../src/ui/connection-feed';

const ONLINE: ConnectionState = { state: 'online', host: 'r.test', since: 1 };

class FakePort implements FeedPort {
  #listeners: ((message: unknown) => void)[] = [];
  #closings: (() => void)[] = [];
  disconnected = false;
  readonly onMessage = {
    addListener: (listener: (message: unknown) => void) => this.#listeners.push(listener),
  };
  readonly onDisconnect = { addListener: (listener: () => void) => this.#closings.push(listener) };

  disconnect(): void {
    this.disconnected = true;
  }
  push(message: unknown): void {
    for (const listener of this.#listeners) listener(message);
  }
  /** The other end is gone. */
  close(): void {
    for (const closing of this.#closings) closing();
  }
}

let ports: FakePort[];
let told: (ConnectionState | null)[];
let ensure: ReturnType<typeof vi.fn<() => Promise<unknown>>>;
const last = (): FakePort => ports.at(-1) as FakePort;

function start(connect?: () => FeedPort): () => void {
  const open = (): FeedPort => {
    ports.push(new FakePort());
    return last();
  };
  const after = (ms: number, callback: () => void): (() => void) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  };
  return feedConnection({ connect: connect ?? open, ensure, after }, (state) => told.push(state));
}

beforeEach(() => {
  vi.useFakeTimers();
  ports = [];
  told = [];
  ensure = vi.fn(() => Promise.resolve());
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the popup hears of the connection from the offscreen document', () => {
  it('tells each state as it comes, and asks nobody else', async () => {
    start();
    last().push(ONLINE);
    last().push({ state: 'paused' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual([ONLINE, { state: 'paused' }]);
    expect(ports).toHaveLength(1);
    expect(ensure).not.toHaveBeenCalled();
  });

  it('nobody there: says that it does not know, asks for an offscreen document, and finds it', async () => {
    start();
    last().close();
    expect(told).toEqual([null]);
    expect(ensure).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    last().push(ONLINE);
    expect(told).toEqual([null, ONLINE]);
  });

  it('somebody there who says nothing counts as nobody', async () => {
    start();
    await vi.advanceTimersByTimeAsync(SILENCE_MS - 1);
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(told).toEqual([null]);
    expect(last().disconnected).toBe(true);
    expect(ensure).toHaveBeenCalledTimes(1);
  });

  it('the offscreen document dies while the popup is open: not a second of an untrue state', async () => {
    start();
    last().push(ONLINE);
    last().close();
    expect(told.at(-1)).toBeNull();
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    expect(ports).toHaveLength(2);
  });

  it('goes on while the service worker does not answer, with one question at a time', async () => {
    ensure.mockReturnValue(new Promise(() => {}));
    start();
    await vi.advanceTimersByTimeAsync(10 * (SILENCE_MS + RETRY_MS));
    expect(ports.length).toBeGreaterThan(9);
    expect(ensure).toHaveBeenCalledTimes(1);
    last().push(ONLINE);
    expect(told.at(-1)).toEqual(ONLINE);
  });

  it('asks again when the question was lost with a worker', async () => {
    ensure.mockRejectedValue(new Error('nobody answered'));
    start();
    await vi.advanceTimersByTimeAsync(3 * (SILENCE_MS + RETRY_MS));
    expect(ensure.mock.calls.length).toBeGreaterThan(1);
  });

  it('somebody there who does not know the state yet is waited for, and not replaced', async () => {
    start();
    last().push(null);
    await vi.advanceTimersByTimeAsync(20 * (SILENCE_MS + RETRY_MS));
    expect(ports).toHaveLength(1);
    expect(ensure).not.toHaveBeenCalled();
    last().push(ONLINE);
    expect(told).toEqual([null, ONLINE]);
  });

  it('an old port changes nothing any more', async () => {
    start();
    const old = last();
    old.close();
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    last().push(ONLINE);
    old.push({ state: 'paused' });
    old.close();
    expect(told).toEqual([null, ONLINE]);
  });

  it('what is not a state is not shown', () => {
    start();
    for (const message of [undefined, 'online', {}, { state: 5 }, { state: 'constructor' }])
      last().push(message);
    expect(told).toEqual([]);
  });

  it('a browser that refuses the port is asked again', async () => {
    let refusals = 2;
    start(() => {
      refusals -= 1;
      if (refusals >= 0) throw new Error('no');
      ports.push(new FakePort());
      return last();
    });
    await vi.advanceTimersByTimeAsync(2 * RETRY_MS);
    last().push(ONLINE);
    expect(told).toEqual([null, null, ONLINE]);
  });

  it('stops when it is told to', async () => {
    const stop = start();
    last().push(ONLINE);
    stop();
    expect(last().disconnected).toBe(true);
    last().push({ state: 'paused' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual([ONLINE]);
    expect(ports).toHaveLength(1);
  });
});
