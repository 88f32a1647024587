/**
 * Takes in what the pages' consoles say. In the offscreen document, which is always there: a page that goes
 * cannot wait until a service worker has started, and one that talks all the time must not keep it awake.
 */
import type { ConsoleBatch, ConsoleReply } from '../protocol/console-events';
import { hasOwnAddress, originAddress, type UrlRules } from '../settings/url-rules';
import type { ConsoleStore } from './console-store';

/** Who speaks, as Chrome tells it. */
export interface ConsoleSpeaker {
  tab_id: number;
  frame_id: number;
  document_id: string;
  /** The address when it began to speak. */
  url: string;
  /** Undefined where Chrome does not tell. */
  origin?: string | undefined;
}

export interface ConsoleIntake {
  isWatched(speaker: ConsoleSpeaker): Promise<boolean>;
  /**
   * Whatever the page says is kept as what that page's console said, and nothing of a page that is closed to the
   * agent. Batches of a document come in order.
   */
  take(speaker: ConsoleSpeaker, batch: ConsoleBatch): Promise<ConsoleReply>;
}

export interface ConsoleIntakeOptions {
  store: Pick<ConsoleStore, 'append' | 'head'>;
  /** As they are now. */
  urls(): Promise<UrlRules>;
  /** Something of this tab was taken in. */
  tellNews(tab_id: number): void;
}

const LONGEST_SHOWN = 1_000;

export function createConsoleIntake({ store, urls, tellNews }: ConsoleIntakeOptions): ConsoleIntake {
  return {
    isWatched: async ({ tab_id }) => (await store.head(tab_id))?.capturing ?? false,
    async take(speaker, { first, lost, url, events }) {
      const { tab_id, frame_id, document_id } = speaker;
      const address = speakerAddress(speaker, url);
      const closed = !(await urls()).mayEnter(address.rule_url ?? address.url);
      const watched = await store.append(tab_id, {
        document_id,
        first,
        lost,
        closed,
        events: events.map((event) => ({ ...event, ...address, frame_id })),
      });
      if (!watched) return { watched };
      if (!closed) tellNews(tab_id);
      return { watched, next: first + events.length };
    },
  };
}

/**
 * The address of a document that spoke: the one it told, when that is of the origin Chrome told. Else the rules must
 * open the whole origin, and of an opaque one everything (`rule_url`, when it is not what is shown).
 */
export function speakerAddress(
  speaker: Pick<ConsoleSpeaker, 'url' | 'origin'>,
  told: string,
): { url: string; rule_url?: string } {
  const isOwn = hasOwnAddress(speaker.url);
  const known = speaker.origin !== undefined && speaker.origin !== OPAQUE;
  const origin = known ? (speaker.origin as string) : isOwn ? originOf(speaker.url) : OPAQUE;
  const isTold = hasOwnAddress(told) && originOf(told) === origin && (isOwn || origin !== OPAQUE);
  if (told !== '' && isTold) return { url: told };
  const url = origin === OPAQUE ? speaker.url.slice(0, LONGEST_SHOWN) : `${origin}/`;
  return { url, rule_url: originAddress(origin) };
}

const OPAQUE = 'null';

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : '';
}
