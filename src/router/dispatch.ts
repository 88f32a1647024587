/**
 * Runs each request once and answers it (wire.md §3, §5 rules 4 and 5, §8): the gate, the ledger, the tool
 * with its deadline, the settlement. What it holds in memory are the runs of this service worker instance;
 * whatever another instance began is known from the ledger alone. It knows no `chrome`, no clock and no
 * database: they are passed in.
 */
import type { AnswerMessage, RequestText, RunReply } from '../platform/messages';
import { AgentError, toAgentError } from '../protocol/errors';
import type { Progress } from '../protocol/frames';
import type { JsonObject } from '../protocol/json';
import type { SetTimer } from '../tools/timing';
import type { Attachment, Tool, ToolContext, ToolPolicy, ToolResult } from '../tools/tool';
import { type Answer, errorAnswer, okAnswer } from './answers';
import { type GateRules, gate } from './gate';
import type { Ledger, LedgerReply, LedgerRequest } from './ledger-store';
import { canonicalRequest, idKey, inputHash } from './request-hash';

/** Chrome ends a message that is not answered for minutes: until then the relay host asks again. */
export const REPLY_HELD_MS = 20_000;
/** The longest delay a timer takes; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647;
const TOOL_NAME_SHOWN = 64;

/** What a tool gets beside the request's own id, signal, deadline, progress and policy. */
export type ToolSurroundings = Omit<
  ToolContext,
  'request_id' | 'signal' | 'deadline' | 'now' | 'progress' | 'policy'
>;

export interface DispatchOptions {
  ledger: Ledger;
  findTool: GateRules['findTool'];
  validators: GateRules['validators'];
  /** Asked for every request: a changed rule counts from the next one on (wire.md §8). */
  policy(): Promise<ToolPolicy>;
  surroundings(): Promise<ToolSurroundings>;
  bodies: {
    newKey(): string;
    putBody(key: string, attachments: readonly { field: string; blob: Blob }[]): Promise<void>;
    removeBodies(keys: string[]): Promise<void>;
  };
  progress(id: string, progress: Progress): void;
  /** False once Chrome has begun to end this instance: its API fails then, while the script still runs. */
  isAlive(): Promise<boolean>;
  /** Epoch milliseconds. */
  now(): number;
  setTimer: SetTimer;
  /** For a person who looks for a fault. Gets the kind of an error, never its text. */
  log(line: string): void;
}

export interface Dispatch {
  /** Runs, joins or looks up the request; `running` after a while, to be asked again. */
  run(request: RequestText, remaining_ms: number): Promise<RunReply>;
  /** Ends the request with `code` unless it has an answer; says which answer it has. */
  settle(request: RequestText, code: 'cancelled' | 'timeout'): Promise<AnswerMessage>;
  /** Asks what runs under this id to stop. Unknown ids: nothing. */
  cancel(id: string): void;
}

/** One request that this instance is working on. Duplicates share it. */
interface Flight {
  request: RequestText;
  /** Tells duplicates from conflicts, without waiting for a hash. */
  canonical: string;
  started_at: number;
  deadline: number;
  /** Aborted with the `AgentError` the request is to be settled with. */
  abort: AbortController;
  /** Kept in memory after its answer, because the ledger could not be written. */
  stays: boolean;
  /** Resolves once the ledger has heard of it: until then another request under its id must wait. */
  entered: Promise<void>;
  enter(): void;
  answer: Promise<AnswerMessage>;
}

const REFUSED_WITHOUT_RULES = { pass: false, refusal: new AgentError('internal_error') } as const;

