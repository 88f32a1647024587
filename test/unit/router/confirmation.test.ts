import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { QuestionDetail } from '../../../src/platform/messages';
import {
  type Confirmation,
  createConfirmation,
  type Question,
  type QuestionStore,
  type Verdict,
} from '../../../src/router/confirmation';
import { FakeClock } from './fake-clock';
import { questionStore } from './rig';

const PAGE = { host: 'a.test', title: 'A', place: '1' };
const DETAILS: QuestionDetail[] = [
  { kind: 'address', text: 'https://a.test/', left_out: 0, concealed: false },
];
const MINUTE = 60_000;

class World {
  readonly clock = new FakeClock();
  readonly session = new Map<string, Question>();
  readonly shown = new Set<string>();
  changes = 0;
  ids = 0;

  instance(store: QuestionStore = questionStore(this.session)): Confirmation {
    return createConfirmation({
      store,
      show: async ({ question_id }) => void this.shown.add(question_id),
      hide: async (question_id) => void this.shown.delete(question_id),
      changed: () => {
        this.changes += 1;
      },
      newId: () => {
        this.ids += 1;
        return `q${this.ids}`;
      },
      now: this.clock.now,
      setTimer: this.clock.setTimer,
    });
  }

  ask(confirmation: Confirmation, request = 'r1', signal = new AbortController().signal) {
    const deadline = this.clock.now() + MINUTE;
    return confirmation
      .ask(
        { request, tool: 'tab_open', deadline, page: async () => PAGE, details: async () => DETAILS },
        signal,
      )
      .then(({ verdict }) => verdict);
  }
}

async function waitingIn(confirmation: Confirmation, count = 1): Promise<Question[]> {
  return vi.waitFor(async () => {
    const waiting = await confirmation.waiting();
    if (waiting.length !== count) throw new Error(`${waiting.length} questions wait`);
    return waiting;
  });
}

const idOf = (questions: Question[], index = 0): string => (questions[index] as Question).question_id;

describe('tools.md: a question to the person', () => {
  test.each([
    [true, 'allowed'],
    [false, 'declined'],
  ] as const)('answered %s: %s; shown until then, written down before it counts', async (allow, verdict) => {
    const world = new World();
    const confirmation = world.instance();
    const asked = world.ask(confirmation);
    const [question] = await waitingIn(confirmation);
    expect(question).toMatchObject({
      tool: 'tab_open',
      page: PAGE,
      details: DETAILS,
      deadline: world.clock.now() + MINUTE,
    });
    await vi.waitFor(() => expect(world.shown.size).toBe(1));
    expect(await confirmation.answer('q1', allow)).toBe(true);
    expect(world.session.get('q1')?.verdict).toBe(verdict);
    expect(await asked).toBe(verdict);
    expect(world.shown.size).toBe(0);
    expect(await confirmation.waiting()).toEqual([]);
    expect(world.clock.pending).toBe(0);
  });

  test('nobody answers by the deadline: unanswered, and an answer after it does not count', async () => {
    const world = new World();
    const confirmation = world.instance();
    const asked = world.ask(confirmation);
    await waitingIn(confirmation);
    expect(await confirmation.isUnanswered('r1')).toBe(true);
    world.clock.advance(MINUTE);
    expect(await asked).toBe('unanswered');
    expect(await confirmation.answer('q1', true)).toBe(false);
    expect(await confirmation.isUnanswered('r1')).toBe(true);
    expect(world.shown.size).toBe(0);
  });

  test('an answer at the deadline, before the timer, is too late all the same', async () => {
    const world = new World();
    const first = world.instance();
    void world.ask(first);
    await waitingIn(first);
    // The first instance dies; nobody's timer runs.
    const later = world.instance();
    world.clock.time += MINUTE;
    expect(await later.answer('q1', true)).toBe(false);
    expect(await world.ask(later)).toBe('unanswered');
  });

  test('the first answer counts', async () => {
    const world = new World();
    const confirmation = world.instance();
    const asked = world.ask(confirmation);
    await waitingIn(confirmation);
    const both = await Promise.all([confirmation.answer('q1', false), confirmation.answer('q1', true)]);
    expect(both).toEqual([true, false]);
    expect(await asked).toBe('declined');
  });

  test('several at once, each with its own answer', async () => {
    const world = new World();
    const confirmation = world.instance();
    const asked = ['r1', 'r2', 'r3'].map((request) => world.ask(confirmation, request));
    const questions = await waitingIn(confirmation, 3);
    await confirmation.answer(idOf(questions.filter(({ request }) => request === 'r2')), true);
    await confirmation.answer(idOf(questions.filter(({ request }) => request === 'r3')), false);
    world.clock.advance(MINUTE);
    expect(await Promise.all(asked)).toEqual(['unanswered', 'allowed', 'declined']);
  });

  test('an abort withdraws the question', async () => {
    const world = new World();
    const confirmation = world.instance();
    const abort = new AbortController();
    const asked = world.ask(confirmation, 'r1', abort.signal);
    await waitingIn(confirmation);
    await vi.waitFor(() => expect(world.shown.size).toBe(1));
    abort.abort('cancelled');
    await expect(asked).rejects.toBe('cancelled');
    expect([world.session.size, world.shown.size, world.clock.pending]).toEqual([0, 0, 0]);
    expect(await confirmation.answer('q1', true)).toBe(false);
  });

  test('an abort before the question is there leaves none', async () => {
    const world = new World();
    const confirmation = world.instance();
    const abort = new AbortController();
    const asked = world.ask(confirmation, 'r1', abort.signal);
    abort.abort('cancelled');
    await expect(asked).rejects.toBe('cancelled');
    expect(await confirmation.waiting()).toEqual([]);
    expect(world.session.size).toBe(0);
  });

  test('an unknown or forged question_id is no answer', async () => {
    const world = new World();
    const confirmation = world.instance();
    void world.ask(confirmation);
    await waitingIn(confirmation);
    for (const id of ['', 'q2', 'r1', '__proto__']) expect(await confirmation.answer(id, true)).toBe(false);
    expect(await confirmation.waiting()).toHaveLength(1);
  });
});

