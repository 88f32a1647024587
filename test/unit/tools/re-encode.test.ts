import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { fitWithin, reencode } from '../../../src/tools/re-encode';

const pixels = fc.integer({ min: 1, max: 10_000 });

describe('tools.md, screenshot: max_width and max_height keep the proportions and never enlarge', () => {
  test.each([
    [{ width: 1280, height: 720 }, {}, { width: 1280, height: 720 }],
    [{ width: 1280, height: 720 }, { max_width: 640 }, { width: 640, height: 360 }],
    [{ width: 1280, height: 720 }, { max_height: 360 }, { width: 640, height: 360 }],
    [
      { width: 1280, height: 720 },
      { max_width: 640, max_height: 90 },
      { width: 160, height: 90 },
    ],
    [{ width: 1280, height: 720 }, { max_width: 5000 }, { width: 1280, height: 720 }],
    [{ width: 10_000, height: 1 }, { max_width: 10 }, { width: 10, height: 1 }],
  ])('%j within %j is %j', (size, bounds, fitted) => {
    expect(fitWithin(size, bounds)).toEqual(fitted);
  });

  test('always within the bounds, never larger, never nothing, proportions to the pixel', () => {
    fc.assert(
      fc.property(pixels, pixels, pixels, pixels, (width, height, max_width, max_height) => {
        const fitted = fitWithin({ width, height }, { max_width, max_height });
        expect(fitted.width).toBeLessThanOrEqual(Math.min(width, max_width));
        expect(fitted.height).toBeLessThanOrEqual(Math.min(height, max_height));
        expect(Math.min(fitted.width, fitted.height)).toBeGreaterThanOrEqual(1);
        const scale = Math.min(1, max_width / width, max_height / height);
        expect(Math.abs(fitted.width - width * scale)).toBeLessThan(1);
        expect(Math.abs(fitted.height - height * scale)).toBeLessThan(1);
      }),
    );
  });
});

describe('re-encoding', () => {
  afterEach(() => vi.unstubAllGlobals());

  test('scales while decoding, and gives the quality as a part of one', async () => {
    const bitmap = { close: vi.fn() };
    const createImageBitmap = vi.fn(async () => bitmap);
    const drawImage = vi.fn();
    const convertToBlob = vi.fn(async () => new Blob(['x'], { type: 'image/webp' }));
    vi.stubGlobal('createImageBitmap', createImageBitmap);
    vi.stubGlobal(
      'OffscreenCanvas',
      class {
        getContext = () => ({ drawImage });
        convertToBlob = convertToBlob;
      },
    );
    const picture = new Blob(['picture']);
    await reencode(picture, { mime_type: 'image/webp', quality: 40, width: 30, height: 20 });
    expect(createImageBitmap).toHaveBeenCalledWith(
      picture,
      expect.objectContaining({ resizeWidth: 30, resizeHeight: 20 }),
    );
    expect(drawImage).toHaveBeenCalledWith(bitmap, 0, 0);
    expect(bitmap.close).toHaveBeenCalled();
    expect(convertToBlob).toHaveBeenCalledWith({ type: 'image/webp', quality: 0.4 });
    await reencode(picture, { mime_type: 'image/png', quality: null, width: 3, height: 2 });
    expect(convertToBlob).toHaveBeenLastCalledWith({ type: 'image/png' });
  });

  test('a picture that cannot be decoded is an internal_error without the words of the browser', async () => {
    vi.stubGlobal('createImageBitmap', async () => {
      throw new Error('secret');
    });
    const failing = reencode(new Blob(), { mime_type: 'image/webp', quality: 40, width: 1, height: 1 });
    await expect(failing).rejects.toMatchObject({ code: 'internal_error' });
    await expect(failing).rejects.not.toThrow(/secret/);
  });
});
