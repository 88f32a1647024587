import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DIRECTORY } from '../../fake-relay/storage-service';
import { type Served, serve } from './served';

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const file = (path: string, text: string) => ({
  path,
  type: 'file',
  size: Buffer.byteLength(text),
  sha256: sha256(text),
});

let served: Served;
let token: string;

beforeEach(async () => {
  served = await serve();
  await served.service.createStorage('s1');
  token = served.service.issueToken({ storage_id: 's1' });
});

afterEach(async () => {
  await served.stop();
});

interface Reply {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

async function ask(
  method: string,
  address: string,
  init: RequestInit & { as?: string } = {},
): Promise<Reply> {
  const { as = token, headers, ...rest } = init;
  const response = await fetch(`${served.origin}/api/v1/relay${address}`, {
    method,
    headers: { Authorization: `Bearer ${as}`, ...(headers as Record<string, string>) },
    ...rest,
  });
  const text = await response.text();
  const json = (response.headers.get('content-type') ?? '').includes('json');
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : { text } };
}

let keys = 0;
async function commit(
  body: Record<string, unknown>,
  key = `k${++keys}`,
  address = '/storages/s1',
): Promise<Reply> {
  return ask('POST', `${address}/commits`, {
    headers: { 'Idempotency-Key': key },
    body: JSON.stringify({ path: '', ...body }),
  });
}

async function put(text: string): Promise<string> {
  const hash = sha256(text);
  await ask('PUT', `/storages/s1/blobs/${hash}`, { body: text });
  return hash;
}

const putOf = (path: string, text: string) => ({ op: 'put', ...file(path, text) });

describe('who may ask', () => {
  test('no token and an unknown token: 401; a revoked one: 401', async () => {
    expect((await ask('GET', '/storages/s1/changes', { as: 'nobody' })).status).toBe(401);
    served.service.revokeToken(token);
    const reply = await ask('GET', '/storages/s1/changes');
    expect(reply.status).toBe(401);
    expect(reply.body.error_code).toBe('token_rejected');
  });

  test('a token of another base: 403, and a violation', async () => {
    await served.service.createStorage('s2');
    expect((await ask('GET', '/storages/s2/changes')).status).toBe(403);
    expect(served.service.violations.map(({ kind }) => kind)).toEqual(['token_to_wrong_base']);
  });

  test('cookies, a token in the address and unknown routes are violations', async () => {
    await ask('GET', '/storages/s1/changes', { headers: { Cookie: 'a=b' } });
    await ask('GET', `/storages/s1/changes?since=&token=${token}`);
    await ask('DELETE', '/storages/s1/tree');
    expect(served.service.violations.map(({ kind }) => kind)).toEqual([
      'cookie',
      'token_in_url',
      'unknown_route',
    ]);
    expect(JSON.stringify(served.service.violations)).not.toContain(token);
  });

  test('what is not of the storage service is left to others', async () => {
    expect((await fetch(`${served.origin}/api/v1/relay/blobs/x/y`)).status).toBe(404);
    expect(served.service.requests).toEqual([]);
  });
});

