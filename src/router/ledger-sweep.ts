/**
 * Drops what the ledger has kept long enough (wire.md §5 rule 4), in small transactions that let requests
 * through in between. It never takes an answer that is being given meanwhile, nor its attachments.
 */
import { promisifyRequest } from 'idb-keyval';
import { isAbandoned } from './body-key';
import { answersToDrop, expire, forgetBefore, isForgotten } from './ledger';
import {
  type AnsweredRow,
  BY_ANSWERED,
  BY_BODY,
  BY_SINCE,
  type LedgerDatabase,
  nextRows,
  type Place,
  type Row,
} from './ledger-database';

export interface SweepOptions {
  database: LedgerDatabase;
  /** UUID of this service worker instance. */
  run: string;
  now(): number;
  bodies: AnswerBodies;
}

export interface AnswerBodies {
  bodyKeys(): Promise<string[]>;
  removeBodies(keys: string[]): Promise<void>;
}

/** Callers share a sweep that is under way. */
export function createLedgerSweep({ database, run, now, bodies }: SweepOptions): () => Promise<void> {
  /** Forgets the ids that were kept for 7 days. */
  async function forgetOldIds(): Promise<void> {
    const at = now();
    let after: Place = null;
    for (;;) {
      const rows: Row[] = await database.transact('relaxed', async ({ entries, answers }) => {
        const old = await nextRows(entries.index(BY_SINCE), after, forgetBefore(at));
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
      const dropped: AnsweredRow[] = await database.transact('relaxed', async ({ entries, answers }) => {
        const rows = await nextRows<AnsweredRow>(entries.index(BY_ANSWERED), null);
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
    const abandoned = await database.transact('relaxed', async ({ entries }) => {
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

  let sweeping: Promise<void> | null = null;
  return () => {
    sweeping ??= sweepAll().finally(() => {
      sweeping = null;
    });
    return sweeping;
  };
}
