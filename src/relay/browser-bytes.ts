/** Bytes as texts, the browser's way: both are native and fast. */
import type { Content } from '../protocol/content';

/** Lower-case hexadecimal SHA-256. */
export async function sha256(bytes: ArrayBuffer): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

const prepared = new WeakMap<Blob, Promise<string>>();

/** Starts to encode what `base64` is likely to be asked for: it is done while its answer comes. */
export function prepareBase64(content: Content): void {
  if (!(content instanceof Blob)) return;
  const text = encode(content);
  // Whoever asks for it is told.
  text.catch(() => undefined);
  prepared.set(content, text);
}

/** Newer than the language version we compile for; there from Chrome 140. */
interface ToBase64 {
  toBase64?(): string;
}

/** Rejects when the bytes cannot be read. */
export function base64(content: Content): string | Promise<string> {
  if (content instanceof Blob) return prepared.get(content) ?? encode(content);
  return (content as ToBase64).toBase64?.() ?? encode(new Blob([content]));
}

function encode(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => {
      const url = String(reader.result);
      resolve(url.slice(url.indexOf(',') + 1));
    };
    reader.onerror = () => reject(new Error('the bytes cannot be read'));
    // Without its type, which may hold a comma.
    reader.readAsDataURL(blob.slice());
  });
}
