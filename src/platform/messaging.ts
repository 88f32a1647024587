/**
 * Sends and serves the messages of `messages.ts` between the extension's own contexts. A message counts
 * only when it comes from an extension page or worker of this very extension: never from a content script,
 * a web page or another extension.
 */
import type { Runtime } from 'webextension-polyfill';
import { browser } from './browser';
import type { MessageMap, MessageType } from './messages';

interface Envelope {
  type: MessageType;
  input: unknown;
}

type Reply = { ok: true; out: unknown } | { ok: false };

/** Nobody handled the message, its handler failed, or the context that handled it died. */
export class MessageUnanswered extends Error {
  constructor(type: MessageType) {
    super(`nobody answered ${type}`);
    this.name = 'MessageUnanswered';
  }
}

/** Sends one message and waits for its answer. Rejects with `MessageUnanswered` when there is none. */
export async function send<T extends MessageType>(
  type: T,
  input: MessageMap[T]['in'],
): Promise<MessageMap[T]['out']> {
  let reply: Reply | undefined;
  try {
    reply = await browser.runtime.sendMessage<Envelope, Reply | undefined>({ type, input });
  } catch {
    throw new MessageUnanswered(type);
  }
  if (!reply?.ok) throw new MessageUnanswered(type);
  return reply.out as MessageMap[T]['out'];
}

export type Handlers<Map> = {
  [T in keyof Map]: Map[T] extends { in: infer In; out: infer Out } ? (input: In) => Promise<Out> : never;
};

/**
 * Serves the messages of one context. Call it synchronously at the start of the context's script: Chrome
 * wakes a worker only for listeners that were there from the first turn. Types it does not know are left
 * to other contexts.
 */
export function serve<Map>(handlers: Handlers<Map>): void {
  browser.runtime.onMessage.addListener((message: unknown, sender: Runtime.MessageSender) => {
    if (!isFromOwnContext(sender) || !isEnvelope(message)) return undefined;
    if (!Object.hasOwn(handlers, message.type)) return undefined;
    const handle = handlers[message.type as unknown as keyof Map] as (input: unknown) => Promise<unknown>;
    return answer(handle, message);
  });
}

async function answer(handle: (input: unknown) => Promise<unknown>, message: Envelope): Promise<Reply> {
  try {
    return { ok: true, out: await handle(message.input) };
  } catch (thrown) {
    // Only the kind of the error is told: its text may quote what a page or the relay sent.
    console.error(`${message.type} failed:`, thrown instanceof Error ? thrown.name : typeof thrown);
    return { ok: false };
  }
}

/** A content script has this extension's id too, but a page's address and origin. */
export function isFromOwnContext(sender: Runtime.MessageSender): boolean {
  const own = browser.runtime.getURL('');
  return sender.id === browser.runtime.id && typeof sender.url === 'string' && sender.url.startsWith(own);
}

function isEnvelope(message: unknown): message is Envelope {
  return (
    typeof message === 'object' &&
    message !== null &&
    typeof (message as { type?: unknown }).type === 'string' &&
    'input' in message
  );
}
