/** The relay socket's handshake (wire.md §2): who may connect, with which protocol, and one socket per token. */
import type { IncomingMessage } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { CLOSE_REPLACED, SUBPROTOCOL, TOKEN_SUBPROTOCOL_PREFIX } from '../../src/protocol/frames';
import { MAX_FRAME_BYTES } from '../../src/protocol/limits';
import { RelayConnection } from './connection';
import type { RelayContext } from './context';
import type { Device } from './devices';
import type { LoggedRequest } from './traffic';

export const SOCKET_PATH = '/api/v1/relay/socket';

const UNAUTHORIZED = 401;

export class RelaySocket {
  readonly connections: RelayConnection[] = [];
  private readonly held = new Set<Duplex>();
  private readonly chosen = new WeakMap<IncomingMessage, string | false>();
  private readonly server = new WebSocketServer({
    noServer: true,
    // Larger than any legal frame, so that an illegal one is seen and not only cut off.
    maxPayload: 8 * MAX_FRAME_BYTES,
    handleProtocols: (_offered, request) => this.chosen.get(request) ?? SUBPROTOCOL,
  });

  constructor(private readonly context: RelayContext) {}

  /** Answers one handshake; `logged` is its entry in the traffic. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, logged: LoggedRequest): void {
    socket.on('error', () => undefined);
    const { faults, devices } = this.context;
    const refuse = (status: number, why: string): void => {
      logged.status = status;
      this.context.note(`handshake answered ${status}: ${why}`);
      refuseHandshake(socket, status, why);
      this.context.traffic.changed();
    };
    const url = new URL(request.url ?? '/', 'http://relay');
    if (url.pathname !== SOCKET_PATH) {
      refuse(404, 'no socket at this path');
      return;
    }

    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((text) => text.trim());
    const token = this.tokenOf(offered, url);
    const device = token === null ? undefined : devices.byToken(token);
    if (token !== null && devices.wasRefused(token)) {
      this.context.violation(null, 'dialed again with a token that was refused for good (rule 6)');
    }
    if (faults.take('stall_handshake', device?.id ?? null)) {
      this.context.note('handshake stalled');
      this.held.add(socket);
      socket.on('close', () => this.held.delete(socket));
      return;
    }
    const refusal = faults.take('refuse_handshake', device?.id ?? null);
    if (refusal) {
      if (refusal.status === UNAUTHORIZED && token !== null) devices.refuse(token);
      refuse(refusal.status, 'a fault on demand');
      return;
    }
    if (!device || token === null) {
      if (token !== null) devices.refuse(token);
      refuse(UNAUTHORIZED, 'the token is missing, unknown or revoked');
      return;
    }
    if (!offered.includes(SUBPROTOCOL)) {
      this.context.violation(null, `the handshake does not offer ${SUBPROTOCOL}`);
      refuse(400, `${SUBPROTOCOL} is not offered`);
      return;
    }
    this.chosen.set(request, this.protocolFor(device, token));
    logged.status = 101;
    this.server.handleUpgrade(request, socket, head, (webSocket) => {
      const origin = `http://${request.headers.host}`;
      const number = this.connections.length + 1;
      this.opened(device, new RelayConnection(this.context, device, { number, token, origin }, webSocket));
    });
  }

  /** Ends everything at once. */
  close(): void {
    for (const socket of this.held) socket.destroy();
    for (const client of this.server.clients) client.terminate();
    this.server.close();
  }

  private opened(device: Device, connection: RelayConnection): void {
    this.connections.push(connection);
    const earlier = device.connections.filter(({ open }) => open);
    device.maxOpenSockets = Math.max(device.maxOpenSockets, earlier.length + 1);
    device.connections.push(connection);
    for (const other of earlier) other.close(CLOSE_REPLACED, 'another process connected with this token');
    this.context.note(`connection ${connection.number}: opened by ${device.facts.name}`);
    this.context.traffic.changed();
  }

  /** The token in the protocols, or the old one in the query, which this agent must not use. */
  private tokenOf(offered: string[], url: URL): string | null {
    const query = url.searchParams.get('token');
    if (query !== null) this.context.violation(null, 'the token stands in the URL of the handshake');
    const protocol = offered.find((text) => text.startsWith(TOKEN_SUBPROTOCOL_PREFIX));
    return protocol?.slice(TOKEN_SUBPROTOCOL_PREFIX.length) ?? query;
  }

  private protocolFor(device: Device, token: string): string | false {
    const fault = this.context.faults.take('subprotocol', device.id);
    if (!fault) return SUBPROTOCOL;
    if (fault.answer === 'none') return false;
    return fault.answer === 'token' ? `${TOKEN_SUBPROTOCOL_PREFIX}${token}` : fault.answer;
  }
}

function refuseHandshake(socket: Duplex, status: number, why: string): void {
  const body = JSON.stringify({
    error_code: status === UNAUTHORIZED ? 'unauthorized' : 'refused',
    error: why,
  });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}\r\n` +
      'Connection: close\r\nContent-Type: application/json\r\n' +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
