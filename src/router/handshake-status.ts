/**
 * The HTTP status of the last dial's handshake (wire.md §2), which page script cannot see, put together
 * from what `webRequest` tells. Knows no `chrome` and no clock.
 */
import type { SetTimer } from '../tools/timing';

/** One step of a WebSocket handshake that this extension itself makes. */
export interface HandshakeEvent {
  kind: 'begun' | 'answered' | 'ended';
  request_id: string;
  url: string;
  /** Only of `answered`. */
  status?: number;
}

export interface HandshakeStatus {
  /** Which relay counts from now on. What was seen of another one is forgotten. */
  follow(endpoint: string): void;
  take(event: HandshakeEvent): void;
  /**
   * The status of the handshake since the last call, or null when none was seen. Waits up to `patience_ms`
   * for one that is not over.
   */
  last(patience_ms: number): Promise<number | null>;
}

interface Handshake {
  request_id: string;
  status: number | null;
  over: boolean;
}

export function createHandshakeStatus(setTimer: SetTimer): HandshakeStatus {
  let origin: string | null = null;
  let handshake: Handshake | null = null;
  let waiting: (() => void)[] = [];

  function wake(): void {
    const woken = waiting;
    waiting = [];
    for (const resolve of woken) resolve();
  }

  function overWithin(patience_ms: number): Promise<void> {
    if (handshake?.over) return Promise.resolve();
    return new Promise((resolve) => {
      const callOff = setTimer(resolve, patience_ms);
      waiting.push(() => {
        callOff();
        resolve();
      });
    });
  }

  return {
    follow(endpoint) {
      const next = originOf(endpoint);
      if (next !== origin) handshake = null;
      origin = next;
    },
    take({ kind, request_id, url, status = null }) {
      if (origin === null || originOf(url) !== origin) return;
      if (handshake?.request_id !== request_id) handshake = { request_id, status: null, over: false };
      // A refused handshake is answered first and then fails: the answer counts.
      if (kind === 'answered') handshake.status = status;
      if (kind === 'begun') return;
      handshake.over = true;
      wake();
    },
    async last(patience_ms) {
      await overWithin(patience_ms);
      const status = handshake?.status ?? null;
      handshake = null;
      return status;
    },
  };
}

function originOf(address: string): string | null {
  return URL.canParse(address) ? new URL(address).origin : null;
}
