/**
 * The one thing a content script may tell the extension: what the console of its own tab said. Apart from
 * `messaging.ts`, which refuses content scripts altogether, so that no handler there can ever be reached from
 * a page's process. Whose console it was is told by Chrome, never by the message; what it says is checked and
 * bounded, and becomes data in that tab's log. Served in the offscreen document, on a port: a message through
 * a port that is open arrives although its page is going, while one that must first wake the service worker is
 * lost with the page.
 */
import type { Runtime } from 'webextension-polyfill';
import {
  CONSOLE_PORT,
  type ConsoleBatch,
  type ConsoleReply,
  readConsoleBatch,
} from '../protocol/console-events';
import { browser } from './browser';

interface Speaker {
  tab_id: number;
  frame_id: number;
  document_id: string;
  /** As they were when the port was opened. */
  url: string;
  origin: string | undefined;
}

/** Chrome's own, unknown to the polyfill's types. */
type Sender = Runtime.MessageSender & { documentId?: string; origin?: string };

interface Intake {
  isWatched(speaker: Speaker): Promise<boolean>;
  take(speaker: Speaker, batch: ConsoleBatch): Promise<ConsoleReply>;
}

/** Our own script waits for an answer, or leaves with a few: who sends more is not our script. */
const MOST_UNANSWERED = 256;

/** A document hears that long after its message that it may send the next. */
const PACE_MS = 50;

interface FeedClock {
  /** Epoch milliseconds. */
  wall(): number;
  setTimer(run: () => void, delay_ms: number): unknown;
}

/** Call it synchronously at the start of the document's script. */
export function serveConsoles(intake: Intake, clock: FeedClock): void {
  browser.runtime.onConnect.addListener((port) => {
    if (port.name !== CONSOLE_PORT) return;
    const speaker = port.sender && readSpeaker(port.sender);
    if (speaker) serve(port, speaker, intake, clock);
    else port.disconnect();
  });
}

function serve(port: Runtime.Port, speaker: Speaker, intake: Intake, clock: FeedClock): void {
  let unanswered = 0;
  let open = true;
  const answer = (reply: ConsoleReply): void => {
    if (open) port.postMessage(reply);
  };
  // Whoever fails here is asked again by the page's script, which finds the port closed.
  const fail = (): void => {
    open = false;
    port.disconnect();
  };
  port.onDisconnect.addListener(() => {
    open = false;
  });
  let taking = intake.isWatched(speaker).then((watched) => {
    if (!watched) answer({ watched });
  }, fail);
  port.onMessage.addListener((message: unknown) => {
    const batch = readConsoleBatch(message, clock.wall());
    unanswered += 1;
    if (!batch || unanswered > MOST_UNANSWERED) return fail();
    // One after another, also those that a page sent while it left.
    taking = taking
      .then(() => intake.take(speaker, batch))
      .then((reply) => {
        // What has come is kept at once: the next page of the tab may speak already. Only the answer takes its time.
        clock.setTimer(() => {
          unanswered -= 1;
          answer(reply);
        }, PACE_MS);
      }, fail);
  });
}

/** Null unless it is a content script of this extension in a document of a tab. */
function readSpeaker({ id, tab, frameId, documentId, url, origin }: Sender): Speaker | null {
  if (id !== browser.runtime.id || tab?.id === undefined || frameId === undefined) return null;
  if (documentId === undefined || url === undefined || url.startsWith(browser.runtime.getURL('')))
    return null;
  return {
    tab_id: tab.id,
    frame_id: frameId,
    document_id: documentId,
    url,
    origin,
  };
}
