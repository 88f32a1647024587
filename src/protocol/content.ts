/**
 * Binary on its way between the extension's contexts and stores. Small ones stay plain bytes, which are
 * stored with whatever else is written; a blob is made, read and stored by calls to another process, which
 * only pays for large ones. Pure.
 */
export type Content = Blob | Uint8Array<ArrayBuffer>;

/** The attachments of one answer, by field. */
export type AnswerBody = Record<string, Content>;

/** Chrome keeps values of more than 64 KiB apart from its database, as it does blobs. */
const MOST_PLAIN_BYTES = 48 * 1024;

export function contentOf(bytes: Uint8Array<ArrayBuffer>, mime_type: string): Content {
  return bytes.length <= MOST_PLAIN_BYTES ? bytes : new Blob([bytes], { type: mime_type });
}

/** Bytes. */
export function contentSize(content: Content): number {
  return content instanceof Blob ? content.size : content.length;
}

export function asBlob(content: Content, mime_type: string): Blob {
  return content instanceof Blob ? content : new Blob([content], { type: mime_type });
}
