import 'fake-indexeddb/auto';
import { IDBFactory } from 'fake-indexeddb';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { asBlob } from '../../../src/protocol/content';
import { PICTURES_KEPT_BYTES, PICTURES_KEPT_MS } from '../../../src/protocol/limits';
import { createPictureStore, type Picture, type PictureStore } from '../../../src/tools/picture-store';
import { FakeClock } from '../router/fake-clock';
import { pass } from './async-clock';

const MIB = 1024 * 1024;

let clock: FakeClock;
let ids: number;

/** What a new service worker makes of what the last one wrote. */
function restart(): PictureStore {
  return createPictureStore({
    now: clock.now,
    newId: () => {
      ids += 1;
      return `id-${ids}`;
    },
    setTimer: clock.setTimer,
  });
}

beforeEach(() => {
  vi.stubGlobal('indexedDB', new IDBFactory());
  clock = new FakeClock();
  ids = 0;
});

function picture(text = 'picture', more: Partial<Picture> = {}): Omit<Picture, 'image_id' | 'size'> {
  return {
    content: new TextEncoder().encode(text),
    mime_type: 'image/jpeg',
    width: 3,
    height: 2,
    captured_at: clock.time,
    tab_id: 7,
    window_id: 1,
    url: 'https://a.test/',
    wish: 'jpeg',
    ...more,
  };
}

async function keep(store: PictureStore, ...args: Parameters<typeof picture>): Promise<string> {
  const { image_id, kept } = store.keep(picture(...args), { sent: false });
  expect(await kept).toBe(true);
  return image_id;
}

const textOf = async (found: Picture | null): Promise<string | undefined> =>
  found ? asBlob(found.content, '').text() : undefined;

describe('tools.md, screenshot: the picture stays for 5 minutes, at most 32 MiB', () => {
  test('it can be had before it is written down', async () => {
    const store = restart();
    const { image_id } = store.keep(picture('early'), { sent: false });
    expect(await textOf(await store.get(image_id))).toBe('early');
  });

  test('one that is sent is the last one at once, and written down behind its answer', async () => {
    const store = restart();
    const { image_id, kept } = store.keep(picture('sent'), { sent: true });
    expect(await textOf(await store.last())).toBe('sent');
    expect(await restart().get(image_id)).toBeNull();
    await pass(clock, 1_000);
    expect(await kept).toBe(true);
    expect(await textOf(await restart().last())).toBe('sent');
  });

  test('one that was cleared away before it was written down stays away', async () => {
    const store = restart();
    const { image_id, kept } = store.keep(picture('sent'), { sent: true });
    await store.clear();
    await pass(clock, 1_000);
    expect(await kept).toBe(false);
    expect(await restart().get(image_id)).toBeNull();
    expect(await restart().last()).toBeNull();
  });

  test('it outlives the service worker', async () => {
    const image_id = await keep(restart(), 'kept');
    const found = await restart().get(image_id);
    expect(await textOf(found)).toBe('kept');
    expect(found).toMatchObject({
      image_id,
      mime_type: 'image/jpeg',
      width: 3,
      height: 2,
      tab_id: 7,
      size: 4,
    });
  });

  test('after 5 minutes it is unknown, and its bytes are gone with the next picture', async () => {
    const store = restart();
    const image_id = await keep(store);
    clock.advance(PICTURES_KEPT_MS - 1);
    expect(await store.get(image_id)).not.toBeNull();
    clock.advance(1);
    expect(await store.get(image_id)).toBeNull();
    expect(await restart().get(image_id)).toBeNull();
    await keep(store);
    clock.time -= PICTURES_KEPT_MS;
    expect(await restart().get(image_id)).toBeNull();
  });

  test('a sweep removes what has expired', async () => {
    const image_id = await keep(restart());
    clock.advance(PICTURES_KEPT_MS);
    await restart().sweep();
    clock.time -= PICTURES_KEPT_MS;
    expect(await restart().get(image_id)).toBeNull();
  });

  test('the oldest make room when there are more than 32 MiB', async () => {
    const store = restart();
    const eight = 'x'.repeat(8 * MIB);
    const kept = [];
    for (let count = 0; count < 6; count += 1) kept.push(await keep(store, eight));
    const found = await Promise.all(kept.map((id) => restart().get(id)));
    expect(found.map((one) => one !== null)).toEqual([false, false, true, true, true, true]);
    const bytes = found.reduce((sum, one) => sum + (one?.size ?? 0), 0);
    expect(bytes).toBeLessThanOrEqual(PICTURES_KEPT_BYTES);
  });

  test('a picture larger than that is not kept, and says so', async () => {
    const store = restart();
    const { image_id, kept } = store.keep(picture('x'.repeat(PICTURES_KEPT_BYTES + 1)), { sent: false });
    expect(await kept).toBe(false);
    expect(await store.get(image_id)).toBeNull();
  });

  test('many kept at once are all there', async () => {
    const store = restart();
    const added = Array.from({ length: 10 }, (_, number) =>
      store.keep(picture(`picture ${number}`), { sent: false }),
    );
    await Promise.all(added.map(({ kept }) => kept));
    const later = restart();
    const texts = await Promise.all(added.map(async ({ image_id }) => textOf(await later.get(image_id))));
    expect(texts).toEqual(added.map((_, number) => `picture ${number}`));
  });

  test('without a database it still works while the worker lives', async () => {
    vi.stubGlobal('indexedDB', {
      open: () => {
        throw new Error('no disk');
      },
    });
    const store = restart();
    const image_id = await keep(store, 'held');
    expect(await textOf(await store.get(image_id))).toBe('held');
    expect(await store.get('unknown')).toBeNull();
  });
});

