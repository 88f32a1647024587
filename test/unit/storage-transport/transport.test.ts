import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import type { RemoteChange, Transport } from '../../../src/storage/ports';
import { ATTEMPTS } from '../../../src/storage/retry';
import { transportsTo } from '../../../src/storage/transport';
import { DIRECTORY } from '../../fake-relay/storage-service';
import { type Bench, bench, codeOf, never, readAll, STALL_MS, sha256, TestClock, until } from './harness';

let b: Bench;

beforeEach(async () => {
  b = await bench();
});

afterEach(async () => {
  const violations = [...b.service.violations];
  await b.stop();
  expect(violations).toEqual([]);
  // Nothing goes on after the last answer.
  expect(b.clock.watching).toBe(0);
});

const changes = (transport: Transport = b.transport, signal = never()) =>
  transport.changes({ since: null, cursor: null }, signal);

const putOf = (path: string, text: string): RemoteChange => ({
  op: 'put',
  type: 'file',
  path,
  size: Buffer.byteLength(text),
  sha256: sha256(text),
});

async function upload(text: string): Promise<void> {
  await b.transport.upload(sha256(text), new Blob([text]), never());
}

describe('the routes', () => {
  test('tree: entries of a revision under a path, page by page', async () => {
    const revision = await b.service.write('s1', { 'd/ä&=#?%2e': '1', 'd/e': DIRECTORY, x: '2' });
    const page = (cursor: string | null) =>
      b.transport.tree({ revision, path: 'd', cursor, limit: 1 }, never());
    const first = await page(null);
    expect(first).toEqual({
      revision,
      entries: [{ type: 'directory', path: 'd/e' }],
      next_cursor: expect.any(String),
    });
    expect(await page(first.next_cursor)).toEqual({
      revision,
      entries: [{ type: 'file', path: 'd/ä&=#?%2e', size: 1, sha256: sha256('1') }],
      next_cursor: null,
    });
    const odd = await b.transport.tree({ revision, path: 'd/ä&=#?%2e', cursor: null }, never());
    expect(odd.entries).toHaveLength(1);
  });

  test('tree: 404 is path_not_found', async () => {
    const revision = b.service.head('s1');
    expect(await codeOf(b.transport.tree({ revision, path: 'no', cursor: null }, never()))).toBe(
      'path_not_found',
    );
  });

  test('changes: since null everything, since a revision the rest, 410 revision_expired is expired', async () => {
    const old = await b.service.write('s1', { a: '1' });
    const head = await b.service.write('s1', { a: null, b: '2' });
    expect(await changes()).toEqual({
      expired: false,
      revision: head,
      changes: [putOf('b', '2')],
      next_cursor: null,
    });
    const since = () => b.transport.changes({ since: old, cursor: null }, never());
    expect(await since()).toMatchObject({ changes: [{ op: 'delete', path: 'a' }, putOf('b', '2')] });
    await b.service.expireHistory('s1');
    expect(await since()).toEqual({ expired: true });
  });

  test('revisions that are numbers come back as numbers', async () => {
    await b.service.createStorage('n', { numbered: true });
    const transport = b.connect({ storage_id: 'n' }, b.service.issueToken({ storage_id: 'n' }));
    const revision = await b.service.write('n', { a: '1' });
    expect(revision).toBe(1);
    expect((await transport.tree({ revision, path: '', cursor: null }, never())).revision).toBe(1);
    const reply = await transport.commit(
      { base_revision: 1, path: '', changes: [putOf('b', '1')] },
      'r:1',
      never(),
    );
    expect(reply.revision).toBe(2);
  });

  test('missing: any number, asked in portions of 1000, each hash once', async () => {
    const texts = Array.from({ length: 2500 }, (_, n) => String(n));
    await b.service.write('s1', { a: '7', b: '2400' });
    const hashes = texts.map((text) => sha256(text));
    const missing = await b.transport.missing([...hashes, ...hashes], never());
    expect(missing).toEqual(hashes.filter((hash) => hash !== sha256('7') && hash !== sha256('2400')));
    expect(b.service.requests.filter(({ route }) => route === 'missing')).toHaveLength(3);
    expect(await b.transport.missing([], never())).toEqual([]);
  });

  test('commit: the revision and what was overwritten; storage_state_conflict on 409', async () => {
    const base = await b.service.write('s1', { a: '1', d: DIRECTORY });
    await b.service.write('s1', { a: 'theirs', 'd/x': 'theirs' });
    await upload('mine');
    const commit = (list: RemoteChange[], key: string) =>
      b.transport.commit({ base_revision: base, path: '', changes: list }, key, never());
    const reply = await commit([putOf('a', 'mine')], 'r:1');
    expect(reply).toEqual({ revision: b.service.head('s1'), overwritten: ['a'] });
    expect(await codeOf(commit([{ op: 'delete', path: 'd' }], 'r:2'))).toBe('storage_state_conflict');
    expect(await b.service.texts('s1')).toEqual({ a: 'mine', 'd/x': 'theirs' });
  });

  test('commit: one request whatever its size, expected_hash and mtime included', async () => {
    await upload('x');
    const list = Array.from(
      { length: 2001 },
      (_, n) => ({ ...putOf(`f${n}`, 'x'), mtime: n }) as RemoteChange,
    );
    await b.transport.commit(
      { base_revision: null, path: '', changes: list, expected_hash: sha256('') },
      'r',
      never(),
    );
    expect(b.service.requests.filter(({ route }) => route === 'commit')).toHaveLength(1);
    const tree = await b.service.tree('s1');
    expect(tree).toHaveLength(2001);
    expect(tree.find(({ path }) => path === 'f1500')).toMatchObject({ mtime: 1500 });
    const wrong = { base_revision: null, path: '', changes: [], expected_hash: sha256('no') };
    expect(await codeOf(b.transport.commit(wrong, 'r:2', never()))).toBe('storage_state_conflict');
  });

  test('commit: a request id that fits into no header is still one key', async () => {
    await upload('x');
    const body = { base_revision: null, path: '', changes: [putOf('a', 'x')] };
    for (const id of ['\ud83d', 'a\r\nCookie: b', 'ü', 'x'.repeat(100_000)]) {
      const first = await b.transport.commit(body, `${id}:1`, never());
      expect(await b.transport.commit(body, `${id}:1`, never())).toEqual(first);
      expect((await b.transport.commit(body, `${id}:2`, never())).revision).not.toBe(first.revision);
    }
    await b.transport.commit(body, 'plain:1', never());
    expect(b.service.requests.at(-1)?.headers['idempotency-key']).toBe('plain:1');
  });

  describe('links', () => {
    let link: Transport;

    beforeEach(async () => {
      await b.service.createStorage('target');
      await b.service.write('target', { 'docs/a': '1' });
      await b.service.createLink({
        link_id: 'l/1',
        storage_id: 's1',
        path: 'shown',
        target: { storage_id: 'target', path: 'docs' },
      });
      link = b.connect({ link_id: 'l/1' }, b.service.issueToken({ link_id: 'l/1' }));
    });

    test('the link itself; paths relative to its target', async () => {
      expect(await link.link(never())).toEqual({
        link_id: 'l/1',
        storage_id: 's1',
        path: 'shown',
        target: { storage_id: 'target', path: 'docs' },
      });
      expect(await changes(link)).toMatchObject({ changes: [putOf('a', '1')] });
    });

    test('broken: link_target_gone from every route', async () => {
      await b.service.breakLink('l/1');
      const revision = b.service.head('target');
      const body = { base_revision: revision, path: '', changes: [] };
      const calls = [
        link.link(never()),
        changes(link),
        link.tree({ revision, path: '', cursor: null }, never()),
        link.missing([sha256('1')], never()),
        link.upload(sha256('1'), new Blob(['1']), never()),
        link.download(sha256('1'), 0, never()),
        link.commit(body, 'r:1', never()),
      ];
      expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => 'link_target_gone'));
      await b.service.breakLink('l/1', false);
      b.service.fault({ do: 'status', status: 410, route: 'upload_offset' });
      const large = new Blob([new Uint8Array(9 * 1024 * 1024)]);
      expect(await codeOf(link.upload(sha256('?'), large, never()))).toBe('link_target_gone');
    });

    test('unknown: link_unknown; a path that is not there stays path_not_found', async () => {
      const other = b.connect({ link_id: 'l2' }, b.service.issueToken({ link_id: 'l2' }));
      expect(await codeOf(other.link(never()))).toBe('link_unknown');
      expect(await codeOf(changes(other))).toBe('link_unknown');
      const revision = b.service.head('target');
      expect(await codeOf(link.tree({ revision, path: 'no', cursor: null }, never()))).toBe('path_not_found');
    });
  });

  test('ids are percent-encoded; ones that no address can hold are refused without a request', async () => {
    const id = 'a/b?c#d%2e ü';
    await b.service.createStorage(id);
    await changes(b.connect({ storage_id: id }, b.service.issueToken({ storage_id: id })));
    expect(b.service.requests.at(-1)).toMatchObject({ id, status: 200 });
    const asked = b.service.requests.length;
    for (const bad of ['', '.', '..', '\ud83d']) {
      expect(await codeOf(changes(b.connect({ storage_id: bad }, b.token)))).toBe('storage_unknown');
      expect(await codeOf(b.connect({ link_id: bad }, b.token).link(never()))).toBe('link_unknown');
    }
    expect(b.service.requests).toHaveLength(asked);
  });
});

