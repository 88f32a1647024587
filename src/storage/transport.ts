/**
 * The storage service as the engine sees it (`Transport` of ports.ts): the one module that knows the routes of
 * storage-transport.md. Another platform's transport would replace it. `fetch`, clock and chance are passed in.
 */
import pLimit from 'p-limit';
import { AgentError } from '../protocol/errors';
import {
  readChangesPage,
  readCommitReply,
  readErrorCode,
  readLink,
  readMissing,
  readObject,
  readTreePage,
} from './answers';
import { downloadStream } from './download-stream';
import { Exchange, type Fetch, type HttpEnvironment, type HttpRequest } from './http-exchange';
import type {
  ChangesPage,
  Clock,
  CommitBody,
  CommitReply,
  ConnectTransport,
  LinkFacts,
  Random,
  Transport,
  TransportBase,
  TreePage,
} from './ports';
import { PassingTrouble, Patience } from './retry';

const MIB = 1024 * 1024;
/** storage-transport.md, PATCH: the largest part. */
export const LARGEST_PART_BYTES = 8 * MIB;
/** Larger content goes up in parts, so that a cut line costs one part at most (PUT would take 64 MiB). [ours] */
export const LARGEST_PUT_BYTES = LARGEST_PART_BYTES;
/** storage-transport.md, `blobs/missing`. */
const MISSING_BATCH = 1000;
/** Portions asked for at a time. [ours] */
const MISSING_IN_FLIGHT = 4;
/** Entries asked for at a time: enough to be quick, small enough to hold (the contract allows 10 000). [ours] */
const PAGE_LIMIT = 5000;
/** Times a server may tell another `Upload-Offset` than expected during one upload. [ours] */
const OFFSET_CORRECTIONS_ALLOWED = 10;
const STALL_MS = 120_000;
const COMMIT_CHANGES_PER_PIECE = 1000;

export interface TransportEnvironment {
  /** The relay socket's address (`wss:` or `ws:`): the token goes to this origin, with `https:` or `http:`. */
  endpoint: string;
  fetch: Fetch;
  clock: Clock;
  random: Random;
  /** Silence for this long is a network error; 120 s when absent. Milliseconds. */
  stall_ms?: number;
}

type Environment = HttpEnvironment & { random: Random };
type Content = Parameters<Transport['upload']>[1];
type Sent = (bytes: number) => void;

/** What an answer of one call means; `retry.ts` and `Exchange` have dealt with the rest. */
type Reading<T> = (exchange: Exchange) => Promise<T>;

/** Transports to the storage service that lives at the relay's origin. */
export function transportsTo(env: TransportEnvironment): ConnectTransport {
  const origin = httpOrigin(env.endpoint);
  const shared = { ...env, stall_ms: env.stall_ms ?? STALL_MS, pulse: { at: 0 } };
  return (base, token) => new HttpTransport(shared, origin, base, token);
}

/** `wss://host:port/…` → `https://host:port`; `ws:` → `http:` (only a loopback relay has that). */
function httpOrigin(endpoint: string): string {
  const url = new URL(endpoint);
  if (url.protocol !== 'wss:' && url.protocol !== 'ws:') throw new AgentError('internal_error');
  return `${url.protocol === 'wss:' ? 'https:' : 'http:'}//${url.host}`;
}

class HttpTransport implements Transport {
  readonly #env: Environment;
  readonly #base: TransportBase;
  readonly #address: string | AgentError;
  readonly #token: string;
  /** The server refused the token: nothing more is asked with it. */
  #rejected: boolean;

  constructor(env: Environment, origin: string, base: TransportBase, token: string) {
    this.#env = env;
    this.#base = base;
    this.#address = baseAddress(origin, base);
    this.#token = token;
    // A token that fits into no header cannot be accepted; and the error of trying would quote it.
    this.#rejected = !/^[\x21-\x7e]+$/.test(token);
  }

  async link(signal: AbortSignal): Promise<LinkFacts> {
    if (!('link_id' in this.#base)) throw new AgentError('internal_error');
    return this.#call('GET', '', signal, async (exchange) => {
      if (exchange.status === 200) return readLink(readObject(await exchange.text()));
      if (exchange.status === 404) throw new AgentError('link_unknown');
      throw await this.#refusal(exchange);
    });
  }

