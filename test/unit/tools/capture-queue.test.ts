import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import { CAPTURES_PER_SECOND } from '../../../src/protocol/limits';
import { CaptureNotReady, CaptureQuotaExceeded } from '../../../src/tools/capture-errors';
import {
  CAPTURE_DEADLINE_MS,
  CAPTURE_RETRIES,
  CAPTURE_WINDOW_MS,
  type Capture,
  type CaptureQueue,
  type CaptureRequest,
  createCaptureQueue,
} from '../../../src/tools/capture-queue';
import { FakeClock } from '../router/fake-clock';
import { pass, turn } from './async-clock';

const JPEG: CaptureRequest = { window_id: 1, format: 'jpeg', quality: 85 };
const PNG: CaptureRequest = { window_id: 1, format: 'png', quality: null };
const never = () => new AbortController().signal;

type Behaviour = { takes: number; fails?: 'quota' | 'not_ready' | 'error' } | 'hangs';

/** A Chrome that captures as the test says: the nth call behaves as the nth behaviour, the rest well. */
class Captures {
  readonly clock = new FakeClock();
  readonly begun: { at: number; order: number; request: CaptureRequest }[] = [];
  private steps = 0;
  readonly queue: CaptureQueue;

  constructor(private readonly behaviours: readonly Behaviour[] = []) {
    this.queue = createCaptureQueue({
      now: this.clock.now,
      setTimer: this.clock.setTimer,
      captureVisible: (request) => this.capture(request),
    });
  }

  private capture(request: CaptureRequest): Promise<Capture> {
    const number = this.begun.length;
    this.begun.push({ at: this.clock.time, order: this.step(), request });
    const behaviour = this.behaviours[number] ?? { takes: 30 };
    return new Promise((resolve, reject) => {
      if (behaviour === 'hangs') return;
      this.clock.setTimer(() => {
        if (behaviour.fails === 'quota') reject(new CaptureQuotaExceeded());
        else if (behaviour.fails === 'not_ready') reject(new CaptureNotReady());
        else if (behaviour.fails) reject(new AgentError('capture_restricted'));
        else resolve(captureOf(number, this.clock.time));
      }, behaviour.takes);
    });
  }

  /** Orders what happens at the same time. */
  step(): number {
    this.steps += 1;
    return this.steps;
  }

  get starts(): number[] {
    return this.begun.map(({ at }) => at);
  }
}

function captureOf(number: number, captured_at: number): Capture {
  const tab = { tab_id: 1, url: 'https://a.test/', activated_at: 0 };
  return {
    content: new TextEncoder().encode(String(number)),
    mime_type: 'image/jpeg',
    width: number,
    height: 1,
    captured_at,
    before: tab,
    after: tab,
  };
}

function mostPerSecond(starts: readonly number[]): number {
  return Math.max(0, ...starts.map((from) => starts.filter((at) => at >= from && at < from + 1_000).length));
}

/** Collects how a promise ends, without an unhandled rejection. */
function outcome<T>(promise: Promise<T>): { value?: T; reason?: unknown; settled: boolean } {
  const result: { value?: T; reason?: unknown; settled: boolean } = { settled: false };
  promise.then(
    (value) => Object.assign(result, { value, settled: true }),
    (reason: unknown) => Object.assign(result, { reason, settled: true }),
  );
  return result;
}

