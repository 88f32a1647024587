/** Requests that run only after the person allowed it: the dispatch, the ledger and the questions together. */
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { Confirmation, Question } from '../../../src/router/confirmation';
import type { Dispatch } from '../../../src/router/dispatch';
import type { Ledger } from '../../../src/router/ledger-store';
import { settleDown } from './fake-clock';
import {
  answerFor,
  codeOf,
  createRig,
  outcomeOf,
  questionStore,
  type Rig,
  request,
  type Started,
  startsOf,
  waitingTools,
} from './rig';

function askingRig(): Rig {
  const rig = createRig();
  rig.asked.add('write');
  rig.asked.add('look');
  return rig;
}

/** A worker and the questions it asks. */
function instance(rig: Rig, run: string): { worker: Dispatch; confirmation: Confirmation } {
  const confirmation = rig.confirmation();
  return { worker: rig.worker(run, { confirmation }), confirmation };
}

function questionOf(rig: Rig): Promise<Question> {
  return vi.waitFor(() => {
    const [question] = [...rig.session.values()].filter(({ verdict }) => verdict === null);
    if (!question) throw new Error('nobody is asked');
    return question;
  });
}

describe('tools.md, confirmation: a tool that asks', () => {
  test('os-interface.md: asked under another tool’s name, it is named itself, and the activity names both', async () => {
    const rig = askingRig();
    const { worker, confirmation } = instance(rig, 'w');
    const answer = answerFor(worker, request('r1', 'front'));
    const { question_id, tool } = await questionOf(rig);
    expect(tool).toBe('write');
    expect(await rig.activity()).toMatchObject([{ tool: 'front', behind: 'write', outcome: 'waiting' }]);
    await confirmation.answer(question_id, true);
    (await startsOf(rig, 1)).finish({ output: { done: true } });
    expect(codeOf(await answer)).toBe('ok');
    expect(await rig.activity()).toMatchObject([{ tool: 'front', behind: 'write', outcome: 'ok' }]);
  });

  test('starts only after the person allowed it, and the activity says so', async () => {
    const rig = askingRig();
    const { worker, confirmation } = instance(rig, 'w');
    const answer = answerFor(worker, request('r1'));
    const { question_id, tool, page, details, deadline } = await questionOf(rig);
    expect({ tool, page }).toEqual({ tool: 'write', page: rig.page });
    expect(details).toMatchObject([{ kind: 'script', text: 'write' }]);
    expect(deadline).toBe(rig.clock.now() + 59_000);
    await settleDown();
    expect(rig.started).toHaveLength(0);
    expect(await rig.activity()).toMatchObject([{ tool: 'write', outcome: 'waiting', asked: 'waiting' }]);
    await confirmation.answer(question_id, true);
    (await startsOf(rig, 1)).finish({ output: { done: true } });
    expect(codeOf(await answer)).toBe('ok');
    expect(await rig.activity()).toMatchObject([{ outcome: 'ok', asked: 'allowed' }]);
    await settleDown();
    expect([rig.session.size, rig.shown.size, rig.clock.pending]).toEqual([0, 0, 0]);
  });

  test('declined: user_declined, nothing runs, and a resend gets the same without a new question', async () => {
    const rig = askingRig();
    const { worker, confirmation } = instance(rig, 'w');
    const answer = answerFor(worker, request('r1'));
    await confirmation.answer((await questionOf(rig)).question_id, false);
    expect(codeOf(await answer)).toBe('user_declined');
    expect(await answerFor(instance(rig, 'later').worker, request('r1'))).toEqual(await answer);
    expect([rig.started.length, rig.shown.size]).toEqual([0, 0]);
    expect(await rig.activity()).toMatchObject([{ outcome: 'user_declined', asked: 'declined' }]);
  });

  test('wire.md §8: nobody answers before the deadline: user_declined, not timeout, before the deadline itself', async () => {
    const rig = askingRig();
    const { worker } = instance(rig, 'w');
    const answer = worker.run(request('r1'), 10_000);
    await questionOf(rig);
    rig.clock.advance(9_000);
    const reply = await answer;
    expect(reply.running ? '' : codeOf(reply.answer)).toBe('user_declined');
    expect(await rig.activity()).toMatchObject([{ outcome: 'user_declined', asked: 'unanswered' }]);
  });

  test('wire.md §8: the same when the relay host’s deadline comes first, also to a worker that has just woken', async () => {
    for (const worker_dies of [false, true]) {
      const rig = askingRig();
      const { worker } = instance(rig, 'w');
      void worker.run(request('r1'), 60_000);
      await questionOf(rig);
      const settling = worker_dies ? instance(rig, 'later').worker : worker;
      expect(codeOf(await settling.settle(request('r1'), 'timeout'))).toBe('user_declined');
      expect(rig.started).toHaveLength(0);
      await settleDown();
      expect([rig.session.size, rig.shown.size]).toEqual([0, 0]);
    }
  });

  test('a cancel withdraws the question; one that was told to a worker that died is said again', async () => {
    for (const worker_dies of [false, true]) {
      const rig = askingRig();
      const { worker } = instance(rig, 'w');
      const first = worker.run(request('r1'), 60_000);
      await vi.waitFor(() => expect(rig.shown.size).toBe(1));
      if (worker_dies) {
        const reply = await instance(rig, 'later').worker.run(request('r1'), 50_000, true);
        expect(reply.running ? '' : codeOf(reply.answer)).toBe('cancelled');
      } else {
        worker.cancel('r1');
        expect(await first).toMatchObject({ answer: { outcome: expect.stringContaining('cancelled') } });
      }
      await settleDown();
      expect([rig.started.length, rig.session.size, rig.shown.size]).toEqual([0, 0, 0]);
    }
  });

  test('the worker dies while it waits: the next one goes on, asks nothing new, and the tool runs once', async () => {
    const rig = askingRig();
    void instance(rig, 'w').worker.run(request('r1'), 60_000);
    const { question_id } = await questionOf(rig);
    const later = instance(rig, 'later');
    // The answer is what wakes it.
    await later.confirmation.answer(question_id, true);
    const answer = answerFor(later.worker, request('r1'), 50_000);
    (await startsOf(rig, 1)).finish({ output: {} });
    expect(codeOf(await answer)).toBe('ok');
    expect(rig.started).toHaveLength(1);
  });

  test('a question that was left behind with the whole browser is shown as unanswered once its deadline is over', async () => {
    const rig = askingRig();
    void instance(rig, 'w').worker.run(request('r1'), 60_000);
    await questionOf(rig);
    // The browser ends: its session is gone, and with it every timer.
    rig.session.clear();
    rig.clock.time += 30_000;
    expect(await rig.activity()).toMatchObject([{ outcome: 'waiting', duration_ms: 30_000 }]);
    rig.clock.time += 31_000;
    expect(await rig.activity()).toMatchObject([
      { tool: 'write', outcome: 'user_declined', asked: 'unanswered', duration_ms: 60_000 },
    ]);
    // Asked for again, it is a new question: nothing had run.
    const later = instance(rig, 'later');
    const answer = answerFor(later.worker, request('r1'), 60_000);
    await later.confirmation.answer((await questionOf(rig)).question_id, true);
    (await startsOf(rig, 1)).finish({ output: {} });
    expect(codeOf(await answer)).toBe('ok');
  });

  test('case 4: allowed, started, and then cut off: outcome_unknown, as without a question', async () => {
    const rig = askingRig();
    const { worker, confirmation } = instance(rig, 'w');
    void worker.run(request('r1'), 60_000);
    await confirmation.answer((await questionOf(rig)).question_id, true);
    await startsOf(rig, 1);
    expect(codeOf(await answerFor(instance(rig, 'later').worker, request('r1')))).toBe('outcome_unknown');
    expect(rig.started).toHaveLength(1);
  });

  test('a waiting question holds up no other request, not even a conflict under its own id', async () => {
    const rig = askingRig();
    rig.asked.delete('look');
    const { worker } = instance(rig, 'w');
    void worker.run(request('r1'), 60_000);
    await questionOf(rig);
    expect(codeOf(await answerFor(worker, request('r1', 'write', { text: 'other' })))).toBe(
      'request_id_conflict',
    );
    const look = answerFor(worker, request('r2', 'look'));
    (await startsOf(rig, 1)).finish({ output: {} });
    expect(codeOf(await look)).toBe('ok');
    expect(rig.session.size).toBe(1);
  });

  test('an id that is refused, or answered already, asks nobody', async () => {
    const rig = askingRig();
    const { worker } = instance(rig, 'w');
    expect(codeOf(await answerFor(worker, request('r1', 'write', { text: 5 })))).toBe('invalid_input');
    rig.blocked.add('write');
    expect(codeOf(await answerFor(worker, request('r2')))).toBe('capability_denied');
    expect(rig.session.size).toBe(0);
  });

  test('what was shut while the person was asked does not run', async () => {
    const rig = askingRig();
    const { worker, confirmation } = instance(rig, 'w');
    const answer = answerFor(worker, request('r1'));
    const { question_id } = await questionOf(rig);
    rig.blocked.add('write');
    await confirmation.answer(question_id, true);
    expect(codeOf(await answer)).toBe('capability_denied');
    expect(rig.started).toHaveLength(0);
  });

  test('another page than the one the person was asked about is not touched', async () => {
    const rig = askingRig();
    const { worker, confirmation } = instance(rig, 'w');
    const answer = answerFor(worker, request('r1'));
    const { question_id } = await questionOf(rig);
    rig.page = { host: 'bank.test', title: 'Bank', place: '1 https://bank.test' };
    await confirmation.answer(question_id, true);
    expect(outcomeOf(await answer)).toMatchObject({
      error_code: 'page_restricted',
      error: expect.stringMatching(/changed/),
    });
    expect(rig.started).toHaveLength(0);
  });
});

