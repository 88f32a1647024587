/**
 * Drops what the ledger has kept long enough (wire.md §5 rule 4), in small transactions that let requests
 * through in between. It never takes an answer that is being given meanwhile, nor its attachments.
 */
import { answersToDrop, expire, forgetBefore, isForgotten } from './ledger';
import {
  type AnsweredRow,
  BY_ANSWERED,
  BY_SINCE,
  type LedgerDatabase,
  nextRows,
  type Place,
  type Row,
  type Stores,
} from './ledger-database';

export interface SweepOptions {
  database: LedgerDatabase;
  /** UUID of this service worker instance. */
  run: string;
  now(): number;
}

/** Callers share a sweep that is under way. */
export function createLedgerSweep({ database, run, now }: SweepOptions): () => Promise<void> {
  /** Forgets the ids that were kept for 7 days. */
  async function forgetOldIds(): Promise<void> {
    const at = now();
    let after: Place = null;
    for (;;) {
      const rows: Row[] = await database.transact('relaxed', async (stores) => {
        const old = await nextRows(stores.entries.index(BY_SINCE), after, forgetBefore(at));
        for (const row of old.filter((row) => isForgotten(row, { now: at, run }))) {
          stores.entries.delete(row.key);
          dropAnswer(stores, row);
        }
        return old;
      });
      const last = rows.at(-1);
      if (!last) return;
      after = [last.since, last.key];
    }
  }

  async function keptBytes(): Promise<number> {
    let bytes = 0;
    let after: Place = null;
    for (;;) {
      const rows = await answeredBatch(after);
      for (const { answer_bytes } of rows) bytes += answer_bytes;
      const last = rows.at(-1);
      if (!last) return bytes;
      after = [last.answered_at, last.key];
    }
  }

  function answeredBatch(after: Place): Promise<AnsweredRow[]> {
    return database.transact('relaxed', ({ entries }) =>
      nextRows<AnsweredRow>(entries.index(BY_ANSWERED), after),
    );
  }

  /** Drops the answers that are too old or too many; their ids stay. */
  async function dropOldAnswers(): Promise<void> {
    let bytes = await keptBytes();
    for (;;) {
      const dropped: AnsweredRow[] = await database.transact('relaxed', async (stores) => {
        const rows = await nextRows<AnsweredRow>(stores.entries.index(BY_ANSWERED), null);
        const { drop, bytes_left } = answersToDrop(rows, bytes, now());
        bytes = bytes_left;
        const goes = rows.slice(0, drop);
        for (const row of goes) {
          stores.entries.put({ ...expire(row), key: row.key } satisfies Row);
          dropAnswer(stores, row);
        }
        return goes;
      });
      if (dropped.length === 0) return;
    }
  }

  async function sweepAll(): Promise<void> {
    await forgetOldIds();
    await dropOldAnswers();
  }

  let sweeping: Promise<void> | null = null;
  return () => {
    sweeping ??= sweepAll().finally(() => {
      sweeping = null;
    });
    return sweeping;
  };
}

/** The answer and its binary. */
function dropAnswer({ answers, bodies }: Stores, row: Row): void {
  answers.delete(row.key);
  if (row.state === 'answered' && row.body_key) bodies.delete(row.body_key);
}
