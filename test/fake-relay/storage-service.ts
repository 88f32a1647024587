/**
 * The storage service of the stand-in platform: every route of storage-transport.md over a real store on disk,
 * as a request handler that an HTTP server mounts, with helpers for tests, faults on demand, and a record of
 * what a client did that the contract forbids. A development tool: it is meant for loopback only.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as later } from 'node:timers/promises';
import {
  type StorageFault,
  type StorageFaultScope,
  StorageFaults,
  type StorageRoute,
} from './storage-faults';
import { StorageStore, type StoredAnswer, type StoredRevision, type StoredStorage } from './storage-store';
import {
  applyCommit,
  difference,
  hashAt,
  isWithin,
  type ListedChange,
  type ListedEntry,
  list,
  subtree,
  type Tree,
  type TreeNode,
} from './storage-trees';

const MIB = 1024 * 1024;
const LARGEST_PUT_BYTES = 64 * MIB;
const LARGEST_PART_BYTES = 8 * MIB;
const LARGEST_LIMIT = 10_000;
const DEFAULT_LIMIT = 1000;
const LARGEST_MISSING = 1000;

export type ViolationKind =
  | 'token_to_wrong_base'
  | 'token_in_url'
  | 'cookie'
  | 'redirect_followed'
  | 'oversize_put'
  | 'oversize_part'
  | 'oversize_batch'
  | 'bad_limit'
  | 'idempotency_key_missing'
  | 'idempotency_key_reused'
  | 'bad_commit'
  | 'bad_path'
  | 'internal_name'
  | 'commit_outside_path'
  | 'commit_touches_link'
  | 'blob_not_uploaded'
  | 'unknown_route';

export interface Violation {
  kind: ViolationKind;
  /** Method and address of the request, and what was wrong. Never a token. */
  detail: string;
}

export interface LoggedRequest {
  route: StorageRoute | null;
  method: string;
  /** Storage or link id of the base. */
  id: string;
  /** Behind the base, with the query. */
  address: string;
  headers: IncomingMessage['headers'];
  /** Bytes of the request's body that were read. */
  received: number;
  /** Null as long as there is no answer, and when the connection was broken instead. */
  status: number | null;
}

/** What `write` and `stage` take: text or bytes for a file, `DIRECTORY` for an empty one, null to delete. */
export type Writing = Record<string, string | Uint8Array | typeof DIRECTORY | null>;
export const DIRECTORY = Symbol('an empty directory');

type TokenBase = { storage_id: string } | { link_id: string };

interface Base {
  kind: 'storages' | 'links';
  id: string;
  storage: StoredStorage;
  /** The folder of the Storage that the base shows; `""` for all of it. */
  top: string;
}

interface Answer {
  status: number;
  headers?: Record<string, string>;
  json?: Record<string, unknown>;
  file?: { path: string; start: number; end: number; total: number };
}

interface Received {
  request: IncomingMessage;
  logged: LoggedRequest;
  url: URL;
  base: Base;
}

export class StorageService {
  readonly #store: StorageStore;
  readonly #faults = new StorageFaults();
  readonly #tokens = new Map<string, Set<string>>();
  readonly #mergeFirst = new Set<string>();
  readonly #uploads = new Map<string, Promise<unknown>>();
  readonly #hanging = new Set<ServerResponse>();
  readonly violations: Violation[] = [];
  /** Told of each violation as it happens. */
  onViolation: (violation: Violation) => void = () => {};
  readonly requests: LoggedRequest[] = [];

  private constructor(store: StorageStore) {
    this.#store = store;
  }

  /** Opens the service on a directory, which may hold what an earlier service left there (tokens excepted). */
  static async open(directory: string): Promise<StorageService> {
    return new StorageService(await StorageStore.open(directory));
  }

