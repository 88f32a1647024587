/** The ordered log of a tab's console (os-interface.md, Live output), over a real IndexedDB. */
import 'fake-indexeddb/auto';
import { IDBFactory } from 'fake-indexeddb';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { CONSOLE_ITEM_BYTES, CONSOLE_KEPT_BYTES } from '../../../src/protocol/limits';
import { append, type LogEvent, type LogItem, newLog, readLog } from '../../../src/tools/console-log';
import { type ConsoleStore, createConsoleStore } from '../../../src/tools/console-store';

const TAB = 7;
const ALL = { mayRead: () => true };

let epoch = 'first run';
const open = (): ConsoleStore => createConsoleStore({ sessionEpoch: async () => epoch, now: () => 1_000 });

beforeEach(() => {
  epoch = 'first run';
  globalThis.indexedDB = new IDBFactory();
});

const event = (text: string, more: Partial<LogEvent> = {}): LogEvent => ({
  at: 1,
  kind: 'console',
  level: 'log',
  text,
  url: 'https://a.test/',
  frame_id: 0,
  ...more,
});
const BEGUN = event('begun', { kind: 'capture', url: '' });

const eventsOf = (items: LogItem[]) => items.flatMap(({ events }) => events);

interface Whole {
  texts: string[];
  seqs: number[];
  dropped: number;
}

/** Reads to the end, going on behind what `pick` chooses of each answer. */
async function readAll(
  store: ConsoleStore,
  after: number,
  pick: (seqs: number[], after: number) => number = (_seqs, end) => end,
): Promise<Whole> {
  const whole: Whole = { texts: [], seqs: [], dropped: 0 };
  for (let place = after; ; ) {
    const reading = await store.read(TAB, place, ALL);
    if (!reading) throw new Error('no log');
    const events = eventsOf(reading.items);
    const next = pick(
      events.map(({ seq }) => seq),
      reading.after,
    );
    const taken = events.filter(({ seq }) => seq <= next);
    whole.texts.push(...taken.map(({ text }) => text));
    whole.seqs.push(...taken.map(({ seq }) => seq));
    if (next === reading.after) whole.dropped += reading.dropped;
    if (!reading.more && next === reading.after) return whole;
    place = next;
  }
}

const batches = fc.array(
  fc.record({
    document_id: fc.constantFrom('main', 'frame', 'other'),
    texts: fc.array(
      fc.oneof(
        fc.string({ maxLength: 20 }),
        fc.integer({ min: 1, max: 10_000 }).map((n) => '"\u0001'.repeat(n / 2)),
      ),
      { minLength: 1, maxLength: 20 },
    ),
    /** How many the page gives up before it. */
    lost: fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 9 }) },
    ),
    /** How often it comes once more, because its acknowledgement was lost; how much of it was new then. */
    resent: fc.integer({ min: 0, max: 2 }),
  }),
  { maxLength: 30 },
);

