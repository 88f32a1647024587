/**
 * The storage worker's host in the offscreen document: takes jobs from the router, which may die, and keeps each one's
 * outcome for whoever asks again. A job runs once in the life of this document, however often it is handed over. Knows
 * the worker only as a line to speak over; no `chrome`, no engine.
 */
import type { JobReply, StorageJobMessage, StorageOverview } from '../platform/messages';
import type { Progress } from '../protocol/frames';
import type { FromWorker, JobOutcome, StorageJob, ToWorker } from '../storage/worker-messages';
import { type Clock, sleep } from './clock';

export interface WorkerLine {
  post(message: ToWorker): void;
  /** Ends the worker at once. */
  end(): void;
}

export interface StorageHostParts {
  /** UUID of this document: a job that was handed to another one was cut off with it. */
  id: string;
  /** Starts a worker. `failed`: it could not be started, or something in it broke that nobody caught. */
  spawn(heard: (message: FromWorker) => void, failed: () => void): WorkerLine;
  /** The relay socket's address, while there is an enrollment with this platform. */
  endpoint(platform: string): string | null;
  progress(request_id: string, progress: Progress): void;
  clock: Clock;
}

/** Chrome ends a message that is not answered for minutes: until then the router asks again. */
export const JOB_REPLY_HELD_MS = 20_000;
/** By then the relay host has long had the request settled. */
export const OUTCOME_KEPT_MS = 300_000;
const LIST_PATIENCE_MS = 5_000;
/** A request waits for them. */
const FACTS_PATIENCE_MS = 500;
/** While a job runs, the worker is asked for a sign of life this often. */
export const HEARTBEAT_MS = 10_000;
/**
 * A worker that leaves so many in a row unanswered hangs, or has closed (Chrome tells nobody). Counted, not timed: a machine
 * that slept has missed none. What keeps a healthy worker from answering (a list of 100 000 files) takes seconds.
 */
export const HEARTBEATS_MISSED = 6;
/**
 * A job that has not ended so long after its deadline never will, and the others of its Storage wait for it. Undoing what it
 * had begun takes minutes at most.
 */
export const OVERDUE_PATIENCE_MS = 600_000;

interface Job {
  request_id: string;
  deadline: number;
  outcome: JobOutcome | null;
  done: Promise<void>;
  finish(): void;
  ended: AbortController;
}

export class StorageHost {
  readonly #parts: StorageHostParts;
  readonly #jobs = new Map<string, Job>();
  /** Ids of jobs whose outcome is no longer kept: they must not begin again. */
  readonly #past = new Set<string>();
  readonly #lists = new Map<number, (storages: StorageOverview[] | null) => void>();
  /** What the worker told last; null while that may be of another time. */
  #known: StorageOverview[] | null = null;
  /** The first call whose answer counts as what is known. */
  #knownFrom = 0;
  #worker: WorkerLine | null = null;
  #calls = 0;
  /** Until the last job has ended. */
  #watch: AbortController | null = null;
  /** Signs of life that were asked for since the worker was last heard. */
  #unanswered = 0;

  constructor(parts: StorageHostParts) {
    this.#parts = parts;
  }

  get id(): string {
    return this.#parts.id;
  }

  /** Starts the worker, which first recovers what was cut off. */
  start(): void {
    this.#line();
    void this.list();
  }

