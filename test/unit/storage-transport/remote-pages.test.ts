import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RemoteChange, RemoteEntry, Transport } from '../../../src/storage/ports';
import { fetchChanges, fetchTree } from '../../../src/storage/remote-lists';
import { type ChangesStep, changesPages, MOST_ITEMS, treePages } from '../../../src/storage/remote-pages';
import { type Bench, bench, codeOf, never } from './harness';

let b: Bench;

beforeEach(async () => {
  b = await bench();
});

afterEach(async () => {
  await b.stop();
});

async function treePaths(limit?: number): Promise<string[][]> {
  const pages: RemoteEntry[][] = [];
  const query = { revision: b.service.head('s1'), path: '', ...(limit === undefined ? {} : { limit }) };
  for await (const page of treePages(b.transport, query, never())) pages.push(page);
  return pages.map((page) => page.map(({ path }) => path));
}

async function collect(since: string | number | null, limit = 2) {
  const steps: ChangesStep[] = [];
  const pages = changesPages(b.transport, { since, limit }, never());
  for (;;) {
    const next = await pages.next();
    if (next.done) return { steps, end: next.value };
    steps.push(next.value);
  }
}

describe('the pages of a tree', () => {
  test('all of them, in order', async () => {
    await b.service.write('s1', { a: '1', b: '2', c: '3', d: '4', e: '5' });
    expect(await treePaths(2)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
    expect(await treePaths()).toEqual([['a', 'b', 'c', 'd', 'e']]);
  });

  test('of nothing', async () => {
    expect(await treePaths()).toEqual([]);
  });

  test.each([
    ['the same cursor again', () => ({ next_cursor: 'c' })],
    ['empty pages without end', (n: number) => ({ next_cursor: `c${n}`, entries: [] })],
  ])('%s is storage_transport_failed', async (_name, more) => {
    let n = 0;
    b.service.fault({
      do: 'status',
      status: 200,
      get body() {
        n += 1;
        const entries = [{ type: 'directory', path: `d${n}` }];
        return JSON.stringify({ revision: b.service.head('s1'), entries, ...more(n) });
      },
    });
    expect(await codeOf(treePaths())).toBe('storage_transport_failed');
    expect(b.service.requests.length).toBeLessThan(200);
  });
});

describe('the pages of changes', () => {
  test('all of them lead to one revision, whatever others commit meanwhile', async () => {
    const until = await b.service.write('s1', { a: '1', b: '2', c: '3' });
    const pages = changesPages(b.transport, { since: null, limit: 2 }, never());
    const first = await pages.next();
    await b.service.write('s1', { a: null });
    const second = await pages.next();
    const steps = [first.value, second.value] as ChangesStep[];
    expect(steps.map(({ revision }) => revision)).toEqual([until, until]);
    expect(steps.flatMap(({ changes }) => changes).map((change: RemoteChange) => change.path)).toEqual([
      'a',
      'b',
      'c',
    ]);
    expect(await pages.next()).toEqual({ done: true, value: 'complete' });
  });

  test('nothing changed: one step that names the revision', async () => {
    const head = await b.service.write('s1', { a: '1' });
    expect(await collect(head)).toEqual({ steps: [{ revision: head, changes: [] }], end: 'complete' });
  });

  test('expired, also in the middle', async () => {
    const old = b.service.head('s1');
    await b.service.write('s1', { a: '1', b: '2', c: '3' });
    b.service.fault({
      do: 'status',
      status: 410,
      error_code: 'revision_expired',
      route: 'changes',
      skip: 1,
      times: 1,
    });
    expect(await collect(old)).toMatchObject({ steps: [{}], end: 'expired' });
    await b.service.expireHistory('s1');
    expect(await collect(old)).toEqual({ steps: [], end: 'expired' });
  });

  test('another revision on a later page is storage_transport_failed', async () => {
    await b.service.write('s1', { a: '1', b: '2', c: '3' });
    b.service.fault({
      do: 'rewrite',
      route: 'changes',
      skip: 1,
      change: (body) => ({ ...body, revision: 'other' }),
    });
    expect(await codeOf(collect(null))).toBe('storage_transport_failed');
  });
});

test('pages without end, each with a cursor of its own, are storage_transport_failed before they fill the memory', async () => {
  const entry = { type: 'directory' as const, path: 'again' };
  const entries = new Array<typeof entry>(MOST_ITEMS / 10).fill(entry);
  const changes = entries.map((each) => ({ op: 'put' as const, ...each }));
  let pages = 0;
  const endless: Pick<Transport, 'tree' | 'changes'> = {
    tree: async () => ({ revision: 1, entries, next_cursor: `c${++pages}` }),
    changes: async () => ({ expired: false, revision: 1, changes, next_cursor: `c${++pages}` }),
  };
  const signal = never();
  const transport = endless as Transport;
  expect(await codeOf(fetchTree(transport, 1, '', signal))).toBe('storage_transport_failed');
  expect(await codeOf(fetchChanges(transport, null, signal))).toBe('storage_transport_failed');
  expect(pages).toBe(22);
});
