/**
 * The questions to the person at the device: may this tool run (tools.md, Permission classes and
 * confirmation)? Each request has one question, each question one answer: the first that comes before its
 * deadline, and nobody's is a no. Questions outlive the service worker: a later instance goes on with them.
 * Knows no browser and no clock: they are passed in, and so is where questions are kept and shown.
 */
import type { QuestionDetail } from '../platform/messages';
import type { SetTimer } from '../tools/timing';
import { remembered } from './remembered';

/** The page a question is about. The texts are the page's or the caller's: data, cut and cleaned. */
export interface QuestionPage {
  host: string;
  /** '' when there is none. */
  title: string;
  /** Equal as long as it is the same tab with a page of the same origin. */
  place: string;
}

/** `unanswered`: the deadline passed. */
export type Verdict = 'allowed' | 'declined' | 'unanswered';

export interface Question {
  /** Names it to whoever answers; tells nothing of the request. */
  question_id: string;
  /** The request it belongs to, its command and its input: an answer counts for nothing else. */
  request: string;
  /** The registry's name. */
  tool: string;
  /** Null for a tool that touches no page. */
  page: QuestionPage | null;
  /** What the tool was given, for the person to see. */
  details: QuestionDetail[];
  /** Epoch milliseconds. */
  asked_at: number;
  deadline: number;
  /** Null while it waits. */
  verdict: Verdict | null;
  /** Whether the person was told of it outside the popup, too. */
  shown: boolean;
}

export interface Asked {
  request: string;
  tool: string;
  deadline: number;
  /** These are asked for only when there is no question yet. */
  page(): Promise<QuestionPage | null>;
  details(): Promise<QuestionDetail[]>;
}

/** Keeps questions for as long as the browser runs. */
export interface QuestionStore {
  all(): Promise<Question[]>;
  put(question: Question): Promise<void>;
  remove(question_id: string): Promise<void>;
}

export interface ConfirmationOptions {
  store: QuestionStore;
  /** Tells the person, outside the popup. */
  show(question: Question): Promise<void>;
  hide(question_id: string): Promise<void>;
  /** Other questions wait than before. */
  changed(): void;
  newId(): string;
  /** Epoch milliseconds. */
  now(): number;
  setTimer: SetTimer;
}

export interface Confirmation {
  /**
   * Asks the person, or goes on with the question that this request has already. Rejects with the signal's
   * reason when that aborts first: then the question is withdrawn.
   */
  ask(asked: Asked, signal: AbortSignal): Promise<{ verdict: Verdict; page: QuestionPage | null }>;
  /** The person's answer; false when the question is not there any more, or answered already. */
  answer(question_id: string, allow: boolean): Promise<boolean>;
  /** Whether the person was asked about this request and has said nothing. */
  isUnanswered(request: string): Promise<boolean>;
  /** The request has its answer. */
  forget(request: string): Promise<void>;
  /** The questions that wait now, oldest first. */
  waiting(): Promise<Question[]>;
  /** Puts away what nobody asks for any more. */
  sweep(): Promise<void>;
}

/** How long an answer is kept for a request that nobody asked for again. */
const KEPT_AFTER_DEADLINE_MS = 60_000;