describe('tree', () => {
  test('sorted by UTF-8 bytes, only empty directories listed', async () => {
    // U+FF5E sorts before U+1F600 by bytes, after it by UTF-16 units.
    await served.service.write('s1', {
      '\u{1F600}': '1',
      '\uFF5E': '2',
      'd/x': '3',
      'e/f': DIRECTORY,
      'd.txt': '4',
    });
    const { body } = await ask('GET', `/storages/s1/tree?revision=${served.service.head('s1')}&path=`);
    expect(body.entries).toEqual([
      file('d.txt', '4'),
      file('d/x', '3'),
      { path: 'e/f', type: 'directory' },
      file('\uFF5E', '2'),
      file('\u{1F600}', '1'),
    ]);
    expect(body.next_cursor).toBeNull();
  });

  test('under a path; of a file; of nothing: 404 path_not_found; the empty root is there', async () => {
    const head = served.service.head('s1');
    expect((await ask('GET', `/storages/s1/tree?revision=${head}&path=`)).body.entries).toEqual([]);
    const next = await served.service.write('s1', { 'a/b': '1', ab: '2' });
    const under = (path: string) => ask('GET', `/storages/s1/tree?revision=${next}&path=${path}`);
    expect((await under('a')).body.entries).toEqual([file('a/b', '1')]);
    expect((await under('ab')).body.entries).toEqual([file('ab', '2')]);
    const none = await under('b');
    expect([none.status, none.body.error_code]).toEqual([404, 'path_not_found']);
  });

  test('pages by cursor; a limit over 10 000 is refused', async () => {
    const head = await served.service.write('s1', { a: '1', b: '2', c: '3' });
    const first = await ask('GET', `/storages/s1/tree?revision=${head}&path=&limit=2`);
    expect(first.body.entries).toEqual([file('a', '1'), file('b', '2')]);
    const rest = await ask(
      'GET',
      `/storages/s1/tree?revision=${head}&path=&limit=2&cursor=${encodeURIComponent(String(first.body.next_cursor))}`,
    );
    expect(rest.body.entries).toEqual([file('c', '3')]);
    expect(rest.body.next_cursor).toBeNull();
    expect((await ask('GET', `/storages/s1/tree?revision=${head}&limit=10001`)).status).toBe(400);
  });

  test('a staged revision stands beside the head and holds just what was staged', async () => {
    await served.service.write('s1', { a: '1' });
    const before = served.service.head('s1');
    const staged = await served.service.stage('s1', { 'new/x': '2' });
    expect(served.service.head('s1')).toBe(before);
    const { body } = await ask('GET', `/storages/s1/tree?revision=${staged}&path=new`);
    expect([body.revision, body.entries]).toEqual([staged, [file('new/x', '2')]]);
    expect((await ask('GET', '/storages/s1/changes?since=')).body.changes).toEqual([putOf('a', '1')]);
  });
});

describe('changes', () => {
  test('since a revision: deletes, then puts; since nothing: everything', async () => {
    const first = await served.service.write('s1', { a: '1', b: '2', 'c/d': '3' });
    const second = await served.service.write('s1', { a: null, b: '2b', 'c/d': null, c: 'now a file' });
    const { body } = await ask('GET', `/storages/s1/changes?since=${first}`);
    expect(body).toEqual({
      revision: second,
      changes: [
        { op: 'delete', path: 'a' },
        { op: 'delete', path: 'c/d' },
        putOf('b', '2b'),
        putOf('c', 'now a file'),
      ],
      next_cursor: null,
    });
    const all = await ask('GET', '/storages/s1/changes?since=');
    expect(all.body.changes).toEqual([putOf('b', '2b'), putOf('c', 'now a file')]);
  });

  test('a filled empty directory is no deletion; an emptied one is put', async () => {
    const first = await served.service.write('s1', { d: DIRECTORY, 'e/f': '1' });
    await served.service.write('s1', { 'd/x': '1', 'e/f': null, e: DIRECTORY });
    expect((await ask('GET', `/storages/s1/changes?since=${first}`)).body.changes).toEqual([
      { op: 'delete', path: 'e/f' },
      putOf('d/x', '1'),
      { op: 'put', path: 'e', type: 'directory' },
    ]);
  });

  test('all pages lead to the revision of the first, whatever is committed meanwhile', async () => {
    const until = await served.service.write('s1', { a: '1', b: '2', c: '3' });
    const first = await ask('GET', '/storages/s1/changes?since=&limit=2');
    await served.service.write('s1', { a: null, z: '9' });
    const rest = await ask(
      'GET',
      `/storages/s1/changes?since=&limit=2&cursor=${encodeURIComponent(String(first.body.next_cursor))}`,
    );
    expect([first.body.revision, rest.body.revision]).toEqual([until, until]);
    expect(rest.body.changes).toEqual([putOf('c', '3')]);
  });

  test('an expired or unknown revision: 410 revision_expired', async () => {
    const old = served.service.head('s1');
    await served.service.write('s1', { a: '1' });
    expect((await ask('GET', `/storages/s1/changes?since=${old}`)).status).toBe(200);
    await served.service.expireHistory('s1');
    for (const since of [old, 'r99', 'never']) {
      const reply = await ask('GET', `/storages/s1/changes?since=${since}`);
      expect([reply.status, reply.body.error_code]).toEqual([410, 'revision_expired']);
    }
  });

  test('revisions can be numbers', async () => {
    await served.service.createStorage('n');
    await served.service.createStorage('numbers', { numbered: true });
    await served.service.write('numbers', { a: '1' });
    const as = served.service.issueToken({ storage_id: 'numbers' });
    const { body } = await ask('GET', '/storages/numbers/changes?since=0', { as });
    expect(body).toEqual({ revision: 1, changes: [putOf('a', '1')], next_cursor: null });
  });
});

