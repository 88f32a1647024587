/** Another size or another format for a picture (tools.md, screenshot). Needs a browser's canvas. */
import { AgentError } from '../protocol/errors';

export interface Encoding {
  mime_type: string;
  /** 1–100, or null where the format has none. */
  quality: number | null;
  /** Pixels. */
  width: number;
  height: number;
}

export type Reencode = (picture: Blob, encoding: Encoding) => Promise<Blob>;

/**
 * Decodes, scales and encodes. The blob's own type is what it became: a browser may not know the wanted one.
 * Rejects with `AgentError` (`internal_error`) when the picture cannot be decoded or drawn.
 */
export const reencode: Reencode = async (picture, { mime_type, quality, width, height }) => {
  try {
    const bitmap = await createImageBitmap(picture, {
      resizeWidth: width,
      resizeHeight: height,
      resizeQuality: 'high',
    });
    const canvas = new OffscreenCanvas(width, height);
    canvas.getContext('2d')?.drawImage(bitmap, 0, 0);
    bitmap.close();
    return await canvas.convertToBlob(
      quality === null ? { type: mime_type } : { type: mime_type, quality: quality / 100 },
    );
  } catch {
    throw new AgentError('internal_error', 'The picture could not be scaled or encoded.');
  }
};

export interface Size {
  width: number;
  height: number;
}

/** The largest size of the same proportions within the bounds, never larger than the picture itself. */
export function fitWithin(size: Size, bounds: { max_width?: number; max_height?: number }): Size {
  const { max_width = size.width, max_height = size.height } = bounds;
  const scale = Math.min(1, max_width / size.width, max_height / size.height);
  if (scale === 1) return size;
  const scaled = (pixels: number) => Math.max(1, Math.round(pixels * scale));
  return { width: scaled(size.width), height: scaled(size.height) };
}