  /** Breaks the connections that a `hang` keeps open. */
  close(): void {
    for (const response of this.#hanging) response.destroy();
    this.#hanging.clear();
  }

  // --- For tests ------------------------------------------------------------------------------------------

  /** A new Storage with an empty first revision; `numbered` makes its revisions numbers instead of strings. */
  async createStorage(storage_id: string, { numbered = false } = {}): Promise<void> {
    await this.#store.createStorage(storage_id, numbered);
  }

  /** A token that opens these bases and no other. */
  issueToken(...bases: TokenBase[]): string {
    const token = randomUUID();
    this.#tokens.set(token, new Set(bases.map(baseKey)));
    return token;
  }

  revokeToken(token: string): void {
    this.#tokens.delete(token);
  }

  /** Commits as another writer, on the head. */
  async write(storage_id: string, writing: Writing): Promise<StoredRevision> {
    const storage = this.#storage(storage_id);
    const changes = await this.#changesOf(writing);
    return storage.alone(async () => {
      const head = await storage.headTree();
      const applied = applyCommit(head, head, changes);
      if (applied.kind !== 'applied') throw new Error(`this cannot be written: ${JSON.stringify(applied)}`);
      return storage.add(applied.tree, 'head');
    });
  }

  /** A revision beside the head that holds just this, for `place_path`. */
  async stage(storage_id: string, writing: Writing): Promise<StoredRevision> {
    const storage = this.#storage(storage_id);
    const empty: Tree = new Map();
    const applied = applyCommit(empty, empty, await this.#changesOf(writing));
    if (applied.kind !== 'applied') throw new Error(`this cannot be staged: ${JSON.stringify(applied)}`);
    return storage.alone(() => storage.add(applied.tree, 'staged'));
  }

  async createLink(link: {
    link_id: string;
    storage_id: string;
    path: string;
    target: { storage_id: string; path: string };
  }): Promise<void> {
    this.#storage(link.storage_id);
    this.#storage(link.target.storage_id);
    this.#store.links.set(link.link_id, { ...link, broken: false });
    await this.#store.saveLinks();
  }

  /** From now on every call of the link is answered with 410 `link_target_gone`; false mends it. */
  async breakLink(link_id: string, broken = true): Promise<void> {
    const link = this.#store.links.get(link_id);
    if (link === undefined) throw new Error(`there is no link ${link_id}`);
    link.broken = broken;
    await this.#store.saveLinks();
  }

  head(storage_id: string): StoredRevision {
    return this.#storage(storage_id).head;
  }

  /** The revisions of the main line, oldest first. */
  revisions(storage_id: string): StoredRevision[] {
    return this.#storage(storage_id).revisions();
  }

  /** The sorted entries of a revision, the head without one. */
  async tree(storage_id: string, revision?: StoredRevision): Promise<ListedEntry[]> {
    return list(await this.#treeOf(storage_id, revision), '') ?? [];
  }

  /** The bytes of a file in a revision (the head without one), null when there is no such file. */
  async read(storage_id: string, path: string, revision?: StoredRevision): Promise<Buffer | null> {
    const node = (await this.#treeOf(storage_id, revision)).get(path);
    return node?.type === 'file' ? this.#store.readBlob(node.sha256) : null;
  }

  /** Path → text of every file in a revision, the head without one; directories end in `/`. */
  async texts(storage_id: string, revision?: StoredRevision): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const entry of await this.tree(storage_id, revision)) {
      if (entry.type === 'directory') found[`${entry.path}/`] = '';
      else found[entry.path] = (await this.#store.readBlob(entry.sha256)).toString('utf8');
    }
    return found;
  }

  /** The hashes of all blobs, sorted. */
  async blobs(): Promise<string[]> {
    return this.#store.blobs();
  }

  /** Forgets the revisions before the head: `changes` since one of them answers 410 `revision_expired`. */
  async expireHistory(storage_id: string): Promise<void> {
    await this.#storage(storage_id).expireHistory();
  }

  /** Whether a commit on a stale base is always 409, also when it could be taken with `overwritten[]`. */
  wantMerge(storage_id: string, wanted: boolean): void {
    if (wanted) this.#mergeFirst.add(storage_id);
    else this.#mergeFirst.delete(storage_id);
  }

  fault(fault: StorageFault & StorageFaultScope): void {
    this.#faults.add(fault);
  }

  clearFaults(): void {
    this.#faults.clear();
  }

  get activeFaults(): readonly (StorageFault & StorageFaultScope)[] {
    return this.#faults.active;
  }

  // --- HTTP -----------------------------------------------------------------------------------------------

  /** Answers a request to the storage service; false, and nothing done, when it is none. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const url = new URL(request.url ?? '/', 'http://stand-in.test');
    if (url.pathname === '/storage-elsewhere') {
      this.#violate('redirect_followed', request, 'a redirect was followed');
      await send(response, { status: 404, json: failure('not_found') });
      return true;
    }
    const parts = /^\/api\/v1\/relay\/(storages|links)\/([^/]+)(\/.*)?$/.exec(url.pathname);
    if (parts === null) return false;
    const kind = parts[1] as Base['kind'];
    const id = decodeURIComponent(parts[2] as string);
    const rest = parts[3] ?? '';
    const route = routeOf(request.method ?? '', kind, rest);
    const logged: LoggedRequest = {
      route,
      method: request.method ?? '',
      id,
      address: rest + url.search,
      headers: request.headers,
      received: 0,
      status: null,
    };
    this.requests.push(logged);
    response.once('finish', () => {
      logged.status = response.statusCode;
    });
    try {
      await this.#serve({ request, logged, url, kind, id, rest, route }, response);
    } catch (thrown) {
      // A client that went away in the middle is its own matter; anything else is a fault of this service.
      if (request.destroyed && !request.complete) response.destroy();
      else if (response.headersSent) response.destroy();
      else await send(response, { status: 500, json: failure('internal_error', String(thrown)) });
    }
    return true;
  }

  async #serve(
    call: {
      request: IncomingMessage;
      logged: LoggedRequest;
      url: URL;
      kind: Base['kind'];
      id: string;
      rest: string;
      route: StorageRoute | null;
    },
    response: ServerResponse,
  ): Promise<void> {
    const { request, logged, url, kind, id, rest, route } = call;
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (request.headers.cookie !== undefined) this.#violate('cookie', request, 'a cookie was sent');
    if (token !== '' && decodeURIComponent(url.href).includes(token)) {
      this.#violate('token_in_url', request, 'the token stands in the address');
    }
    if (route === null) {
      this.#violate('unknown_route', request, 'there is no such route');
      await drain(request, logged);
      return send(response, { status: 404, json: failure('not_found') });
    }

    const fault = this.#faults.take(route, id);
    if (fault !== undefined && (await this.#failFirst(fault, request, response, logged))) return;

    const refused = this.#authorize(kind, id, token, request) ?? this.#findBase(kind, id);
    if ('status' in refused) {
      await drain(request, logged);
      return send(response, refused);
    }
    const received: Received = { request, logged, url, base: refused };
    const cut = fault?.do === 'cut_upload' ? fault.after : null;
    const answer = await this.#answer(route, rest, received, cut);
    if (answer === null) return void request.socket.destroy();
    await drain(request, logged);
    if (fault === undefined) return send(response, answer);
    return this.#failAfter(fault, answer, request, response, received);
  }

  /** Faults that come before anything is done; true when there is nothing left to do. */
  async #failFirst(
    fault: StorageFault,
    request: IncomingMessage,
    response: ServerResponse,
    logged: LoggedRequest,
  ): Promise<boolean> {
    switch (fault.do) {
      case 'drop':
        request.socket.destroy();
        return true;
      case 'hang':
        this.#hanging.add(response);
        await drain(request, logged);
        return true;
      case 'status': {
        await drain(request, logged);
        const headers = { 'Content-Type': 'application/json', ...fault.headers };
        response.writeHead(fault.status, headers);
        response.end(fault.body ?? JSON.stringify(failure(fault.error_code ?? `fault_${fault.status}`)));
        return true;
      }
      case 'html':
        await drain(request, logged);
        response.writeHead(200, { 'Content-Type': 'text/html' });
        response.end('<!doctype html><title>Sign in</title><p>Sign in to use this network.</p>');
        return true;
      case 'redirect':
        await drain(request, logged);
        response.writeHead(307, { Location: '/storage-elsewhere' });
        response.end();
        return true;
      case 'wait':
        await fault.until;
        // Whoever went away meanwhile did nothing wrong.
        return request.socket.destroyed;
      case 'slow':
        await later(fault.delay_ms);
        return request.socket.destroyed;
      default:
        return false;
    }
  }

  /** Faults of the answer. */
  async #failAfter(
    fault: StorageFault,
    answer: Answer,
    request: IncomingMessage,
    response: ServerResponse,
    received: Received,
  ): Promise<void> {
    switch (fault.do) {
      case 'lose_answer':
        request.socket.destroy();
        return;
      case 'rewrite':
        if (answer.json === undefined) return send(response, answer);
        return sendBytes(response, answer, Buffer.from(JSON.stringify(fault.change(answer.json))));
      case 'other_bytes':
        return sendBytes(response, { status: answer.status }, Buffer.from(fault.bytes));
      case 'ignore_range': {
        const file = answer.file;
        if (file === undefined) return send(response, answer);
        return send(response, { status: 200, file: { ...file, start: 0, end: file.total } });
      }
      case 'flip_bit': {
        const bytes = await bytesOf(answer);
        if (fault.at < bytes.length) bytes[fault.at] = (bytes[fault.at] as number) ^ 1;
        return sendBytes(response, answer, bytes);
      }
      case 'short_body': {
        const bytes = await bytesOf(answer);
        response.writeHead(answer.status, headersOf(answer));
        response.end(bytes.subarray(0, Math.max(0, bytes.length - fault.by)));
        return;
      }
      case 'cut_body':
      case 'stall_body': {
        const bytes = await bytesOf(answer);
        response.writeHead(answer.status, { ...headersOf(answer), 'Content-Length': String(bytes.length) });
        if (fault.after === 0) response.flushHeaders();
        else await new Promise((resolve) => response.write(bytes.subarray(0, fault.after), resolve));
        if (fault.do === 'cut_body') received.request.socket.end();
        else this.#hanging.add(response);
        return;
      }
      default:
        return send(response, answer);
    }
  }

  #authorize(kind: Base['kind'], id: string, token: string, request: IncomingMessage): Answer | null {
    const bases = this.#tokens.get(token);
    if (bases === undefined) return { status: 401, json: failure('token_rejected') };
    if (bases.has(`${kind}/${id}`)) return null;
    this.#violate('token_to_wrong_base', request, 'the token is bound to another base');
    return { status: 403, json: failure('token_rejected') };
  }

