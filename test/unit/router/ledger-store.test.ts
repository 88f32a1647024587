import { promisifyRequest } from 'idb-keyval';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { AnswerMessage } from '../../../src/platform/messages';
import { ANSWERS_KEPT_BYTES, ANSWERS_KEPT_MS, IDS_KEPT_MS } from '../../../src/protocol/limits';
import { errorAnswer } from '../../../src/router/answers';
import { readAnswerBody } from '../../../src/router/ledger-database';
import type { Ledger, SettledRequest } from '../../../src/router/ledger-store';
import { createRig } from './rig';

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

const named = (key: string, input_hash = 'h') => ({ key, input_hash, tool: 'tab_list', started_at: 5 });
const ok = (message: AnswerMessage, of_run = false): SettledRequest => ({
  message,
  body: message.body_key === null ? null : { image: new Uint8Array([1]) },
  outcome: 'ok',
  of_run,
});
const answer = (changes: Partial<AnswerMessage> = {}): AnswerMessage => ({
  outcome: '{"status":"ok","output":{},"error":null}',
  duration_ms: 1,
  attachments: [],
  body_key: null,
  ...changes,
});
const withBody = (body_key: string, size: number): AnswerMessage =>
  answer({ body_key, attachments: [{ field: 'image', mime_type: 'image/png', size }] });

/** What a repeated request would learn of the id. */
const stateOf = async (ledger: Ledger, key: string): Promise<string> =>
  (await ledger.settle(named(key), { ...errorAnswer('timeout'), of_run: false })).decision;

afterEach(() => {
  vi.restoreAllMocks();
});

describe('wire.md §5 rule 4: one step is one decision', () => {
  test('of many who ask at once, one executes', async () => {
    const ledger = createRig().ledger('w');
    const replies = await Promise.all(Array.from({ length: 20 }, () => ledger.accept(named('a'), false)));
    expect(replies.map(({ decision }) => decision).sort()).toEqual(['execute', ...Array(19).fill('join')]);
  });

  test('of two instances, one executes and the other settles outcome_unknown', async () => {
    const rig = createRig();
    const replies = await Promise.all(['old', 'new'].map((run) => rig.ledger(run).accept(named('a'), false)));
    expect(replies.map(({ decision }) => decision).sort()).toEqual(['answer', 'execute']);
  });

  test('of many settlements, the first is everyone’s answer', async () => {
    const ledger = createRig().ledger('w');
    await ledger.accept(named('a'), false);
    const replies = await Promise.all(
      [1, 2, 3].map((n) => ledger.settle(named('a'), ok(answer({ duration_ms: n }), n !== 2))),
    );
    const messages = replies.map((reply) => ('message' in reply ? reply.message : null));
    expect(new Set(messages.map((message) => JSON.stringify(message)))).toHaveLength(1);
  });

  test('what a step decided is there for the next start of the browser', async () => {
    const rig = createRig();
    await rig.ledger('old').accept(named('a'), false);
    await rig.ledger('old').accept(named('b'), false);
    await rig.ledger('old').settle(named('b'), ok(answer(), true));
    const ledger = rig.ledger('new');
    const { message } = errorAnswer('outcome_unknown');
    expect(await ledger.accept(named('a'), false)).toEqual({ decision: 'answer', message });
    expect(await ledger.accept(named('a'), false)).toEqual({ decision: 'answer', message });
    expect(await ledger.accept(named('b'), false)).toEqual({ decision: 'answer', message: answer() });
    expect(await ledger.accept(named('b', 'other'), false)).toEqual({ decision: 'conflict' });
  });

  test('only the start of a tool with effects waits for the disk', async () => {
    const ledger = createRig().ledger('w');
    await ledger.accept(named('first'), true);
    const begun = vi.spyOn(IDBDatabase.prototype, 'transaction');
    await ledger.accept(named('a'), false);
    await ledger.accept(named('b'), true);
    await ledger.settle(named('a'), ok(answer(), true));
    expect(begun.mock.calls.map(([, , options]) => options?.durability)).toEqual([
      'strict',
      'relaxed',
      'relaxed',
    ]);
  });

  test('a database that went away under the connection is opened anew', async () => {
    const rig = createRig();
    const ledger = rig.ledger('w');
    await ledger.accept(named('a'), false);
    await new Promise<void>((resolve, reject) => {
      const request = indexedDB.deleteDatabase(rig.database);
      request.onsuccess = () => resolve();
      request.onerror = () => reject(request.error);
    });
    expect(await ledger.accept(named('b'), false)).toEqual({ decision: 'execute' });
  });

  test('ui.md, Activity: what was settled, newest first; neither what runs nor what was settled before', async () => {
    const rig = createRig();
    const ledger = rig.ledger('w');
    await rig.ledger('dead').accept({ ...named('cut'), tool: 'tab_close' }, false);
    for (const n of [1, 2, 3]) {
      rig.clock.advance(1);
      const request = { ...named(`id-${n}`), started_at: n };
      await ledger.settle(request, ok(answer({ duration_ms: n })));
      await ledger.settle(request, ok(answer({ duration_ms: 99 })));
    }
    rig.clock.advance(1);
    await ledger.accept(named('running'), true);
    await ledger.accept({ ...named('cut'), tool: 'tab_close', started_at: 4 }, false);
    const seen = (at: number) => ({ at, tool: 'tab_list', outcome: 'ok', duration_ms: at });
    expect(await ledger.activity(3)).toEqual([
      { at: 4, tool: 'tab_close', outcome: 'outcome_unknown', duration_ms: 0 },
      seen(3),
      seen(2),
    ]);
    expect(await ledger.activity(99)).toHaveLength(4);
    rig.clock.advance(ANSWERS_KEPT_MS);
    await ledger.sweep();
    expect(await ledger.activity(99)).toHaveLength(4);
  });

  test('a transaction that fails changes nothing and is told', async () => {
    const ledger = createRig().ledger('w');
    await ledger.accept(named('a'), false);
    const add = IDBObjectStore.prototype.add;
    const failing = vi.spyOn(IDBObjectStore.prototype, 'add').mockImplementation(function (
      this: IDBObjectStore,
      ...given
    ) {
      if (this.name === 'answers') throw new DOMException('full', 'QuotaExceededError');
      return add.apply(this, given);
    });
    await expect(ledger.settle(named('a'), ok(answer(), true))).rejects.toThrow('full');
    await expect(ledger.settle(named('b'), ok(answer()))).rejects.toThrow('full');
    failing.mockRestore();
    expect((await ledger.accept(named('a'), false)).decision).toBe('join');
    expect((await ledger.accept(named('b'), false)).decision).toBe('execute');
  });
});

