import { describe, expect, test, vi } from 'vitest';
import type { AnswerMessage } from '../../../src/platform/messages';
import { AgentError } from '../../../src/protocol/errors';
import type { JsonObject } from '../../../src/protocol/json';
import { ANSWERS_KEPT_MS, MAX_FRAME_BYTES } from '../../../src/protocol/limits';
import { REPLY_HELD_MS } from '../../../src/router/dispatch';
import { readAnswerBody } from '../../../src/router/ledger-database';
import type { Ledger } from '../../../src/router/ledger-store';
import { settleDown } from './fake-clock';
import { answerFor, codeOf, createRig, named, outcomeOf, request, startsOf } from './rig';

describe('an answer', () => {
  test('a tool runs with what the request brought, and its output is the answer', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    const answer = answerFor(worker, request('r1', 'write', { text: 'a' }), 5_000);
    const { context, input, finish } = await startsOf(rig, 1);
    expect(input).toEqual({ text: 'a' });
    expect(context.request_id).toBe('r1');
    expect(context.deadline).toBe(rig.clock.now() + 5_000);
    rig.clock.advance(12);
    finish({ output: { done: true } });
    expect(await answer).toEqual({
      outcome: '{"status":"ok","output":{"done":true},"error":null}',
      duration_ms: 12,
      attachments: [],
      body_key: null,
    });
    expect(await rig.activity()).toEqual([
      { at: rig.clock.now() - 12, tool: 'write', outcome: 'ok', duration_ms: 12 },
    ]);
    expect(rig.clock.pending).toBe(0);
  });

  test('attachments are sent ahead and stored with their answer, and a resend finds them', async () => {
    const rig = createRig();
    const answer = answerFor(rig.worker('w'), request('r1'));
    const { finish } = await startsOf(rig, 1);
    const content = new TextEncoder().encode('picture');
    finish({ output: { image_id: 'i' }, attachments: [{ field: 'image', mime_type: 'image/png', content }] });
    const { attachments, body_key } = await answer;
    expect(attachments).toEqual([{ field: 'image', mime_type: 'image/png', size: 7 }]);
    expect(rig.sent).toEqual([{ key: body_key, body: { image: content } }]);
    expect(await readAnswerBody(body_key as string, rig.database)).toEqual({ image: content });
    expect(await answerFor(rig.worker('later'), request('r1'))).toEqual(await answer);
  });

  test('an AgentError of a tool keeps its code and sentence', async () => {
    const rig = createRig();
    const answer = answerFor(rig.worker('w'), request('r1'));
    (await startsOf(rig, 1)).fail(new AgentError('tab_not_found', 'There is no tab 7.'));
    expect(outcomeOf(await answer)).toEqual({
      status: 'error',
      output: null,
      error: 'There is no tab 7.',
      error_code: 'tab_not_found',
    });
    expect(rig.log).toEqual([]);
  });

  test.each([
    ['an error', new TypeError('endue-os.token.SECRET is no protocol')],
    ['a string', 'SECRET'],
    ['nothing', undefined],
  ])('anything else a tool throws is internal_error without its text: %s', async (_what, thrown) => {
    const rig = createRig();
    const answer = answerFor(rig.worker('w'), request('r1'));
    (await startsOf(rig, 1)).fail(thrown);
    expect(codeOf(await answer)).toBe('internal_error');
    expect(JSON.stringify([await answer, rig.log, await rig.activity()])).not.toContain('SECRET');
    expect(rig.log).toHaveLength(1);
  });

  const cyclic: JsonObject = {};
  cyclic.self = cyclic;
  test.each<[string, unknown]>([
    ['a cycle', cyclic],
    ['an array', [1]],
    ['null', null],
    ['a text', 'x'],
    ['nothing', undefined],
    ['a big integer', { n: 1n }],
  ])('an output that is no JSON object is internal_error: %s', async (_what, output) => {
    const rig = createRig();
    const answer = answerFor(rig.worker('w'), request('r1'));
    (await startsOf(rig, 1)).finish({ output: output as JsonObject });
    expect(codeOf(await answer)).toBe('internal_error');
  });

  test('wire.md §6: an output no frame can hold is output_too_large, and its attachments go', async () => {
    const rig = createRig();
    const answer = answerFor(rig.worker('w'), request('r1'));
    (await startsOf(rig, 1)).finish({
      output: { text: 'é'.repeat(MAX_FRAME_BYTES / 2) },
      attachments: [{ field: 'image', mime_type: 'image/png', content: new Blob(['x']) }],
    });
    expect(codeOf(await answer)).toBe('output_too_large');
    expect(rig.sent).toEqual([]);
    expect(await rig.storedBodies()).toEqual([]);
  });
});

