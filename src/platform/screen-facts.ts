/** The screen, which a service worker cannot see: the offscreen document is asked for it. */
import { send } from './messaging';

interface ScreenFacts {
  width: number;
  height: number;
  scale: number;
}

/** Screens are plugged in and out, though not between two calls. */
const FRESH_MS = 10_000;

/**
 * The screen as it was seen last, at once; a stale one is asked for anew behind it. Null when the offscreen
 * document does not answer. `now` is in milliseconds.
 */
export function createScreenFacts(now: () => number): () => Promise<ScreenFacts | null> {
  let seen: ScreenFacts | null = null;
  let fresh_until = Number.NEGATIVE_INFINITY;
  let asking: Promise<ScreenFacts | null> | null = null;

  async function ask(): Promise<ScreenFacts | null> {
    try {
      seen = await send('relay.screen', {});
      fresh_until = now() + FRESH_MS;
    } catch {
      // What was seen before is still the best guess.
    } finally {
      asking = null;
    }
    return seen;
  }

  return async () => {
    if (now() >= fresh_until) asking ??= ask();
    return seen ?? asking;
  };
}