describe('an answer and its binary are one', () => {
  test('both are there or neither is', async () => {
    const rig = createRig();
    const ledger = rig.ledger('w');
    await ledger.accept(named('a'), true);
    const put = IDBObjectStore.prototype.put;
    const failing = vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(function (
      this: IDBObjectStore,
      ...given
    ) {
      if (this.name === 'bodies') throw new DOMException('full', 'QuotaExceededError');
      return put.apply(this, given);
    });
    await expect(ledger.settle(named('a'), ok(withBody('body', 1), true))).rejects.toThrow('full');
    failing.mockRestore();
    expect((await ledger.accept(named('a'), true)).decision).toBe('join');
    expect(await rig.storedBodies()).toEqual([]);
    await ledger.settle(named('a'), ok(withBody('body', 1), true));
    expect(await readAnswerBody('body', rig.database)).toEqual({ image: new Uint8Array([1]) });
    expect(await readAnswerBody('other', rig.database)).toBeUndefined();
  });

  test('a settlement that came second stores nothing', async () => {
    const rig = createRig();
    const ledger = rig.ledger('w');
    await ledger.settle(named('a'), ok(answer()));
    await ledger.settle(named('a'), ok(withBody('body', 1)));
    await ledger.settle(named('a'), ok(withBody('body', 1), true));
    expect(await rig.storedBodies()).toEqual([]);
  });

  test('what runs and is settled from outside keeps its binary, too', async () => {
    const rig = createRig();
    await rig.ledger('dead').accept(named('a'), true);
    await rig.ledger('w').settle(named('a'), ok(withBody('body', 1)));
    expect(await rig.storedBodies()).toEqual(['body']);
  });

  test('a ledger of the first version, whose answers lay apart from their binary, is taken over', async () => {
    const rig = createRig();
    const opening = indexedDB.open(rig.database, 1);
    opening.onupgradeneeded = () => {
      const entries = opening.result.createObjectStore('entries', { keyPath: 'key' });
      entries.createIndex('by_since', ['since', 'key']);
      entries.createIndex('by_answered', ['answered_at', 'key']);
      entries.createIndex('by_body', 'body_key');
      opening.result.createObjectStore('answers').put(answer(), 'a');
      entries.put({
        key: 'a',
        state: 'answered',
        input_hash: 'h',
        since: 1,
        answered_at: rig.clock.now(),
        answer_bytes: 1,
        body_key: null,
        activity: { at: 1, tool: 'tab_list', outcome: 'ok', duration_ms: 1 },
      });
    };
    (await promisifyRequest(opening)).close();
    const ledger = rig.ledger('w');
    expect(await ledger.accept(named('a'), false)).toEqual({ decision: 'answer', message: answer() });
    await ledger.settle(named('b'), ok(withBody('body', 1)));
    expect(await rig.storedBodies()).toEqual(['body']);
  });
});