describe('what a tool looks up beforehand', () => {
  test('is begun while its id is being written, and given to its run', async () => {
    const rig = createRig();
    let write = () => {};
    const ledger = rig.ledger('w');
    const slow: Ledger = {
      ...ledger,
      accept: async (...given) => {
        await new Promise<void>((resolve) => {
          write = resolve;
        });
        return ledger.accept(...given);
      },
    };
    const answer = answerFor(rig.worker('w', { ledger: slow }), request('r1', 'look'));
    await vi.waitFor(() => expect(rig.looks).toEqual(['look']));
    expect(rig.started).toEqual([]);
    write();
    const { looked, finish } = await startsOf(rig, 1);
    expect(await looked).toBe(1);
    finish({ output: {} });
    expect(codeOf(await answer)).toBe('ok');
  });

  test('is not looked up for a request that is refused', async () => {
    const rig = createRig();
    await answerFor(rig.worker('w'), request('r1', 'look', { texts: '' }));
    expect(rig.looks).toEqual([]);
  });
});

describe('the gate', () => {
  const refusals: [string, Parameters<typeof request>, string | null, string, RegExp][] = [
    [
      'malformed',
      ['r', 'write', {}],
      'tool_request.timeout_ms must be > 0.',
      'invalid_request',
      /timeout_ms/,
    ],
    ['unknown tool', ['r', 'app_list', {}], null, 'unknown_tool', /describe_tools/],
    ['a name of the prototype', ['r', 'constructor', {}], null, 'unknown_tool', /describe_tools/],
    [
      'input of a wrong type',
      ['r', 'write', { text: 1 }],
      null,
      'invalid_input',
      /input\.text must be string/,
    ],
    ['an unknown key', ['r', 'write', { texts: '' }], null, 'invalid_input', /unknown field "texts"/],
  ];
  test.each(refusals)(
    'wire.md §8: refused and used up like any other id: %s',
    async (_what, [id, command, input], malformed, code, sentence) => {
      const rig = createRig();
      const worker = rig.worker('w');
      const asked = { ...request(id, command, input), malformed };
      const first = await answerFor(worker, asked);
      expect(outcomeOf(first)).toMatchObject({
        status: 'error',
        error_code: code,
        error: expect.stringMatching(sentence),
      });
      expect(await answerFor(rig.worker('later'), asked)).toEqual(first);
      expect(codeOf(await answerFor(worker, request(id, 'write', { text: 'other' })))).toBe(
        'request_id_conflict',
      );
      expect(rig.started).toHaveLength(0);
      expect((await rig.activity()).map(({ outcome }) => outcome)).toEqual([code]);
    },
  );

  test('an id of one platform tells another platform nothing', async () => {
    const rig = createRig();
    const asked = request('shared');
    const here = answerFor(rig.worker('w'), asked);
    (await startsOf(rig, 1)).finish({ output: { of: 'a' } });
    const first = await here;
    const there = answerFor(rig.worker('w'), named({ ...asked, platform: 'wss://other.test' }));
    (await startsOf(rig, 2)).finish({ output: { of: 'b' } });
    expect([outcomeOf(first), outcomeOf(await there)]).toMatchObject([
      { output: { of: 'a' } },
      { output: { of: 'b' } },
    ]);
  });

  test('wire.md §8: a malformed frame without a usable command or input is answered and used up', async () => {
    const rig = createRig();
    const malformed = 'tool_request lacks the field "command".';
    const asked = named({
      platform: 'wss://r.test',
      id: 'r',
      command: null,
      input: [1],
      malformed,
      invalid: null,
    });
    const first = await answerFor(rig.worker('w'), asked);
    expect(outcomeOf(first)).toMatchObject({ error_code: 'invalid_request', error: malformed });
    expect(await answerFor(rig.worker('w'), asked)).toEqual(first);
  });

  test('wire.md §8: a changed rule counts from the next request on; an id it refused stays refused', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    rig.blocked.add('write');
    expect(codeOf(await answerFor(worker, request('r1')))).toBe('capability_denied');
    rig.blocked.clear();
    expect(codeOf(await answerFor(worker, request('r1')))).toBe('capability_denied');
    const answer = answerFor(worker, request('r2'));
    (await startsOf(rig, 1)).finish({ output: {} });
    expect(codeOf(await answer)).toBe('ok');
    rig.blocked.add('write');
    expect(codeOf(await answerFor(worker, request('r2')))).toBe('ok');
    expect(rig.started).toHaveLength(1);
  });

  test('without a readable policy nothing runs', async () => {
    const rig = createRig();
    const worker = rig.worker('w', { policy: () => Promise.reject(new Error('SECRET')) });
    expect(codeOf(await answerFor(worker, request('r1')))).toBe('internal_error');
    expect(rig.started).toHaveLength(0);
    expect(rig.log.join()).not.toContain('SECRET');
  });
});

