/**
 * Takes in what the pages' consoles say. In the offscreen document, which is always there: a page that goes
 * cannot wait until a service worker has started, and one that talks all the time must not keep it awake.
 */
import type { ConsoleBatch, ConsoleReply } from '../protocol/console-events';
import type { ConsoleStore } from './console-store';

/** Who speaks, as Chrome tells it. */
export interface ConsoleSpeaker {
  tab_id: number;
  frame_id: number;
  document_id: string;
  url: string;
}

export interface ConsoleIntake {
  isWatched(speaker: ConsoleSpeaker): Promise<boolean>;
  /** Whatever the page says is kept as what that page's console said. Batches of a document come in order. */
  take(speaker: ConsoleSpeaker, batch: ConsoleBatch): Promise<ConsoleReply>;
}

export interface ConsoleIntakeOptions {
  store: Pick<ConsoleStore, 'append' | 'head'>;
  /** Something of this tab was taken in. */
  tellNews(tab_id: number): void;
}

const LONGEST_URL = 1_000;

export function createConsoleIntake({ store, tellNews }: ConsoleIntakeOptions): ConsoleIntake {
  return {
    isWatched: async ({ tab_id }) => (await store.head(tab_id))?.capturing ?? false,
    async take({ tab_id, frame_id, document_id, url }, { first, lost, events }) {
      const shown = url.slice(0, LONGEST_URL);
      const watched = await store.append(tab_id, {
        document_id,
        first,
        lost,
        events: events.map((event) => ({ ...event, url: shown, frame_id })),
      });
      if (!watched) return { watched };
      tellNews(tab_id);
      return { watched, next: first + events.length };
    },
  };
}