  #findBase(kind: Base['kind'], id: string): Base | Answer {
    if (kind === 'storages') {
      const storage = this.#store.storages.get(id);
      if (storage === undefined) return { status: 404, json: failure('storage_unknown') };
      return { kind, id, storage, top: '' };
    }
    const link = this.#store.links.get(id);
    if (link === undefined) return { status: 404, json: failure('link_unknown') };
    if (link.broken) return { status: 410, json: failure('link_target_gone') };
    return { kind, id, storage: this.#storage(link.target.storage_id), top: link.target.path };
  }

  /** The proper answer; null when the connection is to be broken (`cut` bytes of the part were taken). */
  async #answer(
    route: StorageRoute,
    rest: string,
    received: Received,
    cut: number | null,
  ): Promise<Answer | null> {
    const hash = /^\/blobs\/([0-9a-f]{64})/.exec(rest)?.[1] ?? '';
    switch (route) {
      case 'link':
        return this.#link(received.base.id);
      case 'tree':
        return this.#tree(received);
      case 'changes':
        return this.#changes(received);
      case 'missing':
        return this.#missing(received);
      case 'commit':
        return this.#commit(received);
      case 'blob':
        return this.#blob(hash, received.request.headers.range);
      case 'put':
        return this.#oneAtATime(hash, () => this.#put(hash, received));
      case 'upload_offset':
        return this.#uploadOffset(hash);
      case 'upload_part':
        return this.#oneAtATime(hash, () => this.#uploadPart(hash, received, cut));
    }
  }

  #link(id: string): Answer {
    const link = this.#store.links.get(id);
    if (link === undefined) return { status: 404, json: failure('link_unknown') };
    const { link_id, storage_id, path, target } = link;
    return { status: 200, json: { link_id, storage_id, path, target } };
  }

  async #tree({ request, url, base }: Received): Promise<Answer> {
    const limit = this.#limit(url, request);
    const revision = url.searchParams.get('revision');
    const path = url.searchParams.get('path') ?? '';
    if (limit === null || revision === null) return { status: 400, json: failure('invalid_request') };
    const tree = await base.storage.tree(revision);
    if (tree === null) return { status: 410, json: failure('revision_expired') };
    const entries = list(subtree(tree, base.top), path);
    if (entries === null) return { status: 404, json: failure('path_not_found') };
    const page = pageOf(entries, url.searchParams.get('cursor'), limit, revision);
    if (page === null) return { status: 400, json: failure('cursor_invalid') };
    const named = base.storage.revisionOf(revision);
    return { status: 200, json: { revision: named, entries: page.items, next_cursor: page.next } };
  }

  async #changes({ request, url, base }: Received): Promise<Answer> {
    const limit = this.#limit(url, request);
    if (limit === null) return { status: 400, json: failure('invalid_request') };
    const since = url.searchParams.get('since') ?? '';
    const cursor = url.searchParams.get('cursor');
    // All pages lead to the revision that was the head when the first one was asked for.
    const until = cursor === null ? String(base.storage.head) : (/^(.*)@\d+$/.exec(cursor)?.[1] ?? '');
    const older = since === '' ? new Map() : await base.storage.tree(since);
    const newer = await base.storage.tree(until);
    if (older === null || newer === null) return { status: 410, json: failure('revision_expired') };
    const changes = difference(subtree(older, base.top), subtree(newer, base.top));
    const page = pageOf(changes, cursor, limit, until);
    if (page === null) return { status: 400, json: failure('cursor_invalid') };
    const revision = base.storage.revisionOf(until);
    return { status: 200, json: { revision, changes: page.items, next_cursor: page.next } };
  }

  async #missing({ request, logged }: Received): Promise<Answer> {
    const body = parse(await drain(request, logged));
    const hashes = body?.sha256;
    if (!Array.isArray(hashes) || !hashes.every(isHash))
      return { status: 400, json: failure('invalid_request') };
    if (hashes.length > LARGEST_MISSING) {
      this.#violate('oversize_batch', request, `${hashes.length} hashes at once`);
      return { status: 400, json: failure('invalid_request') };
    }
    const missing: string[] = [];
    for (const hash of hashes) if ((await this.#store.blobSize(hash)) === null) missing.push(hash);
    return { status: 200, json: { missing } };
  }

  async #blob(hash: string, range: string | undefined): Promise<Answer> {
    const total = await this.#store.blobSize(hash);
    if (total === null) return { status: 404, json: failure('blob_unknown') };
    const path = this.#store.blobPath(hash);
    const wanted = /^bytes=(\d+)-(\d*)$/.exec(range ?? '');
    if (wanted === null) return { status: 200, file: { path, start: 0, end: total, total } };
    const start = Number(wanted[1]);
    const end = wanted[2] === '' ? total : Math.min(total, Number(wanted[2]) + 1);
    if (start >= end) {
      return {
        status: 416,
        headers: { 'Content-Range': `bytes */${total}` },
        json: failure('range_invalid'),
      };
    }
    return {
      status: 206,
      headers: { 'Content-Range': `bytes ${start}-${end - 1}/${total}` },
      file: { path, start, end, total },
    };
  }

  async #put(hash: string, { request, logged }: Received): Promise<Answer> {
    if ((await this.#store.blobSize(hash)) !== null) return { status: 200, json: { sha256: hash } };
    const path = this.#store.receivingPath();
    try {
      if (!(await receive(request, logged, path, 0, LARGEST_PUT_BYTES))) {
        this.#violate('oversize_put', request, 'more than 64 MiB');
        return { status: 413, json: failure('too_large') };
      }
      if (!(await this.#store.accept(path, hash))) return { status: 409, json: failure('hash_mismatch') };
      return { status: 201, json: { sha256: hash } };
    } finally {
      await rm(path, { force: true });
    }
  }

  async #uploadOffset(hash: string): Promise<Answer> {
    return { status: 200, headers: { 'Upload-Offset': String(await this.#store.uploadOffset(hash)) } };
  }

  async #uploadPart(hash: string, { request, logged }: Received, cut: number | null): Promise<Answer | null> {
    const complete = request.headers['upload-complete'];
    const claimed = request.headers['upload-offset'];
    if ((complete !== '?0' && complete !== '?1') || typeof claimed !== 'string' || !/^\d+$/.test(claimed)) {
      return { status: 400, json: failure('invalid_request') };
    }
    const offset = await this.#store.uploadOffset(hash);
    const at = (status: number, code?: string): Answer => ({
      status,
      headers: { 'Upload-Offset': String(offset) },
      ...(code === undefined ? {} : { json: failure(code) }),
    });
    if (Number(claimed) !== offset) return at(409, 'offset_mismatch');
    if ((await this.#store.blobSize(hash)) !== null) return { status: 201, json: { sha256: hash } };
    const path = this.#store.uploadPath(hash);
    if (!(await receive(request, logged, path, offset, cut ?? LARGEST_PART_BYTES))) {
      if (cut !== null) return null;
      await truncate(path, offset);
      this.#violate('oversize_part', request, 'more than 8 MiB');
      return at(413, 'too_large');
    }
    if (complete === '?0') {
      return { status: 204, headers: { 'Upload-Offset': String(await this.#store.uploadOffset(hash)) } };
    }
    if (!(await this.#store.accept(path, hash))) return { status: 409, json: failure('hash_mismatch') };
    return { status: 201, json: { sha256: hash } };
  }

  async #commit({ request, logged, base }: Received): Promise<Answer> {
    const raw = await drain(request, logged);
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string' || key === '') {
      this.#violate('idempotency_key_missing', request, 'no Idempotency-Key');
      return { status: 400, json: failure('idempotency_key_missing') };
    }
    const body_sha256 = createHash('sha256').update(raw).digest('hex');
    return base.storage.alone(async (): Promise<Answer> => {
      const given = base.storage.answer(key);
      if (given !== undefined) {
        if (given.body_sha256 === body_sha256) return { status: given.status, json: given.body };
        this.#violate('idempotency_key_reused', request, 'the same key with another body');
        return { status: 422, json: failure('idempotency_key_reused') };
      }
      const outcome = await this.#apply(parse(raw), base, request);
      if ('tree' in outcome) {
        let answer: StoredAnswer | undefined;
        await base.storage.add(outcome.tree, 'head', {
          key,
          of: (revision) => {
            answer = { body_sha256, status: 201, body: { revision, overwritten: outcome.overwritten } };
            return answer;
          },
        });
        return { status: 201, json: answer?.body ?? {} };
      }
      if (outcome.status === 409) {
        await base.storage.keepAnswer(key, { body_sha256, status: 409, body: outcome.json ?? {} });
      }
      return outcome;
    });
  }

  async #apply(
    body: Record<string, unknown> | null,
    base: Base,
    request: IncomingMessage,
  ): Promise<Answer | { tree: Tree; overwritten: string[] }> {
    const refuse = (kind: ViolationKind, detail: string): Answer => {
      this.#violate(kind, request, detail);
      return { status: 400, json: failure(kind, detail) };
    };
    const read = readCommit(body);
    if (typeof read === 'string') return refuse('bad_commit', read);
    const { changes, path, base_revision, expected_hash } = read;
    if (path !== '' && !isPath(path)) return refuse('bad_path', JSON.stringify(path));
    for (const change of changes) {
      if (!isPath(change.path)) return refuse('bad_path', JSON.stringify(change.path));
      if (change.path.split('/').some(isInternalName)) return refuse('internal_name', change.path);
      if (!isWithin(change.path, path)) return refuse('commit_outside_path', change.path);
      const full = under(base.top, change.path);
      for (const link of this.#store.links.values()) {
        if (link.storage_id === base.storage.id && isWithin(full, link.path)) {
          return refuse('commit_touches_link', change.path);
        }
      }
      if (change.op === 'put' && change.type === 'file') {
        const size = await this.#store.blobSize(change.sha256);
        if (size !== change.size) return refuse('blob_not_uploaded', change.path);
      }
    }

    const { storage, top } = base;
    const conflict = (): Answer => ({
      status: 409,
      json: { ...failure('storage_state_conflict'), revision: storage.head },
    });
    const head = await storage.headTree();
    const known: Tree | null = base_revision === null ? new Map() : await storage.tree(base_revision);
    if (known === null) return conflict();
    if (this.#mergeFirst.has(storage.id) && String(base_revision) !== String(storage.head)) return conflict();
    if (expected_hash !== undefined && hashAt(head, under(top, path)) !== expected_hash) return conflict();
    const applied = applyCommit(
      known,
      head,
      changes.map((change) => ({ ...change, path: under(top, change.path) })),
    );
    if (applied.kind === 'conflict') return conflict();
    if (applied.kind === 'invalid') return refuse('bad_commit', applied.sentence);
    const skipped = top === '' ? 0 : top.length + 1;
    return { tree: applied.tree, overwritten: applied.overwritten.map((at) => at.slice(skipped)) };
  }

  #limit(url: URL, request: IncomingMessage): number | null {
    const text = url.searchParams.get('limit');
    if (text === null) return DEFAULT_LIMIT;
    const limit = /^\d+$/.test(text) ? Number(text) : 0;
    if (limit >= 1 && limit <= LARGEST_LIMIT) return limit;
    this.#violate('bad_limit', request, 'limit is not between 1 and 10 000');
    return null;
  }

  async #oneAtATime<T>(hash: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#uploads.get(hash) ?? Promise.resolve()).then(work);
    const settled = turn.catch(() => undefined);
    this.#uploads.set(hash, settled);
    try {
      return await turn;
    } finally {
      if (this.#uploads.get(hash) === settled) this.#uploads.delete(hash);
    }
  }

  #storage(storage_id: string): StoredStorage {
    const storage = this.#store.storages.get(storage_id);
    if (storage === undefined) throw new Error(`there is no Storage ${storage_id}`);
    return storage;
  }

  async #treeOf(storage_id: string, revision?: StoredRevision): Promise<Tree> {
    const storage = this.#storage(storage_id);
    const tree = await storage.tree(revision ?? storage.head);
    if (tree === null) throw new Error(`there is no revision ${revision} of ${storage_id}`);
    return tree;
  }

  async #changesOf(writing: Writing): Promise<ListedChange[]> {
    const changes: ListedChange[] = [];
    for (const [path, content] of Object.entries(writing)) {
      if (content === null) changes.push({ op: 'delete', path });
      else if (content === DIRECTORY) changes.push({ op: 'put', path, type: 'directory' });
      else {
        const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
        const sha256 = await this.#store.putBlob(bytes);
        changes.push({ op: 'put', path, type: 'file', size: bytes.length, sha256 });
      }
    }
    return changes;
  }

  #violate(kind: ViolationKind, request: IncomingMessage, detail: string): void {
    const address = (request.url ?? '').replace(/\?.*$/s, '');
    const violation = { kind, detail: `${request.method} ${address}: ${detail}` };
    this.violations.push(violation);
    this.onViolation(violation);
  }
}

function baseKey(base: TokenBase): string {
  return 'link_id' in base ? `links/${base.link_id}` : `storages/${base.storage_id}`;
}

function routeOf(method: string, kind: Base['kind'], rest: string): StorageRoute | null {
  const blob = /^\/blobs\/[0-9a-f]{64}(\/upload)?$/.exec(rest);
  if (blob !== null) {
    const routes: Record<string, StorageRoute> =
      blob[1] === undefined ? { GET: 'blob', PUT: 'put' } : { HEAD: 'upload_offset', PATCH: 'upload_part' };
    return routes[method] ?? null;
  }
  switch (`${method} ${rest}`) {
    case 'GET ':
      return kind === 'links' ? 'link' : null;
    case 'GET /tree':
      return 'tree';
    case 'GET /changes':
      return 'changes';
    case 'POST /blobs/missing':
      return 'missing';
    case 'POST /commits':
      return 'commit';
    default:
      return null;
  }
}

function failure(error_code: string, error = error_code): Record<string, unknown> {
  return { error_code, error };
}

function under(top: string, path: string): string {
  if (top === '' || path === '') return top + path;
  return `${top}/${path}`;
}

/** A cursor is `{revision}@{index of the next item}`; null for one that is not of these items. */
function pageOf<T>(
  items: readonly T[],
  cursor: string | null,
  limit: number,
  revision: string,
): { items: T[]; next: string | null } | null {
  let from = 0;
  if (cursor !== null) {
    const parts = /^(.*)@(\d+)$/.exec(cursor);
    if (parts === null || parts[1] !== revision) return null;
    from = Number(parts[2]);
  }
  const to = from + limit;
  return { items: items.slice(from, to), next: to < items.length ? `${revision}@${to}` : null };
}

interface Commit {
  base_revision: StoredRevision | null;
  path: string;
  changes: ListedChange[];
  expected_hash?: string;
}

/** The commit, or what is wrong with it. */
function readCommit(body: Record<string, unknown> | null): Commit | string {
  if (body === null) return 'not a JSON object';
  const { base_revision, path, changes, expected_hash } = body;
  if (base_revision !== null && typeof base_revision !== 'string' && typeof base_revision !== 'number') {
    return 'base_revision';
  }
  if (typeof path !== 'string') return 'path';
  if (expected_hash !== undefined && !isHash(expected_hash)) return 'expected_hash';
  if (!Array.isArray(changes)) return 'changes';
  const read: ListedChange[] = [];
  for (const change of changes as Record<string, unknown>[]) {
    if (typeof change !== 'object' || change === null || typeof change.path !== 'string') return 'a change';
    if (change.op === 'delete') read.push({ op: 'delete', path: change.path });
    else if (change.op !== 'put') return 'op';
    else {
      const node = readNode(change);
      if (node === null) return 'an entry';
      read.push({ op: 'put', path: change.path, ...node });
    }
  }
  const commit = { base_revision, path, changes: read };
  return expected_hash === undefined ? commit : { ...commit, expected_hash };
}

function readNode({ type, size, sha256, mtime }: Record<string, unknown>): TreeNode | null {
  if (type === 'directory') return { type };
  if (type !== 'file' || !Number.isSafeInteger(size) || (size as number) < 0 || !isHash(sha256)) return null;
  const file = { type, size: size as number, sha256 } as const;
  if (mtime === undefined) return file;
  return typeof mtime === 'number' && Number.isFinite(mtime) ? { ...file, mtime } : null;
}

function isHash(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}

/** storage.md, Paths and names. */
function isPath(path: string): boolean {
  if (Buffer.from(path).toString() !== path || Buffer.byteLength(path) > 4096) return false;
  return path.split('/').every((name) => {
    if (name === '' || name === '.' || name === '..' || Buffer.byteLength(name) > 255) return false;
    return !name.includes('\\') && !/\p{Cc}/u.test(name);
  });
}

function isInternalName(name: string): boolean {
  return name.startsWith('.endue-storage-') || name.endsWith('.crswap');
}

function parse(bytes: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** Reads what is left of the request's body. */
async function drain(request: IncomingMessage, logged: LoggedRequest): Promise<Buffer> {
  if (request.readableEnded || request.destroyed) return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
    logged.received += (chunk as Buffer).length;
  }
  return Buffer.concat(chunks);
}

/**
 * Writes the request's body into the file at `path` from `offset` on, as it comes, so that a broken connection
 * leaves what arrived. False when there is more than `most` bytes; those were written, the rest was not read.
 */
async function receive(
  request: IncomingMessage,
  logged: LoggedRequest,
  path: string,
  offset: number,
  most: number,
): Promise<boolean> {
  const file = await open(path, 'a');
  try {
    await file.truncate(offset);
    let taken = 0;
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = chunk as Buffer;
      logged.received += bytes.length;
      const fitting = bytes.subarray(0, most - taken);
      await file.write(fitting);
      taken += fitting.length;
      if (fitting.length < bytes.length) return false;
    }
    return true;
  } finally {
    await file.close();
  }
}

async function truncate(path: string, length: number): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.truncate(length);
  } finally {
    await file.close();
  }
}

