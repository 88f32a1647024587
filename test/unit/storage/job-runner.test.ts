import { describe, expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import type { Attachment, FolderHandle } from '../../../src/storage/attachments';
import { JobRunner, type RunningJob, type RunTool } from '../../../src/storage/job-runner';
import { createSealWatch } from '../../../src/storage/seal-watch';
import type { FromWorker } from '../../../src/storage/worker-messages';
import { settleDown } from '../router/fake-clock';
import { FakeDisk } from './fake-handles';

const FACTS = { revision: 'r', saved_at: 5, sealed: [], links: [], gone: false, recovery_folders: [] };

function rig(tools: Record<string, RunTool>, attached: Attachment[] = []) {
  const said: FromWorker[] = [];
  const kept: string[][] = [];
  const calls: string[] = [];
  const runner = new JobRunner({
    engine: {
      facts: async (id) => {
        if (id === 'broken') throw new Error('no facts');
        if (id === 'gone') return { ...FACTS, gone: true };
        return FACTS;
      },
    },
    tools,
    transportsTo: (endpoint) => {
      calls.push(endpoint);
      return () => ({}) as never;
    },
    listStorages: async () => attached,
    keepBody: async (attachments) => {
      kept.push(attachments.map(({ field }) => field));
      return 'body';
    },
    jobEnded: () => calls.push('ended'),
    changed: () => calls.push('changed'),
    post: (message) => said.push(message),
  });
  const run = (tool: string, endpoint: string | null = 'wss://r.test/s') => {
    const job = JSON.stringify({ tool, request_id: 'r1', input: { path: 'p' } });
    runner.hear({ type: 'run', key: 'k', job, endpoint });
  };
  return { runner, run, said, kept, calls };
}

describe('the storage worker', () => {
  test('runs a job with its input, tells progress and end, and keeps the bytes of attachments', async () => {
    const seen: unknown[] = [];
    const { run, said, kept, calls } = rig({
      work: async (input, { request_id, progress, connect }) => {
        seen.push(input, request_id, typeof connect);
        progress({ completed: 1, total: null, unit: 'files' });
        return {
          output: { n: 1 },
          attachments: [{ field: 'image', mime_type: 'image/png', blob: new Blob(['x']) }],
        };
      },
    });
    run('work');
    await settleDown(2);
    expect(seen).toEqual([{ path: 'p' }, 'r1', 'function']);
    expect(said).toEqual([
      { type: 'progress', key: 'k', progress: { completed: 1, total: null, unit: 'files' } },
      {
        type: 'done',
        key: 'k',
        outcome: {
          ok: true,
          output: '{"n":1}',
          attachments: [{ field: 'image', mime_type: 'image/png' }],
          body_key: 'body',
        },
      },
    ]);
    expect(kept).toEqual([['image']]);
    expect(calls).toEqual(['wss://r.test/s', 'ended']);
  });

  test('gives a sign of life in the middle of a job', async () => {
    const { runner, run, said } = rig({ work: () => new Promise(() => {}) });
    run('work');
    runner.hear({ type: 'ping' });
    expect(said).toEqual([{ type: 'pong' }]);
  });

  test('an abort reaches the job with its code', async () => {
    const { runner, run, said } = rig({
      work: (_input, { signal }: RunningJob) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    run('work');
    runner.hear({ type: 'abort', key: 'other', code: 'cancelled' });
    runner.hear({ type: 'abort', key: 'k', code: 'timeout' });
    await settleDown(2);
    expect(said).toMatchObject([{ type: 'done', outcome: { ok: false, code: 'timeout' } }]);
  });

  test('a foreign error is internal_error without its text; a code keeps its sentence', async () => {
    const { run, said } = rig({
      broken: async () => {
        throw new Error('SECRET');
      },
      refusing: async () => {
        throw new AgentError('path_not_found', 'There is nothing.');
      },
    });
    for (const tool of ['broken', 'refusing', 'toString']) run(tool);
    await settleDown(2);
    const outcomes = said.flatMap((message) => (message.type === 'done' ? [message.outcome] : []));
    expect(outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.code)).sort()).toEqual([
      'internal_error',
      'path_not_found',
      'unknown_tool',
    ]);
    expect(JSON.stringify(said)).toContain('There is nothing.');
    expect(JSON.stringify(said)).not.toContain('SECRET');
  });

  test('without a connection there is nowhere to send a token', async () => {
    const { run, said, calls } = rig({
      work: async (_input, { connect }) => {
        connect({ storage_id: 's' }, 'token');
        return { output: {} };
      },
    });
    run('work', null);
    await settleDown(2);
    expect(said).toMatchObject([{ outcome: { code: 'storage_transport_failed' } }]);
    expect(calls).toEqual(['ended']);
  });

  test('a folder that is gone needs a person, whatever its permission', async () => {
    const kept = { storage_id: 'gone', name: 'G', backing: 'folder', permission: 'kept' } as const;
    const { runner, said } = rig({}, [{ ...kept, managed: false, fresh: false }]);
    runner.hear({ type: 'list', call: 1 });
    await settleDown(2);
    expect(said).toMatchObject([{ storages: [{ permission: 'lost', gone: true }] }]);
  });

  test('lists what is attached without its handles, also what has no facts', async () => {
    const common = { backing: 'folder', permission: 'lost', managed: false } as const;
    const attached: Attachment[] = ['s', 'broken'].map((storage_id) => ({
      ...common,
      storage_id,
      name: storage_id,
      handle: {} as FolderHandle,
      fresh: true,
    }));
    const { runner, said } = rig({}, attached);
    runner.hear({ type: 'list', call: 7 });
    await settleDown(2);
    expect(said).toEqual([
      {
        type: 'listed',
        call: 7,
        storages: [
          { ...common, storage_id: 's', name: 's', ...FACTS },
          { ...common, storage_id: 'broken', name: 'broken', ...FACTS, revision: null, saved_at: null },
        ],
      },
    ]);
  });
});

describe('storage.md, Seals: the watch over folders', () => {
  function watch() {
    const disk = new FakeDisk({ kind: 'folder' });
    const folder = (storage_id: string): Attachment => ({
      storage_id,
      name: storage_id,
      backing: 'folder',
      handle: disk.root() as FolderHandle,
      permission: 'kept',
      managed: false,
      fresh: false,
    });
    const state = { sealed: new Set<string>(), attached: [folder('a'), folder('b')], checks: [] as string[] };
    const observers: { changed(): void; open: boolean }[] = [];
    const waiting: (() => void)[] = [];
    const look = createSealWatch({
      engine: {
        facts: async (id) => ({ ...FACTS, sealed: state.sealed.has(id) ? [{ path: 'p', until: null }] : [] }),
        checkSeals: async (id) => {
          state.checks.push(id);
          return [];
        },
      },
      listStorages: async () => state.attached,
      createObserver: (changed) => {
        const observer = { changed, open: false };
        observers.push(observer);
        return {
          observe: async () => {
            observer.open = true;
          },
          disconnect: () => {
            observer.open = false;
          },
        };
      },
      later: (run) => waiting.push(run),
    });
    const settle = async () => {
      await settleDown(4);
      for (const run of waiting.splice(0)) run();
    };
    return { state, observers, look, settle };
  }

  test('observes only folders that hold a seal, and looks at once and after each hint', async () => {
    const { state, observers, look, settle } = watch();
    look();
    await settle();
    expect(observers).toEqual([]);
    state.sealed.add('a');
    look();
    look();
    await settle();
    expect(state.checks).toEqual(['a']);
    for (let n = 0; n < 3; n += 1) observers[0]?.changed();
    await settle();
    expect(state.checks).toEqual(['a', 'a']);
    expect(observers.map(({ open }) => open)).toEqual([true]);
  });

  test('lets go of a folder that is unsealed or detached, and of one without permission', async () => {
    const { state, observers, look, settle } = watch();
    state.sealed = new Set(['a', 'b']);
    look();
    await settle();
    state.sealed.delete('a');
    look();
    await settle();
    expect(observers.map(({ open }) => open)).toEqual([false, true]);
    state.attached = state.attached.map((one) => ({ ...one, permission: 'lost' }));
    look();
    await settle();
    expect(observers.map(({ open }) => open)).toEqual([false, false]);
  });
});
