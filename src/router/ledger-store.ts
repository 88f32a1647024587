/**
 * The durable ledger (wire.md §5 rule 4). Every step is one transaction that reads the entry, lets
 * `ledger.ts` decide and writes; a step has happened once its promise resolves, and not before.
 */
import { promisifyRequest } from 'idb-keyval';
import type { AnswerMessage } from '../platform/messages';
import type { AnswerBody } from '../protocol/content';
import type { ErrorCode } from '../protocol/errors';
import type { ActivityEntry } from '../settings/activity';
import { answerBytes, errorAnswer } from './answers';
import { type AskingEntry, accept, end, first, type Settlement, settle } from './ledger';
import {
  BY_SINCE,
  LEDGER_DATABASE,
  openLedgerDatabase,
  type Row,
  readRow,
  type Stores,
} from './ledger-database';
import { createLedgerSweep } from './ledger-sweep';

export interface LedgerRequest {
  /** The ledger's names of a request (`request-names.ts`). */
  key: string;
  input_hash: string;
  /** The tool's name as the activity shows it. */
  tool: string;
  /** The tool that runs in its place, for the activity, too. */
  behind?: string;
  /** Epoch milliseconds. */
  started_at: number;
  /** The offscreen document that is there now, when the tool's work is handed to it; else null. */
  host: string | null;
}

export interface SettledRequest {
  message: AnswerMessage;
  /** Stored with it, under its `body_key`. */
  body: AnswerBody | null;
  outcome: 'ok' | ErrorCode;
  of_run: boolean;
  /** What came of asking the person, when the person was asked. */
  asked?: ActivityEntry['asked'];
}

/** `answer`: the id is settled, by this step or before it. */
export type LedgerReply =
  | { decision: 'execute' | 'ask' | 'join' | 'conflict' | 'expired' }
  | { decision: 'answer'; message: AnswerMessage };

export interface Ledger {
  /**
   * Writes that the tool starts (`execute`), or says why it must not. A run that was cut off begins again
   * when the tool is `read_only`, or joins its work when that was handed to the document that is there now; otherwise
   * it is settled here, as `outcome_unknown`. With `ask_until`
   * (epoch milliseconds) it writes that the person is being asked (`ask`), and the tool must not start yet.
   */
  accept(request: LedgerRequest, read_only: boolean, ask_until?: number | null): Promise<LedgerReply>;
  /**
   * Settles the id with `message` unless it is settled already, and says which answer it has.
   * `of_run`: the message is what the run started by `accept` came to.
   */
  settle(request: LedgerRequest, settled: SettledRequest): Promise<LedgerReply>;
  /** What was settled last and what the person is asked about now, newest first; at most `limit`. */
  activity(limit: number): Promise<ActivityEntry[]>;
  /** Drops what has been kept long enough (wire.md §5 rule 4). */
  sweep(): Promise<void>;
}

export interface LedgerOptions {
  /** UUID of this service worker instance. */
  run: string;
  now(): number;
  database?: string;
}

/** So many bytes of new answers call for a sweep before its time. */
const SWEEP_AFTER_BYTES = 16 * 1024 * 1024;

