/**
 * design.md, The way of a request: work that is handed over outlives the service worker. The real ledger and dispatch over
 * the real storage host; instances of the service worker die, documents die, and the worker's jobs end when told.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StorageMessages } from '../../../src/platform/messages';
import type { Handlers } from '../../../src/platform/messaging';
import type { JsonObject } from '../../../src/protocol/json';
import { StorageHost } from '../../../src/relay/storage-host';
import type { Dispatch, ToolSurroundings } from '../../../src/router/dispatch';
import type { Ledger } from '../../../src/router/ledger-store';
import { createStorageJobs } from '../../../src/router/storage-jobs';
import type { FromWorker, StorageJob } from '../../../src/storage/worker-messages';
import { defineTool, type Tool } from '../../../src/tools/tool';
import { settleDown } from './fake-clock';
import { answerFor, codeOf, createRig, named, outcomeOf, type Rig, request } from './rig';

function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}

interface WorkerJob {
  key: string;
  request_id: string;
  aborted: string[];
  ended: boolean;
}

/** One offscreen document with its host; its worker's jobs end when the test says so. */
class Document {
  alive = true;
  readonly jobs: WorkerJob[] = [];
  readonly host: StorageHost;
  private heard: (message: FromWorker) => void = () => {};

  constructor(rig: Rig, id: string) {
    this.host = new StorageHost({
      id,
      endpoint: () => 'wss://r.test/socket',
      progress: (id, progress) => rig.progress.push({ id, progress }),
      clock: {
        wall: rig.clock.now,
        monotonic: rig.clock.now,
        setTimer: rig.clock.setTimer,
      },
      spawn: (heard) => {
        this.heard = heard;
        return {
          post: (message) => {
            if (message.type === 'run') {
              const { request_id } = JSON.parse(message.job) as StorageJob;
              this.jobs.push({ key: message.key, request_id, aborted: [], ended: false });
            }
            if (message.type === 'abort') this.open(message.key)?.aborted.push(message.code);
          },
          end: () => {},
        };
      },
    });
  }

  private open(key: string): WorkerJob | undefined {
    return this.jobs.find((job) => job.key === key && !job.ended);
  }

  /** The oldest open job ends: as it was asked to, or with its result. */
  finish(heed: boolean): boolean {
    const job = this.jobs.find(({ ended }) => !ended);
    if (!job || !this.alive) return false;
    job.ended = true;
    const [code] = job.aborted;
    this.heard({
      type: 'done',
      key: job.key,
      outcome:
        heed && code
          ? { ok: false, code: code as 'cancelled', sentence: 'stopped' }
          : { ok: true, output: `{"job":${this.jobs.indexOf(job)}}`, attachments: [], body_key: null },
    });
    return true;
  }
}

class Browser {
  documents: Document[] = [];

  constructor(readonly rig: Rig) {
    this.newDocument();
  }

  get document(): Document {
    return this.documents.at(-1) as Document;
  }

  newDocument(): void {
    if (this.documents.length > 0) this.document.alive = false;
    this.documents.push(new Document(this.rig, `document-${this.documents.length}`));
  }

  get jobs(): WorkerJob[] {
    return this.documents.flatMap(({ jobs }) => jobs);
  }
}

/** An instance of the service worker that can be killed: from then on nothing of it goes on. */
class Instance {
  alive = true;
  readonly dispatch: Dispatch;

  constructor(
    private readonly browser: Browser,
    run: string,
  ) {
    const { rig } = browser;
    const ledger = rig.ledger(run);
    const { service, handover } = createStorageJobs({
      send: (type, input) => this.reach(() => this.deliver(type, input)),
      bodies: { read: async () => undefined, remove: async () => undefined },
      told: () => null,
      newId: () => crypto.randomUUID(),
      wait: () => this.reach(() => undefined),
    });
    const tools = [this.tool('write', true), this.tool('look', false)];
    this.dispatch = rig.worker(run, {
      ledger: this.mortal(ledger),
      findTool: (name) => tools.find((tool) => tool.name === name),
      surroundings: async () => ({ storage: service }) as ToolSurroundings,
      handover,
    });
  }

