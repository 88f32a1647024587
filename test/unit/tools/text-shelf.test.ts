import { describe, expect, test } from 'vitest';
import { createTextShelf, type TextShelf } from '../../../src/tools/text-shelf';
import { FakeClock } from '../router/fake-clock';
import { MemoryStorage } from './memory-storage';

const FACTS = {
  tool: 'page_text',
  tab_id: 1,
  document_id: 'D',
  url: 'https://a.test/',
  title: '',
  rule_urls: [],
};

function rig(): { shelf: TextShelf; clock: FakeClock; storage: MemoryStorage } {
  const clock = new FakeClock();
  const storage = new MemoryStorage();
  let ids = 0;
  const newId = () => `t${++ids}`;
  return { shelf: createTextShelf({ storage: storage.area, now: clock.now, newId }), clock, storage };
}

describe('texts that are kept until they are read', () => {
  test('any part can be read, across the pieces it is stored in', async () => {
    const { shelf } = rig();
    const text = Array.from({ length: 100_000 }, (_line, index) => `line ${index}`).join('\n');
    const kept = await shelf.keep(FACTS, text);
    expect(kept).toMatchObject({ ...FACTS, length: text.length });
    for (const [from, units] of [
      [0, 10],
      [262_140, 10],
      [262_144, 1],
      [100_000, 700_000],
      [text.length - 3, 50],
    ] as const) {
      expect(await shelf.read(kept as never, from, units)).toBe(text.slice(from, from + units));
    }
  });

  test('another instance of the worker finds it', async () => {
    const { shelf, storage, clock } = rig();
    const kept = await shelf.keep(FACTS, 'abc');
    const next = createTextShelf({ storage: storage.area, now: clock.now, newId: () => 'n' });
    expect(await next.find(kept?.text_id ?? '')).toMatchObject(FACTS);
    expect(await next.read(kept as never, 1, 2)).toBe('bc');
  });

  test('after ten minutes it is gone, and the next one clears it away', async () => {
    const { shelf, clock, storage } = rig();
    const kept = await shelf.keep(FACTS, 'abc');
    clock.advance(10 * 60_000);
    expect(await shelf.find(kept?.text_id ?? '')).toBeNull();
    await shelf.keep(FACTS, 'def');
    expect([...storage.items.keys()].filter((key) => key.startsWith('kept-text:'))).toHaveLength(1);
  });

  test('there is room for so much: the oldest go first, and what is longer than all is not kept', async () => {
    const { shelf } = rig();
    const long = 'x'.repeat(4_000_000);
    const kept = [];
    for (let count = 0; count < 4; count += 1) kept.push(await shelf.keep(FACTS, long));
    const found = await Promise.all(kept.map((one) => shelf.find(one?.text_id ?? '')));
    expect(found.map((one) => one !== null)).toEqual([false, false, true, true]);
    expect(await shelf.read(kept[0] as never, 0, 10)).toBeNull();
    expect(await shelf.keep(FACTS, '漢'.repeat(4_000_000))).toBeNull();
    expect(await shelf.find(kept[3]?.text_id ?? '')).not.toBeNull();
  });

  test('two at the same time are both kept', async () => {
    const { shelf } = rig();
    const both = await Promise.all([shelf.keep(FACTS, 'one'), shelf.keep(FACTS, 'two')]);
    for (const one of both) expect(await shelf.find(one?.text_id ?? '')).not.toBeNull();
  });
});
