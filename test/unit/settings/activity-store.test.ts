import 'fake-indexeddb/auto';
import { createStore, set } from 'idb-keyval';
import { describe, expect, it } from 'vitest';
import { addActivity, listActivity } from '../../../src/settings/activity-store';

const entry = (at: number, tool = 'tab_list') => ({ at, tool, outcome: 'ok' as const, duration_ms: 5 });

describe('ui.md: the activity', () => {
  it('entries added at the same time are all kept, the newest come first, and no more than 200', async () => {
    await Promise.all(Array.from({ length: 230 }, (_, at) => addActivity(entry(at))));
    const all = await listActivity(1000);
    expect(all.map(({ at }) => at)).toEqual(Array.from({ length: 200 }, (_, index) => 229 - index));
    expect(await listActivity(5)).toEqual(all.slice(0, 5));
    expect(await listActivity(0)).toEqual([]);
  });

  it('a tool name is cut to 64 characters, never through one', async () => {
    await addActivity(entry(1, `${'x'.repeat(63)}😀😀`));
    expect((await listActivity(1))[0]?.tool).toBe(`${'x'.repeat(63)}😀`);
  });

  it('rubbish in the store counts as nothing', async () => {
    await set('entries', { not: 'a list' }, createStore('endue-activity', 'activity'));
    expect(await listActivity(5)).toEqual([]);
    await addActivity(entry(7));
    expect(await listActivity(5)).toEqual([entry(7)]);
  });
});
