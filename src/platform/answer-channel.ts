/**
 * The way of an answer's binary from the router to the relay host while its answer is being written down:
 * a channel that only this extension's contexts hear. Chrome's messages are JSON, and reading it back from
 * the database would cost as much as a message.
 */
import type { AnswerBody, Content } from '../protocol/content';

const NAME = 'endue-answer-bodies';
/** Bodies that came and were not taken yet: those of as many answers, the newest. */
const UNTAKEN_KEPT = 8;

interface Sent {
  key: string;
  body: AnswerBody;
}

let channel: BroadcastChannel | null = null;

function openChannel(): BroadcastChannel {
  channel ??= new BroadcastChannel(NAME);
  return channel;
}

/** Sends the body of an answer that is about to be settled, under a key no other body has. */
export function sendBody(key: string, body: AnswerBody): void {
  openChannel().postMessage({ key, body } satisfies Sent);
}

/** Keeps what is sent from now on until it is taken. For the relay host. */
export function receiveBodies(came: (content: Content) => void): {
  /** The body of that key if it came by the channel and was not taken before. */
  take(key: string): AnswerBody | undefined;
} {
  const untaken = new Map<string, AnswerBody>();
  openChannel().onmessage = ({ data: { key, body } }: MessageEvent<Sent>) => {
    untaken.set(key, body);
    for (const content of Object.values(body)) came(content);
    const [oldest] = untaken.keys();
    if (untaken.size > UNTAKEN_KEPT && oldest !== undefined) untaken.delete(oldest);
  };
  return {
    take(key) {
      const body = untaken.get(key);
      untaken.delete(key);
      return body;
    },
  };
}
