import { expect, test } from 'vitest';
import { AgentError } from '../../../src/protocol/errors';
import { Queues } from '../../../src/storage/queue';

test('storage.md: one job at a time per Storage, in arrival order; different Storages side by side', async () => {
  const queues = new Queues();
  const log: string[] = [];
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const first = queues.run('s1', async () => {
    log.push('s1 first begins');
    await gate;
    log.push('s1 first ends');
    throw new Error('a failure does not stop the queue');
  });
  const second = queues.run('s1', async () => log.push('s1 second'));
  const other = queues.run('s2', async () => log.push('s2'));
  await other;
  expect(log).toEqual(['s1 first begins', 's2']);
  release();
  await expect(first).rejects.toThrow();
  await second;
  expect(log).toEqual(['s1 first begins', 's2', 's1 first ends', 's1 second']);
});

test('wire.md §5 rule 5: who is cancelled while it waits fails at once and never begins; the others keep their turns', async () => {
  const queues = new Queues();
  const log: string[] = [];
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const first = queues.run('s1', () => gate);
  const cancel = new AbortController();
  const second = queues.run('s1', async () => log.push('second'), cancel.signal);
  const third = queues.run('s1', async () => log.push('third'), new AbortController().signal);
  cancel.abort(new AgentError('cancelled'));
  await expect(second).rejects.toMatchObject({ code: 'cancelled' });
  const late = queues.run('s1', async () => log.push('late'), cancel.signal);
  await expect(late).rejects.toMatchObject({ code: 'cancelled' });
  expect(log).toEqual([]);
  release();
  await Promise.all([first, third]);
  expect(log).toEqual(['third']);
});

test('who is cancelled once it has begun ends as its own work ends', async () => {
  const queues = new Queues();
  const cancel = new AbortController();
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const work = queues.run(
    's1',
    async () => {
      cancel.abort(new AgentError('cancelled'));
      await gate;
      return 'published before that';
    },
    cancel.signal,
  );
  release();
  expect(await work).toBe('published before that');
});
