/**
 * Texts of pages that take several answers, kept until they are read: taken once, so that no two versions of a
 * page are ever mixed. In the browser's session storage: they outlive the service worker, never touch the disk
 * and are gone with the browser. Knows no clock and no randomness of its own.
 */
import type { Browser } from 'webextension-polyfill';
import { utf8Length } from '../protocol/json';

/** Chrome gives the session's storage 10 MB in all, and counts JSON. */
const KEPT_BYTES = 9 * 1024 * 1024;
const KEPT_MS = 10 * 60_000;
const SHELF_KEY = 'kept-texts';
/** UTF-16 units of one stored piece: a read loads one or two of them. */
const PIECE_UNITS = 256 * 1024;

export interface KeptText {
  text_id: string;
  /** The tool that took it: another one does not read on. */
  tool: string;
  tab_id: number;
  document_id: string;
  url: string;
  title: string;
  /** The addresses whose text is in it: each must still be allowed when it is read on. */
  rule_urls: string[];
  length: number;
}

interface Shelved extends KeptText {
  kept_at: number;
  bytes: number;
}

export interface TextShelf {
  /** False when it is too long to be kept. */
  keep(facts: Omit<KeptText, 'text_id' | 'length'>, text: string): Promise<KeptText | null>;
  find(text_id: string): Promise<KeptText | null>;
  /** Up to `units` UTF-16 units from `offset`; null when it is not kept any more. */
  read(kept: KeptText, offset: number, units: number): Promise<string | null>;
}

export interface TextShelfOptions {
  storage: Pick<Browser['storage']['session'], 'get' | 'set' | 'remove'>;
  now(): number;
  newId(): string;
}

export function createTextShelf({ storage, now, newId }: TextShelfOptions): TextShelf {
  let last: Promise<unknown> = Promise.resolve();
  /** One change of the shelf at a time: each reads it, and writes it. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work, work);
    last = done.catch(() => undefined);
    return done;
  }

  async function shelf(): Promise<Shelved[]> {
    const { [SHELF_KEY]: stored } = await storage.get(SHELF_KEY);
    return Array.isArray(stored) ? (stored as Shelved[]) : [];
  }

  return {
    keep: (facts, text) =>
      inTurn(async () => {
        const bytes = utf8Length(JSON.stringify(text));
        if (bytes > KEPT_BYTES) return null;
        const shelved: Shelved = { ...facts, text_id: newId(), length: text.length, kept_at: now(), bytes };
        const kept = [shelved];
        const dropped: Shelved[] = [];
        let room = KEPT_BYTES - bytes;
        for (const earlier of await shelf()) {
          if (earlier.bytes <= room && now() - earlier.kept_at < KEPT_MS) {
            kept.push(earlier);
            room -= earlier.bytes;
          } else {
            dropped.push(earlier);
          }
        }
        if (dropped.length > 0) await storage.remove(dropped.flatMap(pieceKeys));
        const pieces = pieceKeys(shelved).map((key, index) => [
          key,
          text.slice(index * PIECE_UNITS, (index + 1) * PIECE_UNITS),
        ]);
        await storage.set({ ...Object.fromEntries(pieces), [SHELF_KEY]: kept });
        return shelved;
      }),
    async find(text_id) {
      const found = (await shelf()).find((one) => one.text_id === text_id);
      return found && now() - found.kept_at < KEPT_MS ? found : null;
    },
    async read({ text_id, length }, offset, units) {
      const end = Math.min(length, offset + units);
      const first = Math.floor(offset / PIECE_UNITS);
      const keys = pieceKeys({ text_id, length }).slice(first, Math.ceil(end / PIECE_UNITS));
      const stored = await storage.get(keys);
      const pieces = keys.map((key) => stored[key]);
      if (!pieces.every((piece) => typeof piece === 'string')) return null;
      return pieces.join('').slice(offset - first * PIECE_UNITS, end - first * PIECE_UNITS);
    },
  };
}

function pieceKeys({ text_id, length }: Pick<KeptText, 'text_id' | 'length'>): string[] {
  return Array.from(
    { length: Math.ceil(length / PIECE_UNITS) },
    (_piece, index) => `kept-text:${text_id}:${index}`,
  );
}
