import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import { ATTEMPTS } from '../../../src/storage/retry';
import { type Bench, bench, bytesOf, codeOf, never, readAll, sha256, until } from './harness';

const KIB = 1024;
const content = Buffer.from(bytesOf(300 * KIB));
const hash = sha256(content);

let b: Bench;

beforeEach(async () => {
  b = await bench();
  await b.service.write('s1', { 'big.bin': content, empty: '' });
});

afterEach(async () => {
  const violations = [...b.service.violations];
  await b.stop();
  expect(violations).toEqual([]);
  expect(b.clock.watching).toBe(0);
});

const download = async (offset = 0, signal = never()) =>
  readAll(await b.transport.download(hash, offset, signal));
/** Comparing large buffers by value takes seconds. */
const expectBytes = (actual: Uint8Array, expected: Uint8Array): void => {
  expect([actual.length, sha256(actual)]).toEqual([expected.length, sha256(expected)]);
};
const ranges = () => b.service.requests.map(({ headers }) => headers.range ?? null);

test('the bytes, whole, from an offset, and none', async () => {
  expectBytes(await download(), content);
  expectBytes(await download(1000), content.subarray(1000));
  expectBytes(await download(content.length), Buffer.alloc(0));
  expect(await readAll(await b.transport.download(sha256(''), 0, never()))).toEqual(Buffer.alloc(0));
  expect(ranges()).toEqual([null, 'bytes=1000-', `bytes=${content.length}-`, null]);
});

test('an offset behind the end is storage_hash_mismatch', async () => {
  expect(await codeOf(download(content.length + 1))).toBe('storage_hash_mismatch');
});

test('a cut download is resumed where it was cut, again and again', async () => {
  b.service.fault({ do: 'cut_body', after: 100 * KIB, times: 1 });
  b.service.fault({ do: 'cut_body', after: 50 * KIB, times: 1 });
  expectBytes(await download(), content);
  expect(ranges()).toHaveLength(3);
  // What had arrived before the cut is not asked for again.
  expect(ranges()[0]).toBeNull();
  expect(b.service.requests.slice(1).every(({ status }) => status === 206 || status === null)).toBe(true);
});

test('a body that properly ends early is resumed as well', async () => {
  b.service.fault({ do: 'short_body', by: 1000, route: 'blob', skip: 1, times: 1 });
  b.service.fault({ do: 'cut_body', after: 10 * KIB, times: 1 });
  expectBytes(await download(), content);
  expect(ranges().at(-1)).toBe(`bytes=${content.length - 1000}-`);
});

test('a server that does not know Range: what is there already is passed over', async () => {
  b.service.fault({ do: 'cut_body', after: 100 * KIB, times: 1 });
  b.service.fault({ do: 'ignore_range' });
  expectBytes(await download(), content);
  expectBytes(await download(5), content.subarray(5));
});

test('case 13: a body that stays shorter than announced is storage_hash_mismatch, after bounded tries', async () => {
  b.service.fault({ do: 'cut_body', after: 0 });
  expect(await codeOf(download())).toBe('storage_hash_mismatch');
  expect(b.service.requests).toHaveLength(2);
});

test('case 13: promised 1000, sent 900, every time and whatever is asked for', async () => {
  const thousand = content.subarray(0, 1000);
  await b.service.write('s1', { thousand });
  b.service.fault({ do: 'cut_body', after: 900, times: 1 });
  b.service.fault({ do: 'cut_body', after: 0 });
  const chunks: Uint8Array[] = [];
  const reader = (await b.transport.download(sha256(thousand), 0, never())).getReader();
  const reading = (async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value);
  })();
  expect(await codeOf(reading)).toBe('storage_hash_mismatch');
  // What came is given on; the engine sees the failure and throws it away.
  expect(Buffer.concat(chunks)).toEqual(thousand.subarray(0, 900));
  expect(b.service.requests).toHaveLength(3);
});

test('case 13: an HTML page with 200 instead of the rest of a cut download is storage_hash_mismatch', async () => {
  b.service.fault({ do: 'cut_body', after: 100 * KIB, times: 1 });
  b.service.fault({ do: 'html' });
  expect(await codeOf(download())).toBe('storage_hash_mismatch');
});

test('a flipped bit and another content pass here: the hash is for the engine to check', async () => {
  b.service.fault({ do: 'flip_bit', at: 7, times: 1 });
  const flipped = await download();
  expect(flipped).toHaveLength(content.length);
  expect(sha256(flipped)).not.toBe(hash);
  b.service.fault({ do: 'html', times: 1 });
  expect((await download()).toString()).toContain('<p>');
});

test('another range than the one asked for is storage_transport_failed', async () => {
  for (const range of [`bytes 0-9/${content.length}`, 'nonsense', '']) {
    b.service.fault({ do: 'status', status: 206, headers: { 'Content-Range': range }, times: 1 });
    expect(await codeOf(download(10))).toBe('storage_transport_failed');
  }
  b.service.fault({ do: 'status', status: 206, headers: { 'Content-Range': 'bytes 0-1/2' }, times: 1 });
  expect(await codeOf(download())).toBe('storage_transport_failed');
});

test('a line that is down in the middle: retried with backoff, then storage_transport_failed', async () => {
  b.service.fault({ do: 'cut_body', after: 1000, times: 1 });
  b.service.fault({ do: 'status', status: 503 });
  expect(await codeOf(download())).toBe('storage_transport_failed');
  expect(b.service.requests).toHaveLength(ATTEMPTS);
  expect(b.clock.waits.slice(0, 3)).toEqual([500, 1000, 2000]);
});

