/**
 * Keeps a page told of the connection by the offscreen document itself, so that nothing waits for the
 * service worker. Pure: ports, timers and the message that makes an offscreen document are passed in.
 */
import type { ConnectionState } from '../platform/messages';

/** An offscreen document that is there tells its state at once, or null while it does not know it. */
export const SILENCE_MS = 300;
/** Between two tries to find one. */
export const RETRY_MS = 200;

export interface FeedPort {
  onMessage: { addListener(listener: (message: unknown) => void): void };
  onDisconnect: { addListener(listener: () => void): void };
  disconnect(): void;
}

export interface FeedDependencies {
  /** Opens a port named `CONNECTION_PORT`. May throw, as when the extension was replaced meanwhile. */
  connect(): FeedPort;
  /** Asks the router for an offscreen document. */
  ensure(): Promise<unknown>;
  /** Calls back after so many milliseconds, unless the returned function is called first. */
  after(ms: number, callback: () => void): () => void;
}

/**
 * Tells each state, and null whenever it is not known: until the first answer, after a port closed, while
 * nobody answers, and while the offscreen document does not know it either. Goes on until the returned function is called.
 */
export function feedConnection(
  { connect, ensure, after }: FeedDependencies,
  tell: (state: ConnectionState | null) => void,
): () => void {
  let close = (): void => {};
  let isEnsuring = false;

  function open(): void {
    let port: FeedPort;
    try {
      port = connect();
    } catch {
      tell(null);
      close = after(RETRY_MS, open);
      return;
    }
    let isOpen = true;
    const finish = (): void => {
      isOpen = false;
      cancelSilence();
      port.disconnect();
    };
    const lose = (): void => {
      if (!isOpen) return;
      finish();
      tell(null);
      makeOffscreen();
      close = after(RETRY_MS, open);
    };
    const cancelSilence = after(SILENCE_MS, lose);
    close = finish;
    port.onMessage.addListener((message) => {
      if (!isOpen || !(message === null || isConnectionState(message))) return;
      cancelSilence();
      tell(message);
    });
    port.onDisconnect.addListener(lose);
  }

  function makeOffscreen(): void {
    if (isEnsuring) return;
    isEnsuring = true;
    // A worker that died meanwhile is asked again by the next try.
    const done = (): void => {
      isEnsuring = false;
    };
    ensure().then(done, done);
  }

  open();
  return () => close();
}

const STATES: Readonly<Record<ConnectionState['state'], true>> = {
  not_enrolled: true,
  connecting: true,
  handshaking: true,
  online: true,
  waiting: true,
  no_network: true,
  replaced: true,
  token_stopped: true,
  paused: true,
  blocked_by_policy: true,
};

function isConnectionState(message: unknown): message is ConnectionState {
  return (
    typeof message === 'object' &&
    message !== null &&
    'state' in message &&
    typeof message.state === 'string' &&
    Object.hasOwn(STATES, message.state)
  );
}