describe('tools.md, screenshot: one queue serves everyone', () => {
  test('the first caller does not wait', () => {
    const captures = new Captures();
    void captures.queue.capture(JPEG, never());
    expect(captures.starts).toEqual([captures.clock.time]);
  });

  test('callers wait their turn, in order', async () => {
    const captures = new Captures();
    const start = captures.clock.time;
    const requests = [1, 2, 3, 4, 5].map((window_id) => ({ ...JPEG, window_id }));
    const done = requests.map((request) => outcome(captures.queue.capture(request, never())));
    await pass(captures.clock, 3 * CAPTURE_WINDOW_MS);
    expect(done.every(({ value }) => value)).toBe(true);
    expect(captures.begun.map(({ request }) => request.window_id)).toEqual([1, 2, 3, 4, 5]);
    expect(captures.starts.map((at) => at - start)).toEqual([
      0,
      0,
      CAPTURE_WINDOW_MS,
      CAPTURE_WINDOW_MS,
      2 * CAPTURE_WINDOW_MS,
    ]);
  });

  test('equal callers in the same slot share one capture, others do not', async () => {
    const captures = new Captures();
    void captures.queue.capture(PNG, never());
    void captures.queue.capture(PNG, never());
    const equal = [JPEG, { ...JPEG }, { ...JPEG }].map((r) => outcome(captures.queue.capture(r, never())));
    const other = outcome(captures.queue.capture({ ...JPEG, quality: 40 }, never()));
    await pass(captures.clock, 2 * CAPTURE_WINDOW_MS);
    expect(new Set(equal.map(({ value }) => value)).size).toBe(1);
    expect(equal[0]?.value).toBeDefined();
    expect(other.value).not.toBe(equal[0]?.value);
    expect(captures.begun).toHaveLength(4);
  });

  test('a caller does not join a capture that has begun: it may show what was before', async () => {
    const captures = new Captures();
    const first = outcome(captures.queue.capture(JPEG, never()));
    captures.clock.advance(5);
    const second = outcome(captures.queue.capture(JPEG, never()));
    await pass(captures.clock, 100);
    expect(second.value).toBeDefined();
    expect(second.value).not.toBe(first.value);
  });

  test('a quota error is retried in the next slot, together with equal callers that came meanwhile', async () => {
    const captures = new Captures([{ takes: 2, fails: 'quota' }, { takes: 30 }]);
    const first = outcome(captures.queue.capture(JPEG, never()));
    await pass(captures.clock, 10);
    const second = outcome(captures.queue.capture(JPEG, never()));
    await pass(captures.clock, 900);
    expect(captures.begun).toHaveLength(1);
    await pass(captures.clock, 200);
    expect(captures.begun).toHaveLength(2);
    expect(first.value).toBeDefined();
    expect(second.value).toBe(first.value);
  });

  test('a page with nothing drawn yet is captured a moment later', async () => {
    const captures = new Captures([{ takes: 2, fails: 'not_ready' }]);
    const first = outcome(captures.queue.capture(JPEG, never()));
    await pass(captures.clock, 2 * CAPTURE_WINDOW_MS);
    expect(captures.begun).toHaveLength(2);
    expect(first.value).toBeDefined();
  });

  test('one that never draws is screen_unavailable after a few tries', async () => {
    const captures = new Captures(Array.from({ length: 9 }, () => ({ takes: 2, fails: 'not_ready' })));
    const first = outcome(captures.queue.capture(JPEG, never()));
    await pass(captures.clock, 9 * CAPTURE_WINDOW_MS);
    expect(captures.begun).toHaveLength(1 + CAPTURE_RETRIES);
    expect(first.reason).toMatchObject({ code: 'screen_unavailable' });
  });

  test('a quota error keeps its place in front of others', async () => {
    const captures = new Captures([{ takes: 2, fails: 'quota' }]);
    void captures.queue.capture(JPEG, never());
    await pass(captures.clock, 1);
    void captures.queue.capture(PNG, never());
    const late = { ...PNG, window_id: 2 };
    void captures.queue.capture(late, never());
    await pass(captures.clock, 2 * CAPTURE_WINDOW_MS);
    expect(captures.begun.map(({ request }) => request)).toEqual([JPEG, PNG, JPEG, late]);
  });

  test('case 7: six within a second, the first failing: at most two captures a second, failures counted, six answers', async () => {
    const captures = new Captures([{ takes: 20, fails: 'error' }]);
    const answers = [];
    for (let call = 0; call < 6; call += 1) {
      answers.push(outcome(captures.queue.capture({ ...JPEG, quality: 80 + call }, never())));
      await pass(captures.clock, 150);
    }
    await pass(captures.clock, 3 * CAPTURE_WINDOW_MS);
    expect(answers.every(({ settled }) => settled)).toBe(true);
    expect(answers.filter(({ value }) => value)).toHaveLength(5);
    expect(answers[0]?.reason).toMatchObject({ code: 'capture_restricted' });
    expect(mostPerSecond(captures.starts)).toBe(CAPTURES_PER_SECOND);
  });

  test('a failed capture is told to all that shared it, and to nobody else', async () => {
    const captures = new Captures([{ takes: 5 }, { takes: 5 }, { takes: 5, fails: 'error' }]);
    void captures.queue.capture(PNG, never());
    void captures.queue.capture(PNG, never());
    const shared = [0, 1].map(() => outcome(captures.queue.capture(JPEG, never())));
    const other = outcome(captures.queue.capture(PNG, never()));
    await pass(captures.clock, 2 * CAPTURE_WINDOW_MS);
    for (const { reason } of shared) expect(reason).toMatchObject({ code: 'capture_restricted' });
    expect(other.value).toBeDefined();
  });

  test('a caller whose deadline passes leaves; those who share are not disturbed', async () => {
    const captures = new Captures([{ takes: 5 }, { takes: 5 }]);
    void captures.queue.capture(PNG, never());
    void captures.queue.capture(PNG, never());
    const impatient = new AbortController();
    const left = outcome(captures.queue.capture(JPEG, impatient.signal));
    const stays = outcome(captures.queue.capture(JPEG, never()));
    await pass(captures.clock, 100);
    impatient.abort(new AgentError('timeout'));
    await turn();
    expect(left.reason).toMatchObject({ code: 'timeout' });
    await pass(captures.clock, CAPTURE_WINDOW_MS);
    expect(stays.value).toBeDefined();
    expect(captures.begun).toHaveLength(3);
  });

  test('nothing is captured for callers that have all left', async () => {
    const captures = new Captures();
    void captures.queue.capture(PNG, never());
    void captures.queue.capture(PNG, never());
    const impatient = new AbortController();
    const left = outcome(captures.queue.capture(JPEG, impatient.signal));
    impatient.abort(new AgentError('cancelled'));
    await pass(captures.clock, 2 * CAPTURE_WINDOW_MS);
    expect(left.reason).toMatchObject({ code: 'cancelled' });
    expect(captures.begun).toHaveLength(2);
    const gone = outcome(captures.queue.capture(JPEG, impatient.signal));
    await turn();
    expect(gone.reason).toMatchObject({ code: 'cancelled' });
    expect(captures.begun).toHaveLength(2);
  });

  test('a caller may leave while its capture runs', async () => {
    const captures = new Captures([{ takes: 100 }]);
    const impatient = new AbortController();
    const left = outcome(captures.queue.capture(JPEG, impatient.signal));
    await pass(captures.clock, 10);
    impatient.abort(new AgentError('timeout'));
    await pass(captures.clock, 200);
    expect(left.reason).toMatchObject({ code: 'timeout' });
  });

  test('a capture that Chrome never answers (minimized window) holds up nobody and ends as screen_unavailable', async () => {
    const captures = new Captures(['hangs', 'hangs']);
    const hanging = [JPEG, PNG].map((request) => outcome(captures.queue.capture(request, never())));
    const next = outcome(captures.queue.capture({ ...JPEG, window_id: 2 }, never()));
    await pass(captures.clock, CAPTURE_WINDOW_MS + 100);
    expect(next.value).toBeDefined();
    expect(hanging.some(({ settled }) => settled)).toBe(false);
    await pass(captures.clock, CAPTURE_DEADLINE_MS);
    for (const { reason } of hanging) expect(reason).toMatchObject({ code: 'screen_unavailable' });
  });

  test('2 calls a second are sustained for 30 s without one error', async () => {
    const captures = new Captures();
    const answers = [];
    for (let call = 0; call < 60; call += 1) {
      const asked = captures.clock.time;
      const answer = outcome(captures.queue.capture(JPEG, never()).then(() => captures.clock.time - asked));
      answers.push(answer);
      await pass(captures.clock, 500, 50);
    }
    await pass(captures.clock, 2 * CAPTURE_WINDOW_MS, 50);
    expect(answers.filter(({ value }) => value === undefined)).toEqual([]);
    // Chrome's second is longer than ours: callers that fall behind share, so nobody ever waits longer.
    expect(Math.max(...answers.map(({ value }) => value ?? 0))).toBeLessThan(CAPTURE_WINDOW_MS);
    expect(mostPerSecond(captures.starts)).toBe(CAPTURES_PER_SECOND);
  });

  test('20 at once are all answered, by sharing', async () => {
    const captures = new Captures();
    const answers = Array.from({ length: 20 }, () => outcome(captures.queue.capture(JPEG, never())));
    await pass(captures.clock, CAPTURE_WINDOW_MS + 100);
    expect(answers.every(({ value }) => value)).toBe(true);
    expect(captures.begun).toHaveLength(3);
  });

  test('after work and failures no timer stays behind', async () => {
    const captures = new Captures([{ takes: 5, fails: 'quota' }, 'hangs', { takes: 5, fails: 'error' }]);
    for (let call = 0; call < 5; call += 1)
      outcome(captures.queue.capture({ ...JPEG, quality: call + 1 }, never()));
    await pass(captures.clock, 2 * CAPTURE_DEADLINE_MS, 50);
    expect(captures.clock.pending).toBe(0);
  });
});

