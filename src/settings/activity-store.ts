/**
 * The activity in IndexedDB, so that it outlives the worker and the browser. It is a service to the person
 * who looks: a failing database costs the list, never an answer.
 */
import { createStore, get, update } from 'idb-keyval';
import { type ActivityEntry, newestActivity, withActivity } from './activity';

const store = createStore('endue-activity', 'activity');
const KEY = 'entries';

/** Adds one entry. Entries added at the same time are all kept: the read and the write are one transaction. */
export async function addActivity(entry: ActivityEntry): Promise<void> {
  try {
    await update<unknown>(KEY, (entries) => withActivity(asEntries(entries), entry), store);
  } catch {
    console.error('activity could not be stored');
  }
}

/** The newest entries, newest first; at most `limit` and at most 200. */
export async function listActivity(limit: number): Promise<ActivityEntry[]> {
  try {
    return newestActivity(asEntries(await get<unknown>(KEY, store)), limit);
  } catch {
    return [];
  }
}

function asEntries(stored: unknown): ActivityEntry[] {
  return Array.isArray(stored) ? stored : [];
}