describe('wire.md §5 rule 4: sweeping', () => {
  test('answers go after 24 h, their ids and hashes after 7 days', async () => {
    const rig = createRig();
    const ledger = rig.ledger('w');
    await ledger.settle(named('a'), ok(answer(), false));
    rig.clock.advance(ANSWERS_KEPT_MS - 1);
    await ledger.sweep();
    expect(await stateOf(ledger, 'a')).toBe('answer');
    rig.clock.advance(1);
    await ledger.sweep();
    expect(await stateOf(ledger, 'a')).toBe('expired');
    expect((await ledger.accept(named('a', 'other'), true)).decision).toBe('conflict');
    rig.clock.advance(IDS_KEPT_MS - ANSWERS_KEPT_MS);
    await ledger.sweep();
    expect((await ledger.accept(named('a', 'other'), true)).decision).toBe('execute');
  });

  test('over 64 MiB the oldest answers go, attachments counted and removed', async () => {
    const rig = createRig();
    const ledger = rig.ledger('w');
    const keys: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const key = `body-${n}`;
      keys.push(key);
      await ledger.settle(named(`id-${n}`), ok(withBody(key, 20 * MIB), false));
      rig.clock.advance(HOUR_MS);
    }
    await ledger.sweep();
    const states = await Promise.all(keys.map((_key, n) => stateOf(ledger, `id-${n}`)));
    expect(states).toEqual(['expired', 'expired', 'answer', 'answer', 'answer']);
    expect(await rig.storedBodies()).toEqual(keys.slice(2));
  });

  test('an answer larger than the bound goes once it had time to be delivered', async () => {
    const rig = createRig();
    const ledger = rig.ledger('w');
    const key = 'body';
    await ledger.settle(named('a'), ok(withBody(key, ANSWERS_KEPT_BYTES + 1), false));
    await ledger.sweep();
    expect(await rig.storedBodies()).toEqual([key]);
    rig.clock.advance(HOUR_MS);
    await ledger.sweep();
    expect(await stateOf(ledger, 'a')).toBe('expired');
    expect(await rig.storedBodies()).toEqual([]);
  });

  test('what this instance runs is kept, however long it takes; what was cut off is not', async () => {
    const rig = createRig();
    await rig.ledger('dead').accept(named('cut'), false);
    const ledger = rig.ledger('w');
    await ledger.accept(named('long'), false);
    rig.clock.advance(IDS_KEPT_MS);
    await ledger.sweep();
    expect((await ledger.accept(named('long'), false)).decision).toBe('join');
    expect((await ledger.accept(named('cut'), false)).decision).toBe('execute');
  });

  test('a body goes with the id it belongs to, also when a sweep comes only after 7 days', async () => {
    const rig = createRig();
    const ledger = rig.ledger('w');
    await ledger.settle(named('a'), ok(withBody('body', 1), false));
    rig.clock.advance(IDS_KEPT_MS);
    await ledger.sweep();
    expect(await rig.storedBodies()).toEqual([]);
  });

  test('a sweep while answers are being given takes none of them', async () => {
    const rig = createRig();
    const ledger = rig.ledger('w');
    const give = async (n: number) => {
      const key = `body-${n}`;
      await ledger.settle(named(`id-${n}`), ok(withBody(key, 30 * MIB), false));
      return key;
    };
    const sweeps = [ledger.sweep(), rig.ledger('w').sweep()];
    const keys = await Promise.all([1, 2, 3, 4, 5].map(give));
    await Promise.all([...sweeps, ledger.sweep()]);
    expect(await rig.storedBodies()).toEqual(keys);
  });

  test('goes through any number of entries', async () => {
    const rig = createRig();
    const ledger = rig.ledger('w');
    const count = 510;
    const all = (decide: (n: number) => Promise<unknown>) =>
      Promise.all(Array.from({ length: count }, (_, n) => decide(n)));
    await all((n) => ledger.settle(named(`id-${n}`), ok(answer(), false)));
    rig.clock.advance(ANSWERS_KEPT_MS);
    await ledger.sweep();
    const states = (await all((n) => stateOf(ledger, `id-${n}`))) as string[];
    expect(states.every((state) => state === 'expired')).toBe(true);
    rig.clock.advance(IDS_KEPT_MS);
    await ledger.sweep();
    const again = (await all((n) => ledger.accept(named(`id-${n}`, 'other'), true))) as {
      decision: string;
    }[];
    expect(again.every(({ decision }) => decision === 'execute')).toBe(true);
  });
});