  async tree(query: Parameters<Transport['tree']>[0], signal: AbortSignal): Promise<TreePage> {
    const suffix = `/tree${search({
      revision: String(query.revision),
      path: query.path,
      cursor: query.cursor,
      limit: String(query.limit ?? PAGE_LIMIT),
    })}`;
    return this.#call('GET', suffix, signal, async (exchange) => {
      if (exchange.status === 404) throw new AgentError('path_not_found');
      if (exchange.status !== 200) throw await this.#refusal(exchange);
      const page = readTreePage(readObject(await exchange.text()));
      // Through the address a number comes back as text, so only the text can be compared.
      if (String(page.revision) !== String(query.revision)) {
        throw new AgentError(
          'storage_transport_failed',
          'The storage service answered with another revision.',
        );
      }
      return page;
    });
  }

  async changes(query: Parameters<Transport['changes']>[0], signal: AbortSignal): Promise<ChangesPage> {
    const suffix = `/changes${search({
      since: query.since === null ? '' : String(query.since),
      cursor: query.cursor,
      limit: String(query.limit ?? PAGE_LIMIT),
    })}`;
    return this.#call('GET', suffix, signal, async (exchange) => {
      if (exchange.status === 200) return readChangesPage(readObject(await exchange.text()));
      if (exchange.status !== 410) throw await this.#refusal(exchange);
      const code = readErrorCode(await exchange.errorText());
      if (code === 'revision_expired') return { expired: true };
      throw this.#gone(code);
    });
  }

  async missing(sha256: readonly string[], signal: AbortSignal): Promise<string[]> {
    const asked = [...new Set(sha256)];
    const portions: string[][] = [];
    for (let at = 0; at < asked.length; at += MISSING_BATCH)
      portions.push(asked.slice(at, at + MISSING_BATCH));
    const limit = pLimit(MISSING_IN_FLIGHT);
    // Nobody may still be asking when the job is over.
    const answers = await Promise.allSettled(
      portions.map((portion) => limit(() => this.#missingOf(portion, signal))),
    );
    return answers.flatMap((answer) => {
      if (answer.status === 'rejected') throw answer.reason;
      return answer.value;
    });
  }

  async #missingOf(portion: string[], signal: AbortSignal): Promise<string[]> {
    const answer = await this.#call(
      'POST',
      '/blobs/missing',
      signal,
      async (exchange) => {
        if (exchange.status !== 200) throw await this.#refusal(exchange);
        return readMissing(readObject(await exchange.text()));
      },
      { body: jsonBody([JSON.stringify({ sha256: portion })]) },
    );
    const known = new Set(portion);
    const named = new Set(answer);
    for (const hash of named) {
      if (!known.has(hash)) {
        throw new AgentError(
          'storage_transport_failed',
          'The storage service names content it was not asked for.',
        );
      }
    }
    return [...named];
  }

  async upload(sha256: string, content: Content, signal: AbortSignal, sent: Sent = () => {}): Promise<void> {
    if (content.size <= LARGEST_PUT_BYTES) {
      await this.#put(sha256, content, signal);
      sent(content.size);
      return;
    }
    const first = await this.#uploadInParts(sha256, content, signal, sent);
    if (first === 'complete') return;
    // The server had a beginning from an earlier attempt, which may have been of other bytes: once from zero.
    const second =
      first === 'mismatch_after_resume' && (await this.#uploadInParts(sha256, content, signal, sent));
    if (second !== 'complete') throw new AgentError('storage_hash_mismatch');
  }

  async download(
    sha256: string,
    offset: number,
    signal: AbortSignal,
    size?: number,
  ): Promise<ReadableStream<Uint8Array>> {
    const open = async (range: string | null): Promise<Exchange> => {
      const exchange = await this.#open(
        'GET',
        `/blobs/${sha256}`,
        signal,
        range === null ? {} : { headers: { Range: range } },
      );
      if ([200, 206, 416].includes(exchange.status)) return exchange;
      try {
        if (exchange.status !== 404) throw await this.#refusal(exchange);
        throw new AgentError(
          'storage_transport_failed',
          'The storage service lacks content that it promised.',
        );
      } finally {
        exchange.close();
      }
    };
    return downloadStream(open, offset, this.#patience(), signal, size);
  }

  async commit(body: CommitBody, idempotencyKey: string, signal: AbortSignal): Promise<CommitReply> {
    const key = await headerKey(idempotencyKey);
    return this.#call(
      'POST',
      '/commits',
      signal,
      async (exchange) => {
        if (exchange.status === 201) return readCommitReply(readObject(await exchange.text()));
        if (exchange.status !== 409) throw await this.#refusal(exchange);
        throw new AgentError('storage_state_conflict');
      },
      { body: commitBody(body), headers: { 'Idempotency-Key': key } },
    );
  }

  async #put(sha256: string, content: Content, signal: AbortSignal): Promise<void> {
    const body = content.slice(0, content.size);
    await this.#call(
      'PUT',
      `/blobs/${sha256}`,
      signal,
      async (exchange) => {
        if (exchange.status === 200 || exchange.status === 201) return;
        throw (await isHashMismatch(exchange))
          ? new AgentError('storage_hash_mismatch')
          : await this.#refusal(exchange);
      },
      { body, headers: RAW },
    );
  }

  /** The IETF resumable upload: ask how far it is, then part after part from there. */
  async #uploadInParts(
    sha256: string,
    content: Content,
    signal: AbortSignal,
    sent: Sent,
  ): Promise<'complete' | 'mismatch' | 'mismatch_after_resume'> {
    const patience = this.#patience();
    let offset = await this.#uploadOffset(sha256, content.size, signal);
    const resumed = offset > 0;
    let corrections = 0;
    // What arrived counts once it is known, by whatever answer; what the server had before does not.
    const moveTo = (reached: number): void => {
      if (reached > offset) sent(reached - offset);
      offset = reached;
    };
    for (;;) {
      let outcome: PartOutcome;
      try {
        outcome = await this.#sendPart(sha256, content, offset, signal);
      } catch (trouble) {
        await patience.wait(trouble, signal);
        // Part of the part may have arrived.
        moveTo(await this.#uploadOffset(sha256, content.size, signal));
        continue;
      }
      if (outcome.kind === 'mismatch') return resumed ? 'mismatch_after_resume' : 'mismatch';
      if (outcome.kind === 'complete') {
        moveTo(content.size);
        return 'complete';
      }
      if (outcome.kind === 'corrected' || outcome.offset === offset) {
        corrections += 1;
        if (corrections > OFFSET_CORRECTIONS_ALLOWED) throw astray();
      }
      moveTo(outcome.offset);
      patience.progress();
    }
  }

  async #uploadOffset(sha256: string, size: number, signal: AbortSignal): Promise<number> {
    return this.#call('HEAD', `/blobs/${sha256}/upload`, signal, async (exchange) => {
      if (exchange.status !== 200) throw await this.#refusal(exchange);
      return readOffset(exchange, size);
    });
  }

  /** Sends the part at `offset` once; passing trouble is thrown, since the offset must be asked for first. */
  async #sendPart(
    sha256: string,
    content: Content,
    offset: number,
    signal: AbortSignal,
  ): Promise<PartOutcome> {
    const end = Math.min(offset + LARGEST_PART_BYTES, content.size);
    const exchange = await this.#open('PATCH', `/blobs/${sha256}/upload`, signal, {
      body: content.slice(offset, end),
      headers: {
        ...RAW,
        'Upload-Offset': String(offset),
        'Upload-Complete': end === content.size ? '?1' : '?0',
      },
    });
    try {
      switch (exchange.status) {
        case 201:
          return { kind: 'complete' };
        case 204: {
          const reached = readOffset(exchange, end);
          if (reached < offset) throw astray();
          return { kind: 'accepted', offset: reached };
        }
        case 409:
          if (await isHashMismatch(exchange)) return { kind: 'mismatch' };
          return { kind: 'corrected', offset: readOffset(exchange, content.size) };
        default:
          throw await this.#refusal(exchange);
      }
    } finally {
      exchange.close();
    }
  }

  #patience(): Patience {
    return new Patience(this.#env.clock, this.#env.random);
  }

  /** One call with its retries: from the first byte sent to the last byte of the answer read. */
  async #call<T>(
    method: HttpRequest['method'],
    suffix: string,
    signal: AbortSignal,
    reading: Reading<T>,
    more: Partial<Pick<HttpRequest, 'body' | 'headers'>> = {},
  ): Promise<T> {
    const patience = this.#patience();
    for (;;) {
      try {
        const exchange = await this.#open(method, suffix, signal, more);
        try {
          return await reading(exchange);
        } finally {
          exchange.close();
        }
      } catch (trouble) {
        await patience.wait(trouble, signal);
      }
    }
  }

  async #open(
    method: HttpRequest['method'],
    suffix: string,
    signal: AbortSignal,
    more: Partial<Pick<HttpRequest, 'body' | 'headers'>>,
  ): Promise<Exchange> {
    if (this.#rejected) throw new AgentError('storage_token_rejected');
    if (typeof this.#address !== 'string') throw this.#address;
    const headers = { ...more.headers, Authorization: `Bearer ${this.#token}` };
    try {
      return await Exchange.open(
        this.#env,
        { method, url: this.#address + suffix, ...more, headers },
        signal,
      );
    } catch (thrown) {
      if (thrown instanceof AgentError && thrown.code === 'storage_token_rejected') this.#rejected = true;
      // A file that changed while it was sent looks like a network error; reading it again tells. (Not by its
      // stream: Chrome fails that with a network error, too.) It is a part, so it is small enough to be held.
      if (thrown instanceof PassingTrouble && more.body !== undefined) await more.body.arrayBuffer();
      throw thrown;
    }
  }

  /** The error for a status that the route does not know. */
  async #refusal(exchange: Exchange): Promise<AgentError> {
    const { status } = exchange;
    if (status === 410) return this.#gone(readErrorCode(await exchange.errorText()));
    if (status === 404 && 'link_id' in this.#base) return new AgentError('link_unknown');
    return new AgentError('storage_transport_failed', `The storage service answered with status ${status}.`);
  }

  #gone(code: string | null): AgentError {
    // A body that says nothing is believed to speak of the link; `revision_expired` does not.
    if ('link_id' in this.#base && code !== 'revision_expired') return new AgentError('link_target_gone');
    return new AgentError('storage_transport_failed', 'The storage service no longer has this revision.');
  }
}

type PartOutcome =
  | { kind: 'complete' }
  | { kind: 'accepted'; offset: number }
  /** 409: the server is at another offset. */
  | { kind: 'corrected'; offset: number }
  | { kind: 'mismatch' };

const RAW = { 'Content-Type': 'application/octet-stream' };

function astray(): AgentError {
  return new AgentError('storage_transport_failed', 'The storage service lost track of the upload.');
}

function readOffset(exchange: Exchange, largest: number): number {
  const text = exchange.header('upload-offset') ?? '';
  const offset = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(offset <= largest)) throw astray();
  return offset;
}

async function isHashMismatch(exchange: Exchange): Promise<boolean> {
  return exchange.status === 409 && readErrorCode(await exchange.errorText()) === 'hash_mismatch';
}

/** The address of the base, or the error of an id that no address can hold: `.` and `..` would be normalised away. */
function baseAddress(origin: string, base: TransportBase): string | AgentError {
  const [kind, id, code] =
    'link_id' in base
      ? (['links', base.link_id, 'link_unknown'] as const)
      : (['storages', base.storage_id, 'storage_unknown'] as const);
  const encoded = percentEncoded(id);
  if (encoded === null || ['', '.', '..'].includes(encoded)) return new AgentError(code);
  return `${origin}/api/v1/relay/${kind}/${encoded}`;
}

function search(parameters: Record<string, string | null>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) => {
    if (value === null) return [];
    const encoded = percentEncoded(value);
    // Only a server could have sent such a cursor or revision: paths were checked before they came here.
    if (encoded === null) throw new AgentError('storage_transport_failed');
    return [`${name}=${encoded}`];
  });
  return `?${given.join('&')}`;
}

/** Null for what no address can hold: unpaired surrogates. */
function percentEncoded(text: string): string | null {
  try {
    return encodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Request ids are any text: one that a header cannot hold, or hardly, travels as its hash. */
async function headerKey(key: string): Promise<string> {
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  // As JSON, where unpaired surrogates stay different from each other.
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(key)));
  return `sha256-${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** In pieces, so that a body of tens of MB is not built as one string. */
function commitBody(body: CommitBody): Blob {
  const { changes, ...rest } = body;
  const pieces = [`${JSON.stringify(rest).slice(0, -1)},"changes":[`];
  const blobs: Blob[] = [];
  for (let at = 0; at < changes.length; at += COMMIT_CHANGES_PER_PIECE) {
    const portion = JSON.stringify(changes.slice(at, at + COMMIT_CHANGES_PER_PIECE)).slice(1, -1);
    blobs.push(new Blob([at === 0 ? '' : ',', portion]));
  }
  return jsonBody([...pieces, ...blobs, ']}']);
}

function jsonBody(parts: BlobPart[]): Blob {
  return new Blob(parts, { type: 'application/json' });
}
