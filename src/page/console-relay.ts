/**
 * Runs in the extension's isolated world of a page's document: takes what `console-hook.ts` hears and sends it
 * to the offscreen document, in order and each once, one message after another. It can say that one thing only,
 * and is told nothing but what is kept and whether to go on.
 */
import {
  CONSOLE_BATCH_EVENTS,
  CONSOLE_BATCH_TEXT,
  CONSOLE_MESSAGE,
  CONSOLE_PORT,
  type ConsoleBatch,
  type ConsoleEvent,
  type ConsoleReply,
  LONGEST_CONSOLE_TEXT,
  LONGEST_CONSOLE_URL,
} from '../protocol/console-events';
import {
  CHANNEL_ASK,
  CHANNEL_ENTRY,
  CHANNEL_OFFER,
  CHANNEL_START,
  CHANNEL_STOP,
  CHANNEL_TAKEN,
} from './console-channel';
import { CONSOLE_LATE, CONSOLE_RELAY, type ConsoleRelay, type RelayWorld } from './console-relay-world';

/** UTF-16 code units of texts that wait to leave; the oldest are given up first. */
const WAITING_KEPT = 4 * 1024 * 1024;
const WAITING_EVENTS = 20_000;
const RETRY_MS = 250;
/** What cannot be reached for so long will not be. */
const MOST_RETRIES = 60;

/** Unknown to the language's types. */
type PrerenderingDocument = Document & { prerendering?: boolean };

const MOST_MAKERS = 16;
const NO_ADDRESS = /^(?:about|blob|data|filesystem|javascript):/;

/** An event, and the address of the document when it was heard. */
interface Heard {
  event: ConsoleEvent;
  url: string;
}

const world = globalThis as unknown as RelayWorld;

class Relay implements ConsoleRelay {
  private channel: EventTarget | null = null;
  private waiting: Heard[] = [];
  private waitingText = 0;
  /** Number of the first that waits, within this document. */
  private first = 0;
  /** Given up right before it. */
  private lost = 0;
  /** Number of the first that was never sent, whether it was kept or not. */
  private untold = 0;
  private sending: Promise<void> | null = null;
  private leaving = false;
  private port: chrome.runtime.Port | null = null;
  /** Whose answer is waited for. */
  private asked: { next: number; resolve(kept: boolean): void } | null = null;
  private on = true;

  connect(channel: EventTarget): void {
    this.channel = channel;
    channel.addEventListener(CHANNEL_ENTRY, (event) => this.hear((event as CustomEvent<unknown>).detail));
    channel.dispatchEvent(new Event(CHANNEL_TAKEN));
  }

  private hear(detail: unknown): void {
    if (!this.on || typeof detail !== 'string') return;
    this.add(JSON.parse(detail) as ConsoleEvent);
    if (this.leaving) this.sendUnanswered();
    else this.send();
  }

  add(event: ConsoleEvent): void {
    const url = addressThatCounts();
    const last = this.waiting.at(-1);
    // A long address is not kept once more for each event.
    this.waiting.push({ event, url: last?.url === url ? last.url : url });
    this.waitingText += event.text.length;
    while (this.waitingText > WAITING_KEPT || this.waiting.length > WAITING_EVENTS) this.drop(1, true);
  }

  private drop(count: number, lost: boolean): void {
    for (const { event } of this.waiting.splice(0, count)) this.waitingText -= event.text.length;
    this.first += count;
    this.lost = lost ? this.lost + count : 0;
  }

  /** Everything before the number `next` is kept; some of it may have been given up meanwhile. */
  private sent(next: number): void {
    if (next > this.first) this.drop(next - this.first, false);
    else this.lost = Math.min(this.lost, this.first - next);
  }

  async flush(): Promise<void> {
    this.send();
    await this.sending;
  }

  private send(): void {
    if (isPrerendering()) {
      document.addEventListener('prerenderingchange', () => this.send(), { once: true });
      return;
    }
    this.sending ??= this.sendAll().finally(() => {
      this.sending = null;
    });
  }

