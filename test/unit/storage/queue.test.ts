import { expect, test } from 'vitest';
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
