/**
 * Runs each request once and answers it (wire.md §3, §5 rules 4 and 5, §8): the gate, the ledger, the tool
 * with its deadline, the settlement. What it holds in memory are the runs of this service worker instance;
 * whatever another instance began is known from the ledger alone. It knows no `chrome`, no clock and no
 * database: they are passed in.
 */
import type { AnswerMessage, QuestionDetail, RequestText, RunReply } from '../platform/messages';
import type { AnswerBody } from '../protocol/content';
import { AgentError, type ErrorCode, toAgentError } from '../protocol/errors';
import type { Progress } from '../protocol/frames';
import { isJsonObject, type JsonObject, type JsonValue } from '../protocol/json';
import type { ActivityEntry } from '../settings/activity';
import { longTimer, type SetTimer } from '../tools/timing';
import type { Tool, ToolContext, ToolPolicy } from '../tools/tool';
import { type Answer, errorAnswer, okAnswer } from './answers';
import type { Confirmation, QuestionPage, Verdict } from './confirmation';
import { type GateRules, gate, type Passed } from './gate';
import type { Ledger, LedgerReply, LedgerRequest } from './ledger-store';

/** Chrome ends a message that is not answered for minutes: until then the relay host asks again. */
export const REPLY_HELD_MS = 20_000;
/** A question ends so long before its request, at most: the answer must be out by the deadline. */
const QUESTION_MARGIN_MS = 1_000;
const TOOL_NAME_SHOWN = 64;

/** What a tool gets beside the request's own id, signal, deadline, progress and policy. */
export type ToolSurroundings = Omit<
  ToolContext,
  'platform' | 'request_id' | 'signal' | 'deadline' | 'now' | 'progress' | 'policy' | 'host'
>;

export interface DispatchOptions {
  ledger: Ledger;
  findTool: GateRules['findTool'];
  /** Asked for every request: a changed rule counts from the next one on (wire.md §8). */
  policy(): Promise<ToolPolicy>;
  surroundings(): Promise<ToolSurroundings>;
  /** A key that no other answer's body has. */
  newBodyKey(): string;
  /** Takes a body to where it will be sent from, while its answer is being written down. */
  sendBody(key: string, body: AnswerBody): void;
  confirmation: Pick<Confirmation, 'ask' | 'isUnanswered' | 'forget'>;
  /** The page that a call is about at this moment, for the person who is asked. */
  page(tool: Tool, input: JsonObject): Promise<QuestionPage | null>;
  /** What the call would do in particular, for the same person. */
  details(tool: Tool, input: JsonObject): Promise<QuestionDetail[]>;
  progress(id: string, progress: Progress): void;
  /** Where the work of resumable tools is done, which outlives this instance. */
  handover: {
    /** UUID of the offscreen document that is there now. */
    host(): Promise<string>;
    /** Asks a job to stop that an earlier instance may have handed over. */
    cancel(id: string, code: 'cancelled' | 'timeout'): void;
  };
  /** False once Chrome has begun to end this instance: its API fails then, while the script still runs. */
  isAlive(): Promise<boolean>;
  /** Epoch milliseconds. */
  now(): number;
  setTimer: SetTimer;
  /** For a person who looks for a fault. Gets the kind of an error, never its text. */
  log(line: string): void;
  /** The same for what went as it should. */
  debug?(line: string): void;
}

export interface Dispatch {
  /**
   * Runs, joins or looks up the request; `running` after a while, to be asked again. `cancelled`: it is to
   * stop; said again with each asking, because an instance that was told may have died.
   */
  run(request: RequestText, remaining_ms: number, cancelled?: boolean): Promise<RunReply>;
  /** Ends the request with `code` unless it has an answer; says which answer it has. */
  settle(request: RequestText, code: 'cancelled' | 'timeout'): Promise<AnswerMessage>;
  /** Asks what runs under this id to stop. Unknown ids: nothing. */
  cancel(id: string): void;
}

/** One request that this instance is working on. Duplicates share it. */
interface Flight {
  request: RequestText;
  started_at: number;
  deadline: number;
  /** Aborted with the `AgentError` the request is to be settled with. */
  abort: AbortController;
  /** Aborted when no more time is left, also after a cancel: only that ends the wait for work that was handed over. */
  overdue: AbortController;
  /** Kept in memory after its answer, because the ledger could not be written. */
  stays: boolean;
  /** What came of asking the person; undefined as long as nobody was asked. */
  asked?: ActivityEntry['asked'];
  /** Resolves once the ledger has heard of it: until then another request under its id must wait. */
  entered: Promise<void>;
  enter(): void;
  answer: Promise<AnswerMessage>;
}

