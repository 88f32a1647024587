/**
 * The ledger's database: one of IndexedDB, with a store of small entries, one of answers and one of their
 * binary, so that looking through the entries reads no answer. It knows transactions and order, not what they are for.
 */
import { promisifyRequest } from 'idb-keyval';
import type { AnswerBody } from '../protocol/content';
import type { AnsweredEntry, LedgerEntry } from './ledger';

export type Row = LedgerEntry & { key: string };
export type AnsweredRow = AnsweredEntry & { key: string };

export interface Stores {
  entries: IDBObjectStore;
  /** `AnswerMessage` by the key of its entry. */
  answers: IDBObjectStore;
  /** `AnswerBody` by the `body_key` of its answer. */
  bodies: IDBObjectStore;
}

export interface LedgerDatabase {
  /**
   * One transaction over all stores; resolves when it is complete, with `strict` when it is on the disk.
   * `work` may call `commit` itself once all its requests are made: Chrome need not ask then whether more
   * are to come. When `work` rejects, nothing was written.
   */
  transact<T>(
    durability: IDBTransactionDurability,
    work: (stores: Stores, commit: () => void) => Promise<T>,
  ): Promise<T>;
  /**
   * Writes what is right if nothing contrary is known yet, in a single round trip: most ids are new. False
   * when an `add` found something there: then nothing was written.
   */
  attempt(durability: IDBTransactionDurability, write: (stores: Stores) => IDBRequest[]): Promise<boolean>;
}

export const LEDGER_DATABASE = 'endue-ledger';
const VERSION = 2;
const ENTRIES = 'entries';
const ANSWERS = 'answers';
const BODIES = 'bodies';
/** Over `[since, key]`. */
export const BY_SINCE = 'by_since';
/** Over `[answered_at, key]`: the answers that are kept. */
export const BY_ANSWERED = 'by_answered';
/** Rows read in one go: requests get their turn in between. */
const BATCH = 500;

export function openLedgerDatabase(name: string): LedgerDatabase {
  const connection = connector(name);
  // Opened at once: the first request of a worker that just woke finds it ready.
  connection.open().catch(() => undefined);

  const transact: LedgerDatabase['transact'] = async (durability, work) => {
    const transaction = await beginTransaction(connection, durability);
    const complete = promisifyRequest(transaction);
    // When `work` fails first, its error is the one to tell.
    complete.catch(() => undefined);
    let committed = false;
    const commit = () => {
      if (!committed) transaction.commit();
      committed = true;
    };
    const stores = {
      entries: transaction.objectStore(ENTRIES),
      answers: transaction.objectStore(ANSWERS),
      bodies: transaction.objectStore(BODIES),
    };
    try {
      const result = await work(stores, commit);
      commit();
      await complete;
      return result;
    } catch (thrown) {
      abort(transaction);
      throw thrown;
    }
  };

  return {
    transact,
    async attempt(durability, write) {
      try {
        await transact(durability, (stores, commit) => {
          const written = Promise.all(write(stores).map((request) => promisifyRequest(request)));
          commit();
          return written;
        });
        return true;
      } catch (thrown) {
        if (thrown instanceof DOMException && thrown.name === 'ConstraintError') return false;
        throw thrown;
      }
    },
  };
}

/** The binary of one answer, or undefined when it is no longer kept. For a context that only reads. */
export async function readAnswerBody(key: string, name = LEDGER_DATABASE): Promise<AnswerBody | undefined> {
  const database = await openDatabase(name, () => undefined);
  try {
    const store = database.transaction(BODIES, 'readonly').objectStore(BODIES);
    return await promisifyRequest<AnswerBody | undefined>(store.get(key));
  } finally {
    database.close();
  }
}

export function readRow({ entries }: Stores, key: string): Promise<Row | undefined> {
  return promisifyRequest<Row | undefined>(entries.get(key));
}

/** Where in an index over time the last batch ended. */
export type Place = [time: number, key: string] | null;

/** The next rows of an index over time, oldest first, up to and including the time `until`. */
export function nextRows<T extends Row>(
  index: IDBIndex,
  after: Place,
  until = Number.POSITIVE_INFINITY,
): Promise<T[]> {
  // An array is greater than every string, so `[until, []]` is greater than any row of that time.
  const range = IDBKeyRange.bound(after ?? [Number.NEGATIVE_INFINITY], [until, []], after !== null);
  return promisifyRequest<T[]>(index.getAll(range, BATCH));
}

interface Connection {
  /** The open database; opened once, and again after the browser closed it. */
  open(): Promise<IDBDatabase>;
  lost(): void;
}

function connector(name: string): Connection {
  let opening: Promise<IDBDatabase> | null = null;
  const lost = () => {
    opening = null;
  };
  return {
    lost,
    open() {
      opening ??= openDatabase(name, lost);
      opening.catch(lost);
      return opening;
    },
  };
}

async function openDatabase(name: string, onLost: () => void): Promise<IDBDatabase> {
  const request = indexedDB.open(name, VERSION);
  request.onupgradeneeded = ({ oldVersion }) => {
    if (oldVersion < 1) {
      const entries = request.result.createObjectStore(ENTRIES, { keyPath: 'key' });
      entries.createIndex(BY_SINCE, ['since', 'key']);
      entries.createIndex(BY_ANSWERED, ['answered_at', 'key']);
      request.result.createObjectStore(ANSWERS);
    }
    request.result.createObjectStore(BODIES);
  };
  const opened = await promisifyRequest(request);
  opened.onclose = onLost;
  opened.onversionchange = () => {
    opened.close();
    onLost();
  };
  return opened;
}

/** A connection that was lost unnoticed refuses the transaction: then a new one is opened, once. */
async function beginTransaction(
  connection: Connection,
  durability: IDBTransactionDurability,
): Promise<IDBTransaction> {
  const start = async () =>
    (await connection.open()).transaction([ENTRIES, ANSWERS, BODIES], 'readwrite', { durability });
  try {
    return await start();
  } catch {
    connection.lost();
    return start();
  }
}

function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort();
  } catch {
    // It was aborted already, by the request that failed.
  }
}
