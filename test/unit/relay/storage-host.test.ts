import { describe, expect, test } from 'vitest';
import {
  HEARTBEAT_MS,
  HEARTBEATS_MISSED,
  JOB_REPLY_HELD_MS,
  OUTCOME_KEPT_MS,
  OVERDUE_PATIENCE_MS,
  StorageHost,
} from '../../../src/relay/storage-host';
import type { FromWorker, KnownStorage, ToWorker } from '../../../src/storage/worker-messages';
import { FakeClock, settleDown } from '../router/fake-clock';

const ATTACHED: KnownStorage = {
  storage_id: 's1',
  name: 'S',
  backing: 'browser',
  permission: 'kept',
  managed: false,
  revision: null,
  saved_at: null,
  sealed: [],
  links: [],
  gone: false,
  recovery_folders: [],
};

class Rig {
  readonly clock = new FakeClock();
  /** What each worker was told, by the order in which they were started. */
  readonly told: ToWorker[][] = [];
  readonly ended: number[] = [];
  readonly progress: [string, number][] = [];
  endpoint: string | null = 'wss://r.test/s';
  hear: (message: FromWorker) => void = () => {};
  fail: () => void = () => {};
  readonly host = new StorageHost({
    id: 'here',
    spawn: (heard, failed) => {
      const number = this.told.push([]) - 1;
      this.hear = heard;
      this.fail = failed;
      return {
        post: (message) => this.told[number]?.push(message),
        end: () => this.ended.push(number),
      };
    },
    endpoint: (platform) => (platform === 'wss://r.test' ? this.endpoint : null),
    progress: (id, { completed }) => this.progress.push([id, completed]),
    clock: { wall: this.clock.now, monotonic: this.clock.now, setTimer: this.clock.setTimer },
  });

  run(
    key: string,
    { host = 'here' as string | null, platform = 'wss://r.test', begin = true, remaining_ms = 60_000 } = {},
  ) {
    const job = JSON.stringify({ tool: 'file_write', request_id: key, input: { text: 'SECRET' } });
    return this.host.run({ host, platform, key, job, begin, remaining_ms });
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await settleDown();
  }

  get pings(): number {
    return this.told.flat().filter(({ type }) => type === 'ping').length;
  }

  done(key: string): void {
    this.hear({ type: 'done', key, outcome: { ok: true, output: '{}', attachments: [], body_key: null } });
  }

  /** The lists that were asked for, by their number. */
  get lists(): number[] {
    return this.told.flat().flatMap((message) => (message.type === 'list' ? [message.call] : []));
  }

  get runs(): string[] {
    return this.told.flat().flatMap((message) => (message.type === 'run' ? [message.key] : []));
  }
}

