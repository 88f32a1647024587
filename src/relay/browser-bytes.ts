/** Bytes as texts, the browser's way: both are native and fast. */

/** Lower-case hexadecimal SHA-256. */
export async function sha256(bytes: ArrayBuffer): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Rejects when the bytes cannot be read. */
export function base64(blob: Blob): Promise<string> {
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
