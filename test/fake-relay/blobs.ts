/** Blob uploads (wire.md §6): takes the bytes, answers their facts, and notes what an agent did wrong. */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { BlobReference } from '../../src/protocol/frames';
import { BLOB_UPLOAD_ATTEMPTS } from '../../src/protocol/limits';
import type { RelayContext } from './context';
import type { Device } from './devices';
import type { BlobAnswer } from './faults';
import { shown } from './frame-checks';
import { ApiError, readBody, sendJson } from './http';
import { now } from './traffic';

/** Where the fault `redirect` sends an upload; nothing may ever arrive there. */
export const REDIRECT_TARGET = '/__redirected';

export interface StoredBlob extends BlobReference {
  device: Device;
  request_id: string;
  bytes: Buffer;
  /** Milliseconds, monotonic. */
  at: number;
}

export interface BlobAttempt {
  device: Device;
  request_id: string;
  name: string;
  /** Milliseconds, monotonic: when the request came, and when it was answered. */
  at: number;
  answered_at: number | null;
  status: number | null;
}

export class Blobs {
  readonly stored: StoredBlob[] = [];
  readonly attempts: BlobAttempt[] = [];

  constructor(private readonly context: Omit<RelayContext, 'blobs' | 'storage'>) {}

  /** The stored blob a reference in an output speaks of, or undefined when nothing fits it exactly. */
  find(device: Device, request_id: string, reference: unknown): StoredBlob | undefined {
    return this.stored.find((blob) => {
      const { name, mime_type, size, sha256 } = blob;
      return (
        blob.device === device &&
        blob.request_id === request_id &&
        isDeepStrictEqual(reference, { name, mime_type, size, sha256 })
      );
    });
  }

  tried(device: Device, request_id: string): boolean {
    return this.attempts.some((attempt) => attempt.device === device && attempt.request_id === request_id);
  }

  /** `PUT …/{request_id}/{name}`; both still percent-encoded. Throws `ApiError`. */
  async put(
    request: IncomingMessage,
    response: ServerResponse,
    encodedId: string,
    encodedName: string,
  ): Promise<void> {
    const came = now();
    const device = this.authenticate(request);
    const wrong = (sentence: string): void =>
      this.context.violation(device.connection?.number ?? null, `blob upload: ${sentence}`);
    const request_id = decode(encodedId);
    const name = decode(encodedName);
    if (request_id === null || name === null) {
      wrong('the path is not percent-encoded UTF-8');
      throw new ApiError(400, 'invalid_path', 'The path is not percent-encoded UTF-8.');
    }
    if (request.headers.cookie !== undefined) wrong('a cookie was sent');
    const mime_type = request.headers['content-type'];
    if (!mime_type) {
      wrong('no Content-Type');
      throw new ApiError(415, 'content_type_missing', 'The upload needs a Content-Type.');
    }
    const requests = device.conduct.requests(request_id);
    if (requests === 0) {
      wrong(`for ${shown(request_id)}, which was never asked`);
      throw new ApiError(404, 'request_unknown', 'There is no request of this id.');
    }
    if (device.conduct.settled(request_id)) wrong(`for ${shown(request_id)} after its response`);

    const attempt: BlobAttempt = { device, request_id, name, at: came, answered_at: null, status: null };
    this.attempts.push(attempt);
    this.context.traffic.changed();
    const tries = this.attempts.filter(
      (other) => other.device === device && other.request_id === request_id && other.name === name,
    ).length;
    if (tries > BLOB_UPLOAD_ATTEMPTS * requests) {
      wrong(`more than ${BLOB_UPLOAD_ATTEMPTS} attempts for ${shown(request_id)}`);
    }
    response.on('finish', () => {
      attempt.answered_at = now();
      attempt.status = response.statusCode;
      this.context.traffic.changed();
    });

    const fault = this.context.faults.take('blob', device.id);
    if (fault?.answer === 'cut') {
      request.socket.destroy();
      return;
    }
    const bytes = await readBody(request);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const facts: BlobReference = { name, mime_type, size: bytes.length, sha256 };
    if (fault) {
      this.misbehave(response, fault.answer, facts);
      return;
    }
    this.stored.push({ ...facts, device, request_id, bytes, at: now() });
    this.context.note(`blob ${shown(name)} of ${bytes.length} bytes for ${shown(request_id)}`);
    sendJson(response, 200, { ...facts });
  }

  private authenticate(request: IncomingMessage): Device {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    const device = token === undefined ? undefined : this.context.devices.byToken(token);
    if (!device) {
      this.context.violation(null, 'blob upload: no valid connection token');
      throw new ApiError(401, 'unauthorized', 'The connection token is missing or not valid.');
    }
    return device;
  }

  private misbehave(response: ServerResponse, answer: BlobAnswer, facts: BlobReference): void {
    if (typeof answer === 'object') {
      const headers = answer.retry_after === undefined ? {} : { 'Retry-After': answer.retry_after };
      sendJson(response, answer.status, { error_code: 'fault', error: 'A fault on demand.' }, headers);
      return;
    }
    switch (answer) {
      case 'hang':
      case 'cut':
        return;
      case 'redirect':
        sendJson(response, 307, {}, { Location: REDIRECT_TARGET });
        return;
      case 'not_json':
        response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><p>OK');
        return;
      case 'wrong_sha256':
        sendJson(response, 200, { ...facts, sha256: '0'.repeat(64) });
        return;
      case 'wrong_size':
        sendJson(response, 200, { ...facts, size: facts.size + 1 });
        return;
      case 'wrong_name':
        sendJson(response, 200, { ...facts, name: `${facts.name}x` });
        return;
      case 'wrong_mime_type':
        sendJson(response, 200, { ...facts, mime_type: 'text/html' });
        return;
    }
  }
}

function decode(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
