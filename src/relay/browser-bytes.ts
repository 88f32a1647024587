/** Bytes as texts, the browser's way: both are native and fast. */

/** Lower-case hexadecimal SHA-256. */
export async function sha256(bytes: ArrayBuffer): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

const prepared = new WeakMap<Blob, Promise<string>>();

/** Starts to encode a blob that `base64` is likely to be asked for: it is done while its answer comes. */
export function prepareBase64(blob: Blob): void {
  const text = encode(blob);
  // Whoever asks for it is told.
  text.catch(() => undefined);
  prepared.set(blob, text);
}

/** Rejects when the bytes cannot be read. */
export function base64(blob: Blob): Promise<string> {
  return prepared.get(blob) ?? encode(blob);
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