/** An instance of the worker that can be killed, with everything it writes. */
class Mortal {
  alive = true;
  private lateWritesArrive = true;
  readonly dispatch: Dispatch;
  readonly confirmation: Confirmation;
  readonly started: Started[] = [];

  constructor(rig: Rig, run: string) {
    const ledger = rig.ledger(run);
    const store = questionStore(rig.session);
    const tools = waitingTools(this.started, []);
    this.confirmation = rig.confirmation({
      store: {
        all: () => this.step(() => store.all()),
        put: (question) => this.step(() => store.put(question)),
        remove: (question_id) => this.step(() => store.remove(question_id)),
      },
    });
    const mortal: Ledger = {
      ...ledger,
      accept: (...given) => this.step(() => ledger.accept(...given)),
      settle: (...given) => this.step(() => ledger.settle(...given)),
    };
    this.dispatch = rig.worker(run, {
      ledger: mortal,
      confirmation: this.confirmation,
      findTool: (name) => tools.find((tool) => tool.name === name),
    });
  }

  kill(lateWritesArrive: boolean): void {
    this.alive = false;
    this.lateWritesArrive = lateWritesArrive;
  }

  private async step<T>(work: () => Promise<T>): Promise<T> {
    const never = new Promise<T>(() => undefined);
    if (!this.alive) return never;
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.alive && !this.lateWritesArrive) return never;
    const result = await work();
    return this.alive ? result : never;
  }
}

