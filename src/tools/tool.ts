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
  blob: Blob;
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

/** The URL rules of policy and settings (tools.md, Permission classes). */
export interface UrlRules {
  /** Whether tools may touch a page of this address now. */
  mayEnter(url: string): boolean;
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
  /** For the deadlines of single steps; the request's own is the signal's. */
  setTimer: SetTimer;
  urls: UrlRules;
  /** Long texts of pages, until they are read to the end. */
  texts: TextShelf;
  /** As a page of the extension sees it; null while none has told. */
  screen: ScreenFacts | null;
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
  /** The input is valid by `input_schema`. Throws `AgentError` for every failure it foresees. */
  run(input: Input, context: ToolContext): Promise<ToolResult>;
}

/** Declares a tool with a typed input; the schema is what makes the type true at run time. */
export function defineTool<Input extends object>(
  tool: Omit<Tool, 'run'> & { run(input: Input, context: ToolContext): Promise<ToolResult> },
): Tool {
  return tool as unknown as Tool;
}
