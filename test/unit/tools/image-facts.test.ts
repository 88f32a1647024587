import { afterEach, describe, expect, test, vi } from 'vitest';
import { dataUrlBytes } from '../../../src/tools/data-url';
import { blobFacts, imageFacts } from '../../../src/tools/image-facts';
import { bytesOf, JPEG, PNG, WEBP } from './pictures';

describe('tools.md, screenshot: width and height are the delivered pixels, mime_type tells the truth', () => {
  test.each([
    ['image/png', PNG],
    ['image/jpeg', JPEG],
    ['image/webp', WEBP],
  ])('%s', async (mime_type, base64) => {
    const facts = { mime_type, width: 3, height: 2 };
    expect(imageFacts(bytesOf(base64))).toEqual(facts);
    expect(await blobFacts(new Blob([bytesOf(base64)], { type: 'image/gif' }))).toEqual(facts);
  });

  test('only the beginning is needed', () => {
    const long = new Uint8Array(1_000_000);
    long.set(bytesOf(JPEG));
    expect(imageFacts(long)).toEqual({ mime_type: 'image/jpeg', width: 3, height: 2 });
  });

  test.each([
    ['nothing', new Uint8Array()],
    ['text', new TextEncoder().encode('<svg width="3" height="2"/>')],
    ['half a head', bytesOf(JPEG).subarray(0, 40)],
  ])('%s is an internal_error', (_name, bytes) => {
    expect(() => imageFacts(bytes)).toThrow(expect.objectContaining({ code: 'internal_error' }));
  });
});

describe('the bytes of a data URL', () => {
  const modern = vi.fn((text: string) => bytesOf(text));
  afterEach(() => {
    Reflect.deleteProperty(Uint8Array, 'fromBase64');
  });

  test('by the browser itself where it can', async () => {
    Object.defineProperty(Uint8Array, 'fromBase64', { value: modern, configurable: true });
    expect(await dataUrlBytes(`data:image/png;base64,${PNG}`)).toEqual(bytesOf(PNG));
    expect(modern).toHaveBeenCalledWith(PNG);
  });

  test('by fetching it elsewhere', async () => {
    expect(await dataUrlBytes(`data:image/png;base64,${PNG}`)).toEqual(bytesOf(PNG));
  });
});
