/**
 * The pictures kept for `image_id` (tools.md, screenshot): 5 minutes, at most 32 MiB, and the last one that
 * was sent to the platform until another takes its place, for the person to see (ui.md). In IndexedDB, so
 * that they outlive the service worker; what this worker kept itself is there at once, written or not.
 */
import { createStore, get, promisifyRequest } from 'idb-keyval';
import { type Content, contentSize } from '../protocol/content';
import { PICTURES_KEPT_BYTES, PICTURES_KEPT_MS } from '../protocol/limits';
import type { SetTimer } from './timing';

export interface PictureFacts {
  image_id: string;
  mime_type: string;
  /** Pixels. */
  width: number;
  height: number;
  /** Epoch milliseconds. */
  captured_at: number;
  tab_id: number;
  window_id: number;
  /** The address the tab showed; stays on the device. */
  url: string;
  /** What was asked for, as one text: equal texts are equal wishes. */
  wish: string;
  size: number;
}

export interface Picture extends PictureFacts {
  content: Content;
}

export interface PictureStore {
  /**
   * Keeps a picture under a new id. It can be had at once; `kept` resolves when it has been written down too:
   * false when it was too large to keep. One that is `sent` to the platform at once is written behind its
   * answer, which the writing would delay; `last` gives it from now on.
   */
  keep(
    picture: Omit<Picture, 'image_id' | 'size'>,
    how: { sent: boolean },
  ): { image_id: string; kept: Promise<boolean> };
  /** Null when the id is unknown or has expired. */
  get(image_id: string): Promise<Picture | null>;
  /** The youngest picture of the same tab, address and wish that was captured at `not_before` or later. */
  find(like: Pick<PictureFacts, 'tab_id' | 'url' | 'wish'>, not_before: number): Promise<Picture | null>;
  /** This picture goes to the platform: `last` gives it from now on. */
  markSent(image_id: string): void;
  /** The last picture that was sent to the platform, or null when none was. */
  last(): Promise<Picture | null>;
  /** Removes what has expired; without it that happens at the next `keep`. */
  sweep(): Promise<void>;
  /** Removes everything, the last one sent too. */
  clear(): Promise<void>;
}

export interface PictureStoreOptions {
  /** Epoch milliseconds. */
  now(): number;
  /** A new UUID. */
  newId(): string;
  setTimer: SetTimer;
}

/** Everything but the pictures themselves, in one record: it is read once per life of the worker. */
interface Index {
  /** Oldest first. */
  pictures: PictureFacts[];
  last_sent: string | null;
}

const INDEX_KEY = 'index';
/** By then the answer that carries the picture has left. */
const BEHIND_ANSWER_MS = 100;

export function createPictureStore({ now, newId, setTimer }: PictureStoreOptions): PictureStore {
  const store = createStore('endue-pictures', 'pictures');
  /** Pictures that this worker kept or read; only those of the index. */
  const held = new Map<string, Content>();
  let loading: Promise<Index> | null = null;

  function load(): Promise<Index> {
    loading ??= readIndex();
    return loading;
  }

  async function readIndex(): Promise<Index> {
    const empty: Index = { pictures: [], last_sent: null };
    try {
      return (await get<Index>(INDEX_KEY, store)) ?? empty;
    } catch {
      return empty;
    }
  }

  const isExpired = ({ captured_at }: PictureFacts): boolean => captured_at + PICTURES_KEPT_MS <= now();

  /** Takes out of the index what has expired or has no room, and returns the ids. */
  function evict(index: Index): string[] {
    let bytes = index.pictures.reduce((sum, { size }) => sum + size, 0);
    const evicted = new Set<string>();
    for (const facts of index.pictures) {
      const expired = isExpired(facts) && facts.image_id !== index.last_sent;
      if (!expired && bytes <= PICTURES_KEPT_BYTES) continue;
      evicted.add(facts.image_id);
      held.delete(facts.image_id);
      bytes -= facts.size;
    }
    index.pictures = index.pictures.filter(({ image_id }) => !evicted.has(image_id));
    return [...evicted];
  }

  /** In one transaction, so that no picture stays behind that the index does not name. */
  async function write(index: Index, added: Picture | null): Promise<boolean> {
    const evicted = evict(index);
    // It may have been cleared away before it was written.
    const kept = added !== null && index.pictures.some(({ image_id }) => image_id === added.image_id);
    try {
      await store('readwrite', (objects) => {
        if (kept) objects.put(added.content, added.image_id);
        for (const image_id of evicted) objects.delete(image_id);
        objects.put(index, INDEX_KEY);
        return promisifyRequest(objects.transaction);
      });
    } catch {
      // A full or broken disk: what is held in memory still answers while this worker lives.
    }
    return kept;
  }

  async function readContent(image_id: string): Promise<Content | undefined> {
    try {
      return await get<Content>(image_id, store);
    } catch {
      return undefined;
    }
  }

  async function withContent(facts: PictureFacts | undefined): Promise<Picture | null> {
    if (!facts) return null;
    const content = held.get(facts.image_id) ?? (await readContent(facts.image_id));
    if (!content) return null;
    held.set(facts.image_id, content);
    return { ...facts, content };
  }

  return {
    keep(picture, { sent }) {
      const image_id = newId();
      const { content, ...facts } = picture;
      const added: PictureFacts = { ...facts, image_id, size: contentSize(content) };
      const kept = load().then(async (index) => {
        index.pictures.push(added);
        held.set(image_id, content);
        if (sent) {
          index.last_sent = image_id;
          await new Promise<void>((resolve) => setTimer(resolve, BEHIND_ANSWER_MS));
        }
        return write(index, { ...added, content });
      });
      return { image_id, kept };
    },
    async get(image_id) {
      const { pictures } = await load();
      return withContent(pictures.find((facts) => facts.image_id === image_id && !isExpired(facts)));
    },
    async find({ tab_id, url, wish }, not_before) {
      const { pictures } = await load();
      const fits = (facts: PictureFacts) =>
        facts.tab_id === tab_id &&
        facts.url === url &&
        facts.wish === wish &&
        facts.captured_at >= not_before &&
        !isExpired(facts);
      return withContent(pictures.findLast(fits));
    },
    markSent(image_id) {
      load().then((index) => {
        if (index.last_sent === image_id || !index.pictures.some((facts) => facts.image_id === image_id))
          return;
        index.last_sent = image_id;
        write(index, null);
      });
    },
    async last() {
      const { pictures, last_sent } = await load();
      return withContent(pictures.find(({ image_id }) => image_id === last_sent));
    },
    async sweep() {
      const index = await load();
      if (index.pictures.some((facts) => facts.image_id !== index.last_sent && isExpired(facts)))
        await write(index, null);
    },
    async clear() {
      const index = await load();
      index.pictures = [];
      index.last_sent = null;
      held.clear();
      await store('readwrite', (objects) => {
        objects.clear();
        return promisifyRequest(objects.transaction);
      });
    },
  };
}