  /** One message at a time: the answer to one, which comes when it is kept, asks for the next. */
  private async sendAll(): Promise<void> {
    // A script that writes ten lines makes one message of them.
    await null;
    let retries = 0;
    while (this.on && this.waiting.length > 0) {
      const batch = this.batch(0);
      const kept = await this.kept(batch);
      if (kept) retries = 0;
      else {
        retries += 1;
        if (retries > MOST_RETRIES || chrome.runtime?.id === undefined) return this.stop();
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** False when the line broke before it was kept. */
  private kept(batch: ConsoleBatch): Promise<boolean> {
    return new Promise((resolve) => {
      this.asked = { next: batch.first + batch.events.length, resolve };
      if (!this.tell(batch)) this.answered(false);
    });
  }

  private answered(kept: boolean): void {
    this.asked?.resolve(kept);
    this.asked = null;
  }

  private tell(batch: ConsoleBatch): boolean {
    this.open();
    try {
      this.port?.postMessage(batch);
      return this.port !== null;
    } catch {
      return false;
    }
  }

  /** The line is held open: a message of a document that goes arrives on it, and needs nobody to be woken. */
  open(): void {
    if (this.port || !this.on) return;
    try {
      const port = chrome.runtime.connect({ name: CONSOLE_PORT });
      port.onMessage.addListener((reply: unknown) => {
        if (port === this.port && isReply(reply)) this.told(reply);
      });
      port.onDisconnect.addListener(() => {
        // Read, or Chrome complains in the page's console.
        void chrome.runtime.lastError;
        if (port !== this.port) return;
        this.port = null;
        this.answered(false);
      });
      this.port = port;
    } catch {
      this.port = null;
    }
  }

  private told(reply: ConsoleReply): void {
    if (!reply.watched) {
      this.stop();
      return;
    }
    this.sent(reply.next);
    if (this.asked && reply.next >= this.asked.next) this.answered(true);
  }

  /** The next batch behind the first `skip` that wait, as far as they were said under one address. */
  private batch(skip: number): ConsoleBatch {
    const events: ConsoleEvent[] = [];
    let text = 0;
    const address = this.waiting[skip]?.url ?? '';
    for (const { event, url } of this.waiting.slice(skip, skip + CONSOLE_BATCH_EVENTS)) {
      if (url !== address) break;
      text += event.text.length;
      if (text > CONSOLE_BATCH_TEXT) break;
      events.push(event);
    }
    this.untold = Math.max(this.untold, this.first + skip + events.length);
    const first = this.first + skip;
    return { type: CONSOLE_MESSAGE, first, lost: skip === 0 ? this.lost : 0, url: address, events };
  }

  /** The document is going: from now on everything leaves at once. */
  leave(): void {
    this.leaving = true;
    this.sendUnanswered();
  }

  /** It came back, from the cache of pages that were left: what was sent unanswered is sent anew. */
  stay(): void {
    this.leaving = false;
    if (this.hasNews()) this.send();
  }

  /** No answer would find the document; what was sent before is on its way. */
  sendUnanswered(): void {
    if (!this.on || !this.hasNews()) return;
    for (let skip = Math.max(0, this.untold - this.first); skip < this.waiting.length; ) {
      const batch = this.batch(skip);
      this.tell(batch);
      skip += batch.events.length;
    }
  }

  /** That there is a new document is told with what it says first. */
  private hasNews(): boolean {
    return this.waiting.some(({ event }) => event.kind !== 'navigation');
  }

  /** Nobody was told of them: their numbers are free. */
  private forget(): void {
    this.waiting = [];
    this.waitingText = 0;
    this.untold = this.first;
  }

  stop(): void {
    this.on = false;
    this.forget();
    const { port } = this;
    this.port = null;
    port?.disconnect();
    this.answered(false);
    this.channel?.dispatchEvent(new Event(CHANNEL_STOP));
  }

  resume(): void {
    // It came to this document before anybody asked.
    if (!this.hasNews()) this.forget();
    this.on = true;
    this.open();
    this.channel?.dispatchEvent(new Event(CHANNEL_START));
  }
}

/**
 * The document's own address; of one that has none (about:blank, about:srcdoc, blob:) that of the nearest document that
 * could have made it and lets itself be asked: one around it, or the window that opened it.
 */
function addressThatCounts(): string {
  let place: Window | null = window;
  // Windows may have opened each other.
  for (let steps = 0; place && steps < MOST_MAKERS; steps += 1) {
    const url = addressOf(place);
    if (url === null) break;
    if (!NO_ADDRESS.test(url)) return url.length > LONGEST_CONSOLE_URL ? '' : url;
    place = makerOf(place);
  }
  return '';
}

function addressOf(place: Window): string | null {
  try {
    return place.location.href;
  } catch {
    return null;
  }
}

function makerOf(place: Window): Window | null {
  return place.parent === place ? (place.opener as Window | null) : place.parent;
}

/** A page that is rendered in advance may never be shown. */
function isPrerendering(): boolean {
  return (document as PrerenderingDocument).prerendering === true;
}

function isReply(value: unknown): value is ConsoleReply {
  return typeof value === 'object' && value !== null && 'watched' in value;
}

function navigation(): ConsoleEvent {
  const text = location.href.slice(0, LONGEST_CONSOLE_TEXT);
  return { at: Date.now(), kind: 'navigation', level: 'info', text };
}

if (!world[CONSOLE_RELAY]) {
  const relay = new Relay();
  world[CONSOLE_RELAY] = relay;
  if (!world[CONSOLE_LATE] && window === window.top) relay.add(navigation());
  addEventListener(
    CHANNEL_OFFER,
    (event) => {
      const { relatedTarget } = event as MouseEvent;
      if (relatedTarget) relay.connect(relatedTarget);
    },
    { once: true, capture: true },
  );
  dispatchEvent(new Event(CHANNEL_ASK));
  // Opening the line may take a while. Frames, of which there are many, open it with their first word.
  if (window === window.top && !isPrerendering()) relay.open();
  addEventListener('beforeunload', () => relay.sendUnanswered(), { capture: true });
  addEventListener('pagehide', () => relay.leave(), { capture: true });
  addEventListener('pageshow', () => relay.stay(), { capture: true });
}