describe('the token', () => {
  test('goes as a Bearer header, with no cookie, no referrer', async () => {
    await changes();
    const headers = b.service.requests.at(-1)?.headers ?? {};
    expect(headers.authorization).toBe(`Bearer ${b.token}`);
    expect([headers.cookie, headers.referer]).toEqual([undefined, undefined]);
  });

  test.each([401, 403])(
    '%i is storage_token_rejected at once, and nothing more is asked with it',
    async (status) => {
      b.service.fault({ do: 'status', status, times: 1 });
      expect(await codeOf(changes())).toBe('storage_token_rejected');
      expect(await codeOf(upload('x'))).toBe('storage_token_rejected');
      expect(b.service.requests).toHaveLength(1);
      expect(b.clock.waits).toEqual([]);
      // Another job has another token.
      await changes(b.connect({ storage_id: 's1' }, b.service.issueToken({ storage_id: 's1' })));
    },
  );

  test('of another Storage is rejected', async () => {
    const other = b.service.issueToken({ storage_id: 's2' });
    expect(await codeOf(changes(b.connect({ storage_id: 's1' }, other)))).toBe('storage_token_rejected');
    expect(b.service.violations.splice(0)).toHaveLength(1);
  });

  test('that no header can hold is rejected unsent', async () => {
    for (const token of ['', 'a\r\nb', 'ü', 'a b']) {
      expect(await codeOf(changes(b.connect({ storage_id: 's1' }, token)))).toBe('storage_token_rejected');
    }
    expect(b.service.requests).toEqual([]);
  });

  test('a redirect is not followed, not even to the same origin, and not retried', async () => {
    b.service.fault({ do: 'redirect' });
    await upload('x').catch((thrown) => expect(thrown.code).toBe('storage_transport_failed'));
    expect(await codeOf(changes())).toBe('storage_transport_failed');
    expect(b.service.requests).toHaveLength(2);
  });

  test('wss: is asked by https:, at the same host and port only', async () => {
    const asked: { url: string; init: RequestInit }[] = [];
    const connect = transportsTo({
      endpoint: 'wss://relay.test:8443/device?a=b',
      fetch: async (url, init) => {
        asked.push({ url, init });
        return new Response('{"revision":"r","changes":[],"next_cursor":null}');
      },
      clock: b.clock,
      random: () => 0,
      stall_ms: STALL_MS,
    });
    await changes(connect({ storage_id: 's' }, 'SECRET9'));
    expect(asked[0]?.url).toBe('https://relay.test:8443/api/v1/relay/storages/s/changes?since=&limit=5000');
    expect(asked[0]?.init).toMatchObject({ credentials: 'omit', redirect: 'manual', cache: 'no-store' });
  });

  test('stands in no error, also when fetch quotes it', async () => {
    const connect = transportsTo({
      endpoint: 'wss://relay.test/',
      fetch: async (_url, init) => {
        throw new TypeError(`bad header ${JSON.stringify(init.headers)}`);
      },
      clock: b.clock,
      random: () => 0,
      stall_ms: STALL_MS,
    });
    const thrown: unknown = await changes(connect({ storage_id: 's' }, 'SECRET9')).catch((error) => error);
    expect(thrown).toBeInstanceOf(AgentError);
    expect(
      `${(thrown as Error).message}${(thrown as Error).stack}${String((thrown as Error).cause)}`,
    ).not.toContain('SECRET9');
  });
});

