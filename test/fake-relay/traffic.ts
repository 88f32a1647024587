/**
 * What went over the wire and when: every frame in both directions and every HTTP request, for tests to
 * search and measure. Times are milliseconds of the monotonic clock.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { performance } from 'node:perf_hooks';

export const now = (): number => performance.now();

export class LoggedFrame {
  constructor(
    readonly direction: 'received' | 'sent',
    /** Milliseconds, monotonic. */
    readonly at: number,
    /** The number of the connection, from 1 in the order of their opening. */
    readonly connection: number,
    /** Resource id of the device. */
    readonly device: string,
    /** Exactly as it was on the wire; null for a binary frame. */
    readonly text: string | null,
    readonly binary: Buffer | null,
    /** Length in bytes (UTF-8 for text). */
    readonly bytes: number,
  ) {}

  /** The frame as a JSON value; undefined when it is none. Parsed anew on each call. */
  get json(): unknown {
    if (this.text === null) return undefined;
    try {
      return JSON.parse(this.text);
    } catch {
      return undefined;
    }
  }
}

export interface LoggedRequest {
  at: number;
  method: string;
  /** As it stood in the request line. */
  url: string;
  headers: IncomingHttpHeaders;
  /** A WebSocket handshake. */
  upgrade: boolean;
  /** What was answered; null while nothing was. */
  status: number | null;
}

export class Traffic {
  readonly frames: LoggedFrame[] = [];
  readonly requests: LoggedRequest[] = [];
  private readonly watchers = new Set<() => void>();
  private keptBytes = 0;

  /** `keepBytes`: the oldest frames beyond so many bytes are forgotten. */
  constructor(private readonly keepBytes: number) {}

  get received(): LoggedFrame[] {
    return this.frames.filter((frame) => frame.direction === 'received');
  }

  get sent(): LoggedFrame[] {
    return this.frames.filter((frame) => frame.direction === 'sent');
  }

  addFrame(frame: LoggedFrame): void {
    this.frames.push(frame);
    this.keptBytes += frame.bytes;
    while (this.keptBytes > this.keepBytes && this.frames.length > 1) {
      this.keptBytes -= this.frames.shift()?.bytes ?? 0;
    }
  }

  addRequest(request: LoggedRequest): void {
    this.requests.push(request);
    if (this.keepBytes !== Number.POSITIVE_INFINITY && this.requests.length > 1_000) this.requests.shift();
    this.changed();
  }

  /** Something that a waiter may wait for has changed. */
  changed(): void {
    for (const watcher of [...this.watchers]) watcher();
  }

  /**
   * Resolves with the first value of `condition` that is neither undefined, null nor false; looks at once,
   * and again after every change. Rejects after `timeout_ms` with a sentence that names `what`.
   */
  until<T>(condition: () => T | undefined | null | false, what: string, timeout_ms: number): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        this.watchers.delete(look);
      };
      const look = (): void => {
        try {
          const value = condition();
          if (value === undefined || value === null || value === false) return;
          stop();
          resolve(value);
        } catch (thrown) {
          stop();
          reject(thrown);
        }
      };
      const timer = setTimeout(() => {
        stop();
        reject(new Error(`waited ${timeout_ms} ms in vain for ${what}`));
      }, timeout_ms);
      this.watchers.add(look);
      look();
    });
  }
}
