import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import { ATTEMPTS } from '../../../src/storage/retry';
import { LARGEST_PART_BYTES, LARGEST_PUT_BYTES } from '../../../src/storage/transport';
import { type Bench, bench, bytesOf, codeOf, never, sha256, until } from './harness';

const MIB = 1024 * 1024;
const large = bytesOf(17 * MIB);
const largeHash = sha256(large);

let b: Bench;

beforeEach(async () => {
  b = await bench();
});

afterEach(async () => {
  const violations = [...b.service.violations];
  await b.stop();
  expect(violations).toEqual([]);
  expect(b.clock.watching).toBe(0);
});

const routes = () => b.service.requests.map(({ route }) => route);

async function uploadLarge(sent: number[] = [], signal = never()): Promise<void> {
  await b.transport.upload(largeHash, new Blob([large]), signal, (bytes) => sent.push(bytes));
}

describe('small content', () => {
  test.each([0, 1, 100_000, LARGEST_PUT_BYTES])('%i bytes go by one PUT', async (length) => {
    const bytes = bytesOf(length);
    const sent: number[] = [];
    await b.transport.upload(sha256(bytes), new Blob([bytes]), never(), (count) => sent.push(count));
    expect(routes()).toEqual(['put']);
    expect(sent).toEqual([length]);
    expect(await b.service.blobs()).toEqual([sha256(bytes)]);
  });

  test('what is there already is fine', async () => {
    await b.service.write('s1', { a: 'x' });
    await b.transport.upload(sha256('x'), new Blob(['x']), never());
    expect(b.service.requests[0]?.status).toBe(200);
  });

  test('other bytes than the hash says: storage_hash_mismatch, not retried', async () => {
    expect(await codeOf(b.transport.upload(sha256('x'), new Blob(['y']), never()))).toBe(
      'storage_hash_mismatch',
    );
    expect(routes()).toEqual(['put']);
    b.service.fault({ do: 'status', status: 409, error_code: 'something_else' });
    expect(await codeOf(b.transport.upload(sha256('x'), new Blob(['x']), never()))).toBe(
      'storage_transport_failed',
    );
  });

  test('429, 503, a broken connection and a lost answer pass', async () => {
    b.service.fault({ do: 'status', status: 429, headers: { 'Retry-After': '3' }, times: 1 });
    b.service.fault({ do: 'status', status: 503, times: 1 });
    b.service.fault({ do: 'drop', times: 1 });
    b.service.fault({ do: 'lose_answer', times: 1 });
    const sent: number[] = [];
    await b.transport.upload(sha256('x'), new Blob(['x']), never(), (count) => sent.push(count));
    expect(routes()).toHaveLength(5);
    expect(b.clock.waits).toEqual([3000, 1000, 2000, 4000]);
    expect(sent).toEqual([1]);
  });

  test('an error of reading the content is passed on as it is, and not taken for the network', async () => {
    const changed = new DOMException('it changed', 'NotReadableError');
    class Changed extends Blob {
      override slice(): Blob {
        return new Changed(['x']);
      }
      override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
        return new ReadableStream({
          pull(controller) {
            controller.error(new TypeError('network error'));
          },
        });
      }
      override async arrayBuffer(): Promise<never> {
        throw changed;
      }
    }
    const thrown: unknown = await b.transport
      .upload(sha256('x'), new Changed(['x']), never())
      .catch((e) => e);
    expect(thrown).toBe(changed);
    expect(b.clock.waits).toEqual([]);
    const size = 9 * MIB;
    const content = Object.defineProperty(new Changed(['x']), 'size', { value: size });
    expect(await b.transport.upload(sha256('x'), content, never()).catch((e) => e)).toBe(changed);
  });
});

