/** Bytes of a base64 data URL, without a loop of our own over them: a picture has megabytes. */

/** Newer than the language version we compile for; there from Chrome 140. */
interface FromBase64 {
  fromBase64?(text: string): Uint8Array<ArrayBuffer>;
}

export async function dataUrlBytes(data_url: string): Promise<Uint8Array<ArrayBuffer>> {
  const { fromBase64 } = Uint8Array as FromBase64;
  if (fromBase64) return fromBase64.call(Uint8Array, data_url.slice(data_url.indexOf(',') + 1));
  return new Uint8Array(await (await fetch(data_url)).arrayBuffer());
}
