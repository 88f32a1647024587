import { describe, expect, test } from 'vitest';
import { ANSWERS_KEPT_BYTES, ANSWERS_KEPT_MS, IDS_KEPT_MS } from '../../../src/protocol/limits';
import {
  type AnsweredEntry,
  accept,
  answersToDrop,
  expire,
  isForgotten,
  type LedgerEntry,
  settle,
} from '../../../src/router/ledger';
import type { ActivityEntry } from '../../../src/settings/activity';

const NOW = 1_800_000_000_000;
const activity: ActivityEntry = { at: NOW - 9, tool: 'tab_list', outcome: 'ok', duration_ms: 4 };
const running = (changes: object = {}): LedgerEntry => ({
  state: 'running',
  input_hash: 'h',
  run: 'this',
  read_only: false,
  host: null,
  since: NOW - 5,
  ...changes,
});
const answered = (changes: object = {}): AnsweredEntry => ({
  state: 'answered',
  input_hash: 'h',
  since: NOW - 5,
  answered_at: NOW - 5,
  answer_bytes: 10,
  body_key: null,
  activity,
  ...changes,
});
const expired: LedgerEntry = { state: 'expired', input_hash: 'h', since: NOW - 5, activity };

describe('wire.md §5 rule 4: what a request means', () => {
  const ask = (entry: LedgerEntry | undefined, changes: object = {}) =>
    accept(entry, {
      input_hash: 'h',
      run: 'this',
      read_only: false,
      host: null,
      ask: null,
      now: NOW,
      ...changes,
    });

  test('an id never seen is executed and written as running', () => {
    expect(ask(undefined)).toEqual({
      decision: 'execute',
      entry: { state: 'running', input_hash: 'h', run: 'this', read_only: false, host: null, since: NOW },
    });
  });

  test('the same input joins what this instance runs, and gets a kept answer', () => {
    expect(ask(running()).decision).toBe('join');
    expect(ask(answered()).decision).toBe('answer');
    expect(ask(expired).decision).toBe('expired');
  });

  test.each([running(), running({ run: 'other' }), answered(), expired])(
    'another input is a conflict and changes nothing: %j',
    (entry) => {
      expect(ask(entry, { input_hash: 'other' })).toEqual({ decision: 'conflict', entry });
    },
  );

  describe('when the person must be asked first', () => {
    const facts = { tool: 'write', asked_at: NOW, deadline: NOW + 9 };
    const asking = (changes: object = {}): LedgerEntry => ({
      state: 'asking',
      input_hash: 'h',
      run: 'other',
      since: NOW - 5,
      ...facts,
      ...changes,
    });

    test('an id never seen, and one about which any instance asked, is asked about and written as such', () => {
      for (const entry of [undefined, asking(), asking({ run: 'this' })]) {
        expect(ask(entry, { ask: facts })).toEqual({
          decision: 'ask',
          entry: { state: 'asking', input_hash: 'h', run: 'this', since: NOW, ...facts },
        });
      }
    });

    test('once allowed it is executed; another input stays a conflict', () => {
      expect(ask(asking()).decision).toBe('execute');
      expect(ask(asking(), { input_hash: 'other', ask: facts }).decision).toBe('conflict');
    });

    test('a run that was cut off is asked about again only when it may run again', () => {
      const cut = { run: 'other' };
      expect(ask(running({ ...cut, read_only: true }), { read_only: true, ask: facts }).decision).toBe('ask');
      expect(ask(running(cut), { ask: facts }).decision).toBe('cut_off');
    });

    test('any end settles it: nothing has started', () => {
      const settlement = {
        input_hash: 'h',
        run: 'this',
        of_run: false,
        host: null,
        now: NOW,
        answer_bytes: 1,
        body_key: null,
      };
      expect(settle(asking(), { ...settlement, activity }).decision).toBe('record');
    });
  });

  test('a run that was cut off is not run again', () => {
    expect(ask(running({ run: 'other' })).decision).toBe('cut_off');
  });

  test('a cut-off run of a read-only tool is run again, under this instance', () => {
    expect(ask(running({ run: 'other', read_only: true }), { read_only: true })).toMatchObject({
      decision: 'execute',
      entry: { run: 'this', since: NOW },
    });
  });

  test('a tool must have been read-only when it started as well as now', () => {
    expect(ask(running({ run: 'other', read_only: false }), { read_only: true }).decision).toBe('cut_off');
    expect(ask(running({ run: 'other', read_only: true }), { read_only: false }).decision).toBe('cut_off');
  });
});

