/**
 * The ledger's decisions over one id (wire.md §5 rule 4): what a request means given what is already known
 * of its id, which settlement wins, and what is dropped with time. It knows no database, no clock and no
 * answer's content: `ledger-store.ts` keeps what is decided here. Pure.
 */
import { ANSWERS_KEPT_BYTES, ANSWERS_KEPT_MS, IDS_KEPT_MS } from '../protocol/limits';
import type { ActivityEntry } from '../settings/activity';

interface Known {
  /** Hash of command and input (`request-names.ts`); the same id with another one is a conflict. */
  input_hash: string;
  /** Epoch milliseconds of the last step: accepted, taken over, or settled. The id is kept from here on. */
  since: number;
}

/** Being run by the service worker instance `run`; under any other instance the run was cut off. */
export interface RunningEntry extends Known {
  state: 'running';
  run: string;
  /** What the tool was when it started: an update of the extension in between does not make it harmless. */
  read_only: boolean;
  /** The offscreen document that the work was handed to, which may outlive this instance; null: it was not. */
  host: string | null;
}

/**
 * The person is being asked whether it may run (`confirmation.ts`). Nothing has started: whatever instance
 * takes it up goes on with it, and any end settles it.
 */
export interface AskingEntry extends Known {
  state: 'asking';
  run: string;
  tool: string;
  behind?: string;
  /** Epoch milliseconds. */
  asked_at: number;
  /** By then it is answered. */
  deadline: number;
}

interface Ended extends Known {
  /** What the person may see of it (ui.md, Activity). */
  activity: ActivityEntry;
}

/** Settled, and the answer is still kept. */
export interface AnsweredEntry extends Ended {
  state: 'answered';
  /** Epoch milliseconds. */
  answered_at: number;
  /** What the answer and its attachments take, in bytes. */
  answer_bytes: number;
  /** Where its attachments are (`ledger-database.ts`), or null. */
  body_key: string | null;
}

/** Settled, and the answer is no longer kept. */
export interface ExpiredEntry extends Ended {
  state: 'expired';
}

export type LedgerEntry = RunningEntry | AskingEntry | AnsweredEntry | ExpiredEntry;

export interface Acceptance {
  input_hash: string;
  /** UUID of this service worker instance. */
  run: string;
  /** Whether the tool may run again when its run was cut off. */
  read_only: boolean;
  /** The offscreen document that is there now, for a tool whose work is handed to it. */
  host: string | null;
  /** Set when the person must be asked before it runs. */
  ask: AskFacts | null;
  now: number;
}

export type AskFacts = Pick<AskingEntry, 'tool' | 'behind' | 'asked_at' | 'deadline'>;

/** `entry` is to be written for `execute`; for the others it is what the ledger holds. */
export type Accepted =
  /**
   * Never seen, a cut-off run of a read-only tool, or one whose work goes on where it was handed to: run it, once
   * `entry` is written.
   */
  | { decision: 'execute'; entry: RunningEntry }
  /** The same, after the person was asked, once `entry` is written. */
  | { decision: 'ask'; entry: AskingEntry }
  /** This very instance is running it. */
  | { decision: 'join'; entry: RunningEntry }
  | { decision: 'answer'; entry: AnsweredEntry }
  | { decision: 'expired'; entry: ExpiredEntry }
  /** The id belongs to another command or input, which is not disturbed. */
  | { decision: 'conflict'; entry: LedgerEntry }
  /** Its run was cut off and may have had an effect: to be settled `outcome_unknown`. */
  | { decision: 'cut_off'; entry: RunningEntry };

/** The entry of a run that starts now. */
export function begin({ input_hash, run, read_only, host, now }: Acceptance): RunningEntry {
  return { state: 'running', input_hash, run, read_only, host, since: now };
}

/** The entry of a request about which the person is asked now. */
function beginAsking({ input_hash, run, now }: Acceptance, ask: AskFacts): AskingEntry {
  return { state: 'asking', input_hash, run, since: now, ...ask };
}

/** What is written, and what follows, for a request whose tool has not started. */
export function first(request: Acceptance): Extract<Accepted, { decision: 'execute' | 'ask' }> {
  return request.ask
    ? { decision: 'ask', entry: beginAsking(request, request.ask) }
    : { decision: 'execute', entry: begin(request) };
}

