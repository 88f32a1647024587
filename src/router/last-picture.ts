/** The last picture that was sent to the platform, small enough for the popup (ui.md, What was seen). */
import type { Overview } from '../platform/messages';
import type { Content } from '../protocol/content';

export interface SentPicture {
  /** Names the picture: the same id is the same picture. */
  image_id: string;
  content: Content;
  mime_type: string;
  width: number;
  height: number;
  /** Epoch milliseconds. */
  captured_at: number;
}

export interface LastPictureOptions {
  /** The last picture whose bytes went to the platform; null when none did, or it is no longer kept. */
  find(): Promise<SentPicture | null>;
  /** Scales the picture down for showing. */
  shrink(picture: SentPicture): Promise<Blob>;
}

export type LastPicture = () => Promise<Overview['last_picture']>;

/** The popup asks every second: a picture is scaled once. A picture that cannot be shown is none. */
export function createLastPicture({ find, shrink }: LastPictureOptions): LastPicture {
  let shown: { image_id: string; picture: NonNullable<Overview['last_picture']> } | null = null;
  return async () => {
    try {
      const sent = await find();
      if (!sent) return null;
      if (shown?.image_id !== sent.image_id) {
        const data_url = await dataUrl(await shrink(sent));
        shown = { image_id: sent.image_id, picture: { data_url, captured_at: sent.captured_at } };
      }
      return shown.picture;
    } catch {
      return null;
    }
  };
}

async function dataUrl(blob: Blob): Promise<string> {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return `data:${blob.type};base64,${btoa(text)}`;
}
