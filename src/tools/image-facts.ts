/** What a picture's own bytes say it is: `mime_type` tells the truth (tools.md, screenshot). Pure. */
import { JPG } from 'image-size/types/jpg';
import { PNG } from 'image-size/types/png';
import { WEBP } from 'image-size/types/webp';
import { AgentError } from '../protocol/errors';

export interface ImageFacts {
  mime_type: string;
  /** Pixels. */
  width: number;
  height: number;
}

/** Only these three: the package's other kinds would make the service worker slower to start. */
const KINDS = [
  { mime_type: 'image/jpeg', reader: JPG },
  { mime_type: 'image/png', reader: PNG },
  { mime_type: 'image/webp', reader: WEBP },
];

/** The sizes stand near the beginning; the rest need not be looked at. */
const HEAD_BYTES = 65_536;

/** Throws `AgentError` (`internal_error`) for bytes that are no picture of the kinds the contract names. */
export function imageFacts(bytes: Uint8Array): ImageFacts {
  try {
    const head = bytes.subarray(0, HEAD_BYTES);
    const kind = KINDS.find(({ reader }) => reader.validate(head));
    if (kind) {
      const { width, height } = kind.reader.calculate(head);
      return { mime_type: kind.mime_type, width, height };
    }
  } catch {
    // Told below, in our own words.
  }
  throw new AgentError('internal_error', 'The browser gave a picture that cannot be read.');
}

/** The same from a blob, of which only the beginning is read. */
export async function blobFacts(blob: Blob): Promise<ImageFacts> {
  return imageFacts(new Uint8Array(await blob.slice(0, HEAD_BYTES).arrayBuffer()));
}