describe('large content', () => {
  test('goes in parts of at most 8 MiB, the last one complete', async () => {
    const sent: number[] = [];
    await uploadLarge(sent);
    expect(routes()).toEqual(['upload_offset', 'upload_part', 'upload_part', 'upload_part']);
    const parts = b.service.requests
      .slice(1)
      .map(({ headers, received }) => [headers['upload-offset'], headers['upload-complete'], received]);
    expect(parts).toEqual([
      ['0', '?0', LARGEST_PART_BYTES],
      [String(8 * MIB), '?0', LARGEST_PART_BYTES],
      [String(16 * MIB), '?1', MIB],
    ]);
    expect(sent).toEqual([8 * MIB, 8 * MIB, MIB]);
    expect(await b.service.blobs()).toEqual([largeHash]);
  });

  test('never holds more than a part: only slices of the content are taken', async () => {
    const slices: number[] = [];
    const content = new Blob([large]);
    const slice = content.slice.bind(content);
    const refuse = () => {
      throw new Error('the whole content was read');
    };
    const watched = Object.assign(content, {
      slice: (from: number, to: number) => {
        slices.push(to - from);
        return slice(from, to);
      },
      stream: refuse,
      arrayBuffer: refuse,
    });
    await b.transport.upload(largeHash, watched, never());
    expect(Math.max(...slices)).toBe(LARGEST_PART_BYTES);
  });

  test('a cut part is resumed where the server is', async () => {
    b.service.fault({ do: 'cut_upload', after: 3 * MIB, route: 'upload_part', skip: 1, times: 1 });
    const sent: number[] = [];
    await uploadLarge(sent);
    expect(routes().slice(0, 5)).toEqual([
      'upload_offset',
      'upload_part',
      'upload_part',
      'upload_offset',
      'upload_part',
    ]);
    expect(b.service.requests[4]?.headers['upload-offset']).toBe(String(11 * MIB));
    expect(sent).toEqual([8 * MIB, 3 * MIB, 6 * MIB]);
    expect(await b.service.blobs()).toEqual([largeHash]);
    expect(b.clock.waits).toEqual([500]);
  });

  test('a later job goes on where an earlier one was cut off', async () => {
    b.service.fault({ do: 'hang', route: 'upload_part', skip: 1 });
    const controller = new AbortController();
    const cut = codeOf(uploadLarge([], controller.signal));
    await until(() => routes().length === 3);
    controller.abort(new AgentError('cancelled'));
    expect(await cut).toBe('cancelled');
    b.service.clearFaults();
    b.service.requests.splice(0);
    const sent: number[] = [];
    await uploadLarge(sent);
    expect(b.service.requests[1]?.headers['upload-offset']).toBe(String(8 * MIB));
    expect(sent).toEqual([8 * MIB, MIB]);
    expect(await b.service.blobs()).toEqual([largeHash]);
  });

  test('a lost answer to the last part: asked for the offset, nothing sent twice', async () => {
    b.service.fault({ do: 'lose_answer', route: 'upload_part', skip: 2, times: 1 });
    await uploadLarge();
    expect(routes().slice(-2)).toEqual(['upload_offset', 'upload_part']);
    expect(b.service.requests.at(-1)).toMatchObject({ received: 0, status: 201 });
    expect(await b.service.blobs()).toEqual([largeHash]);
  });

  test('409 with another Upload-Offset is followed', async () => {
    b.service.fault({
      do: 'status',
      status: 200,
      headers: { 'Upload-Offset': String(5 * MIB) },
      route: 'upload_offset',
      times: 1,
    });
    await uploadLarge();
    expect(b.service.requests[1]).toMatchObject({ status: 409 });
    expect(b.service.requests[2]?.headers['upload-offset']).toBe('0');
    expect(await b.service.blobs()).toEqual([largeHash]);
  });

  test('a server that answers 409 for ever, or takes nothing, is storage_transport_failed', async () => {
    b.service.fault({ do: 'status', status: 409, headers: { 'Upload-Offset': '7' }, route: 'upload_part' });
    expect(await codeOf(uploadLarge())).toBe('storage_transport_failed');
    expect(routes().length).toBeLessThan(20);
    b.service.clearFaults();
    b.service.requests.splice(0);
    b.service.fault({
      do: 'status',
      status: 204,
      headers: { 'Upload-Offset': '0' },
      body: '',
      route: 'upload_part',
    });
    expect(await codeOf(uploadLarge())).toBe('storage_transport_failed');
    expect(routes().length).toBeLessThan(20);
  });

  test.each([
    ['none', {}],
    ['no number', { 'Upload-Offset': '-1' }],
    ['beyond the end', { 'Upload-Offset': String(18 * MIB) }],
  ])('an Upload-Offset that makes no sense (%s) is storage_transport_failed', async (_name, headers) => {
    for (const [route, status] of [
      ['upload_offset', 200],
      ['upload_part', 204],
      ['upload_part', 409],
    ] as const) {
      b.service.clearFaults();
      b.service.fault({ do: 'status', status, headers: { ...headers }, body: '', route });
      expect(await codeOf(uploadLarge())).toBe('storage_transport_failed');
    }
    expect(b.clock.waits).toEqual([]);
  });

  test('other bytes than the hash says: storage_hash_mismatch', async () => {
    const wrong = sha256('other');
    expect(await codeOf(b.transport.upload(wrong, new Blob([large]), never()))).toBe('storage_hash_mismatch');
    expect(routes()).toEqual(['upload_offset', 'upload_part', 'upload_part', 'upload_part']);
    expect(await b.service.blobs()).toEqual([]);
  });

  test('a bad beginning that an earlier job left at the server: sent once more from zero', async () => {
    const response = await fetch(`${b.origin}/api/v1/relay/storages/s1/blobs/${largeHash}/upload`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${b.token}`, 'Upload-Offset': '0', 'Upload-Complete': '?0' },
      body: 'not the beginning',
    });
    expect(response.status).toBe(204);
    await uploadLarge();
    expect(await b.service.blobs()).toEqual([largeHash]);
  });

  test('a line that keeps failing is storage_transport_failed after bounded attempts; progress starts the count anew', async () => {
    b.service.fault({ do: 'drop', route: 'upload_part' });
    expect(await codeOf(uploadLarge())).toBe('storage_transport_failed');
    expect(routes().filter((route) => route === 'upload_part')).toHaveLength(ATTEMPTS);
    b.service.clearFaults();
    for (const skip of [0, 1, 2]) {
      b.service.fault({ do: 'drop', route: 'upload_part', skip, times: ATTEMPTS - 1 });
    }
    await uploadLarge();
    expect(await b.service.blobs()).toEqual([largeHash]);
  });

  test('401 in the middle is storage_token_rejected at once', async () => {
    b.service.fault({ do: 'status', status: 401, route: 'upload_part', skip: 1 });
    expect(await codeOf(uploadLarge())).toBe('storage_token_rejected');
    expect(routes()).toHaveLength(3);
    expect(b.clock.waits).toEqual([]);
  });
});