describe('the service worker may die while a question waits', () => {
  test('a later instance goes on with the same question, and does not show it a second time', async () => {
    const world = new World();
    void world.ask(world.instance());
    await vi.waitFor(() => expect(world.session.get('q1')?.shown).toBe(true));
    world.shown.clear();
    const later = world.instance();
    const asked = world.ask(later);
    await waitingIn(later);
    expect(await later.answer('q1', true)).toBe(true);
    expect(await asked).toBe('allowed');
    expect([world.ids, world.shown.size]).toEqual([1, 0]);
  });

  test('an answer that wakes a worker is there when the request is asked for again', async () => {
    const world = new World();
    void world.ask(world.instance());
    await vi.waitFor(() => expect(world.session.size).toBe(1));
    expect(await world.instance().answer('q1', true)).toBe(true);
    expect(await world.ask(world.instance())).toBe('allowed');
  });

  test('the sweep puts away what nobody asks for any more, and nothing that waits', async () => {
    const world = new World();
    const first = world.instance();
    void world.ask(first);
    await waitingIn(first);
    const later = world.instance();
    await later.sweep();
    expect(await later.waiting()).toHaveLength(1);
    world.clock.time += MINUTE;
    await later.sweep();
    expect(world.session.get('q1')?.verdict).toBe('unanswered');
    expect(world.shown.size).toBe(0);
    world.clock.time += MINUTE;
    await later.sweep();
    expect(world.session.size).toBe(0);
  });

  test('without a store the person is asked all the same', async () => {
    const world = new World();
    const broken = () => Promise.reject(new Error('quota'));
    const confirmation = world.instance({ all: broken, put: broken, remove: broken });
    const asked = world.ask(confirmation);
    await waitingIn(confirmation);
    await confirmation.answer('q1', true);
    expect(await asked).toBe('allowed');
  });
});

/** An instance that can be killed: from then on nothing of it goes on, but writes already sent may arrive. */
class Mortal {
  alive = true;
  private lateWritesArrive = true;
  readonly confirmation: Confirmation;

