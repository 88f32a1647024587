/**
 * The durable ledger (wire.md §5 rule 4): one IndexedDB database with a store of small entries and a store
 * of answers, so that sweeping reads no answer. Every step is one transaction that reads the entry, lets
 * `ledger.ts` decide and writes; a step has happened once its promise resolves, and not before.
 */
import { promisifyRequest } from 'idb-keyval';
import type { AnswerMessage } from '../platform/messages';
import type { ErrorCode } from '../protocol/errors';
import type { ActivityEntry } from '../settings/activity';
import { answerBytes, errorAnswer } from './answers';
import { isAbandoned } from './body-key';
import {
  type AnsweredEntry,
  accept,
  answersToDrop,
  begin,
  end,
  expire,
  forgetBefore,
  isForgotten,
  type LedgerEntry,
  type Settlement,
  settle,
} from './ledger';

export interface LedgerRequest {
  /** The ledger's names of a request (`request-hash.ts`). */
  key: string;
  input_hash: string;
  /** The tool's name as the activity shows it. */
  tool: string;
  /** Epoch milliseconds. */
  started_at: number;
}

export interface SettledRequest {
  message: AnswerMessage;
  outcome: 'ok' | ErrorCode;
  of_run: boolean;
}

/** `answer`: the id is settled, by this step or before it. */
export type LedgerReply =
  | { decision: 'execute' | 'join' | 'conflict' | 'expired' }
  | { decision: 'answer'; message: AnswerMessage };

export interface Ledger {
  /**
   * Writes that the tool starts (`execute`), or says why it must not. A run that was cut off begins again
   * when the tool is `read_only`; otherwise it is settled here, as `outcome_unknown`.
   */
  accept(request: LedgerRequest, read_only: boolean): Promise<LedgerReply>;
  /**
   * Settles the id with `message` unless it is settled already, and says which answer it has.
   * `of_run`: the message is what the run started by `accept` came to.
   */
  settle(request: LedgerRequest, settled: SettledRequest): Promise<LedgerReply>;
  /** What was settled last, newest first; at most `limit`. */
  activity(limit: number): Promise<ActivityEntry[]>;
  /** Drops what has been kept long enough (wire.md §5 rule 4). */
  sweep(): Promise<void>;
}

export interface LedgerOptions {
  /** UUID of this service worker instance. */
  run: string;
  now(): number;
  bodies: {
    bodyKeys(): Promise<string[]>;
    removeBodies(keys: string[]): Promise<void>;
  };
  database?: string;
}

type Row = LedgerEntry & { key: string };
type AnsweredRow = AnsweredEntry & { key: string };

interface Stores {
  entries: IDBObjectStore;
  answers: IDBObjectStore;
}

const ENTRIES = 'entries';
const ANSWERS = 'answers';
const BY_SINCE = 'by_since';
const BY_ANSWERED = 'by_answered';
const BY_BODY = 'by_body';
/** So many bytes of new answers call for a sweep before its time. */
const SWEEP_AFTER_BYTES = 16 * 1024 * 1024;
/** Rows read in one go by a sweep: requests get their turn in between. */
const BATCH = 500;