const id = fc.constantFrom('a', '__proto__');
const action = fc.oneof(
  { weight: 5, arbitrary: fc.record({ act: fc.constant('run' as const), id }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant('answer' as const), allow: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('cancel' as const), id }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant('settle' as const),
      id,
      code: fc.constantFrom('cancelled' as const, 'timeout' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('finish' as const) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('kill' as const), arrive: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('advance' as const), ms: fc.nat(30_000) }) },
);
const story = fc.array(fc.record({ what: action, turns: fc.nat(14) }), { minLength: 1, maxLength: 25 });

test('whatever is killed, answered, cancelled and settled: never without a yes, never twice, one answer', async () => {
  await fc.assert(
    fc.asyncProperty(story, async (steps) => {
      const rig = askingRig();
      const all = [new Mortal(rig, 'run-0')];
      const current = () => all.at(-1) as Mortal;
      const answers = new Map<string, Set<string>>();
      const allowed = new Set<string>();
      const finished = new Set<object>();

      const heard = (who: Mortal, of: string, answer: Promise<{ outcome: string }>) =>
        answer.then(({ outcome }) => {
          if (who.alive) answers.set(of, (answers.get(of) ?? new Set()).add(outcome));
        });
      const answerOne = async (allow: boolean) => {
        const who = current();
        const [question] = [...rig.session.values()].filter(({ verdict }) => verdict === null);
        if (!question) return;
        if (allow) allowed.add(question.request);
        await who.confirmation.answer(question.question_id, allow);
      };
      const finishOne = () => {
        const next = current().started.find(({ context }) => !finished.has(context));
        if (!next) return;
        finished.add(next.context);
        next.finish({ output: { run: all.length } });
      };

      for (const { what, turns } of steps) {
        const who = current();
        if (what.act === 'run') void heard(who, what.id, answerFor(who.dispatch, request(what.id)));
        else if (what.act === 'answer') void answerOne(what.allow);
        else if (what.act === 'cancel') who.dispatch.cancel(what.id);
        else if (what.act === 'settle') {
          void heard(who, what.id, who.dispatch.settle(request(what.id), what.code));
        } else if (what.act === 'finish') finishOne();
        else if (what.act === 'advance') rig.clock.advance(what.ms);
        else {
          who.kill(what.arrive);
          all.push(new Mortal(rig, `run-${all.length}`));
        }
        for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      }

      const last = current();
      for (const who of all) if (who !== last) who.kill(false);
      let over = false;
      const end = Promise.all(
        ['a', '__proto__'].map((of) => heard(last, of, answerFor(last.dispatch, request(of), 1_000))),
      ).finally(() => {
        over = true;
      });
      while (!over) {
        finishOne();
        await answerOne(false);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await end;

      const starts = all.flatMap(({ started }) => started.map(({ context }) => context.request_id));
      expect(new Set(starts).size).toBe(starts.length);
      expect(starts.length).toBeLessThanOrEqual(allowed.size);
      for (const of of ['a', '__proto__']) expect(answers.get(of)?.size).toBe(1);
      expect(rig.log).toEqual([]);
    }),
    { numRuns: 60 },
  );
}, 240_000);
