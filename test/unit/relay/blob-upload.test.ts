import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { retryAfter, type Upload, uploadBlob } from '../../../src/relay/blob-upload';
import { FakeClock } from './support/fake-clock';

const ADDRESS = 'https://os.example.com/api/v1/relay/blobs/r1/image';
const BYTES = new Uint8Array([1, 2, 3, 250]);
const SHA256 = createHash('sha256').update(BYTES).digest('hex');
const REFERENCE = { name: 'image', mime_type: 'image/png', size: 4, sha256: SHA256 };

type Answer = Response | 'network error' | 'hang';

const ok = (body: unknown): Response => new Response(JSON.stringify(body), { status: 201 });
const status = (code: number, headers: Record<string, string> = {}): Response =>
  new Response('', { status: code, headers });

/** Uploads against a relay that gives those answers in turn. */
function upload(answers: Answer[], changes: Partial<Upload> = {}) {
  const clock = new FakeClock();
  const requests: { url: string; init: RequestInit; at: number }[] = [];
  const fetch = (url: unknown, init: RequestInit = {}): Promise<Response> => {
    requests.push({ url: String(url), init, at: clock.passed });
    const answer = answers.shift() ?? status(500);
    if (answer === 'network error') return Promise.reject(new TypeError('Failed to fetch'));
    if (answer === 'hang') {
      return new Promise((_resolve, reject) => {
        init.signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
      });
    }
    return Promise.resolve(answer);
  };
  const done = uploadBlob(
    {
      address: ADDRESS,
      token: 'abc123',
      name: 'image',
      mime_type: 'image/png',
      blob: new Blob([BYTES], { type: 'application/wrong' }),
      within_ms: 30_000,
      ...changes,
    },
    {
      fetch: fetch as typeof globalThis.fetch,
      clock,
      random: () => 0,
      sha256: async (bytes) => createHash('sha256').update(new Uint8Array(bytes)).digest('hex'),
    },
  );
  return { clock, requests, done };
}

describe('wire.md §6: blob upload', () => {
  it('PUTs the bytes with token and type, and lets them go nowhere else', async () => {
    const { done, requests } = upload([ok(REFERENCE)]);
    expect(await done).toEqual(REFERENCE);
    expect(requests).toHaveLength(1);
    const [{ url, init } = { url: '', init: {} as RequestInit }] = requests;
    expect(url).toBe(ADDRESS);
    expect(init).toMatchObject({
      method: 'PUT',
      redirect: 'manual',
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
    });
    const headers = new Headers(init.headers);
    expect([...headers]).toEqual([
      ['authorization', 'Bearer abc123'],
      ['content-type', 'image/png'],
    ]);
    expect(new Uint8Array(await (init.body as Blob).arrayBuffer())).toEqual(BYTES);
  });

  it.each<[string, Answer]>([
    ['another name', ok({ ...REFERENCE, name: 'other' })],
    ['another type', ok({ ...REFERENCE, mime_type: 'text/html' })],
    ['another size', ok({ ...REFERENCE, size: 5 })],
    ['another hash', ok({ ...REFERENCE, sha256: SHA256.replace(/./, 'x') })],
    ['no hash', ok({ ...REFERENCE, sha256: undefined })],
    ['no object', ok(null)],
    ['no JSON', new Response('<html>', { status: 200 })],
    ['a redirect', status(307, { location: 'https://evil.test/' })],
    ['an opaque redirect', Response.error()],
    ['400', status(400)],
    ['401', status(401)],
    ['413', status(413)],
  ])('fails at once on %s in the answer', async (_what, answer) => {
    const { done, requests } = upload([answer, ok(REFERENCE)]);
    expect(await done).toBeNull();
    expect(requests).toHaveLength(1);
  });

  it('takes an upper-case hash, and says what it computed itself', async () => {
    const { done } = upload([ok({ ...REFERENCE, sha256: SHA256.toUpperCase(), extra: 1 })]);
    expect(await done).toEqual(REFERENCE);
  });

  it('tries three times on network errors, 429 and 5xx', async () => {
    const healed = upload(['network error', status(503), ok(REFERENCE)]);
    await healed.clock.pass(10_000);
    expect(await healed.done).toEqual(REFERENCE);
    expect(healed.requests.map(({ at }) => at)).toEqual([0, 500, 1_500]);

    const failed = upload([status(429), status(500), 'network error', ok(REFERENCE)]);
    await failed.clock.pass(10_000);
    expect(await failed.done).toBeNull();
    expect(failed.requests).toHaveLength(3);
  });

  it('honours Retry-After, unless that would be too late', async () => {
    const waits = upload([status(429, { 'retry-after': '7' }), ok(REFERENCE)]);
    await waits.clock.pass(7_000);
    expect(await waits.done).toEqual(REFERENCE);
    expect(waits.requests.map(({ at }) => at)).toEqual([0, 7_000]);

    const late = upload([status(503, { 'retry-after': '30' }), ok(REFERENCE)]);
    await late.clock.pass(0);
    expect(await late.done).toBeNull();
  });

  it('an attempt that hangs ends in time, and leaves no timer behind', async () => {
    const { clock, done, requests } = upload(['hang', ok(REFERENCE)]);
    await clock.pass(29_999);
    let ended = false;
    void done.then(() => {
      ended = true;
    });
    await clock.pass(0);
    expect(ended).toBe(false);
    await clock.pass(1);
    expect(await done).toBeNull();
    expect(requests).toHaveLength(1);
    expect(clock.timers).toBe(0);
  });

  it('a body that breaks off is a network error', async () => {
    const broken = new Response(
      new ReadableStream({
        start: (controller) => controller.error(new Error('connection reset')),
      }),
      { status: 200 },
    );
    const { clock, done } = upload([broken, ok(REFERENCE)]);
    await clock.pass(10_000);
    expect(await done).toEqual(REFERENCE);
  });
});

it('reads Retry-After as seconds or as a date', () => {
  const wall = Date.parse('2026-01-01T00:00:00Z');
  expect(retryAfter('120', wall)).toBe(120_000);
  expect(retryAfter('0', wall)).toBe(0);
  expect(retryAfter('Thu, 01 Jan 2026 00:00:05 GMT', wall)).toBe(5_000);
  expect(retryAfter('Thu, 01 Jan 2015 00:00:05 GMT', wall)).toBe(0);
  expect(retryAfter('soon', wall)).toBeNull();
  expect(retryAfter(null, wall)).toBeNull();
});
