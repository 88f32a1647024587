/**
 * The bytes of answers' attachments, in IndexedDB: the router writes them, the relay host reads them, and a
 * resend of the request finds them again. Blobs, so that no bytes pass through Chrome's JSON messages. A new
 * body also goes straight to the relay host, by a channel that only this extension's contexts hear: reading
 * it back from the database would cost as much as a message.
 */
import { createStore, delMany, get, keys, set } from 'idb-keyval';

type Body = Record<string, Blob>;

const NAME = 'endue-answer-bodies';
/** Bodies that came by the channel and were not read yet: those of as many answers, the newest. */
const UNREAD_KEPT = 8;

const store = createStore(NAME, 'bodies');
const unread = new Map<string, Body>();
let channel: BroadcastChannel | null = null;

/**
 * Takes from now on what `putBody` of another context sends, and tells of each blob as it comes, before its
 * answer does. For the relay host.
 */
export function receiveBodies(came: (blob: Blob) => void): void {
  openChannel().onmessage = ({ data }: MessageEvent<{ key: string; body: Body }>) => {
    unread.set(data.key, data.body);
    for (const blob of Object.values(data.body)) came(blob);
    const [oldest] = unread.keys();
    if (unread.size > UNREAD_KEPT && oldest !== undefined) unread.delete(oldest);
  };
}

function openChannel(): BroadcastChannel {
  channel ??= new BroadcastChannel(NAME);
  return channel;
}

/** Stores the attachments of one answer under a key that no other answer has. */
export async function putBody(
  key: string,
  attachments: readonly { field: string; blob: Blob }[],
): Promise<void> {
  const body: Body = Object.fromEntries(attachments.map(({ field, blob }) => [field, blob]));
  openChannel().postMessage({ key, body });
  await set(key, body, store);
}

/** The bytes of one attachment, or undefined when they are no longer kept. */
export async function readBody(key: string, field: string): Promise<Blob | undefined> {
  const body = unread.get(key) ?? (await get<Body>(key, store));
  unread.delete(key);
  return body && Object.hasOwn(body, field) ? body[field] : undefined;
}

export function removeBodies(bodyKeys: string[]): Promise<void> {
  return delMany(bodyKeys, store);
}

export function bodyKeys(): Promise<string[]> {
  return keys<string>(store);
}
