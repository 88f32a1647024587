import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RequestText } from '../../../src/platform/messages';
import type { JsonValue } from '../../../src/protocol/json';
import { contentOf } from '../../../src/protocol/request-names';
import {
  type QueuedRequest,
  type ReceivedRequest,
  RequestQueue,
  requestText,
} from '../../../src/relay/request-queue';

const NAMES = { key: 'k', input_hash: 'h' };

function request(
  id: string,
  changes: Partial<ReceivedRequest> & { input?: JsonValue } = {},
): ReceivedRequest {
  const { input = {}, ...rest } = changes;
  const command = rest.command ?? 'tab_list';
  return {
    id,
    command,
    content: contentOf(command, input),
    malformed: null,
    invalid: null,
    timeout_ms: 60_000,
    socket: 1,
    ...rest,
  };
}

/** Takes a request of its own. */
function taken(queue: RequestQueue, received: ReceivedRequest, now = 0): QueuedRequest {
  const { as, ...rest } = queue.receive(received, now);
  if (as !== 'new' || !('request' in rest)) throw new Error(`${received.id} is ${as}`);
  return rest.request;
}

function queueOf(count: number, now = 0): RequestQueue {
  const queue = new RequestQueue();
  for (let number = 0; number < count; number += 1) taken(queue, request(`r${number}`), now);
  return queue;
}

const ids = (requests: { id: string }[]): string[] => requests.map(({ id }) => id);

describe('wire.md §5: concurrency', () => {
  it('runs four at a time, in order of arrival', () => {
    const queue = queueOf(6);
    const started = queue.start();
    expect(ids(started)).toEqual(['r0', 'r1', 'r2', 'r3']);
    expect(queue.start()).toEqual([]);
    for (const done of started.slice(1, 3)) queue.answer(done);
    expect(ids(queue.start())).toEqual(['r4', 'r5']);
  });

  it('follows a smaller max_concurrency, ignores a larger one, and a later one counts', () => {
    const queue = queueOf(8);
    queue.limit(1);
    const running = queue.start();
    expect(running).toHaveLength(1);
    queue.limit(100);
    running.push(...queue.start());
    expect(running).toHaveLength(4);
    queue.limit(2);
    for (const one of running.slice(0, 2)) queue.answer(one);
    expect(queue.start()).toEqual([]);
    queue.limit(undefined);
    expect(queue.start()).toHaveLength(2);
  });

  it('lets a malformed request pass: nothing runs for it', () => {
    const queue = queueOf(5);
    queue.start();
    queue.receive(request('bad', { malformed: 'no' }), 0);
    expect(ids(queue.start())).toEqual(['bad']);
  });

  it('starts nothing while held', () => {
    const queue = queueOf(1);
    queue.hold(true);
    expect(queue.start()).toEqual([]);
    queue.hold(false);
    expect(ids(queue.start())).toEqual(['r0']);
  });

  it('never runs more than allowed and keeps the order, whatever happens', () => {
    const step = fc.oneof(
      fc.constant({ kind: 'receive' as const }),
      fc.nat({ max: 30 }).map((which) => ({ kind: 'answer' as const, which })),
      fc.nat({ max: 30 }).map((which) => ({ kind: 'cancel' as const, which })),
      fc.integer({ min: 1, max: 6 }).map((limit) => ({ kind: 'limit' as const, limit })),
      fc.nat({ max: 100_000 }).map((ms) => ({ kind: 'pass' as const, ms })),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const queue = new RequestQueue();
        const all: QueuedRequest[] = [];
        const order: number[] = [];
        let limit = 4;
        let now = 0;
        for (const act of steps) {
          const before = queue.counts.running;
          if (act.kind === 'receive') {
            all.push(taken(queue, request(String(all.length)), now));
          } else if (act.kind === 'answer') {
            const one = all[act.which];
            if (one && one.stage !== 'queued') queue.answer(one);
          } else if (act.kind === 'cancel') queue.cancel(String(act.which));
          else if (act.kind === 'limit') {
            limit = Math.min(4, act.limit);
            queue.limit(act.limit);
          } else {
            now += act.ms;
            queue.expired(now);
            queue.overdue(now);
          }
          order.push(...queue.start().map(({ id }) => Number(id)));
          expect(queue.counts.running).toBeLessThanOrEqual(Math.max(limit, before));
        }
        expect(order).toEqual([...order].sort((a, b) => a - b));
        // Nothing leaks a place: when all have gone, four more may run.
        queue.limit(4);
        now += 60_000;
        for (const one of queue.expired(now)) queue.answer(one);
        for (let extra = 0; extra < 5; extra += 1) queue.receive(request(`extra${extra}`), now);
        expect(queue.start()).toHaveLength(4);
      }),
    );
  });
});