export function createDispatch(options: DispatchOptions): Dispatch {
  const { ledger, bodies, now, setTimer } = options;
  const flights = new Map<string, Flight[]>();

  function findFlight({ platform, id }: RequestText, canonical: string): Flight | undefined {
    return flights
      .get(id)
      ?.find((flight) => flight.canonical === canonical && flight.request.platform === platform);
  }

  /** Starts to work on a request. Known from here on, before anything is waited for. */
  function take(request: RequestText, canonical: string, remaining_ms: number, ended?: AgentError): Flight {
    const { id } = request;
    const started_at = now();
    const earlier = (flights.get(id) ?? []).map(({ entered }) => entered);
    let enter = () => {};
    const entered = new Promise<void>((resolve) => {
      enter = resolve;
    });
    const flight: Flight = {
      request,
      canonical,
      started_at,
      deadline: started_at + remaining_ms,
      abort: new AbortController(),
      stays: false,
      entered,
      enter,
      answer: Promise.all(earlier).then(() => fly(flight)),
    };
    if (ended) flight.abort.abort(ended);
    const stopDeadline = after(remaining_ms, () => flight.abort.abort(new AgentError('timeout')));
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

  async function fly(flight: Flight): Promise<AnswerMessage> {
    const { request, abort } = flight;
    const [known, rules] = await Promise.all([ledgerRequest(flight), gateRules()]);
    if (abort.signal.aborted) return settle(flight, known, abortAnswer(flight), false);
    const passed = rules ? gate(request, rules) : REFUSED_WITHOUT_RULES;
    if (!passed.pass) {
      const { code, message } = passed.refusal;
      return settle(flight, known, errorAnswer(code, message, elapsed(flight)), false);
    }
    const { tool, input } = passed;
    let reply: LedgerReply;
    try {
      reply = await ledger.accept(known, tool.read_only);
    } catch (thrown) {
      // A tool whose start is not written down must not start.
      return answerUnrecorded(flight, errorAnswer('internal_error'), thrown);
    }
    flight.enter();
    if (reply.decision === 'execute') {
      return settle(flight, known, await execute(flight, tool, input, passed.policy), true);
    }
    // It runs under this instance, yet nobody here knows of it: its settlement must have failed.
    if (reply.decision === 'join') return settle(flight, known, errorAnswer('outcome_unknown'), true);
    return answerIn(reply);
  }

  /** Null when the policy cannot be read: then nothing is allowed. */
  async function gateRules(): Promise<GateRules | null> {
    try {
      return { findTool: options.findTool, validators: options.validators, policy: await options.policy() };
    } catch (thrown) {
      options.log(`the policy cannot be read: ${kindOf(thrown)}`);
      return null;
    }
  }

  /** What the tool came to, or the abort when that came first; its late outcome is lost then. */
  async function execute(flight: Flight, tool: Tool, input: JsonObject, policy: ToolPolicy): Promise<Answer> {
    const { signal } = flight.abort;
    if (signal.aborted) return abortAnswer(flight);
    const aborted = new Promise<'aborted'>((resolve) => {
      signal.addEventListener('abort', () => resolve('aborted'), { once: true });
    });
    const outcome = runTool(flight, tool, input, policy);
    const first = await Promise.race([outcome, aborted]);
    if (first !== 'aborted') return first;
    outcome.then((late) => dropBody(late.message));
    return abortAnswer(flight);
  }

  /** Never rejects: whatever a tool throws is an answer. */
  async function runTool(flight: Flight, tool: Tool, input: JsonObject, policy: ToolPolicy): Promise<Answer> {
    const { request, abort, deadline } = flight;
    let over = false;
    try {
      const result = await tool.run(input, {
        ...(await options.surroundings()),
        request_id: request.id,
        signal: abort.signal,
        deadline,
        now,
        policy,
        progress: (progress) => {
          if (!over && !abort.signal.aborted) options.progress(request.id, progress);
        },
      });
      return await answerOf(flight, result);
    } catch (thrown) {
      if (!(thrown instanceof AgentError)) options.log(`${tool.name} failed: ${kindOf(thrown)}`);
      const { code, message } = toAgentError(thrown);
      return errorAnswer(code, message, elapsed(flight));
    } finally {
      over = true;
    }
  }

  async function answerOf(flight: Flight, { output, attachments = [] }: ToolResult): Promise<Answer> {
    const facts = attachments.map(({ field, mime_type, blob, inside }: Attachment) => ({
      field,
      mime_type,
      size: blob.size,
      ...(inside === undefined ? {} : { inside }),
    }));
    const body_key = attachments.length > 0 ? bodies.newKey() : null;
    if (body_key) await bodies.putBody(body_key, attachments);
    const answer = okAnswer(output, facts, body_key, elapsed(flight));
    if (body_key && answer.message.body_key === null) dropBody({ ...answer.message, body_key });
    return answer;
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
    const attempt = () => ledger.settle(known, { ...answer, of_run });
    let reply: LedgerReply;
    try {
      // One more try: the connection to the database may have been lost, or the disk was full.
      reply = await attempt().catch(attempt);
    } catch (thrown) {
      return answerUnrecorded(flight, answer, thrown);
    }
    const stored = reply.decision === 'answer' ? reply.message.body_key : null;
    if (stored !== answer.message.body_key) dropBody(answer.message);
    return answerIn(reply);
  }

  /** The ledger cannot be written: this instance answers from memory for as long as it lives. */
  function answerUnrecorded(flight: Flight, answer: Answer, thrown: unknown): AnswerMessage {
    options.log(`the ledger failed: ${kindOf(thrown)}`);
    flight.stays = true;
    return answer.message;
  }

  function dropBody({ body_key }: AnswerMessage): void {
    // A body that stays behind is found by a later sweep of the ledger.
    if (body_key) bodies.removeBodies([body_key]).catch(() => undefined);
  }

  function abortAnswer(flight: Flight): Answer {
    const { code, message } = toAgentError(flight.abort.signal.reason);
    return errorAnswer(code, message, elapsed(flight));
  }

  function elapsed({ started_at }: Flight): number {
    return Math.max(0, now() - started_at);
  }

  /** Calls `run` after a delay of any length; returns what calls it off. */
  function after(delay_ms: number, run: () => void): () => void {
    let callOff = () => {};
    const arm = (left_ms: number) => {
      const step = Math.min(left_ms, LONGEST_TIMER_MS);
      callOff = setTimer(() => (left_ms > step ? arm(left_ms - step) : run()), step);
    };
    arm(Math.max(0, delay_ms));
    return () => callOff();
  }

  async function hold(answer: Promise<AnswerMessage>): Promise<RunReply> {
    let stop = () => {};
    const running = new Promise<RunReply>((resolve) => {
      stop = after(REPLY_HELD_MS, () => resolve({ running: true }));
    });
    const answered = answer.then((message): RunReply => ({ running: false, answer: message }));
    return Promise.race([answered, running]).finally(stop);
  }

  return {
    run(request, remaining_ms) {
      const canonical = canonicalRequest(request.command, request.input);
      const flight = findFlight(request, canonical) ?? take(request, canonical, remaining_ms);
      return hold(flight.answer);
    },
    async settle(request, code) {
      const canonical = canonicalRequest(request.command, request.input);
      const flight = findFlight(request, canonical);
      if (flight) {
        flight.abort.abort(new AgentError(code));
        return flight.answer;
      }
      return take(request, canonical, 0, new AgentError(code)).answer;
    },
    cancel(id) {
      for (const flight of flights.get(id) ?? []) flight.abort.abort(new AgentError('cancelled'));
    },
  };
}

async function ledgerRequest({ request, canonical, started_at }: Flight): Promise<LedgerRequest> {
  const [key, input_hash] = await Promise.all([idKey(request.platform, request.id), inputHash(canonical)]);
  return { key, input_hash, tool: (request.command ?? '').slice(0, TOOL_NAME_SHOWN), started_at };
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
