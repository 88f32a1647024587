/** The HTTP API that a user of the platform knows, the blob uploads, and `/__faults`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonObject, type JsonObject } from '../../src/protocol/json';
import { BLOB_UPLOAD_PATH } from '../../src/protocol/limits';
import { REDIRECT_TARGET } from './blobs';
import type { Command, CommandSpec } from './commands';
import type { RelayContext } from './context';
import type { Device, DeviceFacts } from './devices';
import { type Fault, readFault } from './faults';
import { ApiError, isLoopbackHost, readJson, sendJson } from './http';
import { SOCKET_PATH } from './relay-socket';
import type { Screens } from './screen';

/** What the routes can do to the platform. */
export interface Platform {
  createDevice(facts: Partial<DeviceFacts>): Device;
  startCommand(device: Device, spec: CommandSpec): Command;
  cancel(device: Device, command_id: string): void;
  rotate(device: Device): void;
  revoke(device: Device): void;
  fault(fault: Fault): void;
}

type Handle = (request: IncomingMessage, response: ServerResponse, parts: string[]) => Promise<void> | void;

export class Routes {
  private readonly table: [method: string, path: RegExp, handle: Handle][];

  constructor(
    private readonly context: RelayContext,
    private readonly platform: Platform,
    private readonly screens: Screens,
  ) {
    const resource = '^/api/v1/resources/([^/]+)';
    this.table = [
      ['GET', /^\/$/, showWelcome],
      ['POST', /^\/api\/v1\/stations\/([^/]+)\/devices$/, this.createDevice],
      ['GET', new RegExp(`${resource}$`), this.showDevice],
      ['POST', new RegExp(`${resource}/commands$`), this.sendCommand],
      ['GET', new RegExp(`${resource}/commands/([^/]+)$`), this.showCommand],
      ['POST', new RegExp(`${resource}/commands/([^/]+)/cancel$`), this.cancelCommand],
      ['GET', new RegExp(`${resource}/screen$`), this.showScreen],
      ['POST', new RegExp(`${resource}/token/rotate$`), this.rotateToken],
      ['DELETE', new RegExp(`${resource}/token$`), this.revokeToken],
      ['PUT', /^(.+)\/([^/]+)\/([^/]+)$/, this.putBlob],
      ['GET', /^\/__faults$/, this.listFaults],
      ['POST', /^\/__faults$/, this.addFaults],
      ['DELETE', /^\/__faults$/, this.clearFaults],
    ];
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.dispatch(request, response);
    } catch (thrown) {
      if (response.headersSent) {
        response.destroy();
        return;
      }
      const error =
        thrown instanceof ApiError ? thrown : new ApiError(500, 'internal', 'The stand-in failed.');
      if (!(thrown instanceof ApiError)) this.context.note(`a route failed: ${String(thrown)}`);
      sendJson(response, error.status, { error_code: error.error_code, error: error.message });
    }
  }

  private async dispatch(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isLoopbackHost(request.headers.host)) throw new ApiError(403, 'forbidden', 'Loopback only.');
    // A web page may not drive somebody's device through this development tool.
    if (/^https?:/.test(request.headers.origin ?? '')) {
      throw new ApiError(403, 'forbidden', 'Not for web pages.');
    }
    if (await this.context.storage?.handle(request, response)) return;
    const path = pathOf(request);
    if (path === REDIRECT_TARGET) this.context.violation(null, 'blob upload: a redirect was followed');
    if (path === SOCKET_PATH) throw new ApiError(426, 'upgrade_required', 'This is a WebSocket.');
    let known = false;
    for (const [method, pattern, handle] of this.table) {
      const match = pattern.exec(path);
      if (!match) continue;
      if (method !== request.method) {
        known ||= method !== 'PUT';
        continue;
      }
      await handle.call(this, request, response, match.slice(1));
      return;
    }
    throw known
      ? new ApiError(405, 'method_not_allowed', 'This path has no such method.')
      : new ApiError(404, 'not_found', 'There is nothing at this path.');
  }

  private device(id: string | undefined): Device {
    const device = id === undefined ? undefined : this.context.devices.get(id);
    if (!device) throw new ApiError(404, 'resource_not_found', 'There is no resource of this id.');
    return device;
  }

  private command(parts: string[]): Command {
    const id = decodeURIComponent(parts[1] ?? '');
    const command = this.device(parts[0]).commands.get(id);
    if (!command) throw new ApiError(404, 'command_not_found', 'This resource has no command of this id.');
    return command;
  }

  private async createDevice(
    request: IncomingMessage,
    response: ServerResponse,
    parts: string[],
  ): Promise<void> {
    const body = await readObject(request);
    const text = (field: string, fallback: string): string => {
      const value = body[field] ?? fallback;
      if (typeof value === 'string' && value !== '') return value;
      throw new ApiError(400, 'invalid_body', `"${field}" must be a string.`);
    };
    const device = this.platform.createDevice({
      station_id: parts[0] ?? '',
      type: text('type', 'actual'),
      kind: text('kind', 'chrome'),
      name: text('name', 'browser'),
    });
    sendJson(response, 201, { data: { ...device.describe(), enrollment: device.enrollment } });
  }

  private showDevice(_request: IncomingMessage, response: ServerResponse, parts: string[]): void {
    sendJson(response, 200, { data: this.device(parts[0]).describe() });
  }

  private async sendCommand(
    request: IncomingMessage,
    response: ServerResponse,
    parts: string[],
  ): Promise<void> {
    const device = this.device(parts[0]);
    const { command, input, timeout_ms, wait } = await readObject(request);
    if (typeof command !== 'string' || command === '') {
      throw new ApiError(400, 'invalid_body', '"command" must be a string.');
    }
    if (input !== undefined && !isJsonObject(input)) {
      throw new ApiError(400, 'invalid_body', '"input" must be an object.');
    }
    if (timeout_ms !== undefined && !(typeof timeout_ms === 'number' && timeout_ms > 0)) {
      throw new ApiError(400, 'invalid_body', '"timeout_ms" must be a positive number.');
    }
    const started = this.platform.startCommand(device, { command, input: input ?? {}, timeout_ms });
    // A device that is not online may stay away for long: the command waits for it, the caller need not.
    const waits = wait === true && device.online;
    if (waits) await started.finished.catch(() => undefined);
    sendJson(response, waits ? 200 : 202, { data: started.describe() });
  }

  private showCommand(_request: IncomingMessage, response: ServerResponse, parts: string[]): void {
    sendJson(response, 200, { data: this.command(parts).describe() });
  }

  private cancelCommand(_request: IncomingMessage, response: ServerResponse, parts: string[]): void {
    const command = this.command(parts);
    this.platform.cancel(this.device(parts[0]), command.id);
    sendJson(response, 202, { data: command.describe() });
  }

  private async showScreen(
    request: IncomingMessage,
    response: ServerResponse,
    parts: string[],
  ): Promise<void> {
    const device = this.device(parts[0]);
    const asked = new URL(request.url ?? '/', 'http://relay').searchParams.get('max_age_ms') ?? '0';
    const max_age_ms = Number(asked);
    if (!(max_age_ms >= 0)) throw new ApiError(400, 'invalid_query', '"max_age_ms" must be a number.');
    const { bytes, mime_type } = await this.screens.get(device, max_age_ms);
    response.writeHead(200, {
      'Content-Type': mime_type,
      'Content-Length': bytes.length,
      'Cache-Control': 'no-store',
    });
    response.end(bytes);
  }

  private rotateToken(_request: IncomingMessage, response: ServerResponse, parts: string[]): void {
    const device = this.device(parts[0]);
    this.platform.rotate(device);
    sendJson(response, 200, { data: { id: device.id, enrollment: device.enrollment } });
  }

  private revokeToken(_request: IncomingMessage, response: ServerResponse, parts: string[]): void {
    const device = this.device(parts[0]);
    this.platform.revoke(device);
    sendJson(response, 200, { data: device.describe() });
  }

  private async putBlob(request: IncomingMessage, response: ServerResponse, parts: string[]): Promise<void> {
    const [prefix, id = '', name = ''] = parts;
    const prefixes = [BLOB_UPLOAD_PATH, pathOfUrl(this.context.settings.relay_config.blob_upload_url)];
    if (!prefixes.includes(prefix)) throw new ApiError(404, 'not_found', 'There is nothing at this path.');
    await this.context.blobs.put(request, response, id, name);
  }

  private listFaults(_request: IncomingMessage, response: ServerResponse): void {
    const { faults, storage } = this.context;
    const ofStorage = (storage?.activeFaults ?? []).map((fault) => ({ fault: 'storage', ...fault }));
    sendJson(response, 200, { data: { active: [...faults.active, ...ofStorage] } });
  }

  private async addFaults(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readJson(request);
    const faults = (Array.isArray(body) ? body : [body]).map(readFault);
    for (const fault of faults) {
      if (!fault)
        throw new ApiError(
          400,
          'invalid_fault',
          'There is no such fault; test/fake-relay/faults.ts lists them.',
        );
    }
    if (!this.context.storage && faults.some((fault) => fault?.fault === 'storage')) {
      throw new ApiError(400, 'no_storage', 'This stand-in was started without a storage service.');
    }
    for (const fault of faults) if (fault) this.platform.fault(fault);
    this.listFaults(request, response);
  }

  private clearFaults(request: IncomingMessage, response: ServerResponse): void {
    this.context.faults.clear();
    this.context.storage?.clearFaults();
    this.listFaults(request, response);
  }
}

/** A page to look at and to act on, where there is no network. */
function showWelcome(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' });
  response.end(WELCOME);
}

const WELCOME = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>The stand-in platform</title>
<link rel="icon" href="data:,">
<h1>The stand-in platform</h1>
<p>This page is for trying a device: look at it, read it, fill the field, press the button.</p>
<form onsubmit="event.preventDefault(); said.textContent = 'You said: ' + words.value">
  <label>Your words <input id="words"></label>
  <button>Say it</button>
  <p><output id="said"></output></p>
</form>
</html>
`;

/** The path as it was sent: nothing decoded, nothing normalised. */
function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?')[0] ?? '/';
}

function pathOfUrl(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).pathname.replace(/\/$/, '') : undefined;
}

async function readObject(request: IncomingMessage): Promise<JsonObject> {
  const body = await readJson(request);
  if (!isJsonObject(body)) throw new ApiError(400, 'invalid_body', 'The body must be a JSON object.');
  return body;
}
