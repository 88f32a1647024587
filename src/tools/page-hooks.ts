/**
 * What an act needs of the page's own world. Two things that it may run into, and only that world can tell: windows that
 * Chrome's pop-up blocker kept from opening, because no person clicked, and (when the caller asks for it) dialogs, which
 * are answered instead of shown; the hooks are there for the time of one act. And the links whose address is a script.
 */
import type { Scripting } from 'webextension-polyfill';
import type { ScriptLink } from '../page/click';
import { isJsonObject, type JsonObject } from '../protocol/json';
import type { PageFrame } from './page-target';
import type { ToolContext } from './tool';

export interface DialogRule {
  /** `leave`: dialogs open as ever and wait for a person. */
  answer: 'leave' | 'accept' | 'dismiss';
  /** What a prompt is answered with; its own default when left out. */
  text?: string;
}

export interface Heard {
  /** In order: `{type, message, accepted}`, and `text` for a prompt. The page's words. */
  dialogs: JsonObject[];
  blocked_windows: string[];
}

const MOST_DIALOGS = 10;
const LONGEST_MESSAGE = 500;
const LONGEST_ADDRESS = 8_192;
/** One click opens one window. */
const MOST_WINDOWS = 1;

export interface Hooks {
  /** Takes the hooks out again; null when the page they were in is gone. Never rejects. */
  collect(): Promise<Heard | null>;
}

export async function installHooks(
  context: ToolContext,
  tab_id: number,
  frame: PageFrame,
  { answer, text }: DialogRule,
): Promise<Hooks> {
  await inPage(context, tab_id, frame, install, [answer, text ?? null]);
  let collected: Promise<Heard | null> | null = null;
  return {
    collect() {
      collected ??= inPage(context, tab_id, frame, collect, [
        MOST_DIALOGS,
        LONGEST_MESSAGE,
        LONGEST_ADDRESS,
      ]).then(readHeard);
      return collected;
    },
  };
}

function readHeard(heard: unknown): Heard | null {
  if (!isJsonObject(heard) || !Array.isArray(heard.dialogs) || !Array.isArray(heard.windows)) return null;
  return {
    dialogs: heard.dialogs.slice(0, MOST_DIALOGS).flatMap(readDialog),
    blocked_windows: heard.windows.filter((one) => typeof one === 'string').slice(0, MOST_WINDOWS),
  };
}

function readDialog(value: unknown): JsonObject[] {
  if (!isJsonObject(value)) return [];
  const { type, message, accepted, text } = value;
  if (typeof type !== 'string' || typeof message !== 'string') return [];
  return [
    {
      type: type.slice(0, 10),
      message: message.slice(0, LONGEST_MESSAGE),
      accepted: accepted === true,
      ...(typeof text === 'string' ? { text: text.slice(0, LONGEST_MESSAGE) } : {}),
    },
  ];
}

const HOOK_PATIENCE_MS = 1_500;

/** Null when it cannot run there, or not in time: an act goes on without hooks. */
async function inPage(
  { browser, setTimer }: ToolContext,
  tab_id: number,
  frame: PageFrame,
  func: Scripting.ScriptInjection['func'],
  args: unknown[],
): Promise<unknown> {
  const injection = {
    target: { tabId: tab_id, documentIds: [frame.document_id] },
    world: 'MAIN' as const,
    injectImmediately: true,
    args,
    ...(func ? { func } : {}),
  };
  let stop = (): void => {};
  const late = new Promise<null>((resolve) => {
    stop = setTimer(() => resolve(null), HOOK_PATIENCE_MS);
  });
  const run = browser.scripting.executeScript(injection).then(
    ([first]) => first?.result ?? null,
    () => null,
  );
  const result = await Promise.race([run, late]);
  stop();
  return result;
}

/** Follows `javascript:` links of the page, as the page's own script: its policy (CSP) says whether they run. */
export async function followScripts(
  context: ToolContext,
  tab_id: number,
  frame: PageFrame,
  links: readonly ScriptLink[],
): Promise<void> {
  for (const { url, target } of links) await inPage(context, tab_id, frame, follow, [url, target]);
}

interface Hooked {
  dialogs: unknown[];
  windows: string[];
  restore(): void;
}