  private async deliver<T extends keyof StorageMessages>(
    type: T,
    input: StorageMessages[T]['in'],
  ): Promise<StorageMessages[T]['out']> {
    const { host } = this.browser.document;
    const handlers: Handlers<StorageMessages> = {
      'storages.list': async () => ({ storages: await host.list() }),
      'storages.changed': async () => ({}),
      'storages.release': async () => ({ released: host.release() }),
      'storages.host': async () => ({ host: host.id }),
      'storages.job': (message) => host.run(message),
      'storages.cancel': async ({ request_id, code }) => {
        host.cancel(JSON.parse(request_id) as string, code);
        return {};
      },
    };
    return (handlers[type] as (given: typeof input) => Promise<StorageMessages[T]['out']>)(input);
  }

  /** A message to the document and back; to a killed instance no answer comes. */
  private async reach<T>(ask: (document: Document) => T | Promise<T>): Promise<T> {
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.alive) return never();
    const { document } = this.browser;
    const reply = await ask(document);
    return this.alive && document.alive ? reply : never();
  }

  private mortal(ledger: Ledger): Ledger {
    const step = async <T>(work: () => Promise<T>): Promise<T> => {
      await new Promise((resolve) => setImmediate(resolve));
      if (!this.alive) return never();
      const result = await work();
      return this.alive ? result : never();
    };
    return {
      accept: (...given) => step(() => ledger.accept(...given)),
      settle: (...given) => step(() => ledger.settle(...given)),
      activity: (limit) => ledger.activity(limit),
      sweep: () => ledger.sweep(),
    };
  }

  private tool(name: string, resumable: boolean): Tool {
    return defineTool<JsonObject>({
      name,
      description: name,
      input_schema: {},
      class: 'files',
      read_only: !resumable,
      resumable,
      os_action: null,
      requires_confirmation: false,
      run: (input, context) => context.storage.run(name, input, context),
    });
  }
}

function start(): { rig: Rig; browser: Browser; next(): Instance } {
  const rig = createRig();
  const browser = new Browser(rig);
  const instances: Instance[] = [];
  return {
    rig,
    browser,
    next() {
      const last = instances.at(-1);
      if (last) last.alive = false;
      const instance = new Instance(browser, `run-${instances.length}`);
      instances.push(instance);
      return instance;
    },
  };
}