test('503 before the first byte passes; 404 means that promised content is lacking, at once', async () => {
  b.service.fault({ do: 'status', status: 503, times: 2 });
  expectBytes(await download(), content);
  expect(await codeOf(b.transport.download(sha256('nowhere'), 0, never()))).toBe('storage_transport_failed');
  expect(b.service.requests).toHaveLength(4);
});

test('401 at a resumption is storage_token_rejected at once', async () => {
  b.service.fault({ do: 'cut_body', after: 1000, times: 1 });
  b.service.fault({ do: 'status', status: 401 });
  expect(await codeOf(download())).toBe('storage_token_rejected');
  expect(b.service.requests).toHaveLength(2);
});

test('silence in the body: resumed after the stall time', async () => {
  b.service.fault({ do: 'stall_body', after: 100 * KIB, times: 1 });
  const reader = (await b.transport.download(hash, 0, never())).getReader();
  const chunks: Uint8Array[] = [];
  let got = 0;
  let over = false;
  const reading = (async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      chunks.push(next.value);
      got += next.value.length;
    }
    over = true;
  })();
  await until(() => got === 100 * KIB);
  expect(over).toBe(false);
  b.clock.stall();
  await reading;
  expectBytes(Buffer.concat(chunks), content);
  expect(ranges()).toEqual([null, `bytes=${100 * KIB}-`]);
});

test('a reader that takes its time is no silence', async () => {
  const stream = await b.transport.download(hash, 0, never());
  const reader = stream.getReader();
  const first = await reader.read();
  b.clock.stall();
  await new Promise((resolve) => setImmediate(resolve));
  reader.releaseLock();
  expectBytes(Buffer.concat([first.value ?? Buffer.alloc(0), await readAll(stream)]), content);
  expect(b.service.requests).toHaveLength(1);
});

test('aborted in the middle: the stream fails with timeout or cancelled, nothing is asked for again', async () => {
  for (const code of ['timeout', 'cancelled'] as const) {
    b.service.requests.splice(0);
    b.service.fault({ do: 'stall_body', after: 1000, times: 1 });
    const controller = new AbortController();
    const reader = (await b.transport.download(hash, 0, controller.signal)).getReader();
    await reader.read();
    const rest = codeOf(reader.read());
    controller.abort(new AgentError(code));
    expect(await rest).toBe(code);
    expect(b.service.requests).toHaveLength(1);
  }
});

test('a cancelled stream lets go of the connection and asks for nothing more', async () => {
  b.service.fault({ do: 'stall_body', after: 1000, route: 'blob' });
  const reader = (await b.transport.download(hash, 0, never())).getReader();
  await reader.read();
  const pending = reader.read();
  // The stream starts to pull a moment after it is read.
  await new Promise((resolve) => setImmediate(resolve));
  await reader.cancel();
  expect((await pending).done).toBe(true);
  await until(() => b.clock.watching === 0);
  // By the time another call is answered, a resumption would have been asked for.
  await b.transport.changes({ since: null, cursor: null }, never());
  expect(b.clock.waits).toEqual([]);
  expect(b.service.requests.map(({ route }) => route)).toEqual(['blob', 'changes']);
});

describe('memory', () => {
  test('nothing is read ahead of the reader', async () => {
    const huge = bytesOf(32 * KIB * KIB);
    await b.service.write('s1', { huge });
    let read = 0;
    const connect = b.connect;
    const handle = b.service.handle.bind(b.service);
    b.service.handle = (request, response) => {
      const write = response.write.bind(response);
      response.write = ((chunk: Uint8Array, ...rest: []) => {
        read += chunk.length;
        return write(chunk, ...rest);
      }) as typeof response.write;
      return handle(request, response);
    };
    const stream = await connect({ storage_id: 's1' }, b.token).download(sha256(huge), 0, never());
    const reader = stream.getReader();
    await reader.read();
    // Only what fits into the buffers of the sockets can have left the server, however long one waits.
    for (let n = 0; n < 200; n += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(read).toBeLessThan(huge.length / 2);
    await reader.cancel();
  });
});

describe('large content comes in parts', () => {
  const MIB = 1024 * KIB;
  const large = Buffer.alloc(18 * MIB, 'of no whole number of parts ');
  const largeHash = sha256(large);
  const downloadLarge = async (offset = 0) =>
    readAll(await b.transport.download(largeHash, offset, never(), large.length));

  beforeEach(() => b.service.write('s1', { 'large.bin': large }));

  test('each asked for when the one before was read', async () => {
    expectBytes(await downloadLarge(), large);
    expect(ranges()).toEqual(['bytes=0-8388607', 'bytes=8388608-16777215', 'bytes=16777216-25165823']);
  });

  test('a part that is cut is gone on with, and the next begins where parts do', async () => {
    b.service.fault({ do: 'cut_body', after: 3 * MIB, route: 'blob', skip: 1, times: 1 });
    expectBytes(await downloadLarge(), large);
    const seen = ranges();
    expect(seen).toHaveLength(4);
    expect(seen[2]).toMatch(/^bytes=\d+-16777215$/);
    expect(seen[3]).toBe('bytes=16777216-25165823');
  });

  test('from an offset', async () => {
    expectBytes(await downloadLarge(17 * MIB), large.subarray(17 * MIB));
    expect(ranges()).toEqual([`bytes=${17 * MIB}-25165823`]);
  });

  test('another length than was known is storage_hash_mismatch', async () => {
    const wrong = b.transport.download(largeHash, 0, never(), large.length + 1);
    expect(await codeOf(wrong.then(readAll))).toBe('storage_hash_mismatch');
  });
});
