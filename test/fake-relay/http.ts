/** The few things every HTTP route needs: bodies in, JSON and errors out. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Becomes `{error_code, error}` with this HTTP status. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly error_code: string,
    sentence: string,
  ) {
    super(sentence);
    this.name = 'ApiError';
  }
}

const LARGEST_BODY_BYTES = 256 * 1024 * 1024;

/** The whole body. Throws `ApiError` 413 when it is absurdly large. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LARGEST_BODY_BYTES) throw new ApiError(413, 'too_large', 'The body is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The body as JSON; an empty one is `{}`. Throws `ApiError` 400. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const text = (await readBody(request)).toString('utf8');
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(400, 'invalid_json', 'The body is not JSON.');
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...headers });
  response.end(`${JSON.stringify(body)}\n`);
}

/** True when the `Host` header names this machine: a web page that renamed its host must not get in. */
export function isLoopbackHost(host: string | undefined): boolean {
  return /^(127(?:\.\d{1,3}){3}|localhost|\[::1\])(:\d+)?$/i.test(host ?? '');
}
