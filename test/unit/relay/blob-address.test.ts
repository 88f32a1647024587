import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blobAddress } from '../../../src/relay/blob-address';

const ENDPOINT = 'wss://os.example.com/api/v1/relay/socket?kind=chrome';
const DEFAULT = 'https://os.example.com/api/v1/relay/blobs/r1/image';

describe('wire.md §6: the upload address', () => {
  it('is the default path at the origin of the socket', () => {
    expect(blobAddress(ENDPOINT, undefined, 'r1', 'image')).toBe(DEFAULT);
    expect(blobAddress('ws://127.0.0.1:8080/x', undefined, 'r1', 'image')).toBe(
      'http://127.0.0.1:8080/api/v1/relay/blobs/r1/image',
    );
    expect(blobAddress('wss://h.test:80/x', undefined, 'r1', 'image')).toBe(
      'https://h.test:80/api/v1/relay/blobs/r1/image',
    );
  });

  it.each([
    ['https://os.example.com/up', 'https://os.example.com/up/r1/image'],
    ['https://os.example.com:443/up//', 'https://os.example.com/up/r1/image'],
    ['https://os.example.com', 'https://os.example.com/r1/image'],
    ['https://os.example.com/up?tenant=7#part', 'https://os.example.com/up/r1/image?tenant=7'],
  ])('takes blob_upload_url %s as a prefix', (url, address) => {
    expect(blobAddress(ENDPOINT, url, 'r1', 'image')).toBe(address);
  });

  it.each([
    'http://os.example.com/up',
    'https://evil.test/up',
    'https://os.example.com:8443/up',
    'https://os.example.com.evil.test/up',
    'https://os.example.com@evil.test/up',
    'https://me:secret@os.example.com/up',
    'wss://os.example.com/up',
    'blob:https://os.example.com/up',
    '//evil.test/up',
    '/up',
    'javascript:alert(1)',
    '',
  ])('ignores blob_upload_url %j: it has not the origin of the socket', (url) => {
    expect(blobAddress(ENDPOINT, url, 'r1', 'image')).toBe(DEFAULT);
  });

  it('percent-encodes id and name', () => {
    expect(blobAddress(ENDPOINT, undefined, 'a/../b?c#d%2e é', 'x y')).toBe(
      'https://os.example.com/api/v1/relay/blobs/a%2F..%2Fb%3Fc%23d%252e%20%C3%A9/x%20y',
    );
  });

  it.each(['.', '..', '\ud83d', 'a\udc00b'])('§8: there is none for the id %j', (id) => {
    expect(blobAddress(ENDPOINT, undefined, id, 'image')).toBeNull();
  });

  it('stays below the prefix at the origin of the socket, whatever the id and the prefix are', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 1 }),
        fc.oneof(fc.webUrl(), fc.string()),
        (id, url) => {
          const address = blobAddress(ENDPOINT, url, id, 'image');
          if (address === null) return;
          const { origin, pathname } = new URL(address);
          expect(origin).toBe('https://os.example.com');
          const segments = pathname.split('/');
          expect(segments.at(-1)).toBe('image');
          expect(decodeURIComponent(segments.at(-2) ?? '')).toBe(id);
        },
      ),
    );
  });
});
