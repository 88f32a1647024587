/**
 * The two names under which the ledger knows a request: its id, and its command and input. Both are hashes over well-formed
 * text, so that ids like `__proto__`, a lone surrogate or one of 100 kB are as good as any. They are made where the request
 * comes in, while the service worker may still be starting.
 */
import { canonicalJson, type JsonValue } from './json';

export interface RequestNames {
  /** SHA-256 of platform and id: what an id of one platform was answered is never told to another. */
  key: string;
  /** SHA-256 of command and input. */
  input_hash: string;
}

/** Command and input as one text that is equal exactly when both are equal as JSON values (wire.md §5 rule 4). */
export function contentOf(command: string | null, input: JsonValue): string {
  return `"command":${canonicalJson(command)},"input":${canonicalJson(input)}`;
}

/** `content`: see `contentOf`. JSON escapes lone surrogates in the id, which UTF-8 would all make the same. */
export async function requestNames(platform: string, id: string, content: string): Promise<RequestNames> {
  const [key, input_hash] = await Promise.all([
    sha256(JSON.stringify([platform, id])),
    sha256(`{${content}}`),
  ]);
  return { key, input_hash };
}

const encoder = new TextEncoder();

/** SHA-256 of a well-formed text, in hexadecimal. */
export async function sha256(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