describe('wire.md §5 rule 4: once', () => {
  test('duplicates join the one running, whatever the order of their keys', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    const answers = [
      answerFor(worker, request('r1', 'write', JSON.parse('{"text":"a"}'))),
      answerFor(worker, request('r1', 'write', { text: 'a' }), 1),
    ];
    const { finish } = await startsOf(rig, 1);
    answers.push(answerFor(worker, request('r1', 'write', { text: 'a' })));
    await settleDown();
    finish({ output: { n: 1 } });
    const [first, ...rest] = (await Promise.all(answers)) as [AnswerMessage, ...AnswerMessage[]];
    expect(outcomeOf(first)).toMatchObject({ output: { n: 1 } });
    for (const other of rest) expect(other).toEqual(first);
    expect(await answerFor(worker, request('r1', 'write', { text: 'a' }))).toEqual(first);
    expect(rig.started).toHaveLength(1);
    expect(await rig.activity()).toHaveLength(1);
  });

  test('another command or input is a conflict and does not disturb the first run', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    const first = answerFor(worker, request('r1', 'write', { text: 'a' }));
    const { finish, context } = await startsOf(rig, 1);
    expect(codeOf(await answerFor(worker, request('r1', 'write', { text: 'b' })))).toBe(
      'request_id_conflict',
    );
    expect(codeOf(await answerFor(worker, request('r1', 'look', { text: 'a' })))).toBe('request_id_conflict');
    expect(codeOf(await worker.settle(request('r1', 'write', { text: 'c' }), 'cancelled'))).toBe(
      'request_id_conflict',
    );
    expect(context.signal.aborted).toBe(false);
    finish({ output: {} });
    expect(codeOf(await first)).toBe('ok');
    expect(codeOf(await answerFor(worker, request('r1', 'write', { text: 'b' })))).toBe(
      'request_id_conflict',
    );
    expect(rig.started).toHaveLength(1);
  });

  test('the first to come has the id, however much longer its input takes to hash', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    const first = answerFor(worker, request('r1', 'write', { text: 'x'.repeat(8_000_000) }));
    const second = answerFor(worker, request('r1', 'no_such_tool'));
    const { finish } = await startsOf(rig, 1);
    expect(codeOf(await second)).toBe('request_id_conflict');
    finish({ output: {} });
    expect(codeOf(await first)).toBe('ok');
  });

  test('case 4: a run that was cut off by the death of the worker answers outcome_unknown, once and for all', async () => {
    const rig = createRig();
    answerFor(rig.worker('dead'), request('r1')).catch(() => undefined);
    const late = await startsOf(rig, 1);
    const worker = rig.worker('new');
    const answer = await answerFor(worker, request('r1'));
    expect(codeOf(answer)).toBe('outcome_unknown');
    late.finish({ output: {} });
    await settleDown();
    expect(await answerFor(rig.worker('newer'), request('r1'))).toEqual(answer);
    expect(rig.started).toHaveLength(1);
    expect((await rig.activity()).filter(({ outcome }) => outcome === 'outcome_unknown')).toHaveLength(1);
  });

  test('what fails because the worker is being ended is no outcome', async () => {
    const rig = createRig();
    let alive = true;
    const dying = rig.worker('dying', { isAlive: async () => alive });
    const heard: unknown[] = [];
    for (const [id, command] of [
      ['r1', 'write'],
      ['r2', 'look'],
    ] as const) {
      answerFor(dying, request(id, command)).then((answer) => heard.push(answer));
    }
    const [one, other] = [await startsOf(rig, 1), await startsOf(rig, 2)];
    alive = false;
    one.fail(new Error('No SW'));
    other.fail(new AgentError('tab_not_found'));
    await settleDown();
    expect(heard).toEqual([]);
    const worker = rig.worker('new');
    expect(codeOf(await answerFor(worker, request('r1')))).toBe('outcome_unknown');
    const again = answerFor(worker, request('r2', 'look'));
    (await startsOf(rig, 3)).finish({ output: {} });
    expect(codeOf(await again)).toBe('ok');
  });

  test('a read-only tool that was cut off runs again', async () => {
    const rig = createRig();
    answerFor(rig.worker('dead'), request('r1', 'look')).catch(() => undefined);
    const late = await startsOf(rig, 1);
    const worker = rig.worker('new');
    const answer = answerFor(worker, request('r1', 'look'));
    const again = await startsOf(rig, 2);
    late.finish({ output: { n: 1 } });
    await settleDown();
    again.finish({ output: { n: 2 } });
    // The first outcome that came counts, for everybody.
    expect(outcomeOf(await answer)).toMatchObject({ output: { n: 1 } });
    expect(await answerFor(worker, request('r1', 'look'))).toEqual(await answer);
  });

  test('an id whose answer has gone answers result_expired and is not run again', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    const answer = answerFor(worker, request('r1'));
    (await startsOf(rig, 1)).finish({ output: {} });
    await answer;
    rig.clock.advance(ANSWERS_KEPT_MS);
    await rig.ledger('w').sweep();
    expect(codeOf(await answerFor(worker, request('r1')))).toBe('result_expired');
    expect(codeOf(await worker.settle(request('r1'), 'timeout'))).toBe('result_expired');
    expect(codeOf(await answerFor(worker, request('r1', 'look')))).toBe('request_id_conflict');
    expect(rig.started).toHaveLength(1);
  });

  test('case 5: hostile ids each run once and are answered under themselves', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    const long = 'x'.repeat(100_000);
    const ids = [
      '__proto__',
      'constructor',
      long,
      `${long}y`,
      '\ud83d',
      '\ud83e',
      '\ufffd',
      '\\ud83d',
      '"',
      ' ',
    ];
    const answers = new Map<string, unknown>();
    for (const [index, id] of ids.entries()) {
      const answer = answerFor(worker, request(id));
      (await startsOf(rig, index + 1)).finish({ output: { index } });
      answers.set(id, outcomeOf(await answer));
    }
    expect(rig.started.map(({ context }) => context.request_id)).toEqual(ids);
    for (const [index, id] of ids.entries()) {
      const again = outcomeOf(await answerFor(rig.worker('later'), request(id)));
      expect(again).toMatchObject({ output: { index } });
      expect(again).toEqual(answers.get(id));
    }
    expect(rig.started).toHaveLength(ids.length);
  });

  test('inputs with hostile keys are told apart', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    const first = await answerFor(worker, request('r1', 'write', JSON.parse('{"__proto__":1}')));
    expect(codeOf(first)).toBe('invalid_input');
    expect(codeOf(await answerFor(worker, request('r1', 'write', JSON.parse('{"__proto__":2}'))))).toBe(
      'request_id_conflict',
    );
    expect(codeOf(await answerFor(worker, request('r1', 'write', {})))).toBe('request_id_conflict');
  });
});