describe('passing trouble', () => {
  const backoff = [500, 1000, 2000, 4000, 8000, 16_000, 30_000];

  test.each([429, 500, 502, 503, 504])('%i is retried with backoff until it passes', async (status) => {
    b.service.fault({ do: 'status', status, times: 3 });
    await changes();
    expect(b.clock.waits).toEqual(backoff.slice(0, 3));
  });

  test('a broken connection is retried', async () => {
    b.service.fault({ do: 'drop', times: 2 });
    await changes();
    expect(b.clock.waits).toEqual(backoff.slice(0, 2));
  });

  test('what does not pass is storage_transport_failed after a bounded number of attempts', async () => {
    b.service.fault({ do: 'status', status: 503 });
    expect(await codeOf(changes())).toBe('storage_transport_failed');
    expect(b.service.requests).toHaveLength(ATTEMPTS);
    expect(b.clock.waits).toEqual(backoff);
  });

  test('a server that is not there is storage_transport_failed', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const clock = new TestClock();
    const connect = transportsTo({
      endpoint: `ws://127.0.0.1:${port}/`,
      fetch: (url, init) => fetch(url, init),
      clock,
      random: () => 0,
      stall_ms: STALL_MS,
    });
    expect(await codeOf(changes(connect({ storage_id: 's1' }, 't')))).toBe('storage_transport_failed');
    expect(clock.waits).toEqual(backoff);
  });

  test('Retry-After is honoured, as seconds and as a date', async () => {
    b.service.fault({ do: 'status', status: 429, headers: { 'Retry-After': '17' }, times: 1 });
    const date = new Date(b.clock.now() + 17_000 + 60_000).toUTCString();
    b.service.fault({ do: 'status', status: 503, headers: { 'Retry-After': date }, times: 1 });
    await changes();
    expect(b.clock.waits).toEqual([17_000, 60_000]);
  });

  test('a deadline that passes while waiting is timeout', async () => {
    b.service.fault({ do: 'status', status: 429, headers: { 'Retry-After': '100' } });
    const deadline = new AbortController();
    const waiting = b.clock.sleep.bind(b.clock);
    b.clock.sleep = async (ms, signal) => {
      if (ms === 100_000) deadline.abort(new AgentError('timeout'));
      return waiting(ms, signal);
    };
    expect(await codeOf(changes(b.transport, deadline.signal))).toBe('timeout');
    expect(b.service.requests).toHaveLength(1);
  });

  test('a server that never answers: timeout at the deadline, cancelled when cancelled', async () => {
    b.service.fault({ do: 'hang' });
    for (const [reason, code] of [
      [new AgentError('timeout'), 'timeout'],
      [new AgentError('cancelled'), 'cancelled'],
      [new DOMException('late', 'TimeoutError'), 'timeout'],
      [undefined, 'cancelled'],
    ] as const) {
      const controller = new AbortController();
      const asked = b.service.requests.length;
      const answer = codeOf(changes(b.transport, controller.signal));
      await until(() => b.service.requests.length > asked);
      controller.abort(reason);
      expect(await answer).toBe(code);
      expect(b.service.requests).toHaveLength(asked + 1);
    }
  });

  test('an aborted signal asks nothing', async () => {
    const controller = new AbortController();
    controller.abort(new AgentError('cancelled'));
    expect(await codeOf(changes(b.transport, controller.signal))).toBe('cancelled');
    expect(await codeOf(b.transport.download(sha256(''), 0, controller.signal))).toBe('cancelled');
    expect(b.service.requests).toEqual([]);
  });

  test('a server that has gone silent is asked again, before the head and in the body', async () => {
    await b.service.write('s1', { a: '1' });
    b.service.fault({ do: 'hang', times: 1 });
    b.service.fault({ do: 'stall_body', after: 5, times: 1 });
    const answer = changes();
    await until(() => b.service.requests.length === 1 && b.clock.watching > 0);
    b.clock.stall();
    await until(() => b.heads === 1);
    b.clock.stall();
    expect(await answer).toMatchObject({ changes: [putOf('a', '1')] });
    expect(b.service.requests).toHaveLength(3);
  });

  test('a request that may be queueing behind others that get on is not silent', async () => {
    b.service.fault({ do: 'hang', times: 1 });
    const queueing = changes();
    await until(() => b.service.requests.length === 1 && b.clock.watching === 1);
    b.clock.stall(0.6);
    await changes();
    b.clock.stall(0.6);
    await until(() => b.clock.watching === 1);
    expect(b.clock.waits).toEqual([]);
    b.clock.stall(0.6);
    await queueing;
    expect(b.clock.waits).toEqual([500]);
  });

  test('a JSON answer cut in the middle is asked for again', async () => {
    await b.service.write('s1', { a: '1' });
    b.service.fault({ do: 'cut_body', after: 20, times: 2 });
    expect(await changes()).toMatchObject({ changes: [putOf('a', '1')] });
    expect(b.service.requests).toHaveLength(3);
  });

  test('a lost answer to a commit: sent again under the same key with the same body, committed once', async () => {
    await upload('x');
    b.service.fault({ do: 'lose_answer', route: 'commit', times: 2 });
    const before = b.service.revisions('s1').length;
    const body = { base_revision: null, path: '', changes: [putOf('a', 'x')] };
    const reply = await b.transport.commit(body, 'r:1', never());
    expect(reply).toEqual({ revision: b.service.head('s1'), overwritten: [] });
    expect(b.service.revisions('s1')).toHaveLength(before + 1);
    expect(b.service.requests.filter(({ route }) => route === 'commit')).toHaveLength(3);
  });

  test.each([400, 404, 409, 413, 418])(
    '%i without meaning here is storage_transport_failed at once',
    async (status) => {
      b.service.fault({ do: 'status', status, times: 1 });
      expect(await codeOf(changes())).toBe('storage_transport_failed');
      expect(b.service.requests).toHaveLength(1);
    },
  );

  test('410 that names no revision is no expiry; on a Storage it is storage_transport_failed', async () => {
    b.service.fault({ do: 'status', status: 410, body: '<html>', times: 1 });
    expect(await codeOf(changes())).toBe('storage_transport_failed');
    const revision = b.service.head('s1');
    b.service.fault({ do: 'status', status: 410, error_code: 'revision_expired', times: 1 });
    expect(await codeOf(b.transport.tree({ revision, path: '', cursor: null }, never()))).toBe(
      'storage_transport_failed',
    );
  });
});

