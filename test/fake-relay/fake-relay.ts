/**
 * The platform's stand-in: a real HTTP and WebSocket server on loopback that behaves as the contract says,
 * misbehaves on demand, checks everything an agent does and keeps a log of it. A development tool.
 * `README.md` beside this file tells how to use it.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CLOSE_TOKEN_STOPPED, type ToolResponseFrame } from '../../src/protocol/frames';
import type { JsonObject } from '../../src/protocol/json';
import type { Enrollment } from '../../src/settings/enrollment';
import { type BlobAttempt, Blobs, type StoredBlob } from './blobs';
import { Command, CommandFailed, type CommandSpec, requestFrame } from './commands';
import type { RelayConnection } from './connection';
import type { RelayContext, Settings } from './context';
import { Device, type DeviceFacts, Devices } from './devices';
import { type Fault, Faults, isLasting, type LastingFaultName } from './faults';
import { RelaySocket, SOCKET_PATH } from './relay-socket';
import { type Platform, Routes } from './routes';
import { type Picture, Screens } from './screen';
import { StorageService } from './storage-service';
import { type LoggedFrame, type LoggedRequest, now, Traffic } from './traffic';

export interface FakeRelayOptions extends Partial<Settings> {
  /** A free one when undefined. */
  port?: number;
  /** The log forgets its oldest frames beyond so many bytes; it keeps all when undefined. */
  keep_log_bytes?: number;
  /** Where the storage service keeps its revisions and blobs; without one there is no service. */
  storage_directory?: string;
  /** Gets one line for each event of the connections and commands; never a token. */
  note?: (line: string) => void;
}

const DEFAULTS: Settings = {
  relay_config: {},
  liveness_interval_ms: null,
  ready_deadline_ms: 10_000,
  answer_grace_ms: 5_000,
  queue_deadline_ms: 120_000,
  resend_after_new_epoch: true,
};

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_WAIT_MS = 30_000;
const LOOPBACK = '127.0.0.1';

export interface Wait {
  /** Milliseconds until the wait is given up; 30 000 when undefined. */
  timeout_ms?: number;
}

export class FakeRelay implements Platform {
  /** What agents did against the contract, one sentence each. A test asserts that it is empty. */
  readonly violations: string[] = [];
  /** May be changed while it runs. */
  readonly settings: Settings;
  private readonly traffic: Traffic;
  private readonly faults = new Faults();
  private readonly registry = new Devices();
  private readonly blobStore: Blobs;
  private readonly socket: RelaySocket;
  private readonly screens: Screens;
  private readonly context: RelayContext;
  private readonly server: Server;
  private listeningPort = 0;

  constructor(private readonly options: FakeRelayOptions = {}) {
    this.traffic = new Traffic(options.keep_log_bytes ?? Number.POSITIVE_INFINITY);
    const {
      port: _port,
      keep_log_bytes: _bytes,
      storage_directory: _directory,
      note: _note,
      ...settings
    } = options;
    this.settings = { ...DEFAULTS, ...settings };
    const shared = {
      settings: this.settings,
      traffic: this.traffic,
      faults: this.faults,
      devices: this.registry,
      violation: (connection: number | null, sentence: string) => this.violation(connection, sentence),
      note: (line: string) => this.options.note?.(line),
    };
    this.blobStore = new Blobs(shared);
    this.context = { ...shared, blobs: this.blobStore, storage: null };
    this.socket = new RelaySocket(this.context);
    this.screens = new Screens(this.context, (device, spec) => this.startCommand(device, spec));
    const routes = new Routes(this.context, this, this.screens);
    this.server = createServer((request, response) => {
      const logged = this.logRequest(request, false);
      response.on('finish', () => {
        logged.status = response.statusCode;
        this.traffic.changed();
      });
      void routes.handle(request, response);
    });
    this.server.on('upgrade', (request, socket, head) => {
      this.socket.upgrade(request, socket, head, this.logRequest(request, true));
    });
  }