  /** Starts the job, or joins it when its key is known. `unknown`: it was cut off, or is past. */
  async run({ host, platform, key, job, begin, remaining_ms }: StorageJobMessage): Promise<JobReply> {
    if (host !== null && host !== this.#parts.id) return { state: 'unknown' };
    const known = this.#jobs.get(key);
    if (!known && (!begin || this.#past.has(key))) return { state: 'unknown' };
    const running = known ?? this.#begin(platform, key, job, remaining_ms);
    if (running.outcome === null) {
      const waited = new AbortController();
      await Promise.race([running.done, sleep(this.#parts.clock, JOB_REPLY_HELD_MS, waited.signal)]);
      waited.abort();
    }
    return running.outcome === null ? { state: 'running' } : { state: 'done', outcome: running.outcome };
  }

  /** Asks the jobs of a request to stop at their next safe point. Unknown ids: nothing. */
  cancel(request_id: string, code: 'cancelled' | 'timeout'): void {
    for (const [key, job] of this.#jobs) if (job.request_id === request_id) this.#abort(key, code);
  }

  #abort(key: string, code: 'cancelled' | 'timeout'): void {
    if (this.#jobs.get(key)?.outcome === null) this.#line().post({ type: 'abort', key, code });
  }

  /** What is attached; null when the worker does not say in time. */
  async list(patience_ms = LIST_PATIENCE_MS): Promise<StorageOverview[] | null> {
    const call = this.#calls++;
    const patience = new AbortController();
    const listed = new Promise<StorageOverview[] | null>((resolve) => this.#lists.set(call, resolve));
    this.#line().post({ type: 'list', call });
    const late = sleep(this.#parts.clock, patience_ms, patience.signal).then(() => null);
    const storages = await Promise.race([listed, late]);
    patience.abort();
    this.#lists.delete(call);
    return storages;
  }

  /** True when it is known that nothing is attached. */
  get isEmpty(): boolean {
    return this.#known?.length === 0;
  }

  /** The same for a request that is to tell it: nobody is asked while nothing is attached. */
  async facts(): Promise<StorageOverview[] | null> {
    return this.isEmpty ? [] : ((await this.list(FACTS_PATIENCE_MS)) ?? this.#known);
  }

  changed(): void {
    this.#line().post({ type: 'changed' });
    this.#forgetKnown();
    void this.list();
  }

  /** Ends the worker and with it every handle it holds, unless a job runs. The next job starts another one. */
  release(): boolean {
    if (this.#isBusy) return false;
    this.#worker?.end();
    this.#worker = null;
    // A page that attaches a folder lets go of all handles first.
    this.#forgetKnown();
    this.#endLists();
    return true;
  }

  #forgetKnown(): void {
    this.#known = null;
    this.#knownFrom = this.#calls;
  }

  /** Whoever waits for a worker that is gone. */
  #endLists(): void {
    for (const listed of this.#lists.values()) listed(null);
  }

  #begin(platform: string, key: string, job: string, remaining_ms: number): Job {
    const { clock, endpoint } = this.#parts;
    let finish = (): void => {};
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const begun: Job = {
      request_id: (JSON.parse(job) as StorageJob).request_id,
      deadline: clock.monotonic() + remaining_ms,
      outcome: null,
      done,
      finish,
      ended: new AbortController(),
    };
    this.#jobs.set(key, begun);
    // Counts also when no router lives.
    void this.#endInTime(key, remaining_ms, begun.ended.signal);
    this.#line().post({ type: 'run', key, job, endpoint: endpoint(platform) });
    if (this.#watch === null) void this.#watchOver();
    return begun;
  }

  async #endInTime(key: string, remaining_ms: number, ended: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    await sleep(clock, remaining_ms, ended);
    this.#abort(key, 'timeout');
    await sleep(clock, OVERDUE_PATIENCE_MS, ended);
    if (!ended.aborted) this.#lose();
  }

  get #isBusy(): boolean {
    return [...this.#jobs.values()].some(({ outcome }) => outcome === null);
  }

  /** Notices a worker that hangs or is gone without a word, for as long as a job runs. */
  async #watchOver(): Promise<void> {
    const watch = new AbortController();
    this.#watch = watch;
    this.#unanswered = 0;
    for (;;) {
      await sleep(this.#parts.clock, HEARTBEAT_MS, watch.signal);
      if (watch.signal.aborted) return;
      if (this.#unanswered >= HEARTBEATS_MISSED) {
        this.#lose();
        return;
      }
      this.#unanswered += 1;
      this.#worker?.post({ type: 'ping' });
    }
  }

  #end(key: string, outcome: JobOutcome): void {
    const job = this.#jobs.get(key);
    if (!job || job.outcome !== null) return;
    const { clock } = this.#parts;
    job.outcome = outcome;
    job.ended.abort();
    job.finish();
    if (!this.#isBusy) {
      this.#watch?.abort();
      this.#watch = null;
    }
    const left = Math.max(0, job.deadline - clock.monotonic());
    void sleep(clock, left + OUTCOME_KEPT_MS).then(() => {
      this.#jobs.delete(key);
      this.#past.add(key);
    });
  }

  #line(): WorkerLine {
    if (this.#worker) return this.#worker;
    const line = this.#parts.spawn(
      (message) => {
        if (this.#worker === line) this.#hear(message);
      },
      () => {
        if (this.#worker === line) this.#lose();
      },
    );
    this.#worker = line;
    return line;
  }

  #hear(message: FromWorker): void {
    this.#unanswered = 0;
    switch (message.type) {
      case 'progress': {
        const job = this.#jobs.get(message.key);
        if (job?.outcome === null) this.#parts.progress(job.request_id, message.progress);
        break;
      }
      case 'done':
        this.#end(message.key, message.outcome);
        break;
      case 'listed':
        if (message.call >= this.#knownFrom) this.#known = message.storages;
        this.#lists.get(message.call)?.(message.storages);
        break;
    }
  }

  /**
   * The worker is gone, or no longer to be trusted. What it was doing is undone or finished by the start of the next one,
   * which begins at once, unless nothing was under way: one that cannot be started is not tried over and over.
   */
  #lose(): void {
    this.#worker?.end();
    this.#worker = null;
    this.#endLists();
    const wasBusy = this.#isBusy;
    for (const [key, { outcome }] of this.#jobs) {
      if (outcome === null) this.#end(key, { ok: false, code: 'outcome_unknown', sentence: '' });
    }
    if (wasBusy) this.start();
  }
}
