import 'fake-indexeddb/auto';
import Ajv2020 from 'ajv/dist/2020';
import { promisifyRequest } from 'idb-keyval';
import { vi } from 'vitest';
import type { AnswerMessage, RequestText } from '../../../src/platform/messages';
import type { AnswerBody } from '../../../src/protocol/content';
import type { Outcome, Progress } from '../../../src/protocol/frames';
import type { JsonValue } from '../../../src/protocol/json';
import { contentOf, type RequestNames } from '../../../src/protocol/request-names';
import type { Validate } from '../../../src/protocol/validation';
import {
  type Confirmation,
  createConfirmation,
  type Question,
  type QuestionPage,
  type QuestionStore,
} from '../../../src/router/confirmation';
import {
  createDispatch,
  type Dispatch,
  type DispatchOptions,
  type ToolSurroundings,
} from '../../../src/router/dispatch';
import { createLedger, type Ledger } from '../../../src/router/ledger-store';
import type { ActivityEntry } from '../../../src/settings/activity';
import { inputComplaints } from '../../../src/tools/input-complaint';
import { longTimer } from '../../../src/tools/timing';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '../../../src/tools/tool';
import { FakeClock } from './fake-clock';

export interface Started {
  tool: string;
  input: JsonValue;
  context: ToolContext;
  looked: Promise<unknown>;
  finish(result: ToolResult): void;
  fail(thrown: unknown): void;
}

const TEXT_ONLY = { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false };

function compile(schema: object): Validate {
  return new Ajv2020().compile(schema) as Validate;
}

/** Tools that wait until the test says what they come to: `write` has effects, `look` is read-only. */
export function waitingTools(started: Started[], looks: string[]): Tool[] {
  const waiting = (name: string, read_only: boolean): Tool =>
    defineTool<{ text?: string }, unknown>({
      name,
      description: name,
      input_schema: TEXT_ONLY,
      class: 'observe',
      read_only,
      os_action: null,
      requires_confirmation: false,
      look: read_only ? async () => looks.push(name) : undefined,
      run: (input, context, looked) =>
        new Promise((finish, fail) => {
          started.push({ tool: name, input: input as JsonValue, context, looked, finish, fail });
        }),
    });
  const write = waiting('write', false);
  const front: Tool = {
    ...waiting('front', false),
    standsFor: (input) => ({ tool: write, input, wrap: (result) => result }),
  };
  return [write, waiting('look', true), front];
}

export interface Rig {
  clock: FakeClock;
  /** Every start of a tool, of all instances, in order. */
  started: Started[];
  /** Every look of a read-only tool, by name. */
  looks: string[];
  /** Newest first. */
  activity(): Promise<ActivityEntry[]>;
  progress: { id: string; progress: Progress }[];
  /** What was cancelled where it may have been handed over to. */
  cancelledElsewhere: { id: string; code: string }[];
  /** What was sent ahead of its answer. */
  sent: { key: string; body: AnswerBody }[];
  /** The keys of the bodies that are stored. */
  storedBodies(): Promise<string[]>;
  log: string[];
  blocked: Set<string>;
  /** Tools that run only after the person allowed it. */
  asked: Set<string>;
  /** The questions as they outlive a worker. */
  session: Map<string, Question>;
  /** The questions the person sees outside the popup. */
  shown: Map<string, Question>;
  /** What a call is about. */
  page: QuestionPage | null;
  confirmation(changes?: { store?: QuestionStore }): Confirmation;
  database: string;
  ledger(run: string): Ledger;
  /** One instance of the service worker over the rig's durable state. */
  worker(run: string, changes?: Partial<DispatchOptions>): Dispatch;
}

let rigs = 0;