/** Runs in the page's own world. Refers to nothing outside itself. Where it leads is not part of the page. */
function follow(url: string, target: string): null {
  const link = document.createElement('a');
  link.href = url;
  link.target = target;
  link.click();
  return null;
}

/** Runs in the page's own world. Refers to nothing outside itself. */
function install(answer: 'leave' | 'accept' | 'dismiss', text: string | null): null {
  const key = Symbol.for('endue.hooks');
  const world = window as unknown as Record<symbol, Hooked | undefined> & Window;
  world[key]?.restore();
  const { open, alert, confirm, prompt } = world;
  const heard: Hooked = {
    dialogs: [],
    windows: [],
    restore() {
      if (world.open === hookedOpen) world.open = open;
      if (world.alert === hookedAlert) world.alert = alert;
      if (world.confirm === hookedConfirm) world.confirm = confirm;
      if (world.prompt === hookedPrompt) world.prompt = prompt;
      delete world[key];
    },
  };
  const accepted = answer === 'accept';
  const hookedOpen: typeof open = function (this: unknown, url, ...rest) {
    const opened = open.call(world, url, ...rest);
    if (opened === null && url !== undefined && url !== '' && heard.windows.length < 1) {
      heard.windows[heard.windows.length] = new URL(`${url}`, document.baseURI).href;
    }
    return opened;
  };
  // A page that asks on and on until it likes the answer is left to a person.
  const isEnough = (): boolean => heard.dialogs.length >= 10;
  const hookedAlert = (message?: unknown): void => {
    if (isEnough()) {
      alert.call(world, message);
      return;
    }
    heard.dialogs[heard.dialogs.length] = { type: 'alert', message: `${message ?? ''}`, accepted: true };
  };
  const hookedConfirm = (message?: unknown): boolean => {
    if (isEnough()) return confirm.call(world, `${message ?? ''}`);
    heard.dialogs[heard.dialogs.length] = { type: 'confirm', message: `${message ?? ''}`, accepted };
    return accepted;
  };
  const hookedPrompt = (message?: unknown, preset?: unknown): string | null => {
    if (isEnough()) return prompt.call(world, `${message ?? ''}`, `${preset ?? ''}`);
    const given = text ?? `${preset ?? ''}`;
    heard.dialogs[heard.dialogs.length] = {
      type: 'prompt',
      message: `${message ?? ''}`,
      accepted,
      ...(accepted ? { text: given } : {}),
    };
    return accepted ? given : null;
  };
  Object.defineProperty(world, key, { value: heard, configurable: true, writable: true });
  world.open = hookedOpen;
  if (answer !== 'leave') {
    world.alert = hookedAlert;
    world.confirm = hookedConfirm;
    world.prompt = hookedPrompt;
  }
  return null;
}

/**
 * Runs in the page's own world. Refers to nothing outside itself. A page can have put anything in place of what was
 * heard: only short texts are taken over, copied without its built-ins. Something huge would end the extension's process.
 */
function collect(
  most_dialogs: number,
  longest_message: number,
  longest_address: number,
): { dialogs: unknown[]; windows: string[] } | null {
  const heard = (window as unknown as Record<symbol, Hooked | undefined>)[Symbol.for('endue.hooks')];
  if (!heard) return null;
  heard.restore();
  const copy = (text: unknown, longest: number): string => {
    let copied = '';
    if (typeof text === 'string')
      for (let at = 0; at < text.length && at < longest; at += 1) copied += text[at];
    return copied;
  };
  const dialogs: unknown[] = [];
  for (let at = 0; at < most_dialogs; at += 1) {
    const dialog = heard.dialogs[at] as { [name: string]: unknown } | undefined;
    if (!dialog) break;
    const { type, message, accepted, text } = dialog;
    const said = {
      type: copy(type, 10),
      message: copy(message, longest_message),
      accepted: accepted === true,
    };
    dialogs[at] = typeof text === 'string' ? { ...said, text: copy(text, longest_message) } : said;
  }
  const address: unknown = heard.windows[0];
  const isTaken = typeof address === 'string' && address.length <= longest_address;
  return { dialogs, windows: isTaken ? [copy(address, longest_address)] : [] };
}
