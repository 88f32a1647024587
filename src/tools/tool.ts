/**
 * What a tool is: one declaration from which the catalogue, the validation, `os_capabilities` and the docs
 * come (tools.md, Catalogue). Types only; tools reach the browser through their context, so that the
 * registry can be loaded where there is no `chrome` (the build, the docs, the unit tests).
 */
import type { Browser } from 'webextension-polyfill';
import type { ScreenFacts, StorageOverview } from '../platform/messages';
import type { Content } from '../protocol/content';
import type { Progress } from '../protocol/frames';
import type { JsonObject } from '../protocol/json';
import type { UrlRules } from '../settings/url-rules';
import type { CaptureQueue } from './capture-queue';
import type { ConsoleCapture } from './console-capture';
import type { LoadWatch } from './load-watch';
import type { PictureStore } from './picture-store';
import type { Reencode } from './re-encode';
import type { TextShelf } from './text-shelf';
import type { SetTimer } from './timing';

/** tools.md, Permission classes. */
export type ToolClass = 'observe' | 'interact' | 'files' | 'powerful';

/** Binary a tool returns beside its output: sent as `{field}_base64`, or as `{field}_blob` when large. */
export interface Attachment {
  field: string;
  mime_type: string;
  content: Content;
  /** The field of the output that holds it, when it is not the output itself. */
  inside?: string;
}

export interface ToolResult {
  output: JsonObject;
  attachments?: Attachment[];
}

/** Facts about this agent and browser that do not change while it runs. */
export interface AgentFacts {
  /** The extension's version. */
  version: string;
  browser_name: string;
  browser_version: string;
  /** `linux`, `mac`, `windows`, `chromeos`, … (wire.md §3). */
  os: string;
  /** `x86_64`, `arm64`, … (wire.md §3). */
  arch: string;
}

/** What policy and settings say about tools at this moment. */
export interface ToolPolicy {
  managed: boolean;
  /** Names of registry tools that must neither be announced nor run. */
  blocked_tools: ReadonlySet<string>;
  /** Names of registry tools that run only after the person at the device allowed it. */
  asked_tools: ReadonlySet<string>;
}

export interface ToolContext {
  /** Origin of the relay the request came from: ids are known by it. */
  platform: string;
  request_id: string;
  /** Aborted by a cancel or at the deadline; a tool stops at its next safe point. */
  signal: AbortSignal;
  /** Epoch milliseconds. */
  deadline: number;
  now(): number;
  progress(progress: Progress): void;
  /** The only way to Chrome. Promises, from webextension-polyfill. */
  browser: Browser;
  facts: AgentFacts;
  policy: ToolPolicy;
  /** Asked at the moment of the act, for the real address of the page or frame; refused: `page_restricted`. */
  urls: UrlRules;
  captures: CaptureQueue;
  pictures: PictureStore;
  loads: LoadWatch;
  reencode: Reencode;
  /** For the deadlines of single steps; the request's own is the signal's. */
  setTimer: SetTimer;
  /** Long texts of pages, until they are read to the end. */
  texts: TextShelf;
  /** As a page of the extension sees it; null while none has told. */
  screen: ScreenFacts | null;
  storage: StorageService;
  /** The offscreen document that a resumable tool's work is handed to; null for the other tools. */
  host: string | null;
  console: ConsoleCapture;
  /** False when the browser did not take it. */
  writeClipboard(text: string): Promise<boolean>;
  /** What `os-interface.json` says; read only when it is asked for. */
  osInterface(): Promise<JsonObject>;
  /** Resolves after so many milliseconds. */
  wait(ms: number): Promise<void>;
}

/** The call that another one stands for (os-interface.md): the gate judges it as if it had come itself. */
export interface StoodFor {
  tool: Tool;
  input: JsonObject;
  /** The answer of the one that stands for it. */
  wrap(result: ToolResult): ToolResult;
}

/** The storage worker, as tools see it. */
export interface StorageService {
  /**
   * Has the worker run the tool of that name, or joins the run that this request began before. Ends with the work
   * itself, also after an abort. Throws `AgentError`; `outcome_unknown` when the work was cut off.
   */
  run(tool: string, input: JsonObject, context: ToolContext): Promise<ToolResult>;
  /** What is attached; null when the worker does not answer in time. */
  list(): Promise<StorageOverview[] | null>;
}

export interface Tool<Input extends JsonObject = JsonObject, Look = unknown> {
  name: string;
  /** For a model that has never seen the product: what it does, when to use it, what it returns. */
  description: string;
  /** JSON Schema 2020-12 of the input; refuses unknown keys. */
  input_schema: JsonObject;
  class: ToolClass;
  /** True when running it twice does no harm: only then is a run that was cut off run again (rule 4). */
  read_only: boolean;
  /**
   * True when its work is done in the offscreen document's worker, where a run that was cut off with the service worker
   * is joined again instead of being lost (design.md, The way of a request).
   */
  resumable?: boolean;
  /** The OS action type it also serves (os-interface.md), or null for the tools about tools. */
  os_action: string | null;
  /** True: the person is asked first, unless policy or settings say otherwise. True for `powerful` tools. */
  requires_confirmation: boolean;
  /** Only of a tool that runs another one; its own `run` is never called. Throws `AgentError`. */
  standsFor?(input: JsonObject): StoodFor;
  /**
   * Looks up what `run` will need, while the id is still being written down; its failure is `run`'s to meet.
   * It must change nothing, and only a `read_only` tool has it.
   */
  look?(input: Input, browser: Browser): Promise<Look>;
  /**
   * The input is valid by `input_schema`; `looked` is what `look` came to. Throws `AgentError` for every
   * failure it foresees.
   */
  run(input: Input, context: ToolContext, looked: Promise<Look>): Promise<ToolResult>;
}

/** Declares a tool with a typed input; the schema is what makes the type true at run time. */
export function defineTool<Input extends object, Look = void>(
  tool: Omit<Tool, 'look' | 'run'> & {
    look?: ((input: Input, browser: Browser) => Promise<Look>) | undefined;
    run(input: Input, context: ToolContext, looked: Promise<Look>): Promise<ToolResult>;
  },
): Tool {
  return tool as unknown as Tool;
}
