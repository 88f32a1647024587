/**
 * The bytes of answers' attachments, in IndexedDB: the router writes them, the relay host reads them, and a
 * resend of the request finds them again. Blobs, so that no bytes pass through Chrome's JSON messages.
 */
import { createStore, delMany, get, keys, set } from 'idb-keyval';

type Body = Record<string, Blob>;

const store = createStore('endue-answer-bodies', 'bodies');

/** Stores the attachments of one answer under a key that no other answer has. */
export async function putBody(
  key: string,
  attachments: readonly { field: string; blob: Blob }[],
): Promise<void> {
  const body: Body = Object.fromEntries(attachments.map(({ field, blob }) => [field, blob]));
  await set(key, body, store);
}

/** The bytes of one attachment, or undefined when they are no longer kept. */
export async function readBody(key: string, field: string): Promise<Blob | undefined> {
  const body = await get<Body>(key, store);
  return body && Object.hasOwn(body, field) ? body[field] : undefined;
}

export function removeBodies(bodyKeys: string[]): Promise<void> {
  return delMany(bodyKeys, store);
}

export function bodyKeys(): Promise<string[]> {
  return keys<string>(store);
}