export function createLedger({ run, now, bodies, database = 'endue-ledger' }: LedgerOptions): Ledger {
  const connection = connector(database);
  // Opened at once: the first request of a worker that just woke finds it ready.
  connection.open().catch(() => undefined);

  /**
   * One transaction over both stores; resolves when it is complete. `work` may call `commit` itself once
   * all its requests are made: Chrome need not ask then whether more are to come.
   */
  async function transact<T>(
    durability: IDBTransactionDurability,
    work: (stores: Stores, commit: () => void) => Promise<T>,
  ): Promise<T> {
    const transaction = await beginTransaction(connection, durability);
    const complete = promisifyRequest(transaction);
    // When `work` fails first, its error is the one to tell.
    complete.catch(() => undefined);
    let committed = false;
    const commit = () => {
      if (!committed) transaction.commit();
      committed = true;
    };
    const stores = { entries: transaction.objectStore(ENTRIES), answers: transaction.objectStore(ANSWERS) };
    let result: T;
    try {
      result = await work(stores, commit);
    } catch (thrown) {
      abort(transaction);
      throw thrown;
    }
    commit();
    await complete;
    return result;
  }

  /**
   * Writes what is right if nothing contrary is known yet, in a single round trip: most ids are new. False
   * when an `add` found something there: then nothing was written.
   */
  async function attempt(
    durability: IDBTransactionDurability,
    write: (stores: Stores) => IDBRequest[],
  ): Promise<boolean> {
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
  }

  /** The kept answer of an answered entry. */
  async function keptAnswer({ answers }: Stores, key: string): Promise<LedgerReply> {
    const message = await promisifyRequest<AnswerMessage | undefined>(answers.get(key));
    return message ? { decision: 'answer', message } : { decision: 'expired' };
  }

  function settlement(
    { input_hash, tool, started_at }: LedgerRequest,
    { message, outcome, of_run }: SettledRequest,
  ): Settlement {
    return {
      input_hash,
      run,
      of_run,
      now: now(),
      answer_bytes: answerBytes(message),
      body_key: message.body_key,
      activity: { at: started_at, tool, outcome, duration_ms: message.duration_ms },
    };
  }

  /** An id whose run was cut off: nobody will ever know more of it. */
  function recordCutOff({ entries, answers }: Stores, request: LedgerRequest): LedgerReply {
    const { message, outcome } = errorAnswer('outcome_unknown');
    const entry = end(settlement(request, { message, outcome, of_run: false }));
    entries.put({ ...entry, key: request.key } satisfies Row);
    answers.put(message, request.key);
    return { decision: 'answer', message };
  }

  async function acceptRequest(request: LedgerRequest, read_only: boolean): Promise<LedgerReply> {
    const { key, input_hash } = request;
    const acceptance = { input_hash, run, read_only, now: now() };
    // Losing the start of a tool with effects to a power cut would let it run twice.
    const durability = read_only ? 'relaxed' : 'strict';
    const started: Row = { ...begin(acceptance), key };
    const isNew = await attempt(durability, ({ entries }) => [entries.add(started)]);
    if (isNew) return { decision: 'execute' };
    return transact(durability, async (stores) => {
      const accepted = accept(await readRow(stores, key), acceptance);
      switch (accepted.decision) {
        case 'execute':
          stores.entries.put({ ...accepted.entry, key } satisfies Row);
          return { decision: 'execute' };
        case 'answer':
          return keptAnswer(stores, key);
        case 'cut_off':
          return recordCutOff(stores, request);
        default:
          return { decision: accepted.decision };
      }
    });
  }

  async function settleRequest(request: LedgerRequest, settled: SettledRequest): Promise<LedgerReply> {
    const { key } = request;
    const { message, of_run } = settled;
    const wanted = settlement(request, settled);
    const ended: Row = { ...end(wanted), key };
    // Of an id that runs here nothing else can be known than its start; of another one nothing at all.
    const isFirst = await attempt('relaxed', ({ entries, answers }) => [
      of_run ? entries.put(ended) : entries.add(ended),
      answers.add(message, key),
    ]);
    const reply = isFirst
      ? { decision: 'answer' as const, message }
      : await settleKnown(request, settled, wanted);
    if (reply.decision === 'answer' && reply.message === message) sweepAfter(wanted.answer_bytes);
    return reply;
  }

  /** Something is known of the id already. */
  function settleKnown(
    request: LedgerRequest,
    { message }: SettledRequest,
    wanted: Settlement,
  ): Promise<LedgerReply> {
    const { key } = request;
    return transact('relaxed', async (stores) => {
      const found = settle(await readRow(stores, key), wanted);
      switch (found.decision) {
        case 'record':
          stores.entries.put({ ...found.entry, key } satisfies Row);
          stores.answers.put(message, key);
          return { decision: 'answer', message };
        case 'answer':
          return keptAnswer(stores, key);
        case 'cut_off':
          return recordCutOff(stores, request);
        default:
          return { decision: found.decision };
      }
    });
  }

  let unswept_bytes = 0;

  /** Large answers do not wait for the alarm; whoever is answered does not wait for the sweep. */
  function sweepAfter(answer_bytes: number): void {
    unswept_bytes += answer_bytes;
    if (unswept_bytes < SWEEP_AFTER_BYTES) return;
    unswept_bytes = 0;
    sweep().catch(() => undefined);
  }

  /** Forgets the ids that were kept for 7 days. */
  async function forgetOldIds(): Promise<void> {
    const at = now();
    let after: [number, string] | null = null;
    for (;;) {
      const rows: Row[] = await transact('relaxed', async ({ entries, answers }) => {
        const old = await batch(entries.index(BY_SINCE), after, forgetBefore(at));
        for (const { key } of old.filter((row) => isForgotten(row, { now: at, run }))) {
          entries.delete(key);
          answers.delete(key);
        }
        return old;
      });
      await removeBodiesOf(rows);
      const last = rows.at(-1);
      if (!last) return;
      after = [last.since, last.key];
    }
  }

  async function keptBytes(): Promise<number> {
    let bytes = 0;
    let after: [number, string] | null = null;
    for (;;) {
      const rows = await answeredBatch(after);
      for (const { answer_bytes } of rows) bytes += answer_bytes;
      const last = rows.at(-1);
      if (!last) return bytes;
      after = [last.answered_at, last.key];
    }
  }

  function answeredBatch(after: [number, string] | null): Promise<AnsweredRow[]> {
    return transact('relaxed', ({ entries }) => batch<AnsweredRow>(entries.index(BY_ANSWERED), after));
  }

  /** Drops the answers that are too old or too many; their ids stay. */
  async function dropOldAnswers(): Promise<void> {
    let bytes = await keptBytes();
    for (;;) {
      const dropped: AnsweredRow[] = await transact('relaxed', async ({ entries, answers }) => {
        const rows = await batch<AnsweredRow>(entries.index(BY_ANSWERED), null);
        const { drop, bytes_left } = answersToDrop(rows, bytes, now());
        bytes = bytes_left;
        const goes = rows.slice(0, drop);
        for (const row of goes) {
          entries.put({ ...expire(row), key: row.key } satisfies Row);
          answers.delete(row.key);
        }
        return goes;
      });
      if (dropped.length === 0) return;
      await removeBodiesOf(dropped);
    }
  }

  /** Removes the bodies that a worker wrote and then died before it settled their answer. */
  async function removeAbandonedBodies(): Promise<void> {
    const old = (await bodies.bodyKeys()).filter((key) => isAbandoned(key, now()));
    const abandoned = await transact('relaxed', async ({ entries }) => {
      const named = await Promise.all(
        old.map((key) => promisifyRequest<IDBValidKey | undefined>(entries.index(BY_BODY).getKey(key))),
      );
      return old.filter((_key, index) => named[index] === undefined);
    });
    if (abandoned.length > 0) await bodies.removeBodies(abandoned);
  }

  async function removeBodiesOf(rows: readonly Row[]): Promise<void> {
    const keys = rows.flatMap((row) => (row.state === 'answered' && row.body_key ? [row.body_key] : []));
    if (keys.length > 0) await bodies.removeBodies(keys);
  }

  async function sweepAll(): Promise<void> {
    await forgetOldIds();
    await dropOldAnswers();
    await removeAbandonedBodies();
  }

  function activity(limit: number): Promise<ActivityEntry[]> {
    return transact('relaxed', async ({ entries }) => {
      const found: ActivityEntry[] = [];
      const request: IDBRequest<IDBCursorWithValue | null> = entries.index(BY_SINCE).openCursor(null, 'prev');
      for (;;) {
        const cursor = await promisifyRequest(request);
        if (!cursor || found.length >= limit) return found;
        const row = cursor.value as Row;
        if (row.state !== 'running') found.push(row.activity);
        cursor.continue();
      }
    });
  }

  let sweeping: Promise<void> | null = null;

  function sweep(): Promise<void> {
    sweeping ??= sweepAll().finally(() => {
      sweeping = null;
    });
    return sweeping;
  }

  return { accept: acceptRequest, settle: settleRequest, activity, sweep };
}

function readRow({ entries }: Stores, key: string): Promise<Row | undefined> {
  return promisifyRequest<Row | undefined>(entries.get(key));
}

/** The next rows of an index over `[time, key]`, oldest first, up to and including the time `until`. */
function batch<T extends Row>(
  index: IDBIndex,
  after: [number, string] | null,
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
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => {
    const entries = request.result.createObjectStore(ENTRIES, { keyPath: 'key' });
    entries.createIndex(BY_SINCE, ['since', 'key']);
    entries.createIndex(BY_ANSWERED, ['answered_at', 'key']);
    entries.createIndex(BY_BODY, 'body_key');
    request.result.createObjectStore(ANSWERS);
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
    (await connection.open()).transaction([ENTRIES, ANSWERS], 'readwrite', { durability });
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