export function createConfirmation(options: ConfirmationOptions): Confirmation {
  const { store, now, setTimer } = options;
  const questions = new Map<string, Question>();
  const listeners = new Map<string, Set<(verdict: Verdict) => void>>();

  const load = remembered(async () => {
    // What came meanwhile is newer.
    for (const question of await store.all()) {
      if (!questions.has(question.question_id)) questions.set(question.question_id, question);
    }
  });
  /** Without the store a question is asked all the same; only another instance does not know of it. */
  const loaded = () => load().catch(() => undefined);

  let turn: Promise<unknown> = Promise.resolve();
  /** One step after the other, each over what the one before has written. */
  function inTurn<T>(step: () => Promise<T>): Promise<T> {
    const done = turn.then(loaded).then(step);
    turn = done.catch(() => undefined);
    return done;
  }

  function find(request: string): Question | undefined {
    return [...questions.values()].find((question) => question.request === request);
  }

  /** Nobody acts on what is not written down yet. */
  async function keep(question: Question): Promise<void> {
    await store.put(question).catch(() => undefined);
    questions.set(question.question_id, question);
  }

  async function drop({ question_id, verdict }: Question): Promise<void> {
    questions.delete(question_id);
    await store.remove(question_id).catch(() => undefined);
    if (verdict === null) withdrawn(question_id);
  }

  function withdrawn(question_id: string): void {
    options.hide(question_id).catch(() => undefined);
    options.changed();
  }

  /** Gives the question its verdict unless it has one; written down before anybody acts on it. */
  async function decide(question_id: string, wanted: Verdict): Promise<boolean> {
    const question = questions.get(question_id);
    if (!question || question.verdict !== null) return false;
    const verdict = now() < question.deadline ? wanted : 'unanswered';
    await keep({ ...question, verdict });
    withdrawn(question_id);
    for (const tell of listeners.get(question_id) ?? []) tell(verdict);
    return verdict === wanted;
  }

  async function findOrCreate(asked: Asked): Promise<Question> {
    const { request, tool, deadline } = asked;
    const known = await inTurn(async () => find(request));
    if (known) return known;
    const page = await asked.page().catch(() => null);
    const details = await asked.details().catch(() => []);
    const question_id = options.newId();
    const asked_at = now();
    return inTurn(async () => {
      const other = find(request);
      if (other) return other;
      await keep({
        question_id,
        request,
        tool,
        page,
        details,
        asked_at,
        deadline,
        verdict: null,
        shown: false,
      });
      options.changed();
      return find(request) as Question;
    });
  }

  /** Outside of the turns: the browser may take its time. */
  async function show(question: Question): Promise<void> {
    await options.show(question);
    await inTurn(async () => {
      const current = questions.get(question.question_id);
      if (current) await keep({ ...current, shown: true });
      // It was answered or withdrawn while it was being shown.
      if (current?.verdict !== null) await options.hide(question.question_id);
    });
  }

  function verdictOf(question: Question, signal: AbortSignal): Promise<Verdict> {
    const { question_id, deadline } = question;
    return new Promise((resolve, reject) => {
      const told = listeners.get(question_id) ?? new Set();
      const end = (): void => {
        stopTimer();
        signal.removeEventListener('abort', onAbort);
        told.delete(onVerdict);
        if (told.size === 0) listeners.delete(question_id);
      };
      const onVerdict = (verdict: Verdict): void => {
        end();
        resolve(verdict);
      };
      const onAbort = (): void => {
        end();
        reject(signal.reason);
      };
      const stopTimer = setTimer(() => {
        inTurn(() => decide(question_id, 'unanswered')).catch(reject);
      }, deadline - now());
      listeners.set(question_id, told.add(onVerdict));
      signal.addEventListener('abort', onAbort);
    });
  }

  return {
    async ask(asked, signal) {
      const question = await findOrCreate(asked);
      const { question_id, page } = question;
      if (signal.aborted) {
        await inTurn(() => drop(questions.get(question_id) ?? question));
        throw signal.reason;
      }
      const known = questions.get(question_id)?.verdict;
      if (known) return { verdict: known, page };
      const verdict = verdictOf(question, signal);
      if (!question.shown) show(question).catch(() => undefined);
      try {
        return { verdict: await verdict, page };
      } catch (thrown) {
        await inTurn(async () => {
          const current = questions.get(question_id);
          if (current) await drop(current);
        });
        throw thrown;
      }
    },
    answer: (question_id, allow) => inTurn(() => decide(question_id, allow ? 'allowed' : 'declined')),
    isUnanswered: (request) =>
      inTurn(async () => {
        const question = find(request);
        return question !== undefined && (question.verdict ?? 'unanswered') === 'unanswered';
      }),
    forget: (request) =>
      inTurn(async () => {
        const question = find(request);
        if (question) await drop(question);
      }),
    waiting: () =>
      inTurn(async () =>
        [...questions.values()]
          .filter(({ verdict, deadline }) => verdict === null && now() < deadline)
          .sort((one, other) => one.asked_at - other.asked_at),
      ),
    sweep: () =>
      inTurn(async () => {
        for (const question of [...questions.values()]) {
          const { question_id, deadline } = question;
          const isHeard = listeners.has(question_id);
          if (!isHeard && now() >= deadline) await decide(question_id, 'unanswered');
          if (!isHeard && now() >= deadline + KEPT_AFTER_DEADLINE_MS) {
            await drop(questions.get(question_id) ?? question);
          }
        }
      }),
  };
}
