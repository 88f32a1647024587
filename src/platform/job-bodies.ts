/**
 * Binary that a job of the storage worker came to, on its way to the router: both reach IndexedDB, and a
 * service worker that dies meanwhile finds it there again. The router takes it away once it has it.
 */
import { createStore, delMany, get, keys, set } from 'idb-keyval';
import type { AnswerBody, Content } from '../protocol/content';

const ABANDONED_MS = 3_600_000;

const store = createStore('endue-job-bodies', 'bodies');

/** Keeps the body of one job and returns its key, which carries the time `now` (epoch milliseconds). */
export async function putJobBody(body: AnswerBody, now: number, uuid: string): Promise<string> {
  const key = `${now}.${uuid}`;
  await set(key, body, store);
  return key;
}

/** One attachment, or undefined when it is no longer kept. */
export async function readJobBody(key: string, field: string): Promise<Content | undefined> {
  const body = await get<AnswerBody>(key, store);
  return body && Object.hasOwn(body, field) ? body[field] : undefined;
}

export function removeJobBody(key: string): Promise<void> {
  return delMany([key], store);
}

/** Removes what nobody came for. */
export async function sweepJobBodies(now: number): Promise<void> {
  const all = await keys<string>(store);
  const written = (key: string): number => Number(key.slice(0, key.indexOf('.')));
  await delMany(
    all.filter((key) => !(Math.abs(now - written(key)) < ABANDONED_MS)),
    store,
  );
}