  constructor(world: World) {
    const store = questionStore(world.session);
    const step = async <T>(work: () => Promise<T>): Promise<T> => {
      if (!this.alive) return never();
      await new Promise((resolve) => setImmediate(resolve));
      if (!this.alive && !this.lateWritesArrive) return never();
      const result = await work();
      return this.alive ? result : never();
    };
    this.confirmation = world.instance({
      all: () => step(() => store.all()),
      put: (question) => step(() => store.put(question)),
      remove: (question_id) => step(() => store.remove(question_id)),
    });
  }

  kill(lateWritesArrive: boolean): void {
    this.alive = false;
    this.lateWritesArrive = lateWritesArrive;
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}

const REQUESTS = ['r1', 'r2', 'r3'];
const requestName = fc.constantFrom(...REQUESTS);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ act: fc.constant('ask' as const), request: requestName }) },
  {
    weight: 4,
    arbitrary: fc.record({ act: fc.constant('answer' as const), request: requestName, allow: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('cancel' as const), request: requestName }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('kill' as const), arrive: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('advance' as const), ms: fc.nat(40_000) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('sweep' as const) }) },
);
const story = fc.array(fc.record({ what: step, turns: fc.nat(6) }), { minLength: 1, maxLength: 30 });

test('any interleaving of asking, answers, deadline, cancel and death gives each request one verdict', async () => {
  await fc.assert(
    fc.asyncProperty(story, async (steps) => {
      const world = new World();
      const deadline = world.clock.now() + MINUTE;
      const all = [new Mortal(world)];
      const current = () => all.at(-1) as Mortal;
      const verdicts = new Map<string, Set<Verdict>>(REQUESTS.map((name) => [name, new Set()]));
      const allowedBy = new Set<string>();
      const cancelled = new Set<string>();
      const aborts: { who: Mortal; request: string; abort: AbortController }[] = [];

      const ask = (request: string): Promise<void> => {
        const who = current();
        const abort = new AbortController();
        // As the relay host says it with each asking.
        if (cancelled.has(request)) abort.abort('cancelled');
        aborts.push({ who, request, abort });
        const asked = {
          request,
          tool: 'tab_open',
          deadline,
          page: async () => PAGE,
          details: async () => DETAILS,
        };
        return who.confirmation.ask(asked, abort.signal).then(
          ({ verdict }) => {
            if (who.alive && !abort.signal.aborted) verdicts.get(request)?.add(verdict);
          },
          (reason) => expect(reason).toBe('cancelled'),
        );
      };
      const answer = async (request: string, allow: boolean): Promise<void> => {
        const who = current();
        const question = [...world.session.values()].find((one) => one.request === request);
        if (!question) return;
        if (allow && world.clock.now() < deadline) allowedBy.add(request);
        await who.confirmation.answer(question.question_id, allow);
      };

      for (const { what, turns } of steps) {
        if (what.act === 'ask') void ask(what.request);
        else if (what.act === 'answer') void answer(what.request, what.allow);
        else if (what.act === 'advance') world.clock.advance(what.ms);
        else if (what.act === 'sweep') void current().confirmation.sweep();
        else if (what.act === 'kill') {
          current().kill(what.arrive);
          all.push(new Mortal(world));
        } else {
          cancelled.add(what.request);
          for (const { who, request, abort } of aborts) {
            if (who.alive && request === what.request) abort.abort('cancelled');
          }
        }
        for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      }

      // A sweep that is still to come would run when the clock is minutes further, where nobody asks any more.
      await current().confirmation.waiting();
      // In the end each request is asked for once more, and the deadline comes.
      const ends = REQUESTS.map(ask);
      let over = false;
      const end = Promise.all(ends).finally(() => {
        over = true;
      });
      while (!over) {
        await new Promise((resolve) => setImmediate(resolve));
        world.clock.advance(MINUTE);
      }
      await end;
      for (const request of REQUESTS) {
        const told = [...(verdicts.get(request) ?? [])];
        expect(told.length).toBeLessThanOrEqual(1);
        if (!cancelled.has(request)) expect(told.length).toBe(1);
        if (told.includes('allowed')) expect(allowedBy.has(request)).toBe(true);
      }
      await new Promise((resolve) => setImmediate(resolve));
      expect(await current().confirmation.waiting()).toEqual([]);
    }),
    { numRuns: 300 },
  );
}, 120_000);