describe('os-interface.md, Live output: every event has a number', () => {
  test('any split of reads, from any cursor, gives the same whole; nothing is lost or repeated', async () => {
    await fc.assert(
      fc.asyncProperty(
        batches,
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        async (sent, chance) => {
          const store = open();
          await store.remove(TAB);
          const { head } = await store.begin(TAB, BEGUN);
          const said: string[] = [];
          const next: Record<string, number> = {};
          let lost = 0;
          for (const batch of sent) {
            const { document_id } = batch;
            const first = (next[document_id] ?? 0) + batch.lost;
            const events = batch.texts.map((text) => event(text));
            for (let time = 0; time <= batch.resent; time += 1) {
              // Another worker answers the resend.
              const worker = time === 0 ? store : open();
              expect(await worker.append(TAB, { document_id, first, lost: batch.lost, events })).toBe(true);
            }
            next[document_id] = first + events.length;
            lost += batch.lost;
            said.push(...batch.texts);
          }
          const inOne = await readAll(store, head.start);
          expect(inOne.texts).toEqual(['begun', ...said]);
          expect(inOne.dropped).toBe(lost);
          expect(inOne.seqs).toEqual([...inOne.seqs].sort((one, other) => one - other));
          expect(new Set(inOne.seqs).size).toBe(inOne.seqs.length);
          const split = await readAll(open(), head.start, (seqs, end) => {
            const random = chance.next().value ?? 0;
            if (random < 0.3 || seqs.length === 0) return end;
            return seqs[Math.floor(random * seqs.length)] as number;
          });
          expect({ texts: split.texts, seqs: split.seqs }).toEqual({ texts: inOne.texts, seqs: inOne.seqs });
        },
      ),
      { numRuns: 40 },
    );
  }, 120_000);

  test('items hold adjacent events, at most 64 KiB encoded, under the number of the last one in them', async () => {
    const store = open();
    const { head } = await store.begin(TAB, BEGUN);
    const texts = Array.from({ length: 40 }, (_, n) => `${n}${'\u0000'.repeat(n % 2 === 0 ? 9_990 : 10)}`);
    for (const [n, text] of texts.entries()) {
      await store.append(TAB, { document_id: 'main', first: n, lost: 0, events: [event(text)] });
    }
    const seen: number[] = [];
    for (let after = head.start; ; ) {
      const reading = await store.read(TAB, after, ALL);
      if (!reading) throw new Error('no log');
      for (const item of reading.items) {
        expect(new TextEncoder().encode(JSON.stringify(item)).length).toBeLessThanOrEqual(CONSOLE_ITEM_BYTES);
        expect(item.seq).toBe(item.events.at(-1)?.seq);
        seen.push(...item.events.map(({ seq }) => seq));
      }
      after = reading.after;
      if (!reading.more) break;
    }
    expect(seen).toEqual(Array.from({ length: 41 }, (_, n) => head.start + 1 + n));
  });

  test('8 MiB are kept, the oldest dropped first, and a reader that fell behind is told how many', async () => {
    const store = open();
    const { head } = await store.begin(TAB, BEGUN);
    const text = 'x'.repeat(10_000);
    const count = Math.ceil((1.5 * CONSOLE_KEPT_BYTES) / text.length);
    for (let n = 0; n < count; n += 20) {
      const events = Array.from({ length: 20 }, () => event(text));
      await store.append(TAB, { document_id: 'main', first: n, lost: 0, events });
    }
    const { last, bytes } = (await store.head(TAB)) ?? { last: 0, bytes: 0 };
    expect(bytes).toBeLessThanOrEqual(CONSOLE_KEPT_BYTES);
    expect(bytes).toBeGreaterThan(CONSOLE_KEPT_BYTES - 20 * 11_000);
    const behind = await readAll(store, head.start);
    expect(behind.dropped).toBeGreaterThan(300);
    expect(behind.dropped + behind.seqs.length).toBe(last - head.start);
    const early = await readAll(store, head.start + 5);
    expect(early.dropped).toBe(behind.dropped - 5);
    const inTime = await readAll(store, last - 50);
    expect(inTime).toMatchObject({ dropped: 0, seqs: { length: 50 } });
  });

  test('events of closed addresses are withheld and counted, filtered ones are passed over', async () => {
    const store = open();
    await store.begin(TAB, BEGUN);
    const events = [event('a'), event('secret', { url: 'https://b.test/' }), event('c', { level: 'error' })];
    await store.append(TAB, { document_id: 'main', first: 0, lost: 0, events });
    const open_only = await store.read(TAB, 0, { mayRead: (url) => !url.includes('b.test') });
    expect(eventsOf(open_only?.items ?? []).map(({ text }) => text)).toEqual(['begun', 'a', 'c']);
    expect(open_only).toMatchObject({ withheld: 1, dropped: 0, more: false });
    const errors = await store.read(TAB, 0, { ...ALL, levels: ['error'] });
    expect(eventsOf(errors?.items ?? []).map(({ text }) => text)).toEqual(['c']);
    expect(errors).toMatchObject({ withheld: 0, dropped: 0, after: open_only?.after });
  });

  test('what is longer than an answer, in one chunk, comes by several', () => {
    const head = newLog(TAB, 0, 0);
    const events = Array.from({ length: 100 }, () => event('x'.repeat(9_000)));
    const { head: grown, chunk } = append(head, { document_id: 'm', first: 0, lost: 0, events });
    const chunks = chunk ? [chunk] : [];
    const first = readLog(grown, chunks, true, 0, ALL);
    expect(first.more).toBe(true);
    const second = readLog(grown, chunks, true, first.after, ALL);
    expect(eventsOf(second.items)[0]?.seq).toBe(first.after + 1);
  });
});

describe('os-interface.md, Live output: what a number points to', () => {
  test('a number of another run of the browser, or of no event at all, is unavailable; 0 is the beginning', async () => {
    await open().begin(TAB, BEGUN);
    const before = (await open().head(TAB))?.last ?? 0;
    epoch = 'second run';
    const store = open();
    expect(await store.read(TAB, before, ALL)).toBeNull();
    const { head } = await store.begin(TAB, BEGUN);
    for (const after of [1, before, head.last + 1, Number.MAX_SAFE_INTEGER]) {
      await expect(store.read(TAB, after, ALL), String(after)).rejects.toMatchObject({ code: 'unavailable' });
    }
    expect(eventsOf((await store.read(TAB, 0, ALL))?.items ?? [])).toHaveLength(1);
    expect((await store.read(TAB, head.last, ALL))?.items).toEqual([]);
  });

  test('a log that was removed does not lend its numbers to the next one of the tab', async () => {
    const store = open();
    const { head } = await store.begin(TAB, BEGUN);
    await store.remove(TAB);
    const again = await store.begin(TAB, BEGUN);
    expect(again.begun).toBe(true);
    await expect(store.read(TAB, head.last, ALL)).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('a log follows its tab to another id', async () => {
    const store = open();
    const { head } = await store.begin(TAB, BEGUN);
    await store.append(TAB, { document_id: 'm', first: 0, lost: 0, events: [event('a')] });
    await store.move(TAB, 8);
    expect(await store.head(TAB)).toBeNull();
    expect(eventsOf((await store.read(8, head.last, ALL))?.items ?? [])).toMatchObject([{ text: 'a' }]);
  });

  test('after an end nothing is taken in, until it begins again in the same log', async () => {
    const store = open();
    await store.begin(TAB, BEGUN);
    await store.end(TAB, event('ended'));
    const arrival = { document_id: 'm', first: 0, lost: 0, events: [event('a')] };
    expect(await store.append(TAB, arrival)).toBe(false);
    expect(await store.append(99, arrival)).toBe(false);
    await store.begin(TAB, event('begun again'));
    expect(await store.append(TAB, arrival)).toBe(true);
    expect((await readAll(store, 0)).texts).toEqual(['begun', 'ended', 'begun again', 'a']);
  });
});
