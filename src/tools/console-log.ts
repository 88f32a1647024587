/**
 * The ordered log of one tab's console (os-interface.md, Live output): which number an event gets, what is
 * kept, and what a reader behind a number gets. Numbers of one tab follow each other without a hole; one
 * that is asked for and not there was given up, and is counted. It knows no database, no browser, no clock.
 * Pure.
 */
import type { ConsoleEvent, ConsoleLevel } from '../protocol/console-events';
import { AgentError } from '../protocol/errors';
import { utf8Length } from '../protocol/json';
import { CONSOLE_ANSWER_BYTES, CONSOLE_ITEM_BYTES } from '../protocol/limits';

/** An event as it is kept. */
export interface LogEvent extends ConsoleEvent {
  /** Of the frame's document, or of the one that made it; '' of the agent's own words. */
  url: string;
  /** What the rules are asked about, when it is not the url. Stays on the device. */
  rule_url?: string;
  /** 0 is the tab's main frame. */
  frame_id: number;
}

/** An event as it is delivered. */
export type NumberedEvent = Omit<LogEvent, 'rule_url'> & { seq: number };

export interface LogHead {
  tab_id: number;
  /** The first event has the number behind this one. */
  start: number;
  /** The number of the last event. */
  last: number;
  /** What the kept chunks take, encoded. */
  bytes: number;
  /** False between the end of a listening that nobody used and the next question. */
  capturing: boolean;
  /** Epoch milliseconds of the last question. */
  read_at: number;
  /** For each of the documents that spoke last: which of its events comes next. */
  documents: readonly (readonly [document_id: string, next: number])[];
}

/** Events that came together; the number of the n-th is `first + n`. */
export interface LogChunk {
  first: number;
  bytes: number;
  events: LogEvent[];
}

export interface Arrival {
  document_id: string;
  /** Number of the first event within its document. */
  first: number;
  /** How many right before it were given up in the page. */
  lost: number;
  /** They were said by a page that is closed to the agent: they are not kept, and get no numbers. */
  closed?: boolean;
  events: LogEvent[];
}

/** One item of an answer (os-interface.md): adjacent events, under the number of the last of them. */
export interface LogItem {
  type: 'events';
  seq: number;
  events: NumberedEvent[];
}

export interface LogReading {
  items: LogItem[];
  /** The number to go on behind. */
  after: number;
  /** True when there is more to be read now. */
  more: boolean;
  /** How many events behind the cursor were given up before they could be read. */
  dropped: number;
  /** How many were left out because their address is closed to the agent. */
  withheld: number;
}

/** More than a tab's frames that speak by turns; a document that fell out is taken as new. */
const DOCUMENTS_KNOWN = 128;
/** A forged jump must not use up the numbers. */
const LARGEST_JUMP = 1_000_000;

/** A log that begins behind `highest`, the highest number any earlier log had (0 when there was none). */
export function newLog(tab_id: number, highest: number, now: number): LogHead {
  // One number is left out: the last one of an earlier log must not be a valid place in this one.
  const start = highest === 0 ? 0 : highest + 1;
  return { tab_id, start, last: start, bytes: 0, capturing: true, read_at: now, documents: [] };
}

/** The log with what arrived; `chunk` is null when nothing of it is to be kept. */
export function append(head: LogHead, arrival: Arrival): { head: LogHead; chunk: LogChunk | null } {
  const { document_id } = arrival;
  const known = head.documents.find(([id]) => id === document_id)?.[1];
  const next = known ?? arrival.first - arrival.lost;
  const seen = Math.max(0, next - arrival.first);
  const events = arrival.events.slice(seen);
  if (events.length === 0) return { head, chunk: null };
  const others = head.documents.filter(([id]) => id !== document_id);
  const documents: LogHead['documents'] = [
    ...others.slice(-(DOCUMENTS_KNOWN - 1)),
    [document_id, arrival.first + arrival.events.length],
  ];
  if (arrival.closed) return { head: { ...head, documents }, chunk: null };
  const jump = Math.min(Math.max(0, arrival.first - next), LARGEST_JUMP);
  const first = head.last + jump + 1;
  const chunk = { first, bytes: encodedBytes(events), events };
  return {
    chunk,
    head: { ...head, last: lastOf(chunk), bytes: head.bytes + chunk.bytes, documents },
  };
}

/** The log with a word of the agent's own as its next event. */
export function mark(head: LogHead, event: LogEvent): { head: LogHead; chunk: LogChunk } {
  const chunk = { first: head.last + 1, bytes: encodedBytes([event]), events: [event] };
  return { chunk, head: { ...head, last: chunk.first, bytes: head.bytes + chunk.bytes } };
}

export function lastOf({ first, events }: LogChunk): number {
  return first + events.length - 1;
}

/**
 * The place a cursor points to: `after` itself, or the log's beginning. Throws `unavailable` for a number
 * that this log never gave: it is of an earlier run of the browser, or of another tab.
 */
export function placeOf(head: LogHead, after: number | undefined): number {
  if (after === undefined || after === 0) return head.start;
  if (after >= head.start && after <= head.last) return after;
  throw new AgentError('unavailable');
}

export interface ReadRules {
  /** False: events of frames at this address are left out. */
  mayRead(url: string): boolean;
  /** Only these levels; all when undefined. */
  levels?: readonly ConsoleLevel[] | undefined;
}

/**
 * What follows `place` in `chunks`: those behind the place, in order, without a hole between them other than
 * what was given up. `complete` is true when no further chunk was left out of `chunks`.
 */
export function readLog(
  head: LogHead,
  chunks: readonly LogChunk[],
  complete: boolean,
  place: number,
  rules: ReadRules,
): LogReading {
  const packer = new Packer();
  let met = 0;
  let withheld = 0;
  let through = place;
  let full = false;
  reading: for (const { first, events } of chunks) {
    for (const [index, event] of events.entries()) {
      const seq = first + index;
      if (seq <= place) continue;
      const { rule_url = event.url, ...told } = event;
      const readable = rules.mayRead(rule_url);
      const wanted = readable && (rules.levels?.includes(event.level) ?? true);
      if (wanted && !packer.take({ seq, ...told })) {
        full = true;
        break reading;
      }
      if (!readable) withheld += 1;
      met += 1;
      through = seq;
    }
  }
  if (complete && !full) through = head.last;
  return {
    items: packer.items,
    after: through,
    more: through < head.last,
    dropped: through - place - met,
    withheld,
  };
}

/** Joins adjacent events to items and stops when the answer is full. */
class Packer {
  readonly items: LogItem[] = [];
  private itemBytes = 0;
  private answerBytes = 0;

  /** False when there is no room for it any more. */
  take(event: NumberedEvent): boolean {
    const bytes = encodedBytes([event]);
    if (this.answerBytes + bytes > CONSOLE_ANSWER_BYTES) return false;
    const current = this.items.at(-1);
    if (current && this.itemBytes + bytes <= CONSOLE_ITEM_BYTES) {
      current.events.push(event);
      current.seq = event.seq;
      this.itemBytes += bytes;
    } else {
      this.items.push({ type: 'events', seq: event.seq, events: [event] });
      this.itemBytes = ITEM_FRAME_BYTES + bytes;
    }
    this.answerBytes += bytes;
    return true;
  }
}

/** What an item takes beside its events. */
const ITEM_FRAME_BYTES = 64;
/** The comma behind each. */
const SEPARATOR_BYTES = 1;

export function encodedBytes(events: readonly object[]): number {
  return events.reduce((sum, event) => sum + utf8Length(JSON.stringify(event)) + SEPARATOR_BYTES, 0);
}
