/** The WebSocket as the relay host sees it, and the browser's behind it. Knows nothing of frames. */

export interface SocketEvents {
  /** `protocol` is the subprotocol the relay selected. */
  opened(protocol: string): void;
  /** A string, or something else for a binary message. */
  received(data: unknown): void;
  /** Comes once, also for a socket that never opened (1006). */
  closed(code: number): void;
}

export interface RelaySocket {
  /** False before the opening has finished and from the start of the closing on. */
  readonly open: boolean;
  /** Bytes of payload that were handed over and have not left yet. Keeps its value after the close. */
  readonly buffered: number;
  send(text: string): void;
  /** `code` is 1000 or 3000–4999: scripts may use no other. */
  close(code: number): void;
}

/** Throws what the browser throws; its text may quote the token, so nobody may pass it on (wire.md §1). */
export type CreateSocket = (endpoint: string, protocols: string[], events: SocketEvents) => RelaySocket;

export const createBrowserSocket: CreateSocket = (endpoint, protocols, events) => {
  const socket = new WebSocket(endpoint, protocols);
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => events.opened(socket.protocol);
  socket.onmessage = (event: MessageEvent<unknown>) => events.received(event.data);
  socket.onclose = (event) => events.closed(event.code);
  return {
    get open() {
      return socket.readyState === WebSocket.OPEN;
    },
    get buffered() {
      return socket.bufferedAmount;
    },
    send: (text) => socket.send(text),
    close: (code) => socket.close(code),
  };
};