describe('the storage host', () => {
  test('a job runs once, however often it is handed over, and keeps its outcome for whoever asks', async () => {
    const rig = new Rig();
    const replies = [rig.run('a'), rig.run('a')];
    rig.done('a');
    for (const reply of [...replies, rig.run('a')]) expect(await reply).toMatchObject({ state: 'done' });
    expect(rig.runs).toEqual(['a']);
    expect(rig.told[0]).toMatchObject([{ endpoint: 'wss://r.test/s' }]);
  });

  test('storage.md: the token of a job goes to no other platform than the one that sent it', async () => {
    const rig = new Rig();
    void rig.run('a', { platform: 'wss://former.test' });
    expect(rig.told[0]).toMatchObject([{ type: 'run', key: 'a', endpoint: null }]);
  });

  test('says that it is running before Chrome would give up the message', async () => {
    const rig = new Rig();
    const reply = rig.run('a');
    rig.clock.advance(JOB_REPLY_HELD_MS);
    expect(await reply).toEqual({ state: 'running' });
    // The deadline and the next heartbeat.
    expect(rig.clock.pending).toBe(2);
  });

  test('knows no job of another document, and begins none that is only to be joined', async () => {
    const rig = new Rig();
    expect(await rig.run('a', { host: 'there' })).toEqual({ state: 'unknown' });
    expect(await rig.run('a', { begin: false })).toEqual({ state: 'unknown' });
    expect(rig.runs).toEqual([]);
  });

  test('a job whose outcome is no longer kept does not begin again', async () => {
    const rig = new Rig();
    void rig.run('a');
    rig.done('a');
    rig.clock.advance(60_000 + OUTCOME_KEPT_MS - 1);
    await settleDown();
    expect(await rig.run('a')).toMatchObject({ state: 'done' });
    rig.clock.advance(1);
    await settleDown();
    expect(await rig.run('a')).toEqual({ state: 'unknown' });
    expect(rig.runs).toEqual(['a']);
    expect(rig.clock.pending).toBe(0);
  });

  test('the deadline aborts the job; a cancel too, once it is known and as long as it runs', async () => {
    const rig = new Rig();
    rig.host.cancel('a', 'cancelled');
    void rig.run('a', { remaining_ms: 1_000 });
    rig.host.cancel('a', 'cancelled');
    rig.clock.advance(1_000);
    await settleDown();
    rig.done('a');
    rig.host.cancel('a', 'cancelled');
    expect(rig.told[0]?.slice(1)).toEqual([
      { type: 'abort', key: 'a', code: 'cancelled' },
      { type: 'abort', key: 'a', code: 'timeout' },
    ]);
  });

  test('progress goes on under the request’s id, until the job is done', () => {
    const rig = new Rig();
    void rig.run('a');
    const tell = () =>
      rig.hear({ type: 'progress', key: 'a', progress: { completed: 7, total: null, unit: 'bytes' } });
    tell();
    rig.done('a');
    tell();
    expect(rig.progress).toEqual([['a', 7]]);
  });

  test('a worker that breaks fails its jobs, and another starts at once, which recovers what it left', async () => {
    const rig = new Rig();
    const lost = rig.run('a');
    rig.fail();
    expect(await lost).toMatchObject({ state: 'done', outcome: { ok: false, code: 'outcome_unknown' } });
    expect(rig.ended).toEqual([0]);
    expect(rig.told).toHaveLength(2);
    void rig.run('b');
    expect(rig.told[1]).toMatchObject([{ type: 'list' }, { type: 'run', key: 'b' }]);
    expect(await rig.run('a')).toMatchObject({ state: 'done' });
    expect(rig.runs).toEqual(['a', 'b']);
  });

  test('a worker that breaks with nothing to do is not started again and again, but with the next job', () => {
    const rig = new Rig();
    rig.host.start();
    rig.fail();
    expect(rig.told).toHaveLength(1);
    void rig.run('a');
    expect(rig.told).toHaveLength(2);
  });

  test('what a worker says after it was given up is not heard', async () => {
    const rig = new Rig();
    const lost = rig.run('a');
    const { hear } = rig;
    rig.fail();
    hear({ type: 'done', key: 'a', outcome: { ok: true, output: '{}', attachments: [], body_key: null } });
    expect(await lost).toMatchObject({ state: 'done', outcome: { ok: false } });
    void rig.run('b');
    hear({ type: 'done', key: 'b', outcome: { ok: true, output: '{}', attachments: [], body_key: null } });
    expect(rig.host.release()).toBe(false);
  });

  test('a worker that hangs or has closed in mid-job is noticed by its silence and replaced', async () => {
    const rig = new Rig();
    const lost = rig.run('a', { remaining_ms: 3_600_000 });
    for (let beats = 0; beats < HEARTBEATS_MISSED; beats += 1) await rig.pass(HEARTBEAT_MS);
    expect(rig.pings).toBe(HEARTBEATS_MISSED);
    expect(rig.told).toHaveLength(1);
    await rig.pass(HEARTBEAT_MS);
    expect(rig.ended).toEqual([0]);
    expect(rig.told).toHaveLength(2);
    expect(await rig.run('a')).toMatchObject({ state: 'done', outcome: { code: 'outcome_unknown' } });
    expect(await lost).toEqual({ state: 'running' });
  });

  test('a worker that gives signs of life is left alone for as long as its job takes', async () => {
    const rig = new Rig();
    void rig.run('a', { remaining_ms: 3_600_000 });
    for (let beats = 0; beats < 20 * HEARTBEATS_MISSED; beats += 1) {
      await rig.pass(HEARTBEAT_MS);
      if (beats % HEARTBEATS_MISSED === 0) rig.hear({ type: 'pong' });
    }
    expect(rig.ended).toEqual([]);
    rig.done('a');
  });

  test('a job that does not end long after its deadline is given up with its worker: others wait for it', async () => {
    const rig = new Rig();
    void rig.run('stuck', { remaining_ms: 60_000 });
    const alive = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += HEARTBEAT_MS) {
        await rig.pass(HEARTBEAT_MS);
        rig.hear({ type: 'pong' });
      }
    };
    await alive(60_000);
    expect(rig.told[0]).toContainEqual({ type: 'abort', key: 'stuck', code: 'timeout' });
    await alive(OVERDUE_PATIENCE_MS - 2 * HEARTBEAT_MS);
    expect(rig.ended).toEqual([]);
    await alive(2 * HEARTBEAT_MS);
    expect(rig.ended).toEqual([0]);
    expect(rig.told).toHaveLength(2);
    expect(await rig.run('stuck')).toMatchObject({ state: 'done', outcome: { code: 'outcome_unknown' } });
  });

  test('a job that ends after its deadline, with what it had begun undone, costs no worker', async () => {
    const rig = new Rig();
    void rig.run('late', { remaining_ms: 10_000 });
    await rig.pass(10_000);
    rig.hear({ type: 'pong' });
    rig.done('late');
    await rig.pass(OVERDUE_PATIENCE_MS * 2);
    expect(rig.ended).toEqual([]);
  });

  test('nothing is asked of a worker without a job', async () => {
    const rig = new Rig();
    void rig.run('a');
    rig.done('a');
    await rig.pass(HEARTBEAT_MS);
    expect(rig.pings).toBe(0);
    void rig.run('b');
    await rig.pass(HEARTBEAT_MS);
    expect(rig.pings).toBe(1);
  });

  test('lets go of the worker only while no job runs', () => {
    const rig = new Rig();
    rig.host.start();
    void rig.run('a');
    expect(rig.host.release()).toBe(false);
    rig.done('a');
    expect(rig.host.release()).toBe(true);
    expect(rig.ended).toEqual([0]);
    rig.host.changed();
    expect(rig.told[1]?.[0]).toEqual({ type: 'changed' });
  });

  test('lists what the worker says, or null when it does not', async () => {
    const rig = new Rig();
    const [first, second] = [rig.host.list(), rig.host.list()];
    rig.hear({ type: 'listed', call: 1, storages: [] });
    expect(await second).toEqual([]);
    rig.clock.advance(60_000);
    expect(await first).toBeNull();
  });

  test('nobody is asked for the facts while nothing is attached', async () => {
    const rig = new Rig();
    rig.host.start();
    expect(rig.host.isEmpty).toBe(false);
    rig.hear({ type: 'listed', call: 0, storages: [] });
    expect(rig.host.isEmpty).toBe(true);
    expect(await rig.host.facts()).toEqual([]);
    expect(rig.lists).toEqual([0]);
  });

  test('what changed is asked for at once, and an answer of before does not count', async () => {
    const rig = new Rig();
    rig.host.start();
    rig.host.changed();
    rig.hear({ type: 'listed', call: 0, storages: [] });
    expect(rig.host.isEmpty).toBe(false);
    const facts = rig.host.facts();
    expect(rig.lists).toEqual([0, 1, 2]);
    rig.hear({ type: 'listed', call: 2, storages: [ATTACHED] });
    expect(await facts).toEqual([ATTACHED]);
  });

  test('a worker that is late: what it told last, if nothing changed since', async () => {
    const rig = new Rig();
    rig.host.start();
    rig.hear({ type: 'listed', call: 0, storages: [ATTACHED] });
    const known = rig.host.facts();
    rig.clock.advance(1_000);
    expect(await known).toEqual([ATTACHED]);
    const unknown = rig.host.facts();
    rig.host.release();
    expect(await unknown).toBeNull();
    expect(rig.host.isEmpty).toBe(false);
  });
});