describe('blobs', () => {
  test('PUT: 201, then 200; missing tells; GET gives the bytes', async () => {
    const hash = sha256('hello');
    const lacking = () =>
      ask('POST', '/storages/s1/blobs/missing', { body: JSON.stringify({ sha256: [hash] }) });
    expect((await lacking()).body).toEqual({ missing: [hash] });
    expect((await ask('PUT', `/storages/s1/blobs/${hash}`, { body: 'hello' })).status).toBe(201);
    expect((await ask('PUT', `/storages/s1/blobs/${hash}`, { body: 'hello' })).status).toBe(200);
    expect((await lacking()).body).toEqual({ missing: [] });
    expect((await ask('GET', `/storages/s1/blobs/${hash}`)).body).toEqual({ text: 'hello' });
    expect(await served.service.blobs()).toEqual([hash]);
  });

  test('PUT of other bytes: 409 hash_mismatch, and nothing is kept', async () => {
    const reply = await ask('PUT', `/storages/s1/blobs/${sha256('hello')}`, { body: 'hellO' });
    expect([reply.status, reply.body.error_code]).toEqual([409, 'hash_mismatch']);
    expect(await served.service.blobs()).toEqual([]);
  });

  test('more than 1000 hashes at once are refused', async () => {
    const body = JSON.stringify({ sha256: Array.from({ length: 1001 }, (_, n) => sha256(String(n))) });
    expect((await ask('POST', '/storages/s1/blobs/missing', { body })).status).toBe(400);
    expect(served.service.violations.map(({ kind }) => kind)).toEqual(['oversize_batch']);
  });

  test('Range: 206 with Content-Range; behind the end: 416', async () => {
    const hash = await put('0123456789');
    const part = await ask('GET', `/storages/s1/blobs/${hash}`, { headers: { Range: 'bytes=7-' } });
    expect([part.status, part.body.text, part.headers.get('content-range')]).toEqual([
      206,
      '789',
      'bytes 7-9/10',
    ]);
    const behind = await ask('GET', `/storages/s1/blobs/${hash}`, { headers: { Range: 'bytes=10-' } });
    expect([behind.status, behind.headers.get('content-range')]).toEqual([416, 'bytes */10']);
    expect((await ask('GET', `/storages/s1/blobs/${sha256('none')}`)).status).toBe(404);
  });

  describe('resumable upload', () => {
    const text = 'a longer content';
    const hash = sha256(text);
    const address = `/storages/s1/blobs/${hash}/upload`;
    const part = (offset: number, body: string, complete: boolean) =>
      ask('PATCH', address, {
        headers: { 'Upload-Offset': String(offset), 'Upload-Complete': complete ? '?1' : '?0' },
        body,
      });

    test('HEAD 0, a part 204, HEAD, the last part 201', async () => {
      const offset = async () => (await ask('HEAD', address)).headers.get('upload-offset');
      expect(await offset()).toBe('0');
      const first = await part(0, text.slice(0, 6), false);
      expect([first.status, first.headers.get('upload-offset')]).toEqual([204, '6']);
      expect(await offset()).toBe('6');
      expect((await part(6, text.slice(6), true)).status).toBe(201);
      expect(await served.service.blobs()).toEqual([hash]);
    });

    test('a wrong offset: 409 with the right one, nothing taken', async () => {
      await part(0, text.slice(0, 6), false);
      const wrong = await part(3, text.slice(3), true);
      expect([wrong.status, wrong.headers.get('upload-offset')]).toEqual([409, '6']);
      expect((await part(6, text.slice(6), true)).status).toBe(201);
    });

    test('complete with other bytes: 409 hash_mismatch, and it starts over', async () => {
      await part(0, 'a longeR', false);
      const last = await part(8, text.slice(8), true);
      expect([last.status, last.body.error_code]).toEqual([409, 'hash_mismatch']);
      expect((await ask('HEAD', address)).headers.get('upload-offset')).toBe('0');
    });

    test('a part over 8 MiB is refused and nothing of it kept', async () => {
      const reply = await part(0, 'x'.repeat(8 * 1024 * 1024 + 1), false);
      expect(reply.status).toBe(413);
      expect(served.service.violations.map(({ kind }) => kind)).toEqual(['oversize_part']);
      expect((await ask('HEAD', address)).headers.get('upload-offset')).toBe('0');
    });
  });
});