/** What a request that would run its tool comes to. */
export function accept(entry: LedgerEntry | undefined, request: Acceptance): Accepted {
  if (!entry) return first(request);
  if (entry.input_hash !== request.input_hash) return { decision: 'conflict', entry };
  switch (entry.state) {
    case 'asking':
      return first(request);
    case 'answered':
      return { decision: 'answer', entry };
    case 'expired':
      return { decision: 'expired', entry };
    case 'running':
      if (entry.run === request.run) return { decision: 'join', entry };
      // What was handed over was allowed before that: nobody is asked again.
      if (isStillHeld(entry, request.host)) return { decision: 'execute', entry: begin(request) };
      return entry.read_only && request.read_only ? first(request) : { decision: 'cut_off', entry };
  }
}

/** Whether the work was handed to the very document that is there now: it knows the job, or knows that it never came. */
function isStillHeld(entry: RunningEntry, host: string | null): boolean {
  return host !== null && entry.host === host;
}

export interface Settlement {
  input_hash: string;
  /** UUID of this service worker instance. */
  run: string;
  /** True for what the run itself came to; false for a refusal, or an end set from outside the run. */
  of_run: boolean;
  /** As in `Acceptance`. */
  host: string | null;
  now: number;
  answer_bytes: number;
  body_key: string | null;
  activity: ActivityEntry;
}

export type Settled =
  /** This settlement is the first: `entry` and its answer are to be written. */
  | { decision: 'record'; entry: AnsweredEntry }
  | Extract<Accepted, { decision: 'answer' | 'expired' | 'conflict' | 'cut_off' }>;

/** The entry of an id that is settled now. */
export function end({ input_hash, now, answer_bytes, body_key, activity }: Settlement): AnsweredEntry {
  return { state: 'answered', input_hash, since: now, answered_at: now, answer_bytes, body_key, activity };
}

/**
 * Which settlement an id gets: the first one, always; also when it comes late from a run that another
 * instance has begun again.
 */
export function settle(entry: LedgerEntry | undefined, settlement: Settlement): Settled {
  const record = (): Settled => ({ decision: 'record', entry: end(settlement) });
  if (!entry) return record();
  if (entry.input_hash !== settlement.input_hash) return { decision: 'conflict', entry };
  switch (entry.state) {
    case 'asking':
      return record();
    case 'answered':
      return { decision: 'answer', entry };
    case 'expired':
      return { decision: 'expired', entry };
    case 'running':
      return settlement.of_run ||
        entry.run === settlement.run ||
        entry.read_only ||
        isStillHeld(entry, settlement.host)
        ? record()
        : { decision: 'cut_off', entry };
  }
}

/** An entry whose answer is dropped. The id keeps its place, so that it is never run again. */
export function expire(entry: AnsweredEntry): ExpiredEntry {
  const { input_hash, since, activity } = entry;
  return { state: 'expired', input_hash, since, activity };
}

/** The latest `since` of entries that are forgotten at `now`. */
export function forgetBefore(now: number): number {
  return now - IDS_KEPT_MS;
}

/** Whether an id is forgotten altogether. What this instance is still working on never is. */
export function isForgotten(entry: LedgerEntry, { now, run }: { now: number; run: string }): boolean {
  if ((entry.state === 'running' || entry.state === 'asking') && entry.run === run) return false;
  return entry.since <= forgetBefore(now);
}

/** An answer that was just given may be on its way to the relay: its size does not drop it yet. */
const DELIVERY_MS = 60_000;

/**
 * How many of these answers, oldest first, are dropped when all kept answers together take `total_bytes`:
 * those older than 24 h, then the oldest until the rest takes 64 MiB at most (wire.md §5 rule 4).
 */
export function answersToDrop(
  oldest_first: readonly AnsweredEntry[],
  total_bytes: number,
  now: number,
): { drop: number; bytes_left: number } {
  let drop = 0;
  let bytes_left = total_bytes;
  for (const { answered_at, answer_bytes } of oldest_first) {
    const age = now - answered_at;
    const too_old = age >= ANSWERS_KEPT_MS;
    const too_many = bytes_left > ANSWERS_KEPT_BYTES && age >= DELIVERY_MS;
    if (!too_old && !too_many) break;
    drop += 1;
    bytes_left -= answer_bytes;
  }
  return { drop, bytes_left };
}