async function jobStarted(browser: Browser, count = 1): Promise<WorkerJob> {
  // Hashes are made in other threads: turns of this one say nothing of how long they take.
  for (const end = performance.now() + 20_000; performance.now() < end; ) {
    const job = browser.jobs[count - 1];
    if (job) return job;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('no job started');
}

describe('a job that was handed over', () => {
  test('is joined by the next instance, and its outcome is the answer', async () => {
    const { browser, next } = start();
    void answerFor(next().dispatch, request('r1'));
    await jobStarted(browser);
    const answer = answerFor(next().dispatch, request('r1'));
    await settleDown();
    browser.document.finish(false);
    expect(outcomeOf(await answer)).toMatchObject({ status: 'ok', output: { job: 0 } });
    expect(browser.jobs).toHaveLength(1);
  });

  test('that ended while no instance lived is answered all the same', async () => {
    const { browser, next } = start();
    const first = next();
    void answerFor(first.dispatch, request('r1'));
    await jobStarted(browser);
    first.alive = false;
    browser.document.finish(false);
    await settleDown();
    expect(outcomeOf(await answerFor(next().dispatch, request('r1')))).toMatchObject({ output: { job: 0 } });
    expect(browser.jobs).toHaveLength(1);
  });

  test('was cut off with its document: outcome_unknown, and it does not begin again', async () => {
    const { browser, next } = start();
    void answerFor(next().dispatch, request('r1'));
    await jobStarted(browser);
    browser.newDocument();
    expect(codeOf(await answerFor(next().dispatch, request('r1')))).toBe('outcome_unknown');
    expect(browser.jobs).toHaveLength(1);
  });

  test('was cut off with its document while its instance lived on', async () => {
    const { browser, next } = start();
    const instance = next();
    const answer = answerFor(instance.dispatch, request('r1'));
    await jobStarted(browser);
    const { host } = browser.document;
    browser.newDocument();
    const reply = await browser.document.host.run({
      host: host.id,
      platform: 'wss://r.test',
      key: '"r1"',
      job: '{}',
      begin: true,
      remaining_ms: 1,
    });
    expect(reply).toEqual({ state: 'unknown' });
    expect(browser.jobs).toHaveLength(1);
    void answer;
  });

  test('of one platform is not the one another platform asks for under the same id', async () => {
    const { browser, next } = start();
    const { dispatch } = next();
    void answerFor(dispatch, request('r1'));
    await jobStarted(browser);
    browser.document.finish(false);
    await settleDown();
    const there = answerFor(dispatch, named({ ...request('r1'), platform: 'wss://other.test' }));
    await jobStarted(browser, 2);
    browser.document.finish(false);
    expect(outcomeOf(await there)).toMatchObject({ output: { job: 1 } });
  });

  test('that another instance began and another input asks for is a conflict', async () => {
    const { browser, next } = start();
    void answerFor(next().dispatch, request('r1', 'write', { text: 'a' }));
    await jobStarted(browser);
    const again = next();
    expect(codeOf(await answerFor(again.dispatch, request('r1', 'write', { text: 'b' })))).toBe(
      'request_id_conflict',
    );
    expect(browser.jobs).toEqual([expect.objectContaining({ ended: false, aborted: [] })]);
  });
});

describe('a tool that only looks', () => {
  test('is not joined: a new instance runs it again', async () => {
    const { browser, next } = start();
    void answerFor(next().dispatch, request('r1', 'look'));
    await jobStarted(browser);
    const answer = answerFor(next().dispatch, request('r1', 'look'));
    await jobStarted(browser, 2);
    browser.document.finish(false);
    browser.document.finish(false);
    expect(outcomeOf(await answer)).toMatchObject({ output: { job: 1 } });
  });

  test('is aborted in the worker when its request ends', async () => {
    const { browser, next } = start();
    const { dispatch } = next();
    const answer = answerFor(dispatch, request('r1', 'look'));
    const job = await jobStarted(browser);
    dispatch.cancel('r1');
    expect(codeOf(await answer)).toBe('cancelled');
    await settleDown();
    expect(job.aborted[0]).toBe('cancelled');
  });
});

describe('wire.md §5 rule 5: a cancel of a job that was handed over', () => {
  test('is passed on, and its real end is the answer', async () => {
    const { browser, next } = start();
    const { dispatch } = next();
    let answered = false;
    const answer = answerFor(dispatch, request('r1')).finally(() => {
      answered = true;
    });
    const job = await jobStarted(browser);
    dispatch.cancel('r1');
    await settleDown();
    expect(job.aborted).toEqual(['cancelled']);
    expect(answered).toBe(false);
    browser.document.finish(true);
    expect(codeOf(await answer)).toBe('cancelled');
  });

  test('that came too late changes nothing', async () => {
    const { browser, next } = start();
    const { dispatch } = next();
    const answer = answerFor(dispatch, request('r1'));
    await jobStarted(browser);
    dispatch.cancel('r1');
    await settleDown();
    browser.document.finish(false);
    expect(codeOf(await answer)).toBe('ok');
  });

  test('reaches a job of an instance that died', async () => {
    const { browser, next } = start();
    void answerFor(next().dispatch, request('r1'));
    const job = await jobStarted(browser);
    const { dispatch } = next();
    dispatch.cancel('r1');
    await settleDown();
    expect(job.aborted).toEqual(['cancelled']);
    browser.document.finish(true);
    expect(codeOf(await answerFor(dispatch, request('r1')))).toBe('cancelled');
  });

  test('of what did not begin keeps it from beginning', async () => {
    const { browser, next } = start();
    const { dispatch } = next();
    const answer = answerFor(dispatch, request('r1'));
    dispatch.cancel('r1');
    expect(codeOf(await answer)).toBe('cancelled');
    expect(browser.jobs).toEqual([]);
  });
});

describe('wire.md §5: the deadline of a job that was handed over', () => {
  test('is answered with timeout at once, and the job told to stop', async () => {
    const { rig, browser, next } = start();
    const answer = answerFor(next().dispatch, request('r1'), 1_000);
    const job = await jobStarted(browser);
    rig.clock.advance(1_000);
    expect(codeOf(await answer)).toBe('timeout');
    await settleDown();
    expect(job.aborted).toContain('timeout');
  });

  test('ends the wait after a cancel, too', async () => {
    const { rig, browser, next } = start();
    const { dispatch } = next();
    const answer = answerFor(dispatch, request('r1'), 1_000);
    await jobStarted(browser);
    dispatch.cancel('r1');
    await settleDown();
    rig.clock.advance(1_000);
    expect(codeOf(await answer)).toBe('timeout');
  });

  test('counts when no instance lives', async () => {
    const { rig, browser, next } = start();
    const first = next();
    void answerFor(first.dispatch, request('r1'), 1_000);
    const job = await jobStarted(browser);
    first.alive = false;
    rig.clock.advance(1_000);
    await settleDown();
    expect(job.aborted).toEqual(['timeout']);
    expect(codeOf(await next().dispatch.settle(request('r1'), 'timeout'))).toBe('timeout');
  });
});

const action = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ act: 'ask' as const }) },
  { weight: 3, arbitrary: fc.constant({ act: 'kill' as const }) },
  { weight: 1, arbitrary: fc.constant({ act: 'document' as const }) },
  { weight: 2, arbitrary: fc.constant({ act: 'cancel' as const }) },
  { weight: 1, arbitrary: fc.constant({ act: 'settle' as const }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('finish' as const), heed: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('advance' as const), ms: fc.nat(400) }) },
);
const story = fc.array(fc.record({ what: action, turns: fc.nat(14) }), { minLength: 2, maxLength: 24 });

