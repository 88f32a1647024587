import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import type { Dispatch } from '../../../src/router/dispatch';
import type { Ledger } from '../../../src/router/ledger-store';
import { answerFor, createRig, type Rig, request, type Started, waitingTools } from './rig';

/**
 * One instance of the service worker that can be killed: from then on nothing of it goes on, except that
 * writes it had already sent to the database may still arrive, or not.
 */
class Mortal {
  alive = true;
  private lateWritesArrive = true;
  readonly dispatch: Dispatch;
  readonly started: Started[] = [];

  constructor(rig: Rig, run: string) {
    const ledger = rig.ledger(run);
    const tools = waitingTools(this.started, []);
    this.dispatch = rig.worker(run, {
      ledger: this.mortal(ledger),
      findTool: (name) => tools.find((tool) => tool.name === name),
    });
  }

  kill(lateWritesArrive: boolean): void {
    this.alive = false;
    this.lateWritesArrive = lateWritesArrive;
  }

  private mortal(ledger: Ledger): Ledger {
    const step = async <T>(work: () => Promise<T>): Promise<T> => {
      await new Promise((resolve) => setImmediate(resolve));
      if (!this.alive && !this.lateWritesArrive) return never();
      const result = await work();
      return this.alive ? result : never();
    };
    return {
      accept: (...given) => (this.alive ? step(() => ledger.accept(...given)) : never()),
      settle: (...given) => (this.alive ? step(() => ledger.settle(...given)) : never()),
      activity: (limit) => ledger.activity(limit),
      sweep: () => ledger.sweep(),
    };
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}

const id = fc.constantFrom('a', '__proto__');
/** Each id has one tool and mostly one input; another input is a conflict. */
const input = fc.constantFrom('same', 'same', 'same', 'other');

const action = fc.oneof(
  { weight: 5, arbitrary: fc.record({ act: fc.constant('run' as const), id, input }) },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant('run_short' as const), id, input, ms: fc.nat(50) }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('cancel' as const), id }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant('settle' as const),
      id,
      input,
      code: fc.constantFrom('cancelled' as const, 'timeout' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('finish' as const), ok: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('kill' as const), arrive: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('advance' as const), ms: fc.nat(100) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('sweep' as const) }) },
);

const story = fc.array(fc.record({ what: action, turns: fc.nat(12) }), { minLength: 1, maxLength: 25 });

async function tell(steps: typeof story extends fc.Arbitrary<infer T> ? T : never, tool: 'write' | 'look') {
  const rig = createRig();
  const all: Mortal[] = [new Mortal(rig, 'run-0')];
  const current = () => all.at(-1) as Mortal;
  /** Every answer that left a living instance, by id and input. */
  const answers = new Map<string, Set<string>>();
  const pending: Promise<unknown>[] = [];

  const heard = (who: Mortal, id: string, input: string, answer: Promise<{ outcome: string }>) => {
    pending.push(
      answer.then(({ outcome }) => {
        if (!who.alive) return;
        const key = `${id} ${input}`;
        answers.set(key, (answers.get(key) ?? new Set()).add(outcome));
      }),
    );
  };
  const ask = (id: string, input: string) => request(id, tool, { text: input });
  const finishOne = (who: Mortal, ok: boolean) => {
    const next = who.started.find(({ context }) => !finished.has(context));
    if (!next) return false;
    finished.add(next.context);
    if (ok) next.finish({ output: { run: all.indexOf(who), text: 'done' } });
    else next.fail(new AgentError('tab_not_found'));
    return true;
  };
  const finished = new Set<object>();

  for (const { what, turns } of steps) {
    const who = current();
    switch (what.act) {
      case 'run':
        heard(who, what.id, what.input, answerFor(who.dispatch, ask(what.id, what.input)));
        break;
      case 'run_short':
        heard(who, what.id, what.input, answerFor(who.dispatch, ask(what.id, what.input), what.ms));
        break;
      case 'cancel':
        who.dispatch.cancel(what.id);
        break;
      case 'settle':
        heard(who, what.id, what.input, who.dispatch.settle(ask(what.id, what.input), what.code));
        break;
      case 'finish':
        finishOne(who, what.ok);
        break;
      case 'kill':
        who.kill(what.arrive);
        all.push(new Mortal(rig, `run-${all.length}`));
        break;
      case 'advance':
        rig.clock.advance(what.ms);
        break;
      case 'sweep':
        pending.push(rig.ledger(`run-${all.length - 1}`).sweep());
        break;
    }
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  // The end: whatever was ever asked is asked once more, and gets its one answer.
  const last = current();
  for (const who of all) if (who !== last) who.kill(false);
  const closing = ['a', '__proto__'].flatMap((id) =>
    ['same', 'other'].map((input) => {
      const answer = answerFor(last.dispatch, ask(id, input), 1_000);
      heard(last, id, input, answer);
      return answer;
    }),
  );
  let closed = false;
  const end = Promise.all(closing).finally(() => {
    closed = true;
  });
  while (!closed) {
    if (!finishOne(last, true)) await new Promise((resolve) => setImmediate(resolve));
  }
  await end;
  await Promise.resolve();
  return { all, answers, rig };
}

test.each([
  ['write' as const, 80],
  ['look' as const, 40],
])(
  'wire.md §5 rule 4: whatever is repeated, killed, cancelled and settled, %s runs once and has one answer',
  async (tool, numRuns) => {
    await fc.assert(
      fc.asyncProperty(story, async (steps) => {
        const { all, answers, rig } = await tell(steps, tool);
        const starts = all.flatMap(({ started }) => started.map(({ context }) => context.request_id));
        if (tool === 'write') expect(new Set(starts).size).toBe(starts.length);
        for (const [, outcomes] of answers) expect(outcomes.size).toBe(1);
        // One of the two inputs has the id, the other is a conflict.
        for (const id of ['a', '__proto__']) {
          const conflicts = ['same', 'other'].filter((input) =>
            [...(answers.get(`${id} ${input}`) ?? [])].some((text) => text.includes('request_id_conflict')),
          );
          expect(conflicts).toHaveLength(1);
        }
        expect(rig.log).toEqual([]);
      }),
      { numRuns },
    );
  },
  240_000,
);