export function createLedger({ run, now, database: name = LEDGER_DATABASE }: LedgerOptions): Ledger {
  const database = openLedgerDatabase(name);
  const sweep = createLedgerSweep({ database, run, now });

  /** The kept answer of an answered entry. */
  async function keptAnswer({ answers }: Stores, key: string): Promise<LedgerReply> {
    const message = await promisifyRequest<AnswerMessage | undefined>(answers.get(key));
    return message ? { decision: 'answer', message } : { decision: 'expired' };
  }

  function settlement(
    { input_hash, tool, behind, started_at, host }: LedgerRequest,
    { message, outcome, of_run, asked }: SettledRequest,
  ): Settlement {
    return {
      input_hash,
      run,
      of_run,
      host,
      now: now(),
      answer_bytes: answerBytes(message),
      body_key: message.body_key,
      activity: {
        at: started_at,
        tool,
        ...(behind ? { behind } : {}),
        outcome,
        duration_ms: message.duration_ms,
        ...(asked ? { asked } : {}),
      },
    };
  }

  /** An id whose run was cut off: nobody will ever know more of it. */
  function recordCutOff({ entries, answers }: Stores, request: LedgerRequest): LedgerReply {
    const unknown = errorAnswer('outcome_unknown');
    const entry = end(settlement(request, { ...unknown, of_run: false }));
    entries.put({ ...entry, key: request.key } satisfies Row);
    answers.put(unknown.message, request.key);
    return { decision: 'answer', message: unknown.message };
  }

  async function acceptRequest(
    request: LedgerRequest,
    read_only: boolean,
    ask_until: number | null = null,
  ): Promise<LedgerReply> {
    const { key, input_hash, tool, behind, started_at, host } = request;
    const what = { tool, ...(behind ? { behind } : {}) };
    const ask = ask_until === null ? null : { ...what, asked_at: started_at, deadline: ask_until };
    const acceptance = { input_hash, run, read_only, host, ask, now: now() };
    // Losing the start of a tool with effects to a power cut would let it run twice.
    const durability = read_only ? 'relaxed' : 'strict';
    const { decision, entry } = first(acceptance);
    const isNew = await database.attempt(durability, ({ entries }) => [
      entries.add({ ...entry, key } satisfies Row),
    ]);
    if (isNew) return { decision };
    return database.transact(durability, async (stores) => {
      const accepted = accept(await readRow(stores, key), acceptance);
      switch (accepted.decision) {
        case 'execute':
        case 'ask':
          stores.entries.put({ ...accepted.entry, key } satisfies Row);
          return { decision: accepted.decision };
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
    const { message, body, of_run } = settled;
    const wanted = settlement(request, settled);
    const ended: Row = { ...end(wanted), key };
    // Of an id that runs here nothing else can be known than its start; of another one nothing at all.
    const isFirst = await database.attempt('relaxed', ({ entries, answers, bodies }) => [
      of_run ? entries.put(ended) : entries.add(ended),
      answers.add(message, key),
      ...(body && message.body_key ? [bodies.put(body, message.body_key)] : []),
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
    { message, body }: SettledRequest,
    wanted: Settlement,
  ): Promise<LedgerReply> {
    const { key } = request;
    return database.transact('relaxed', async (stores) => {
      const found = settle(await readRow(stores, key), wanted);
      switch (found.decision) {
        case 'record':
          stores.entries.put({ ...found.entry, key } satisfies Row);
          stores.answers.put(message, key);
          if (body && message.body_key) stores.bodies.put(body, message.body_key);
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

  function activity(limit: number): Promise<ActivityEntry[]> {
    return database.transact('relaxed', async ({ entries }) => {
      const found: ActivityEntry[] = [];
      const request: IDBRequest<IDBCursorWithValue | null> = entries.index(BY_SINCE).openCursor(null, 'prev');
      for (;;) {
        const cursor = await promisifyRequest(request);
        if (!cursor || found.length >= limit) return found;
        const row = cursor.value as Row;
        if (row.state === 'asking') found.push(askingActivity(row, now()));
        else if (row.state !== 'running') found.push(row.activity);
        cursor.continue();
      }
    });
  }

  return { accept: acceptRequest, settle: settleRequest, activity, sweep };
}

/** A question that nobody answered, and whose request nobody asked for again, ends with its deadline. */
function askingActivity({ tool, behind, asked_at, deadline }: AskingEntry, now: number): ActivityEntry {
  const isOver = now > deadline;
  return {
    at: asked_at,
    tool,
    ...(behind ? { behind } : {}),
    outcome: isOver ? 'user_declined' : 'waiting',
    duration_ms: Math.max(0, Math.min(now, deadline) - asked_at),
    asked: isOver ? 'unanswered' : 'waiting',
  };
}