describe('wire.md §5 rule 5: cancel', () => {
  test('a running tool is told to stop, and cancelled is the answer at once', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    const answer = answerFor(worker, request('r1'));
    const { context, finish } = await startsOf(rig, 1);
    worker.cancel('r1');
    expect(codeOf(await answer)).toBe('cancelled');
    expect(context.signal.aborted).toBe(true);
    context.progress({ completed: 1, total: null, unit: 'steps' });
    finish({
      output: { late: true },
      attachments: [{ field: 'image', mime_type: 'image/png', content: new Blob(['late']) }],
    });
    await settleDown();
    expect(codeOf(await answerFor(worker, request('r1')))).toBe('cancelled');
    expect(rig.progress).toEqual([]);
    expect(await rig.activity()).toHaveLength(1);
    expect(await rig.storedBodies()).toEqual([]);
  });

  test('the real outcome stands when it came first', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    const answer = answerFor(worker, request('r1'));
    (await startsOf(rig, 1)).finish({ output: {} });
    const settled = await answer;
    worker.cancel('r1');
    expect(await worker.settle(request('r1'), 'cancelled')).toEqual(settled);
    expect(codeOf(settled)).toBe('ok');
  });

  test('an unknown id: nothing happens, and it can still be used', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    worker.cancel('r1');
    worker.cancel('__proto__');
    const answer = answerFor(worker, request('r1'));
    (await startsOf(rig, 1)).finish({ output: {} });
    expect(codeOf(await answer)).toBe('ok');
  });

  test('a cancel right behind its request is not lost', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    const answer = answerFor(worker, request('r1'));
    worker.cancel('r1');
    expect(codeOf(await answer)).toBe('cancelled');
    expect(rig.started).toHaveLength(0);
  });

  test('one that never started is settled, and stays so', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    const answer = await worker.settle(request('r1'), 'cancelled');
    expect(codeOf(answer)).toBe('cancelled');
    expect(await answerFor(worker, request('r1'))).toEqual(answer);
    expect(codeOf(await answerFor(worker, request('r1', 'look')))).toBe('request_id_conflict');
    expect(rig.started).toHaveLength(0);
    expect(await rig.activity()).toEqual([
      { at: rig.clock.now(), tool: 'write', outcome: 'cancelled', duration_ms: 0 },
    ]);
  });

  test('settling a run that was cut off says outcome_unknown; a read-only one is cancelled', async () => {
    const rig = createRig();
    const dead = rig.worker('dead');
    answerFor(dead, request('r1')).catch(() => undefined);
    answerFor(dead, request('r2', 'look')).catch(() => undefined);
    await startsOf(rig, 2);
    const worker = rig.worker('new');
    expect(codeOf(await worker.settle(request('r1'), 'timeout'))).toBe('outcome_unknown');
    expect(codeOf(await worker.settle(request('r2', 'look'), 'cancelled'))).toBe('cancelled');
  });
});

