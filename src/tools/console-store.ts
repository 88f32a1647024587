/**
 * The logs of the tabs' consoles in IndexedDB, because the worker that takes the events in lives for seconds.
 * Each step is one transaction, so that an event is kept, numbered and acknowledged, or none of it. A log
 * ends with the run of the browser: what another run left is removed, but no number is ever given again.
 */
import { createStore, promisifyRequest } from 'idb-keyval';
import { CONSOLE_ANSWER_BYTES, CONSOLE_KEPT_BYTES } from '../protocol/limits';
import {
  type Arrival,
  append,
  type LogChunk,
  type LogEvent,
  type LogHead,
  type LogReading,
  lastOf,
  mark,
  newLog,
  placeOf,
  type ReadRules,
  readLog,
} from './console-log';

export interface ConsoleStore {
  /** The heads of all logs of this run of the browser. */
  heads(): Promise<LogHead[]>;
  head(tab_id: number): Promise<LogHead | null>;
  /**
   * Begins a log, or lets one that had ended go on, with `word` as its next event. `begun` is false when it
   * was going on already.
   */
  begin(tab_id: number, word: LogEvent): Promise<{ head: LogHead; begun: boolean }>;
  /** Takes events in. False when the tab has no log that goes on. */
  append(tab_id: number, arrival: Arrival): Promise<boolean>;
  /** Null when the tab has no log. Throws `unavailable` for a place that is not in it. */
  read(tab_id: number, after: number | undefined, rules: ReadRules): Promise<LogReading | null>;
  /** Ends a log; `word` is its last event until it goes on. */
  end(tab_id: number, word: LogEvent): Promise<void>;
  /** Chrome gave the tab another id. */
  move(from_id: number, to_id: number): Promise<void>;
  remove(tab_id: number): Promise<void>;
}

export interface ConsoleStoreOptions {
  /** One UUID per run of the extension in this browser (wire.md §3); null: another context looks after it. */
  sessionEpoch: (() => Promise<string>) | null;
  /** Epoch milliseconds. */
  now(): number;
}

interface Meta {
  epoch: string;
  /** The highest number that any log ever gave. */
  highest: number;
}

const META = 'meta';
const headKey = (tab_id: number): IDBValidKey => ['head', tab_id];
const chunkKey = (tab_id: number, last: number): IDBValidKey => ['chunk', tab_id, last];
const allHeads = (): IDBKeyRange => IDBKeyRange.bound(['head'], ['head', []]);
/** The chunks of a tab whose last event is behind `after`. */
const chunksBehind = (tab_id: number, after: number): IDBKeyRange =>
  IDBKeyRange.bound(['chunk', tab_id, after], ['chunk', tab_id, []], true);