export function createRig(): Rig {
  rigs += 1;
  const clock = new FakeClock();
  const rig: Rig = {
    clock,
    started: [],
    looks: [],
    activity: () => rig.ledger('looking').activity(100),
    progress: [],
    cancelledElsewhere: [],
    sent: [],
    storedBodies: async () => {
      await rig.activity();
      const database = await promisifyRequest(indexedDB.open(rig.database));
      const keys = await promisifyRequest(database.transaction('bodies').objectStore('bodies').getAllKeys());
      database.close();
      return keys.map(String);
    },
    log: [],
    blocked: new Set(),
    asked: new Set(),
    session: new Map(),
    shown: new Map(),
    page: { host: 'a.test', title: 'A', place: '1 https://a.test' },
    confirmation: ({ store } = {}) =>
      createConfirmation({
        store: store ?? questionStore(rig.session),
        show: async (question) => void rig.shown.set(question.question_id, question),
        hide: async (question_id) => void rig.shown.delete(question_id),
        changed: () => {},
        newId: () => crypto.randomUUID(),
        now: clock.now,
        setTimer: longTimer(clock.setTimer),
      }),
    database: `ledger-${rigs}`,
    ledger: (run) => createLedger({ run, now: clock.now, database: rig.database }),
    worker: (run, changes = {}) => {
      const tools = waitingTools(rig.started, rig.looks);
      return createDispatch({
        ledger: rig.ledger(run),
        findTool: (name) => tools.find((tool) => tool.name === name),
        policy: async () => ({ managed: false, blocked_tools: rig.blocked, asked_tools: rig.asked }),
        confirmation: rig.confirmation(),
        page: async () => rig.page,
        details: async (tool) => [{ kind: 'script', text: tool.name, left_out: 0, concealed: false }],
        surroundings: async () => ({}) as ToolSurroundings,
        newBodyKey: () => crypto.randomUUID(),
        sendBody: (key, body) => rig.sent.push({ key, body }),
        progress: (id, progress) => rig.progress.push({ id, progress }),
        handover: {
          host: async () => 'document',
          cancel: (id, code) => rig.cancelledElsewhere.push({ id, code }),
        },
        isAlive: async () => true,
        now: clock.now,
        setTimer: clock.setTimer,
        log: (line) => rig.log.push(line),
        ...changes,
      });
    },
  };
  return rig;
}

export function questionStore(session: Map<string, Question>): QuestionStore {
  return {
    all: async () => structuredClone([...session.values()]),
    put: async (question) => void session.set(question.question_id, structuredClone(question)),
    remove: async (question_id) => void session.delete(question_id),
  };
}

const complain = inputComplaints(
  Object.fromEntries(waitingTools([], []).map((tool) => [tool.name, compile(tool.input_schema)])),
  {},
);

/** A request as the relay host hands it over. */
export function request(id: string, command = 'write', input: JsonValue = {}): RequestText {
  const invalid = complain(command, input);
  return named({ platform: 'wss://r.test', id, command, input, malformed: null, invalid });
}

/** With names that differ where the hashes would. */
export function named(request: Omit<RequestText, keyof RequestNames>): RequestText {
  const { platform, id, command, input } = request;
  return { ...request, key: JSON.stringify([platform, id]), input_hash: contentOf(command, input) };
}

export function outcomeOf(answer: AnswerMessage): Outcome {
  return JSON.parse(answer.outcome) as Outcome;
}

/** The answer's code, or `ok`. */
export function codeOf(answer: AnswerMessage): string {
  const outcome = outcomeOf(answer);
  return outcome.status === 'ok' ? 'ok' : outcome.error_code;
}

/** Runs a request to its answer, asking again as the relay host does. */
export async function answerFor(
  worker: Dispatch,
  asked: RequestText,
  remaining_ms = 60_000,
): Promise<AnswerMessage> {
  for (;;) {
    const reply = await worker.run(asked, remaining_ms);
    if (!reply.running) return reply.answer;
  }
}

/** Waits until `count` tools have started in all. */
export function startsOf(rig: Rig, count: number): Promise<Started> {
  return vi.waitFor(
    () => {
      const last = rig.started[count - 1];
      if (!last) throw new Error(`only ${rig.started.length} of ${count} tools started`);
      return last;
    },
    { timeout: 10_000, interval: 1 },
  );
}
