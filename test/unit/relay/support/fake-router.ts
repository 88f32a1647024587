/**
 * A router that keeps a ledger as the real one does, and dies or hangs when a test wants it to. A tool's
 * input says what it does: `{ms?, output?, text?, image?}`, `text` and `image` being sizes.
 */
import type {
  AnswerMessage,
  DialDecision,
  RequestText,
  RouterMessages,
  RunReply,
} from '../../../../src/platform/messages';
import type { ErrorCode } from '../../../../src/protocol/errors';
import type { Outcome } from '../../../../src/protocol/frames';
import { canonicalJson, isJsonObject, type JsonObject } from '../../../../src/protocol/json';
import { errorOutcome } from '../../../../src/relay/response-frame';
import type { AskRouter } from '../../../../src/relay/router-line';
import { dialDecision } from './client';
import type { FakeClock } from './fake-clock';

const HELD_MS = 20_000;

interface Entry {
  content: string;
  /** The instance that runs it; another one finds it cut off. */
  instance: number;
  answer: AnswerMessage | null;
  /** Called when there is an answer. */
  waiting: (() => void)[];
}

interface Asked {
  type: keyof RouterMessages;
  input: unknown;
  at: number;
}

export class FakeRouter {
  readonly #clock: FakeClock;
  readonly ledger = new Map<string, Entry>();
  /** How often a tool was started, by id. */
  readonly runs = new Map<string, number>();
  readonly asked: Asked[] = [];
  readonly pictures = new Map<string, Blob>();
  decision: DialDecision = dialDecision();
  status: number | null = null;
  /** Nothing is answered at all. */
  hangs = false;
  /** Every message fails, as with a worker that does not start. */
  dead = false;
  #instance = 0;
  readonly #pending = new Set<() => void>();

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  of(type: keyof RouterMessages): Asked[] {
    return this.asked.filter((asked) => asked.type === type);
  }

  /** The worker is killed: what was asked fails, what ran is cut off; the next message starts a new one. */
  kill(): void {
    this.#instance += 1;
    for (const reject of [...this.#pending]) reject();
    this.#pending.clear();
  }

  ask: AskRouter = (type, input) => {
    this.asked.push({ type, input, at: this.#clock.passed });
    return new Promise((resolve, reject) => {
      if (this.dead) {
        reject(new Error('nobody answered'));
        return;
      }
      const die = (): void => reject(new Error('nobody answered'));
      this.#pending.add(die);
      if (this.hangs) return;
      const handled = this.#handle(type, input) as Promise<RouterMessages[typeof type]['out']>;
      void handled.then((out) => {
        if (this.#pending.delete(die)) resolve(out);
      });
    });
  };

  async #handle(type: keyof RouterMessages, input: unknown): Promise<unknown> {
    switch (type) {
      case 'dial.prepare':
        return this.decision;
      case 'dial.handshake_status':
        return { status: this.status };
      case 'request.run':
        return this.#run(JSON.parse((input as { request: string }).request) as RequestText);
      case 'request.settle': {
        const { request, code } = input as RouterMessages['request.settle']['in'];
        return { answer: this.#settle(JSON.parse(request) as RequestText, code) };
      }
      case 'request.cancel': {
        const entry = this.ledger.get(JSON.parse((input as { id: string }).id) as string);
        if (entry && !entry.answer) this.#end(entry, failed('cancelled'));
        return {};
      }
      default:
        return {};
    }
  }

  async #run(request: RequestText): Promise<RunReply> {
    const content = contentOf(request);
    const known = this.ledger.get(request.id);
    if (known && known.content !== content) return { running: false, answer: failed('request_id_conflict') };
    const entry = known ?? this.#start(request, content);
    if (!entry.answer && entry.instance !== this.#instance) this.#end(entry, failed('outcome_unknown'));
    if (!entry.answer) {
      await new Promise<void>((resolve) => {
        entry.waiting.push(resolve);
        this.#clock.setTimer(resolve, HELD_MS);
      });
    }
    return entry.answer ? { running: false, answer: entry.answer } : { running: true };
  }

  #start(request: RequestText, content: string): Entry {
    const entry: Entry = { content, instance: this.#instance, answer: null, waiting: [] };
    this.ledger.set(request.id, entry);
    if (request.malformed !== null) {
      this.#end(entry, failed('invalid_request'));
      return entry;
    }
    this.runs.set(request.id, (this.runs.get(request.id) ?? 0) + 1);
    const { ms = 0, text, image = 0, ...input } = isJsonObject(request.input) ? request.input : {};
    const short = input.output ?? { done: request.command };
    const output = text === undefined ? short : { text: 'x'.repeat(Number(text)) };
    const key = `k-${request.id}`;
    if (Number(image) > 0)
      this.pictures.set(key, new Blob([new Uint8Array(Number(image))], { type: 'image/png' }));
    const instance = this.#instance;
    this.#clock.setTimer(() => {
      if (instance === this.#instance && !entry.answer) {
        this.#end(entry, done(output as JsonObject, Number(image), key));
      }
    }, Number(ms));
    return entry;
  }

  #settle(request: RequestText, code: 'cancelled' | 'timeout'): AnswerMessage {
    const content = contentOf(request);
    const entry = this.ledger.get(request.id) ?? {
      content,
      instance: this.#instance,
      answer: null,
      waiting: [],
    };
    this.ledger.set(request.id, entry);
    if (!entry.answer) this.#end(entry, failed(code));
    return entry.answer ?? failed(code);
  }

  #end(entry: Entry, answer: AnswerMessage): void {
    entry.answer = answer;
    for (const tell of entry.waiting.splice(0)) tell();
  }
}

function contentOf({ command, input }: RequestText): string {
  return canonicalJson({ command, input });
}

function done(output: JsonObject, image: number, key: string): AnswerMessage {
  const outcome: Outcome = { status: 'ok', output, error: null };
  const attachments = image > 0 ? [{ field: 'image', mime_type: 'image/png', size: image }] : [];
  return { outcome: JSON.stringify(outcome), duration_ms: 1, attachments, body_key: image > 0 ? key : null };
}

function failed(code: ErrorCode): AnswerMessage {
  return { outcome: JSON.stringify(errorOutcome(code)), duration_ms: 1, attachments: [], body_key: null };
}
