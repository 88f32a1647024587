/**
 * What a tool is: one declaration from which the catalogue, the validation, `os_capabilities` and the docs
 * come (tools.md, Catalogue). Types only; tools reach the browser through their context, so that the
 * registry can be loaded where there is no `chrome` (the build, the docs, the unit tests).
 */
import type { Browser } from 'webextension-polyfill';
import type { ScreenFacts } from '../platform/messages';
import type { Progress } from '../protocol/frames';
import type { JsonObject } from '../protocol/json';
import type { CaptureQueue } from './capture-queue';
import type { ConsoleCapture } from './console-capture';
import type { LoadWatch } from './load-watch';
import type { PictureStore } from './picture-store';
import type { Reencode } from './re-encode';

/** tools.md, Permission classes. */
export type ToolClass = 'observe' | 'interact' | 'files' | 'powerful';

/** Binary a tool returns beside its output: sent as `{field}_base64`, or as `{field}_blob` when large. */
export interface Attachment {
  field: string;
  mime_type: string;
  blob: Blob;
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
}

export interface ToolContext {
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
  captures: CaptureQueue;
  pictures: PictureStore;
  loads: LoadWatch;
  reencode: Reencode;
  /** As a page of the extension sees it; null while none has told. */
  screen: ScreenFacts | null;
  /** tools.md: URL rules, asked with the frame's real address at the moment of the act. */
  urls: { mayEnter(url: string): boolean };
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
  /** What a complaint about the input calls it. */
  input_name: string;
  /** The answer of the one that stands for it. */
  wrap(result: ToolResult): ToolResult;
}

export interface Tool<Input extends JsonObject = JsonObject> {
  name: string;
  /** For a model that has never seen the product: what it does, when to use it, what it returns. */
  description: string;
  /** JSON Schema 2020-12 of the input; refuses unknown keys. */
  input_schema: JsonObject;
  class: ToolClass;
  /** True when running it twice does no harm: only then is a run that was cut off run again (rule 4). */
  read_only: boolean;
  /** The OS action type it also serves (os-interface.md), or null for the tools about tools. */
  os_action: string | null;
  requires_confirmation: boolean;
  /** Only of a tool that runs another one; its own `run` is never called. Throws `AgentError`. */
  standsFor?(input: JsonObject): StoodFor;
  /** The input is valid by `input_schema`. Throws `AgentError` for every failure it foresees. */
  run(input: Input, context: ToolContext): Promise<ToolResult>;
}

/** Declares a tool with a typed input; the schema is what makes the type true at run time. */
export function defineTool<Input extends object>(
  tool: Omit<Tool, 'run'> & { run(input: Input, context: ToolContext): Promise<ToolResult> },
): Tool {
  return tool as unknown as Tool;
}