describe('design.md, The way of a request: work that was handed over', () => {
  const ask = (entry: LedgerEntry, host: string | null) =>
    accept(entry, { input_hash: 'h', run: 'this', read_only: false, host, ask: null, now: NOW });
  const held = running({ run: 'other', host: 'document' });

  test('is not asked about again: the person had allowed it', () => {
    const question = { tool: 'file_write', asked_at: NOW, deadline: NOW + 1 };
    const asking = { input_hash: 'h', run: 'this', read_only: false, host: 'document', now: NOW };
    expect(accept(held, { ...asking, ask: question }).decision).toBe('execute');
    expect(accept(held, { ...asking, host: 'other', ask: question }).decision).toBe('cut_off');
  });

  test('is joined by another instance while the document that has it is there', () => {
    expect(ask(held, 'document')).toEqual({
      decision: 'execute',
      entry: {
        state: 'running',
        input_hash: 'h',
        run: 'this',
        read_only: false,
        host: 'document',
        since: NOW,
      },
    });
  });

  test('was cut off when that document is gone, or when it was never handed over', () => {
    expect(ask(held, 'another').decision).toBe('cut_off');
    expect(ask(held, null).decision).toBe('cut_off');
    expect(ask(running({ run: 'other' }), null).decision).toBe('cut_off');
  });

  test('an end set from outside is recorded only while the document is there', () => {
    const end = (host: string | null) =>
      settle(held, {
        input_hash: 'h',
        run: 'this',
        of_run: false,
        host,
        now: NOW,
        answer_bytes: 7,
        body_key: null,
        activity,
      }).decision;
    expect([end('document'), end('another'), end(null)]).toEqual(['record', 'cut_off', 'cut_off']);
  });
});

describe('wire.md §5 rule 4: which settlement wins', () => {
  const end = (entry: LedgerEntry | undefined, changes: object = {}) =>
    settle(entry, {
      input_hash: 'h',
      run: 'this',
      of_run: true,
      host: null,
      now: NOW,
      answer_bytes: 7,
      body_key: 'b',
      activity,
      ...changes,
    });

  test('the first settlement of a run is recorded', () => {
    expect(end(running())).toEqual({
      decision: 'record',
      entry: {
        state: 'answered',
        input_hash: 'h',
        since: NOW,
        answered_at: NOW,
        answer_bytes: 7,
        body_key: 'b',
        activity,
      },
    });
  });

  test('an id that was never accepted is settled from outside', () => {
    expect(end(undefined, { of_run: false }).decision).toBe('record');
  });

  test.each([true, false])('a later settlement loses (of_run %s)', (of_run) => {
    expect(end(answered(), { of_run })).toEqual({ decision: 'answer', entry: answered() });
    expect(end(expired, { of_run })).toEqual({ decision: 'expired', entry: expired });
  });

  test('the late outcome of an instance whose run was taken over counts when it is the first', () => {
    expect(end(running({ run: 'other', read_only: true })).decision).toBe('record');
  });

  test('an end from outside makes a cut-off run outcome_unknown, unless it was read-only', () => {
    expect(end(running({ run: 'other' }), { of_run: false }).decision).toBe('cut_off');
    expect(end(running({ run: 'other', read_only: true }), { of_run: false }).decision).toBe('record');
  });

  test('another input settles nothing', () => {
    expect(end(running(), { input_hash: 'other' }).decision).toBe('conflict');
    expect(end(answered(), { input_hash: 'other', of_run: false }).decision).toBe('conflict');
  });
});

describe('wire.md §5 rule 4: what is kept, and how long', () => {
  const MIB = 1024 * 1024;
  const drop = (entries: AnsweredEntry[]) =>
    answersToDrop(
      entries,
      entries.reduce((sum, { answer_bytes }) => sum + answer_bytes, 0),
      NOW,
    );

  test('answers are dropped after 24 h', () => {
    const entries = [
      answered({ answered_at: NOW - ANSWERS_KEPT_MS - 1 }),
      answered({ answered_at: NOW - ANSWERS_KEPT_MS }),
      answered({ answered_at: NOW - ANSWERS_KEPT_MS + 1 }),
    ];
    expect(drop(entries)).toEqual({ drop: 2, bytes_left: 10 });
  });

  test('over 64 MiB the oldest go first, and no more than needed', () => {
    const big = (minutes: number) =>
      answered({ answered_at: NOW - minutes * 60_000, answer_bytes: 20 * MIB });
    expect(drop([big(50), big(40), big(30)])).toEqual({ drop: 0, bytes_left: 60 * MIB });
    expect(drop([big(50), big(40), big(30), big(20)])).toEqual({ drop: 1, bytes_left: 60 * MIB });
    expect(drop([big(60), big(50), big(40), big(30), big(20)])).toEqual({ drop: 2, bytes_left: 60 * MIB });
  });

  test('an answer that was just given stays for its delivery, however large', () => {
    expect(drop([answered({ answered_at: NOW - 1, answer_bytes: ANSWERS_KEPT_BYTES + 1 })]).drop).toBe(0);
  });

  test('an expired answer leaves its id, its hash and what the person may see', () => {
    expect(expire(answered())).toEqual({ state: 'expired', input_hash: 'h', since: NOW - 5, activity });
  });

  test('ids are forgotten after 7 days, but never what this instance runs', () => {
    const old = { since: NOW - IDS_KEPT_MS };
    const at = { now: NOW, run: 'this' };
    expect(isForgotten(answered(old), at)).toBe(true);
    expect(isForgotten({ ...expired, ...old }, at)).toBe(true);
    expect(isForgotten(running({ ...old, run: 'other' }), at)).toBe(true);
    expect(isForgotten(running(old), at)).toBe(false);
    expect(isForgotten(answered({ since: old.since + 1 }), at)).toBe(false);
  });
});
