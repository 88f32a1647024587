import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DecodePicture, shrinkPicture } from '../../../src/relay/picture-shrink';

/** A picture whose bytes grow with its area, as far as `density` and a fixed part go. */
function picture(width: number, height: number, density: number, fixed = 0) {
  const sizeOf = (w: number, h: number) => Math.ceil(w * h * density) + fixed;
  let closed = 0;
  let encoded = 0;
  const decode: DecodePicture = async (blob) => ({
    width,
    height,
    async encode(w, h) {
      encoded += 1;
      return new Blob([new Uint8Array(sizeOf(w, h))], { type: blob.type });
    },
    close: () => {
      closed += 1;
    },
  });
  const blob = new Blob([new Uint8Array(sizeOf(width, height))], { type: 'image/png' });
  return { blob, decode, counts: () => ({ closed, encoded }) };
}

describe('wire.md §8: a picture is scaled down until the frame fits', () => {
  it('gives the size of what it made', async () => {
    const { blob, decode, counts } = picture(2_000, 1_000, 0.5);
    const smaller = await shrinkPicture(blob, 250_000, decode);
    expect(smaller?.blob.size).toBeLessThanOrEqual(250_000);
    expect(smaller?.blob.size).toBeGreaterThan(100_000);
    expect(smaller?.blob.type).toBe('image/png');
    expect((smaller?.width ?? 0) / (smaller?.height ?? 1)).toBeCloseTo(2, 1);
    expect(counts()).toEqual({ closed: 1, encoded: 1 });
  });

  it('fits whatever can fit, in few tries, and gives up otherwise', async () => {
    const side = fc.integer({ min: 1, max: 4_000 });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          width: side,
          height: side,
          fixed: fc.nat({ max: 20_000 }),
          max: fc.integer({ min: 1, max: 200_000 }),
        }),
        async ({ width, height, fixed, max }) => {
          const { blob, decode, counts } = picture(width, height, 0.05, fixed);
          const smaller = await shrinkPicture(blob, max, decode);
          expect(counts().closed).toBe(1);
          expect(counts().encoded).toBeLessThanOrEqual(12);
          if (smaller) expect(smaller.blob.size).toBeLessThanOrEqual(max);
          else expect(fixed).toBeGreaterThan(max / 4);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is null for what is no picture', async () => {
    const { blob } = picture(1, 1, 1);
    expect(await shrinkPicture(blob, 10, () => Promise.reject(new Error('no picture')))).toBeNull();
  });
});