export function createConsoleStore({ sessionEpoch, now }: ConsoleStoreOptions): ConsoleStore {
  const store = createStore('endue-console', 'console');
  let opening: Promise<void> | null = null;

  async function transact<T>(
    mode: IDBTransactionMode,
    work: (objects: IDBObjectStore) => Promise<T>,
  ): Promise<T> {
    opening ??= (sessionEpoch ? renew(sessionEpoch) : Promise.resolve()).catch((thrown) => {
      opening = null;
      throw thrown;
    });
    await opening;
    return run(mode, work);
  }

  function run<T>(mode: IDBTransactionMode, work: (objects: IDBObjectStore) => Promise<T>): Promise<T> {
    return store(mode, async (objects) => {
      const complete = promisifyRequest(objects.transaction);
      // When the work fails first, its error is the one to tell.
      complete.catch(() => undefined);
      const result = await work(objects);
      await complete;
      return result;
    });
  }

  /** Removes what another run of the browser left. */
  async function renew(sessionEpoch: () => Promise<string>): Promise<void> {
    const epoch = await sessionEpoch();
    await run('readwrite', async (objects) => {
      const meta = await readMeta(objects);
      if (meta?.epoch === epoch) return;
      const heads: LogHead[] = await promisifyRequest(objects.getAll(allHeads()));
      const highest = Math.max(meta?.highest ?? 0, ...heads.map(({ last }) => last));
      objects.clear();
      objects.put({ epoch, highest } satisfies Meta, META);
    });
  }

  async function put(
    objects: IDBObjectStore,
    { head, chunk }: { head: LogHead; chunk: LogChunk },
  ): Promise<LogHead> {
    objects.put(chunk, chunkKey(head.tab_id, lastOf(chunk)));
    const kept = { ...head, bytes: await trim(objects, head) };
    objects.put(kept, headKey(head.tab_id));
    return kept;
  }

  return {
    heads: () => transact('readonly', (objects) => promisifyRequest<LogHead[]>(objects.getAll(allHeads()))),
    head: (tab_id) => transact('readonly', (objects) => readHead(objects, tab_id)),
    begin: (tab_id, word) =>
      transact('readwrite', async (objects) => {
        const [known, meta] = await Promise.all([readHead(objects, tab_id), readMeta(objects)]);
        if (known?.capturing) {
          const head = { ...known, read_at: now() };
          objects.put(head, headKey(tab_id));
          return { head, begun: false };
        }
        const head = known ?? newLog(tab_id, meta?.highest ?? 0, now());
        const listening = { ...head, capturing: true, read_at: now() };
        return { head: await put(objects, mark(listening, word)), begun: true };
      }),
    append: (tab_id, arrival) =>
      transact('readwrite', async (objects) => {
        const head = await readHead(objects, tab_id);
        if (!head?.capturing) return false;
        const { head: grown, chunk } = append(head, arrival);
        if (chunk) await put(objects, { head: grown, chunk });
        else if (grown !== head) objects.put(grown, headKey(tab_id));
        return true;
      }),
    read: (tab_id, after, rules) =>
      transact('readonly', async (objects) => {
        const head = await readHead(objects, tab_id);
        if (!head) return null;
        const place = placeOf(head, after);
        const { chunks, complete } = await readChunks(objects, tab_id, place);
        return readLog(head, chunks, complete, place, rules);
      }),
    end: (tab_id, word) =>
      transact('readwrite', async (objects) => {
        const head = await readHead(objects, tab_id);
        if (head?.capturing) await put(objects, mark({ ...head, capturing: false }, word));
      }),
    move: (from_id, to_id) =>
      transact('readwrite', async (objects) => {
        const head = await readHead(objects, from_id);
        if (!head) return;
        const chunks: LogChunk[] = await promisifyRequest(objects.getAll(chunksBehind(from_id, 0)));
        erase(objects, from_id);
        for (const chunk of chunks) objects.put(chunk, chunkKey(to_id, lastOf(chunk)));
        objects.put({ ...head, tab_id: to_id } satisfies LogHead, headKey(to_id));
      }),
    remove: (tab_id) =>
      transact('readwrite', async (objects) => {
        const [head, meta] = await Promise.all([readHead(objects, tab_id), readMeta(objects)]);
        if (!head || !meta) return;
        erase(objects, tab_id);
        objects.put({ ...meta, highest: Math.max(meta.highest, head.last) } satisfies Meta, META);
      }),
  };
}

function readMeta(objects: IDBObjectStore): Promise<Meta | undefined> {
  return promisifyRequest<Meta | undefined>(objects.get(META));
}

async function readHead(objects: IDBObjectStore, tab_id: number): Promise<LogHead | null> {
  return (await promisifyRequest<LogHead | undefined>(objects.get(headKey(tab_id)))) ?? null;
}

function erase(objects: IDBObjectStore, tab_id: number): void {
  objects.delete(headKey(tab_id));
  objects.delete(chunksBehind(tab_id, 0));
}

/** Drops the oldest chunks until the rest has room; returns what the rest takes. */
async function trim(objects: IDBObjectStore, { tab_id, bytes }: LogHead): Promise<number> {
  let left = bytes;
  if (left <= CONSOLE_KEPT_BYTES) return left;
  await each(objects, chunksBehind(tab_id, 0), ({ value, delete: drop }) => {
    if (left <= CONSOLE_KEPT_BYTES) return false;
    left -= value.bytes;
    drop();
    return true;
  });
  return left;
}

/** As many chunks behind a place as more than fill an answer; `complete` when these are all. */
async function readChunks(
  objects: IDBObjectStore,
  tab_id: number,
  place: number,
): Promise<{ chunks: LogChunk[]; complete: boolean }> {
  const chunks: LogChunk[] = [];
  let bytes = 0;
  let complete = true;
  await each(objects, chunksBehind(tab_id, place), ({ value }) => {
    // The first one may be read in part only.
    if (chunks.length > 1 && bytes > CONSOLE_ANSWER_BYTES) complete = false;
    else chunks.push(value);
    if (chunks.length > 1) bytes += value.bytes;
    return complete;
  });
  return { chunks, complete };
}

/** Goes through chunks, oldest first, for as long as `visit` says. */
function each(
  objects: IDBObjectStore,
  range: IDBKeyRange,
  visit: (at: { value: LogChunk; delete(): void }) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = objects.openCursor(range);
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const cursor = request.result;
      if (!cursor || !visit({ value: cursor.value as LogChunk, delete: () => cursor.delete() })) resolve();
      else cursor.continue();
    };
  });
}