const behaviour: fc.Arbitrary<Behaviour> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ takes: fc.integer({ min: 0, max: 700 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      takes: fc.integer({ min: 0, max: 300 }),
      fails: fc.constantFrom('quota' as const, 'error' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant('hangs' as const) },
);

const caller = fc.record({
  after_ms: fc.integer({ min: 0, max: 600 }),
  request: fc.constantFrom(JPEG, PNG, { ...JPEG, window_id: 2 }, { ...JPEG, quality: 40 }),
  leaves_after_ms: fc.option(fc.integer({ min: 0, max: 3_000 })),
});

interface Asked {
  order: number;
  request: CaptureRequest;
  answer: { value?: Capture; settled: boolean };
}

async function play(
  callers: readonly { after_ms: number; request: CaptureRequest; leaves_after_ms: number | null }[],
  behaviours: readonly Behaviour[],
): Promise<{ captures: Captures; asked: Asked[] }> {
  const captures = new Captures(behaviours);
  const asked: Asked[] = [];
  for (const { after_ms, leaves_after_ms, request } of callers) {
    await pass(captures.clock, after_ms, 100);
    const abort = new AbortController();
    const order = captures.step();
    asked.push({ order, request, answer: outcome(captures.queue.capture(request, abort.signal)) });
    if (leaves_after_ms !== null) {
      captures.clock.setTimer(() => abort.abort(new AgentError('timeout')), leaves_after_ms);
    }
  }
  // Each failing call costs at most one second and a deadline; then all is quiet.
  await pass(captures.clock, (callers.length + behaviours.length + 1) * CAPTURE_WINDOW_MS, 100);
  await pass(captures.clock, CAPTURE_DEADLINE_MS + 1_000, 100);
  return { captures, asked };
}

describe('properties of the capture queue', () => {
  test('never more than 2 captures in any second, everybody is answered, nothing is captured for nobody', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(caller, { maxLength: 20 }),
        fc.array(behaviour, { maxLength: 20 }),
        async (callers, behaviours) => {
          const { captures, asked } = await play(callers, behaviours);
          expect(mostPerSecond(captures.starts)).toBeLessThanOrEqual(CAPTURES_PER_SECOND);
          expect(asked.every(({ answer }) => answer.settled)).toBe(true);
          expect(captures.clock.pending).toBe(0);
          const retried = behaviours
            .slice(0, captures.begun.length)
            .filter((one) => one !== 'hangs' && one.fails === 'quota').length;
          expect(captures.begun.length).toBeLessThanOrEqual(callers.length + retried);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('equal callers that wait for the same slot share its capture', async () => {
    const good = behaviour.filter((one) => one !== 'hangs' && one.fails === undefined);
    await fc.assert(
      fc.asyncProperty(
        fc.array(caller, { maxLength: 20 }),
        fc.array(good, { maxLength: 20 }),
        async (callers, behaviours) => {
          const { captures, asked } = await play(callers, behaviours);
          for (const { request, answer, order } of asked) {
            if (!answer.value) continue;
            const began = captures.begun[answer.value.width]?.order ?? 0;
            const waitingToo = asked.filter(
              (other) => other.order > order && other.order < began && isSame(other.request, request),
            );
            for (const other of waitingToo) {
              if (other.answer.value) expect(other.answer.value).toBe(answer.value);
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

function isSame(one: CaptureRequest, other: CaptureRequest): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