test('progress is passed on under its id, until there is an answer', async () => {
  const rig = createRig();
  const answer = answerFor(rig.worker('w'), request('r1'));
  const { context, finish } = await startsOf(rig, 1);
  context.progress({ completed: 1, total: 2, unit: 'files' });
  finish({ output: {} });
  await answer;
  context.progress({ completed: 2, total: 2, unit: 'files' });
  expect(rig.progress).toEqual([{ id: 'r1', progress: { completed: 1, total: 2, unit: 'files' } }]);
});

describe('the deadline', () => {
  test('passes: the tool is aborted and timeout answered', async () => {
    const rig = createRig();
    const answer = answerFor(rig.worker('w'), request('r1'), 3_000);
    const { context } = await startsOf(rig, 1);
    rig.clock.advance(2_999);
    await settleDown();
    expect(context.signal.aborted).toBe(false);
    rig.clock.advance(1);
    expect(codeOf(await answer)).toBe('timeout');
    expect(context.signal.aborted).toBe(true);
    expect(context.signal.reason).toMatchObject({ code: 'timeout' });
  });

  test('has passed already: nothing starts', async () => {
    const rig = createRig();
    const answer = answerFor(rig.worker('w'), request('r1'), -5);
    rig.clock.advance(0);
    expect(codeOf(await answer)).toBe('timeout');
    expect(rig.started).toHaveLength(0);
  });

  test.each([2_147_483_648, 1e300])('case 5: a huge one does not fire at once: %d', async (remaining_ms) => {
    const rig = createRig();
    const asked: number[] = [];
    const setTimer = (run: () => void, delay_ms: number) => {
      asked.push(delay_ms);
      return rig.clock.setTimer(run, delay_ms);
    };
    const answer = answerFor(rig.worker('w', { setTimer }), request('r1'), remaining_ms);
    const { context, finish } = await startsOf(rig, 1);
    expect(Math.max(...asked)).toBeLessThan(2 ** 31);
    rig.clock.advance(2_147_483_647);
    await settleDown();
    expect(context.signal.aborted).toBe(false);
    finish({ output: {} });
    expect(codeOf(await answer)).toBe('ok');
  });

  test('a reply is held for a while, then running is said and the same run is joined', async () => {
    const rig = createRig();
    const worker = rig.worker('w');
    const first = worker.run(request('r1'), 600_000);
    const { finish } = await startsOf(rig, 1);
    rig.clock.advance(REPLY_HELD_MS);
    expect(await first).toEqual({ running: true });
    const second = worker.run(request('r1'), 580_000);
    finish({ output: {} });
    expect(await second).toMatchObject({
      running: false,
      answer: { outcome: expect.stringContaining('"ok"') },
    });
    expect(rig.started).toHaveLength(1);
    expect(rig.clock.pending).toBe(0);
  });
});