describe('commits', () => {
  test('201 with the new revision; the old one keeps its content', async () => {
    await put('1');
    await put('2');
    const first = await commit({ base_revision: null, changes: [putOf('a', '1')] });
    expect(first.status).toBe(201);
    expect(first.body.overwritten).toEqual([]);
    const second = await commit({ base_revision: first.body.revision, changes: [putOf('a', '2')] });
    expect(await served.service.texts('s1')).toEqual({ a: '2' });
    expect(await served.service.texts('s1', first.body.revision as string)).toEqual({ a: '1' });
    expect(served.service.revisions('s1').slice(-2)).toEqual([first.body.revision, second.body.revision]);
    expect(served.service.violations).toEqual([]);
  });

  test('the same key and body: the same answer, once; with another body: 422 and a violation', async () => {
    await put('1');
    await put('2');
    const body = { base_revision: null, changes: [putOf('a', '1')] };
    const first = await commit(body, 'r:1');
    const again = await commit(body, 'r:1');
    expect(again.body).toEqual(first.body);
    expect(served.service.head('s1')).toBe(first.body.revision);
    expect((await commit({ ...body, changes: [putOf('a', '2')] }, 'r:1')).status).toBe(422);
    expect(served.service.violations.map(({ kind }) => kind)).toEqual(['idempotency_key_reused']);
  });

  test('without a key: 400 and a violation', async () => {
    const reply = await ask('POST', '/storages/s1/commits', { body: '{}' });
    expect(reply.status).toBe(400);
    expect(served.service.violations.map(({ kind }) => kind)).toEqual(['idempotency_key_missing']);
  });

  test('a later save wins and lists what it overwrote', async () => {
    const base = await served.service.write('s1', { a: '1', b: '1' });
    const theirs = await served.service.write('s1', { a: 'theirs', b: 'theirs' });
    await put('mine');
    const reply = await commit({ base_revision: base, changes: [putOf('a', 'mine')] });
    expect([reply.status, reply.body.overwritten]).toEqual([201, ['a']]);
    expect(await served.service.texts('s1')).toEqual({ a: 'mine', b: 'theirs' });
    expect(await served.service.texts('s1', theirs)).toEqual({ a: 'theirs', b: 'theirs' });
  });

  test('equal content on both sides overwrites nothing', async () => {
    const base = await served.service.write('s1', { a: '1' });
    await served.service.write('s1', { a: 'same' });
    const reply = await commit({ base_revision: base, changes: [putOf('a', 'same')] });
    expect(reply.body.overwritten).toEqual([]);
  });

  test('a deletion of what the base has not seen wants a merge: 409 with the revision', async () => {
    const base = await served.service.write('s1', { 'd/a': '1' });
    const head = await served.service.write('s1', { 'd/new': '2' });
    const reply = await commit({ base_revision: base, changes: [{ op: 'delete', path: 'd' }] });
    expect([reply.status, reply.body.error_code, reply.body.revision]).toEqual([
      409,
      'storage_state_conflict',
      head,
    ]);
    expect(await served.service.texts('s1')).toEqual({ 'd/a': '1', 'd/new': '2' });
    const merged = await commit({ base_revision: head, changes: [{ op: 'delete', path: 'd' }] });
    expect(merged.status).toBe(201);
    expect(await served.service.texts('s1')).toEqual({});
  });

  test('a file where others made a directory, and the reverse, want a merge', async () => {
    const base = served.service.head('s1');
    await served.service.write('s1', { 'x/y': '1', z: '2' });
    await put('mine');
    expect((await commit({ base_revision: base, changes: [putOf('x', 'mine')] })).status).toBe(409);
    expect((await commit({ base_revision: base, changes: [putOf('z/w', 'mine')] })).status).toBe(409);
  });

  test('wantMerge and an expired base: 409', async () => {
    const base = served.service.head('s1');
    const head = await served.service.write('s1', { a: '1' });
    await put('2');
    served.service.wantMerge('s1', true);
    expect((await commit({ base_revision: base, changes: [putOf('b', '2')] })).status).toBe(409);
    expect((await commit({ base_revision: head, changes: [putOf('b', '2')] })).status).toBe(201);
    served.service.wantMerge('s1', false);
    await served.service.expireHistory('s1');
    expect((await commit({ base_revision: base, changes: [putOf('c', '2')] })).status).toBe(409);
  });

  test('a file becomes a directory in one commit, whatever the order of its changes', async () => {
    const base = await served.service.write('s1', { a: '1' });
    await put('2');
    const changes = [putOf('a/b', '2'), { op: 'delete', path: 'a' }];
    expect((await commit({ base_revision: base, changes })).status).toBe(201);
    expect(await served.service.texts('s1')).toEqual({ 'a/b': '2' });
  });

  test('expected_hash: of a file, of a tree; another one is 409', async () => {
    const base = await served.service.write('s1', { 'd/b': '1', 'd/e/f': DIRECTORY, x: '2' });
    const tree = sha256(`file\0b\0${1}\0${sha256('1')}\ndirectory\0e/f\n`);
    const remove = (path: string, expected_hash: string, base_revision: unknown = base) =>
      commit({ base_revision, path, expected_hash, changes: [{ op: 'delete', path }] });
    expect((await remove('d', sha256('other'))).status).toBe(409);
    expect((await remove('nothing', tree)).status).toBe(409);
    const gone = await remove('d', tree);
    expect(gone.status).toBe(201);
    expect((await remove('x', sha256('2'), gone.body.revision)).status).toBe(201);
    expect(await served.service.texts('s1')).toEqual({});
  });

  test('what must not be committed is refused whole, and recorded', async () => {
    await put('1');
    const refused: [string, unknown[], string][] = [
      ['bad_path', [putOf('../x', '1')], ''],
      ['bad_path', [putOf('a\u0000b', '1')], ''],
      ['bad_path', [putOf('', '1')], ''],
      ['internal_name', [putOf('.endue-storage-tmp-1/x', '1')], ''],
      ['internal_name', [putOf('x.crswap', '1')], ''],
      ['commit_outside_path', [putOf('other', '1')], 'a'],
      ['blob_not_uploaded', [putOf('a', 'never uploaded')], ''],
      ['blob_not_uploaded', [{ ...putOf('a', '1'), size: 2 }], ''],
      ['bad_commit', [{ op: 'put', path: 'a' }], ''],
      ['bad_commit', [putOf('a', '1'), putOf('a/b', '1')], ''],
    ];
    for (const [kind, changes, path] of refused) {
      const reply = await commit({ base_revision: null, path, changes: [...changes] });
      expect([reply.status, served.service.violations.at(-1)?.kind]).toEqual([400, kind]);
    }
    expect(await served.service.texts('s1')).toEqual({});
  });
});