type PassedRequest = Extract<Passed, { pass: true }>;

/** What a tool will need, on its way. */
interface Preparation {
  surroundings: Promise<ToolSurroundings>;
  looked: Promise<unknown>;
}

const DECLINED: Record<Exclude<Verdict, 'allowed'>, string> = {
  declined: 'The person at the device declined. Ask the person before you try again.',
  unanswered:
    'The person at the device was asked and did not answer before the deadline. Try again with more time when somebody is there.',
};
const PAGE_CHANGED =
  'The page changed while the person at the device was being asked about it. Look at the tab again, then send the request anew under a new id.';
const REFUSED_WITHOUT_RULES = { pass: false, refusal: new AgentError('internal_error') } as const;

export function createDispatch(options: DispatchOptions): Dispatch {
  const { ledger, confirmation, now } = options;
  const setTimer = longTimer(options.setTimer);
  const flights = new Map<string, Flight[]>();

  function findFlight({ id, key, input_hash }: RequestText): Flight | undefined {
    return flights.get(id)?.find(({ request }) => request.key === key && request.input_hash === input_hash);
  }

  /** Starts to work on a request. Known from here on, before anything is waited for. */
  function take(request: RequestText, remaining_ms: number, ended?: 'cancelled' | 'timeout'): Flight {
    const { id } = request;
    const started_at = now();
    const earlier = (flights.get(id) ?? []).map(({ entered }) => entered);
    let enter = () => {};
    const entered = new Promise<void>((resolve) => {
      enter = resolve;
    });
    const flight: Flight = {
      request,
      started_at,
      deadline: started_at + remaining_ms,
      abort: new AbortController(),
      overdue: new AbortController(),
      stays: false,
      entered,
      enter,
      answer: Promise.all(earlier).then(() => fly(flight)),
    };
    if (ended) stop(flight, ended);
    const stopDeadline = setTimer(() => stop(flight, 'timeout'), remaining_ms);
    flights.set(id, [...(flights.get(id) ?? []), flight]);
    const land = () => {
      stopDeadline();
      enter();
      if (flight.stays) return;
      const rest = (flights.get(id) ?? []).filter((other) => other !== flight);
      if (rest.length > 0) flights.set(id, rest);
      else flights.delete(id);
    };
    flight.answer.then(land, land);
    return flight;
  }

  function stop({ abort, overdue }: Flight, code: 'cancelled' | 'timeout'): void {
    if (code === 'timeout') overdue.abort();
    abort.abort(new AgentError(code));
  }

  async function fly(flight: Flight): Promise<AnswerMessage> {
    const { request, abort, overdue } = flight;
    const [known, rules] = await Promise.all([ledgerRequest(flight), gateRules()]);
    // A cancelled job may have been handed over by another instance: then its own end is the answer.
    const mayRun = known.host !== null && !overdue.signal.aborted;
    if (abort.signal.aborted && !mayRun)
      return settle(flight, known, await unstartedAnswer(flight, known), false);
    const passed = rules ? gate(request, rules) : REFUSED_WITHOUT_RULES;
    if (!passed.pass) {
      const { code, message } = passed.refusal;
      return settle(flight, known, errorAnswer(code, message, elapsed(flight)), false);
    }
    const { tool, ask } = passed;
    if (tool.resumable && known.host === null) {
      return settle(flight, known, errorAnswer('internal_error'), false);
    }
    let { policy } = passed;
    let ready = ask ? null : prepare(passed);
    let reply: LedgerReply;
    try {
      reply = await ledger.accept(known, tool.read_only, ask ? flight.deadline : null);
      flight.enter();
      if (reply.decision === 'ask') {
        const allowed = await askPerson(flight, known, passed);
        if (!allowed.allowed) return settle(flight, known, allowed.answer, false);
        ({ policy } = allowed);
        reply = await ledger.accept(known, tool.read_only);
      }
    } catch (thrown) {
      // A tool whose start is not written down must not start.
      return answerUnrecorded(flight, errorAnswer('internal_error'), thrown);
    }
    if (reply.decision === 'execute') {
      ready ??= prepare(passed);
      return settle(flight, known, await execute(flight, known, { ...passed, policy }, ready), true);
    }
    // It runs under this instance, yet nobody here knows of it: its settlement must have failed.
    if (reply.decision === 'join') return settle(flight, known, errorAnswer('outcome_unknown'), true);
    return answerIn(reply);
  }

  async function ledgerRequest({ request, started_at }: Flight): Promise<LedgerRequest> {
    const tool = request.command ?? '';
    const asked = options.findTool(tool);
    const meant = toolBehind(asked, request.input);
    const isResumable = meant?.resumable === true;
    const host = isResumable ? await options.handover.host().catch(() => null) : null;
    const behind = meant === asked ? undefined : meant?.name;
    return {
      key: request.key,
      input_hash: request.input_hash,
      tool: tool.slice(0, TOOL_NAME_SHOWN),
      ...(behind ? { behind } : {}),
      started_at,
      host,
    };
  }

  /** Waits for the person's answer; nothing of the tool has started by then. */
  async function askPerson(
    flight: Flight,
    known: LedgerRequest,
    { tool, input }: PassedRequest,
  ): Promise<{ allowed: true; policy: ToolPolicy } | { allowed: false; answer: Answer }> {
    const { request, abort, deadline } = flight;
    const refuse = (code: ErrorCode, sentence?: string) => ({
      allowed: false as const,
      answer: errorAnswer(code, sentence, elapsed(flight)),
    });
    const page = () => options.page(tool, input);
    const margin = Math.min(QUESTION_MARGIN_MS, (deadline - now()) / 10);
    let asked: Awaited<ReturnType<Confirmation['ask']>>;
    try {
      asked = await confirmation.ask(
        {
          request: questionKey(known),
          tool: tool.name,
          deadline: deadline - margin,
          page,
          details: () => options.details(tool, input),
        },
        abort.signal,
      );
    } catch {
      return { allowed: false, answer: await unstartedAnswer(flight, known, true) };
    }
    flight.asked = asked.verdict;
    if (asked.verdict !== 'allowed') return refuse('user_declined', DECLINED[asked.verdict]);
    const rules = await gateRules();
    const passed = rules ? gate(request, rules) : REFUSED_WITHOUT_RULES;
    if (!passed.pass) return refuse(passed.refusal.code, passed.refusal.message);
    const there = await page().catch(() => null);
    if (there?.place !== asked.page?.place) return refuse('page_restricted', PAGE_CHANGED);
    return { allowed: true, policy: passed.policy };
  }

  /** Null when the policy cannot be read: then nothing is allowed. */
  async function gateRules(): Promise<GateRules | null> {
    try {
      return { findTool: options.findTool, policy: await options.policy() };
    } catch (thrown) {
      options.log(`the policy cannot be read: ${kindOf(thrown)}`);
      return null;
    }
  }

  /** Begun before the ledger has written the id, which takes about as long. */
  function prepare({ tool, input }: PassedRequest): Preparation {
    const surroundings = options.surroundings();
    const looked = tool.look
      ? surroundings.then(({ browser }) => tool.look?.(input, browser))
      : Promise.resolve(undefined);
    // Whether the tool will run is not known yet; when it does, it meets the failure itself.
    for (const preparation of [surroundings, looked]) preparation.catch(() => undefined);
    return { surroundings, looked };
  }

  /**
   * What the tool came to, or the abort when that came first; its late outcome is lost then. A resumable tool that was
   * cancelled is waited for: its work ends at a safe point, and may have been published before.
   */
  async function execute(
    flight: Flight,
    { host }: LedgerRequest,
    passed: PassedRequest,
    ready: Preparation,
  ): Promise<Answer> {
    const { resumable } = passed.tool;
    if (flight.abort.signal.aborted && !resumable) return abortAnswer(flight);
    const { signal } = resumable ? flight.overdue : flight.abort;
    if (signal.aborted) return abortAnswer(flight);
    const aborted = new Promise<'aborted'>((resolve) => {
      signal.addEventListener('abort', () => resolve('aborted'), { once: true });
    });
    const first = await Promise.race([runTool(flight, passed, ready, host), aborted]);
    if (first !== 'aborted') return first;
    return resumable ? errorAnswer('timeout', undefined, elapsed(flight)) : abortAnswer(flight);
  }

  /** Never rejects: whatever a tool throws is an answer. */
  async function runTool(
    flight: Flight,
    { tool, input, policy }: PassedRequest,
    { surroundings, looked }: Preparation,
    host: string | null,
  ): Promise<Answer> {
    const { request, abort, deadline } = flight;
    let over = false;
    try {
      const context: ToolContext = {
        ...(await surroundings),
        platform: request.platform,
        request_id: request.id,
        signal: abort.signal,
        deadline,
        now,
        policy,
        host,
        progress: (progress) => {
          if (!over && !abort.signal.aborted) options.progress(request.id, progress);
        },
      };
      return okAnswer(await tool.run(input, context, looked), options.newBodyKey, elapsed(flight));
    } catch (thrown) {
      if (!(thrown instanceof AgentError)) options.log(`${tool.name} failed: ${kindOf(thrown)}`);
      const { code, message } = toAgentError(thrown);
      return errorAnswer(code, message, elapsed(flight));
    } finally {
      over = true;
    }
  }

  /** Settles the id with `answer` unless it has another; `of_run` when that is what its run came to. */
  async function settle(
    flight: Flight,
    known: LedgerRequest,
    answer: Answer,
    of_run: boolean,
  ): Promise<AnswerMessage> {
    // What failed because this instance is ending is no outcome: the next one sees a run that was cut off.
    if (answer.outcome !== 'ok' && !(await options.isAlive())) return new Promise(() => {});
    const { body_key } = answer.message;
    if (body_key && answer.body) options.sendBody(body_key, answer.body);
    const attempt = () => ledger.settle(known, { ...answer, of_run, asked: flight.asked });
    let reply: LedgerReply;
    try {
      // One more try: the connection to the database may have been lost, or the disk was full.
      reply = await attempt().catch(attempt);
    } catch (thrown) {
      return answerUnrecorded(flight, answer, thrown);
    }
    options.debug?.(`${JSON.stringify(known.tool)}: ${answer.outcome}, ${answer.message.duration_ms} ms`);
    // Not waited for: a question that stays behind is put away with its deadline.
    confirmation.forget(questionKey(known)).catch(() => undefined);
    return answerIn(reply);
  }

  /** The ledger cannot be written: this instance answers from memory for as long as it lives. */
  function answerUnrecorded(flight: Flight, answer: Answer, thrown: unknown): AnswerMessage {
    options.log(`the ledger failed: ${kindOf(thrown)}`);
    flight.stays = true;
    return answer.message;
  }

  function abortAnswer(flight: Flight): Answer {
    const { code, message } = toAgentError(flight.abort.signal.reason);
    return errorAnswer(code, message, elapsed(flight));
  }

  /** The same for a request that waited for the person, or may have, and whose tool never started. */
  async function unstartedAnswer(flight: Flight, known: LedgerRequest, was_asked = false): Promise<Answer> {
    const answer = abortAnswer(flight);
    if (answer.outcome !== 'timeout') return answer;
    const unanswered = was_asked || (await confirmation.isUnanswered(questionKey(known)).catch(() => false));
    if (!unanswered) return answer;
    flight.asked = 'unanswered';
    return errorAnswer('user_declined', DECLINED.unanswered, elapsed(flight));
  }

  function elapsed({ started_at }: Flight): number {
    return Math.max(0, now() - started_at);
  }

  async function hold(answer: Promise<AnswerMessage>): Promise<RunReply> {
    let stop = () => {};
    const running = new Promise<RunReply>((resolve) => {
      stop = setTimer(() => resolve({ running: true }), REPLY_HELD_MS);
    });
    const answered = answer.then((message): RunReply => ({ running: false, answer: message }));
    return Promise.race([answered, running]).finally(stop);
  }

  return {
    run(request, remaining_ms, cancelled = false) {
      const flight = findFlight(request) ?? take(request, remaining_ms);
      if (cancelled) flight.abort.abort(new AgentError('cancelled'));
      return hold(flight.answer);
    },
    async settle(request, code) {
      const flight = findFlight(request);
      if (flight) {
        stop(flight, code);
        return flight.answer;
      }
      options.handover.cancel(request.id, code);
      return take(request, 0, code).answer;
    },
    cancel(id) {
      const known = flights.get(id) ?? [];
      for (const flight of known) stop(flight, 'cancelled');
      if (known.length === 0) options.handover.cancel(id, 'cancelled');
    },
  };
}

/** An answer of the person counts for exactly this command and input under this id. */
function questionKey({ key, input_hash }: LedgerRequest): string {
  return `${key}.${input_hash}`;
}

/** The tool that will run; what the gate refuses anyway may be taken for another. */
function toolBehind(tool: Tool | undefined, input: JsonValue): Tool | undefined {
  try {
    return isJsonObject(input) ? (tool?.standsFor?.(input).tool ?? tool) : tool;
  } catch {
    return tool;
  }
}

/** The answer a step of the ledger leads to, when it leads to one. */
function answerIn(reply: LedgerReply): AnswerMessage {
  switch (reply.decision) {
    case 'answer':
      return reply.message;
    case 'conflict':
      return errorAnswer('request_id_conflict').message;
    case 'expired':
      return errorAnswer('result_expired').message;
    default:
      throw new Error(`no answer is known of: ${reply.decision}`);
  }
}

function kindOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.name : typeof thrown;
}
