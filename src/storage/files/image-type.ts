/** What kind of picture a file's first bytes say it is (os-interface.md, `file.read_image`). Pure. */

/** Enough for every kind that is told apart. */
export const IMAGE_HEAD_BYTES = 12;

/** Null when it is none of png, jpeg, webp and gif. */
export function imageType(head: Uint8Array): string | null {
  const text = String.fromCharCode(...head.subarray(0, IMAGE_HEAD_BYTES));
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return 'image/gif';
  return text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP' ? 'image/webp' : null;
}
