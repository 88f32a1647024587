/** What a picture's own bytes say it is: `mime_type` tells the truth (tools.md, screenshot). Pure. */
import { imageSize } from 'image-size';
import { AgentError } from '../protocol/errors';

export interface ImageFacts {
  mime_type: string;
  /** Pixels. */
  width: number;
  height: number;
}

const MIME_TYPES: Record<string, string> = { jpg: 'image/jpeg', png: 'image/png', webp: 'image/webp' };

/** The sizes stand near the beginning; the rest need not be looked at. */
const HEAD_BYTES = 65_536;

/** Throws `AgentError` (`internal_error`) for bytes that are no picture of the kinds the contract names. */
export function imageFacts(bytes: Uint8Array): ImageFacts {
  try {
    const { type = '', width, height } = imageSize(bytes.subarray(0, HEAD_BYTES));
    const mime_type = MIME_TYPES[type];
    if (mime_type) return { mime_type, width, height };
  } catch {
    // Told below, in our own words.
  }
  throw new AgentError('internal_error', 'The browser gave a picture that cannot be read.');
}

/** The same from a blob, of which only the beginning is read. */
export async function blobFacts(blob: Blob): Promise<ImageFacts> {
  return imageFacts(new Uint8Array(await blob.slice(0, HEAD_BYTES).arrayBuffer()));
}