describe('tools.md, screenshot: max_age_ms', () => {
  const like = { tab_id: 7, url: 'https://a.test/', wish: 'jpeg' };

  test('finds the youngest of the same tab, address and wish, also after a restart', async () => {
    const store = restart();
    await keep(store, 'old');
    clock.advance(100);
    await keep(store, 'young');
    await keep(store, 'other tab', { tab_id: 8 });
    await keep(store, 'other address', { url: 'https://b.test/' });
    await keep(store, 'other wish', { wish: 'png' });
    expect(await textOf(await restart().find(like, 0))).toBe('young');
  });

  test('not what is older than that, nor what has expired', async () => {
    const store = restart();
    await keep(store);
    expect(await store.find(like, clock.time)).not.toBeNull();
    expect(await store.find(like, clock.time + 1)).toBeNull();
    clock.advance(PICTURES_KEPT_MS);
    expect(await store.find(like, 0)).toBeNull();
  });
});

describe('ui.md: the last picture sent to the platform', () => {
  test('is none until one was sent', async () => {
    const store = restart();
    await keep(store);
    expect(await store.last()).toBeNull();
  });

  test('stays until another is sent, longer than 5 minutes and beyond the worker', async () => {
    const store = restart();
    const first = await keep(store, 'first');
    store.markSent(first);
    await keep(store, 'not sent');
    clock.advance(10 * PICTURES_KEPT_MS);
    const second = await keep(store, 'second');
    expect(await textOf(await restart().last())).toBe('first');
    expect(await store.get(first)).toBeNull();
    store.markSent(second);
    expect(await textOf(await store.last())).toBe('second');
    await store.sweep();
    clock.time -= 10 * PICTURES_KEPT_MS;
    await vi.waitFor(async () => expect(await textOf(await restart().last())).toBe('second'));
  });

  test('marking one that is not kept changes nothing', async () => {
    const store = restart();
    store.markSent(await keep(store, 'sent'));
    store.markSent('unknown');
    expect(await textOf(await store.last())).toBe('sent');
  });

  test('clear forgets all', async () => {
    const store = restart();
    const image_id = await keep(store);
    store.markSent(image_id);
    await store.clear();
    for (const one of [store, restart()]) {
      expect(await one.get(image_id)).toBeNull();
      expect(await one.last()).toBeNull();
    }
  });
});
