/**
 * The one thing a content script may tell the service worker: what the console of its own tab said. Apart from
 * `messaging.ts`, which refuses content scripts altogether, so that no handler there can ever be reached from
 * a page's process. Whose console it was is told by Chrome, never by the message; what it says is checked and
 * bounded, and becomes data in that tab's log. A message, not a port: its answer says that the events are kept,
 * it fails at once when the worker dies, and it wakes the next one.
 */
import type { Runtime } from 'webextension-polyfill';
import { type ConsoleBatch, type ConsoleReply, readConsoleBatch } from '../protocol/console-events';
import { browser } from './browser';

interface Speaker {
  tab_id: number;
  frame_id: number;
  document_id: string;
  url: string;
}

/** Chrome's own, unknown to the polyfill's types. */
type Sender = Runtime.MessageSender & { documentId?: string; origin?: string };

/** Call it synchronously at the start of the worker, or Chrome does not wake it. */
export function serveConsoles(
  take: (speaker: Speaker, batch: ConsoleBatch) => Promise<ConsoleReply>,
  now: () => number,
): void {
  browser.runtime.onMessage.addListener((message: unknown, sender: Runtime.MessageSender) => {
    const speaker = readSpeaker(sender);
    const batch = speaker && readConsoleBatch(message, now());
    return batch ? take(speaker, batch) : undefined;
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
    url: addressFor(url, origin, tab.url),
  };
}

/** The address by whose rules the document is judged: `about:srcdoc` and the like have that of who made them. */
function addressFor(url: string, origin: string | undefined, tab_url: string | undefined): string {
  if (!/^(about|data|blob):/.test(url)) return url;
  return origin && /^https?:/.test(origin) ? `${origin}/` : (tab_url ?? url);
}