describe('answers that do not fit', () => {
  test('an HTML page with 200 is storage_transport_failed on every JSON route', async () => {
    b.service.fault({ do: 'html' });
    const revision = b.service.head('s1');
    const calls = [
      changes(),
      b.transport.tree({ revision, path: '', cursor: null }, never()),
      b.transport.missing([sha256('1')], never()),
      b.transport.commit({ base_revision: null, path: '', changes: [] }, 'r', never()),
      b.connect({ link_id: 'l' }, b.token).link(never()),
    ];
    expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => 'storage_transport_failed'));
    expect(b.service.requests).toHaveLength(calls.length);
  });

  const entry = { path: 'a', type: 'file', size: 1, sha256: sha256('1') };
  const wrong: [string, unknown][] = [
    ['not an object', []],
    ['null', null],
    ['no entries', { revision: 'REVISION', next_cursor: null }],
    ['entries an object', { revision: 'REVISION', entries: {}, next_cursor: null }],
    ['an entry null', { revision: 'REVISION', entries: [null], next_cursor: null }],
    ['no revision', { entries: [], next_cursor: null }],
    ['revision null', { revision: null, entries: [], next_cursor: null }],
    ['another revision', { revision: 'other', entries: [], next_cursor: null }],
    ['cursor a number', { revision: 'REVISION', entries: [], next_cursor: 5 }],
    ['cursor empty', { revision: 'REVISION', entries: [], next_cursor: '' }],
    ['size a string', { ...entry, size: '1' }],
    ['size negative', { ...entry, size: -1 }],
    ['size a fraction', { ...entry, size: 1.5 }],
    ['size beyond exact', { ...entry, size: 2 ** 53 }],
    ['hash in capitals', { ...entry, sha256: 'A'.repeat(64) }],
    ['hash too short', { ...entry, sha256: 'a' }],
    ['hash absent', { path: 'a', type: 'file', size: 1 }],
    ['path a number', { ...entry, path: 5 }],
    ['type a link', { ...entry, type: 'symlink' }],
    ['mtime a string', { ...entry, mtime: 'now' }],
  ];
  test.each(wrong)('tree: %s', async (_name, value) => {
    const revision = b.service.head('s1');
    b.service.fault({
      do: 'rewrite',
      change: (body) => {
        if (typeof value !== 'object' || value === null) return value;
        if ('path' in value || 'type' in value) return { ...body, entries: [value] };
        return JSON.parse(JSON.stringify(value).replace('"REVISION"', JSON.stringify(revision)));
      },
    });
    expect(await codeOf(b.transport.tree({ revision, path: '', cursor: null }, never()))).toBe(
      'storage_transport_failed',
    );
    expect(b.service.requests).toHaveLength(1);
  });

  test('changes, missing, commit and link are read as strictly', async () => {
    const rewritten = async (
      change: (body: Record<string, unknown>) => unknown,
      call: () => Promise<unknown>,
    ) => {
      b.service.fault({ do: 'rewrite', change, times: 1 });
      expect(await codeOf(call())).toBe('storage_transport_failed');
    };
    await rewritten((body) => ({ ...body, changes: [{ op: 'move', path: 'a' }] }), changes);
    await rewritten((body) => ({ ...body, changes: [{ op: 'delete' }] }), changes);
    await rewritten((body) => ({ ...body, changes: [{ op: 'put', path: 'a' }] }), changes);
    const missing = () => b.transport.missing([sha256('1')], never());
    await rewritten(() => ({ missing: [1] }), missing);
    await rewritten(() => ({ missing: [sha256('never asked')] }), missing);
    await rewritten(() => ({}), missing);
    let key = 0;
    const commit = () =>
      b.transport.commit({ base_revision: null, path: '', changes: [] }, `r:${++key}`, never());
    await rewritten(({ revision }) => ({ revision }), commit);
    await rewritten(({ revision }) => ({ revision, overwritten: [{}] }), commit);
    await rewritten(({ overwritten }) => ({ overwritten }), commit);
    await b.service.createLink({
      link_id: 'l',
      storage_id: 's1',
      path: 'p',
      target: { storage_id: 's1', path: 'q' },
    });
    const link = b.connect({ link_id: 'l' }, b.service.issueToken({ link_id: 'l' }));
    await rewritten(
      (body) => ({ ...body, target: 's1' }),
      () => link.link(never()),
    );
    await rewritten(
      (body) => ({ ...body, path: null }),
      () => link.link(never()),
    );
  });

  test('unknown fields are left out; hostile names are passed on as they are, for the engine to judge', async () => {
    const paths = [
      '../x',
      '/x',
      'C:\\x',
      '%2e%2e/x',
      'a\u0000b',
      '',
      'a//b',
      '\ud83d',
      '__proto__',
      'ok.txt',
    ];
    b.service.fault({
      do: 'rewrite',
      change: (body) => ({ ...body, changes: paths.map((path) => ({ op: 'put', ...entry, path, mode: 7 })) }),
    });
    expect(await changes()).toMatchObject({ changes: paths.map((path) => ({ op: 'put', ...entry, path })) });
    const page = await changes();
    expect(page.expired ? [] : Object.keys(page.changes[0] ?? {}).sort()).toEqual([
      'op',
      'path',
      'sha256',
      'size',
      'type',
    ]);
  });

  test('bytes that are not UTF-8, and an answer without end, are storage_transport_failed', async () => {
    const bodies: (() => ReadableStream<Uint8Array>)[] = [
      () => new Blob(['{"revision":"', new Uint8Array([0xff]), '","changes":[]}']).stream(),
      () =>
        new ReadableStream({
          pull(controller) {
            controller.enqueue(new Uint8Array(8 * 1024 * 1024).fill(0x20));
          },
        }),
    ];
    for (const body of bodies) {
      const connect = transportsTo({
        endpoint: 'wss://relay.test/',
        fetch: async () => new Response(body()),
        clock: b.clock,
        random: () => 0,
        stall_ms: STALL_MS,
      });
      expect(await codeOf(changes(connect({ storage_id: 's' }, 't')))).toBe('storage_transport_failed');
    }
  });
});

describe('nothing is left open', () => {
  test('one connection serves many calls in a row', async () => {
    const sockets = new Set<IncomingMessage['socket']>();
    const handle = b.service.handle.bind(b.service);
    b.service.handle = (request, response) => {
      sockets.add(request.socket);
      return handle(request, response);
    };
    await upload('x');
    await readAll(await b.transport.download(sha256('x'), 0, never()));
    for (let n = 0; n < 20; n += 1) {
      await changes();
      await upload(`text ${n}`);
      await codeOf(b.transport.tree({ revision: b.service.head('s1'), path: 'no', cursor: null }, never()));
    }
    // Node may open a second one when an answer's end is not yet seen.
    expect(sockets.size).toBeLessThan(5);
  });
});