describe('links', () => {
  beforeEach(async () => {
    await served.service.createStorage('target');
    await served.service.write('target', { 'docs/a': '1', 'docs/b/c': '2', other: '3' });
    await served.service.createLink({
      link_id: 'l1',
      storage_id: 's1',
      path: 'shown',
      target: { storage_id: 'target', path: 'docs' },
    });
    token = served.service.issueToken({ link_id: 'l1' });
  });

  test('the base tells the link; tree, changes and commits are relative to the target', async () => {
    expect((await ask('GET', '/links/l1')).body).toEqual({
      link_id: 'l1',
      storage_id: 's1',
      path: 'shown',
      target: { storage_id: 'target', path: 'docs' },
    });
    const head = served.service.head('target');
    const tree = await ask('GET', `/links/l1/tree?revision=${head}&path=`);
    expect(tree.body.entries).toEqual([file('a', '1'), file('b/c', '2')]);
    await served.service.write('target', { 'docs/a': 'theirs', other: 'unseen' });
    const changes = await ask('GET', `/links/l1/changes?since=${head}`);
    expect(changes.body.changes).toEqual([putOf('a', 'theirs')]);
    const hash = sha256('mine');
    await ask('PUT', `/links/l1/blobs/${hash}`, { body: 'mine' });
    const reply = await commit({ base_revision: head, changes: [putOf('a', 'mine')] }, 'k', '/links/l1');
    expect(reply.body.overwritten).toEqual(['a']);
    expect(await served.service.texts('target')).toEqual({
      'docs/a': 'mine',
      'docs/b/c': '2',
      other: 'unseen',
    });
  });

  test('broken: 410 link_target_gone on every route, until mended; unknown: 404', async () => {
    await served.service.breakLink('l1');
    for (const address of ['/links/l1', '/links/l1/tree?revision=r1', '/links/l1/changes?since=']) {
      const reply = await ask('GET', address);
      expect([reply.status, reply.body.error_code]).toEqual([410, 'link_target_gone']);
    }
    await served.service.breakLink('l1', false);
    expect((await ask('GET', '/links/l1')).status).toBe(200);
    token = served.service.issueToken({ link_id: 'l2' });
    expect((await ask('GET', '/links/l2')).status).toBe(404);
  });

  test('the Storage that holds a link may not commit what lies in it', async () => {
    token = served.service.issueToken({ storage_id: 's1' });
    await put('1');
    expect((await commit({ base_revision: null, changes: [putOf('shown/a', '1')] })).status).toBe(400);
    expect(served.service.violations.map(({ kind }) => kind)).toEqual(['commit_touches_link']);
  });
});