  async listen(): Promise<void> {
    const { storage_directory } = this.options;
    if (storage_directory !== undefined) {
      const storage = await StorageService.open(storage_directory);
      storage.onViolation = ({ kind, detail }) => this.violation(null, `storage: ${kind}: ${detail}`);
      this.context.storage = storage;
    }
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(this.options.port ?? 0, LOOPBACK, resolve);
    });
    this.listeningPort = (this.server.address() as AddressInfo).port;
  }

  /** Ends every connection and stops listening. What waits for a command is rejected. */
  async close(): Promise<void> {
    for (const device of this.devices) {
      for (const command of device.commands.values()) {
        command.fail(new CommandFailed('relay_closed', 'the relay was closed'));
      }
    }
    this.socket.close();
    this.context.storage?.close();
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeAllConnections();
    await closed;
  }

  get port(): number {
    return this.listeningPort;
  }

  /** `http://127.0.0.1:port` */
  get origin(): string {
    return `http://${LOOPBACK}:${this.port}`;
  }

  /** The log: every frame received from agents, in order. */
  get received(): LoggedFrame[] {
    return this.traffic.received;
  }

  /** The log: every frame sent to agents, in order. */
  get sent(): LoggedFrame[] {
    return this.traffic.sent;
  }

  /** The log: every HTTP request, handshakes included. */
  get requests(): LoggedRequest[] {
    return this.traffic.requests;
  }

  /** The handshakes among the requests: when they came, and what was answered. */
  get handshakes(): LoggedRequest[] {
    return this.requests.filter(({ upgrade }) => upgrade);
  }

  get connections(): readonly RelayConnection[] {
    return this.socket.connections;
  }

  get devices(): Device[] {
    return this.registry.all();
  }

  get blobs(): readonly StoredBlob[] {
    return this.blobStore.stored;
  }

  get blobAttempts(): readonly BlobAttempt[] {
    return this.blobStore.attempts;
  }

  /** The storage service. Throws when the stand-in was started without a directory for it. */
  get storage(): StorageService {
    if (!this.context.storage) throw new Error('there is no storage_directory');
    return this.context.storage;
  }

  /** Milliseconds on the clock of the log. */
  now(): number {
    return now();
  }

  createDevice(facts: Partial<DeviceFacts> = {}): Device {
    const device = new Device(
      { station_id: 'stn_local', type: 'actual', kind: 'chrome', name: 'browser', ...facts },
      `ws://${LOOPBACK}:${this.port}${SOCKET_PATH}`,
      (connection, sentence) => this.violation(connection, sentence),
    );
    this.registry.add(device);
    return device;
  }

  /** The device's enrollment with its endpoint at another port, for a proxy in between. */
  enrollmentVia(device: Device, port: number): Enrollment {
    return { ...device.enrollment, endpoint: `ws://${LOOPBACK}:${port}${SOCKET_PATH}` };
  }

  /** Sends a command, now or when the device is online. Throws when the id was used before. */
  startCommand(device: Device, spec: CommandSpec): Command {
    const id = spec.id ?? randomUUID();
    if (device.commands.has(id)) throw new Error('this command id was used before');
    const timeout_ms = spec.timeout_ms ?? DEFAULT_TIMEOUT_MS;
    const command = new Command(id, spec.command, timeout_ms, requestFrame(id, spec, timeout_ms));
    device.commands.set(id, command);
    command.deadline(this.context.settings.queue_deadline_ms, 'not_sent', 'the device did not come online');
    if (device.online) device.connection?.sendCommand(command);
    return command;
  }

  /** Sends a command and waits for its response frame. Rejects with `CommandFailed` when none comes. */
  command(device: Device, spec: CommandSpec): Promise<ToolResponseFrame> {
    return this.startCommand(device, spec).finished;
  }

  cancel(device: Device, command_id: string): void {
    this.send(device, { type: 'cancel_request', id: command_id });
  }

  /** Sends a frame as it stands: text, bytes, or an object as JSON. Throws when there is no connection. */
  send(device: Device, frame: string | Uint8Array | JsonObject): void {
    if (!device.connection) throw new Error('the device has no connection');
    const raw = typeof frame === 'string' || frame instanceof Uint8Array ? frame : JSON.stringify(frame);
    device.connection.send(raw);
  }

  /** Closes the device's connection; 1006 breaks it without a close frame. */
  disconnect(device: Device, code: number, reason?: string): void {
    device.connection?.close(code, reason);
  }

  /** Ends the token: 4001 on its socket, 401 at every later handshake. */
  revoke(device: Device): void {
    device.token = null;
    this.disconnect(device, CLOSE_TOKEN_STOPPED, 'token revoked');
  }

  /** Ends the token as `revoke` does, and gives the device another. */
  rotate(device: Device): void {
    this.registry.rotate(device);
    this.disconnect(device, CLOSE_TOKEN_STOPPED, 'token rotated');
  }

  /** Does wrong on purpose, at once or from now on (see `faults.ts`). */
  fault(fault: Fault): void {
    if (fault.fault === 'storage') {
      const { fault: _fault, ...ofStorage } = fault;
      this.storage.fault(ofStorage);
      return;
    }
    if (isLasting(fault)) {
      this.faults.add(fault);
      return;
    }
    const meant = this.devices.filter(({ id }) => fault.device === undefined || fault.device === id);
    for (const device of meant.filter(({ connection }) => connection !== null)) {
      if (fault.fault === 'close') this.disconnect(device, fault.code, fault.reason);
      else this.send(device, 'text' in fault ? fault.text : Buffer.from(fault.binary_base64, 'base64'));
    }
  }

  /** Ends the lasting faults of one name, or all of them. */
  clearFaults(name?: LastingFaultName): void {
    this.faults.clear(name);
  }

  /** What `GET …/screen` gives. */
  screen(device: Device, max_age_ms = 0): Promise<Picture> {
    return this.screens.get(device, max_age_ms);
  }

  /**
   * Resolves with the first usable value of `condition` (neither undefined, null nor false), looked at again
   * whenever a frame, a request or the state of a connection changed. `what` names it in the rejection.
   */
  until<T>(condition: () => T | undefined | null | false, what: string, wait: Wait = {}): Promise<T> {
    return this.traffic.until(condition, what, wait.timeout_ms ?? DEFAULT_WAIT_MS);
  }

  /** Resolves when the device is online on its connection number `after` + 1 or a later one. */
  waitForOnline(device: Device, wait: Wait & { after?: number } = {}): Promise<RelayConnection> {
    return this.until(
      () => device.online && device.connections.length > (wait.after ?? 0) && device.connection,
      `${device.facts.name} to be online`,
      wait,
    );
  }

  /** Resolves with the `n`-th connection, from 1: of one device, or of all. */
  waitForConnection(n: number, wait: Wait & { device?: Device } = {}): Promise<RelayConnection> {
    return this.until(() => (wait.device?.connections ?? this.connections)[n - 1], `connection ${n}`, wait);
  }

  /**
   * Resolves with the first received frame that `predicate` accepts: of the whole log, or of the frames
   * later than `since` (milliseconds on the clock of the log).
   */
  waitForFrame(
    predicate: (frame: LoggedFrame) => boolean,
    wait: Wait & { since?: number; what?: string } = {},
  ): Promise<LoggedFrame> {
    const since = wait.since ?? 0;
    const looked = new WeakSet<LoggedFrame>();
    return this.until(
      () =>
        this.received.find((frame) => {
          if (frame.at < since || looked.has(frame)) return false;
          looked.add(frame);
          return predicate(frame);
        }),
      wait.what ?? 'a frame',
      wait,
    );
  }

  private logRequest(request: IncomingMessage, upgrade: boolean): LoggedRequest {
    const { method = '', url = '', headers } = request;
    const logged: LoggedRequest = { at: now(), method, url, headers, upgrade, status: null };
    if (!upgrade && this.registry.tokenIn(url)) this.violation(null, 'a token stands in a URL');
    this.traffic.addRequest(logged);
    return logged;
  }

  private violation(connection: number | null, sentence: string): void {
    const where = connection === null ? '' : `connection ${connection}: `;
    this.violations.push(`${where}${sentence}`);
    this.context.note(`VIOLATION ${where}${sentence}`);
    this.traffic.changed();
  }
}

/** Starts the stand-in on loopback. */
export async function startFakeRelay(options: FakeRelayOptions = {}): Promise<FakeRelay> {
  const relay = new FakeRelay(options);
  await relay.listen();
  return relay;
}
