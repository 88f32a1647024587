/**
 * Scaling a picture down until it has at most so many bytes (wire.md §8, for a picture that could not be
 * uploaded). The search is pure; how a picture is drawn is passed in.
 */

export interface ShrunkPicture {
  blob: Blob;
  width: number;
  height: number;
}

/** A decoded picture, and how to draw it anew in another size. */
export interface DecodedPicture {
  width: number;
  height: number;
  /** In the type it had, if the browser writes that type: `blob.type` tells. */
  encode(width: number, height: number): Promise<Blob>;
  /** Frees the decoded picture. */
  close(): void;
}

/** Rejects for what is no picture. */
export type DecodePicture = (blob: Blob) => Promise<DecodedPicture>;

/** Each try lands a little below what the one before promised. */
const MARGIN = 0.9;
const MOST_TRIES = 12;

/** The largest of a few tries that fits `maxBytes`, or null when none does or it is no picture. */
export async function shrinkPicture(
  blob: Blob,
  maxBytes: number,
  decode: DecodePicture,
): Promise<ShrunkPicture | null> {
  let picture: DecodedPicture;
  try {
    picture = await decode(blob);
  } catch {
    return null;
  }
  try {
    let scale = nextScale(1, blob.size, maxBytes);
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const width = Math.max(1, Math.floor(picture.width * scale));
      const height = Math.max(1, Math.floor(picture.height * scale));
      const smaller = await picture.encode(width, height);
      if (smaller.size <= maxBytes) return { blob: smaller, width, height };
      if (width === 1 && height === 1) return null;
      scale = nextScale(scale, smaller.size, maxBytes);
    }
    return null;
  } catch {
    return null;
  } finally {
    picture.close();
  }
}

/** The bytes grow about as the area does; a step never more than halves the sides. */
function nextScale(scale: number, bytes: number, maxBytes: number): number {
  return scale * Math.min(MARGIN, Math.max(0.5, Math.sqrt(maxBytes / bytes) * MARGIN));
}

/** The browser's way. */
export const decodeInBrowser: DecodePicture = async (blob) => {
  const bitmap = await createImageBitmap(blob);
  return {
    width: bitmap.width,
    height: bitmap.height,
    async encode(width, height) {
      const canvas = new OffscreenCanvas(width, height);
      const context = canvas.getContext('2d');
      if (!context) throw new Error('no canvas');
      context.imageSmoothingQuality = 'high';
      context.drawImage(bitmap, 0, 0, width, height);
      return canvas.convertToBlob({ type: blob.type, quality: 0.85 });
    },
    close: () => bitmap.close(),
  };
};