test('whatever is killed, repeated, cancelled and settled: a handed-over job runs once and has one answer', async () => {
  await fc.assert(
    fc.asyncProperty(story, async (steps) => {
      const { rig, browser, next } = start();
      let instance = next();
      const answers = new Set<string>();
      const listen = (who: Instance, answer: Promise<{ outcome: string }>) => {
        void answer.then(({ outcome }) => who.alive && answers.add(outcome));
      };
      let documents = 1;
      for (const { what, turns } of steps) {
        switch (what.act) {
          case 'ask':
            listen(instance, answerFor(instance.dispatch, request('r1'), 1_000));
            break;
          case 'kill':
            instance = next();
            break;
          case 'document':
            // The socket, and with it whoever asks, is of the same document.
            browser.newDocument();
            documents += 1;
            instance = next();
            break;
          case 'cancel':
            instance.dispatch.cancel('r1');
            break;
          case 'settle':
            listen(instance, instance.dispatch.settle(request('r1'), 'timeout'));
            break;
          case 'finish':
            browser.document.finish(what.heed);
            break;
          case 'advance':
            rig.clock.advance(what.ms);
            break;
        }
        for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      }
      const closing = answerFor(instance.dispatch, request('r1'), 1_000);
      listen(instance, closing);
      let closed = false;
      void closing.finally(() => {
        closed = true;
      });
      while (!closed) {
        browser.document.finish(false);
        await new Promise((resolve) => setImmediate(resolve));
      }
      const code = codeOf(await closing);
      await settleDown();
      expect(answers.size).toBe(1);
      expect(browser.jobs.length).toBeLessThanOrEqual(1);
      if (documents === 1) expect(code).not.toBe('outcome_unknown');
      expect(rig.log).toEqual([]);
    }),
    { numRuns: 40 },
  );
}, 120_000);
