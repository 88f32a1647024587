/**
 * The two names under which the ledger knows a request: its id, and its command and input. Both are hashes
 * over well-formed text, so that ids like `__proto__`, a lone surrogate or one of 100 kB are as good as any.
 */
import { canonicalJson, type JsonValue } from '../protocol/json';

/** One text per command and input; equal exactly when both are equal as JSON values (wire.md §5 rule 4). */
export function canonicalRequest(command: string | null, input: JsonValue): string {
  return canonicalJson({ command, input });
}

/** The hash of what `canonicalRequest` gave, in hexadecimal. */
export function inputHash(canonical: string): Promise<string> {
  return sha256(canonical);
}

/**
 * The ledger's key of an id of one platform: what one was answered is never told to another. JSON escapes lone surrogates,
 * which UTF-8 would make all the same.
 */
export function idKey(platform: string, id: string): Promise<string> {
  return sha256(JSON.stringify([platform, id]));
}

const encoder = new TextEncoder();

/** SHA-256 of a well-formed text, in hexadecimal. */
export async function sha256(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