describe('faults', () => {
  test('wait holds a request until told, others pass meanwhile', async () => {
    let go = (): void => {};
    const until = new Promise<void>((resolve) => {
      go = resolve;
    });
    served.service.fault({ do: 'wait', until, route: 'changes', times: 1 });
    const held = ask('GET', '/storages/s1/changes');
    const head = await served.service.write('s1', { a: '1' });
    expect((await ask('GET', '/storages/s1/changes')).body.revision).toBe(head);
    expect(served.service.requests.map(({ status }) => status)).toEqual([null, 200]);
    go();
    expect((await held).body.revision).toBe(head);
  });

  test('one fault of one route and base, after so many requests, so many times', async () => {
    await served.service.createStorage('s2');
    const as = served.service.issueToken({ storage_id: 's1' }, { storage_id: 's2' });
    served.service.fault({ do: 'status', status: 503, route: 'changes', id: 's1', skip: 1, times: 2 });
    const statuses: number[] = [];
    for (const id of ['s2', 's1', 's1', 's2', 's1', 's1']) {
      statuses.push((await ask('GET', `/storages/${id}/changes`, { as })).status);
    }
    expect(statuses).toEqual([200, 200, 503, 200, 503, 200]);
    served.service.fault({ do: 'slow', delay_ms: 1 });
    served.service.fault({ do: 'html' });
    served.service.clearFaults();
    expect((await ask('GET', '/storages/s1/changes')).body.changes).toEqual([]);
  });
});

test('another service on the same directory finds everything again', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'storage-service-'));
  try {
    await served.stop();
    served = await serve(directory);
    await served.service.createStorage('s1');
    token = served.service.issueToken({ storage_id: 's1' });
    await put('1');
    const body = { base_revision: null, changes: [putOf('a', '1')] };
    const first = await commit(body, 'r:1');
    await ask('PATCH', `/storages/s1/blobs/${sha256('abc')}/upload`, {
      headers: { 'Upload-Offset': '0', 'Upload-Complete': '?0' },
      body: 'ab',
    });
    await served.stop();

    served = await serve(directory);
    token = served.service.issueToken({ storage_id: 's1' });
    expect(await served.service.texts('s1')).toEqual({ a: '1' });
    expect((await commit(body, 'r:1')).body).toEqual(first.body);
    const offset = await ask('HEAD', `/storages/s1/blobs/${sha256('abc')}/upload`);
    expect(offset.headers.get('upload-offset')).toBe('2');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