function headersOf(answer: Answer): Record<string, string> {
  const type = answer.json === undefined ? 'application/octet-stream' : 'application/json';
  return answer.json === undefined && answer.file === undefined
    ? { ...answer.headers }
    : { 'Content-Type': type, ...answer.headers };
}

async function bytesOf(answer: Answer): Promise<Buffer> {
  if (answer.file !== undefined) {
    return (await readFile(answer.file.path)).subarray(answer.file.start, answer.file.end);
  }
  return Buffer.from(answer.json === undefined ? '' : JSON.stringify(answer.json));
}

function sendBytes(response: ServerResponse, answer: Answer, bytes: Buffer): void {
  response.writeHead(answer.status, { ...headersOf(answer), 'Content-Length': String(bytes.length) });
  response.end(bytes);
}

async function send(response: ServerResponse, answer: Answer): Promise<void> {
  const { file } = answer;
  if (file === undefined && answer.json === undefined) {
    response.writeHead(answer.status, headersOf(answer));
    response.end();
    return;
  }
  if (file === undefined || file.end === file.start)
    return sendBytes(response, answer, await bytesOf(answer));
  response.writeHead(answer.status, {
    ...headersOf(answer),
    'Content-Length': String(file.end - file.start),
  });
  const source = createReadStream(file.path, { start: file.start, end: file.end - 1 });
  response.once('close', () => source.destroy());
  source.once('error', () => response.destroy());
  source.pipe(response);
}