describe('wire.md §5 rule 4: resends of what is under way here', () => {
  it('the same command and input joins, key order and timeout_ms ignored', () => {
    const queue = new RequestQueue();
    const first = taken(queue, request('a', { input: { x: 1, y: [1, 2] } }));
    const again = request('a', { input: { y: [1, 2], x: 1 }, timeout_ms: 5, socket: 2 });
    expect(queue.receive(again, 9)).toEqual({ as: 'resent', request: first });
    expect(first).toMatchObject({ deadline: 60_000, socket: 2 });
  });

  it('anything else under an id that waits conflicts', () => {
    const queue = new RequestQueue();
    taken(queue, request('a', { input: { list: [1, 2] } }));
    for (const other of [{ input: { list: [2, 1] } }, { command: 'tab_open', input: { list: [1, 2] } }]) {
      expect(queue.receive(request('a', other), 9)).toEqual({ as: 'conflict' });
    }
  });

  it('anything else under an id that runs is for the ledger to judge, and waits for no place', () => {
    const queue = queueOf(5);
    queue.start();
    const other = taken(queue, request('r0', { input: { other: 1 } }));
    expect(queue.start()).toEqual([other]);
    expect(queue.answer(other)).toBe(true);
    queue.finish(other);
    expect(queue.isUnderWay('r0', contentOf('tab_list', {}))).toBe(true);
    expect(queue.start()).toEqual([]);
  });

  it('holds until the answer is on its way, not longer', () => {
    const queue = queueOf(1);
    const [first] = queue.start();
    if (!first) throw new Error('nothing started');
    expect(queue.answer(first)).toBe(true);
    expect(queue.answer(first)).toBe(false);
    expect(queue.receive(request('r0'), 0).as).toBe('resent');
    queue.finish(first);
    const again = taken(queue, request('r0'));
    // The first run's late answer is not the second's.
    expect(queue.answer(first)).toBe(false);
    queue.finish(first);
    expect(queue.has(again)).toBe(true);
  });

  it('case 5: ids like __proto__, of 100 kB and with an unpaired surrogate are ids like any other', () => {
    const queue = new RequestQueue();
    queue.limit(undefined);
    for (const id of ['__proto__', 'constructor', 'x'.repeat(100_000), '\ud83d']) {
      const queued = taken(queue, request(id));
      expect(queue.receive(request(id), 1)).toEqual({ as: 'resent', request: queued });
      const text = JSON.parse(requestText(queued, 'wss://r.test', NAMES)) as RequestText;
      expect(text).toEqual({
        platform: 'wss://r.test',
        id,
        command: 'tab_list',
        input: {},
        malformed: null,
        invalid: null,
        ...NAMES,
      });
    }
    expect(queue.cancel('toString')).toBeNull();
  });

  it('the text for the router is the request, whatever is in it', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 1 }),
        fc.string(),
        fc.jsonValue(),
        (id, command, input) => {
          const content = contentOf(command, input as JsonValue);
          const sentences = { malformed: 'so', invalid: `${command} "${id}"` };
          const queued = taken(new RequestQueue(), { ...request(id), command, content, ...sentences });
          const platform = 'wss://r.test';
          const text = JSON.parse(requestText(queued, platform, NAMES)) as RequestText;
          expect(text).toEqual(
            JSON.parse(JSON.stringify({ platform, id, command, input, ...sentences, ...NAMES })),
          );
        },
      ),
    );
  });
});

describe('wire.md §5 rule 5: cancel', () => {
  it('a queued one is settled as cancelled and never starts; a running one is told; others are nothing', () => {
    const queue = queueOf(5);
    const [first] = queue.start();
    expect(queue.cancel('r4')).toMatchObject({ by: 'settling', request: { settle_as: 'cancelled' } });
    expect(queue.cancel('r4')).toBeNull();
    expect(queue.cancel('r0')).toMatchObject({ by: 'telling' });
    expect(queue.cancel('who')).toBeNull();
    if (first) queue.answer(first);
    expect(queue.cancel('r0')).toBeNull();
    expect(queue.start()).toEqual([]);
  });
});

describe('wire.md §5: deadline', () => {
  it('counts from receipt, for queued and running ones alike', () => {
    const queue = queueOf(5, 1_000);
    queue.start();
    expect(queue.nextDeadline()).toBe(61_000);
    expect(queue.expired(60_999)).toEqual([]);
    expect(queue.expired(61_000)).toHaveLength(5);
    expect(queue.expired(61_000)).toEqual([]);
    expect(queue.start()).toEqual([]);
  });

  it('case 5: huge timeouts do not fire at once', () => {
    const queue = new RequestQueue();
    for (const timeout_ms of [2_147_483_648, 1e308]) {
      queue.receive(request(String(timeout_ms), { timeout_ms }), 5_000);
    }
    expect(queue.expired(1_000_000)).toEqual([]);
    expect(queue.nextDeadline()).toBe(2_147_488_648);
  });

  it('a router that does not settle for 2 s is overdue; what it answers later changes nothing', () => {
    const queue = queueOf(1);
    queue.start();
    const [late] = queue.expired(60_000);
    if (!late) throw new Error('nothing expired');
    expect(queue.overdue(61_999)).toEqual([]);
    expect(queue.overdue(62_000)).toEqual([late]);
    // Until the router has heard of it, a resend gets the same answer from here.
    expect(queue.receive(request('r0'), 62_000)).toMatchObject({
      as: 'resent',
      request: { stage: 'unheard' },
    });
    expect(queue.receive(request('r0', { input: { other: 1 } }), 62_000).as).toBe('conflict');
    expect(queue.answer(late)).toBe(false);
    expect([...queue.ids()]).toEqual([]);
  });

  it('what the router never heard of is forgotten after five minutes', () => {
    const queue = queueOf(1);
    queue.expired(60_000);
    queue.overdue(62_000);
    queue.overdue(queue.nextDeadline());
    expect([...queue.ids()]).toEqual([]);
    expect(queue.nextDeadline()).toBe(Number.POSITIVE_INFINITY);
  });
});