describe('a ledger that fails', () => {
  const failing = (
    rig: ReturnType<typeof createRig>,
    broken: { accept?: boolean; settles?: number },
  ): Ledger => {
    const ledger = rig.ledger('w');
    return {
      ...ledger,
      accept: (...given) => (broken.accept ? Promise.reject(new Error('SECRET')) : ledger.accept(...given)),
      settle: (...given) => {
        if (!broken.settles) return ledger.settle(...given);
        broken.settles -= 1;
        return Promise.reject(new Error('SECRET'));
      },
    };
  };

  test('a tool whose start cannot be written down does not start', async () => {
    const rig = createRig();
    const worker = rig.worker('w', { ledger: failing(rig, { accept: true }) });
    expect(codeOf(await answerFor(worker, request('r1')))).toBe('internal_error');
    expect(codeOf(await answerFor(worker, request('r1')))).toBe('internal_error');
    expect(rig.started).toHaveLength(0);
    expect(rig.log.join()).not.toContain('SECRET');
  });

  test('a settlement is tried twice', async () => {
    const rig = createRig();
    const worker = rig.worker('w', { ledger: failing(rig, { settles: 1 }) });
    const answer = answerFor(worker, request('r1'));
    (await startsOf(rig, 1)).finish({ output: {} });
    expect(await answerFor(rig.worker('later'), request('r1'))).toEqual(await answer);
  });

  test('an outcome that cannot be written down is still the answer, and no second run', async () => {
    const rig = createRig();
    const worker = rig.worker('w', { ledger: failing(rig, { settles: 2 }) });
    const answer = answerFor(worker, request('r1'));
    (await startsOf(rig, 1)).finish({ output: { n: 1 } });
    expect(outcomeOf(await answer)).toMatchObject({ output: { n: 1 } });
    expect(await answerFor(worker, request('r1'))).toEqual(await answer);
    expect(codeOf(await answerFor(rig.worker('w'), request('r1')))).toBe('outcome_unknown');
    expect(rig.started).toHaveLength(1);
  });
});
