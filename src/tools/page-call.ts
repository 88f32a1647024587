/**
 * Calls the page agent in one document: puts it there when it is missing, holds the URL rules against the
 * address at the moment of the act, and never waits longer than the request may. What comes back was made in
 * a page's process: its shape is checked here, its content is data.
 */
import type { Scripting } from 'webextension-polyfill';
import type { Makers, PageCall, PageReply } from '../page/agent';
import type { PageCommands } from '../page/commands';
import { refPrefix } from '../protocol/element-ref';
import { AgentError, ERROR_CODES, type ErrorCode } from '../protocol/errors';
import { isJsonObject } from '../protocol/json';
import { hasOwnAddress, originAddress, UNKNOWN_MAKER } from '../settings/url-rules';
import { findTab } from './find-tabs';
import type { PageFrame, PageTarget } from './page-target';
import type { ToolContext } from './tool';

export const PAGE_AGENT_FILE = 'page-agent.js';

/** Left of the request's time to answer in, when a page did not. */
const ANSWER_MARGIN_MS = 250;
/** An address that changes faster than it can be asked about belongs to a page that plays games. */
const MOST_TRIES = 6;

type Args<Name extends keyof PageCommands> = Parameters<PageCommands[Name]>[0];
/** As the page says; its shape is for the caller to check. */
export type PageResult<Name extends keyof PageCommands> = Awaited<ReturnType<PageCommands[Name]>>;

export interface PageAnswer {
  /** Not checked: what the page agent's command returned, if nobody tampered with it. */
  result: unknown;
  /** The document's address after the command. */
  url: string;
  /** The addresses the rules were asked about. */
  rule_urls: string[];
}

export type CallContext = Pick<
  ToolContext,
  'browser' | 'urls' | 'facts' | 'signal' | 'deadline' | 'now' | 'setTimer'
>;

export interface CallOptions {
  /** At most this long, in milliseconds; never longer than the request's own deadline allows. */
  timeout_ms?: number;
}

/** The document that was called is gone: its tab navigated, or the frame was removed. */
export class DocumentGone extends AgentError {
  constructor() {
    super('element_not_found', 'The page was left or replaced meanwhile. Take a new page_snapshot.');
  }
}

/**
 * Runs a command of the page agent in `frame`. Throws what the command throws, `timeout` when the page does not
 * answer, `page_restricted`, `tab_not_found`, or `DocumentGone`.
 */
export async function callFrame<Name extends keyof PageCommands>(
  context: CallContext,
  { tab_id }: Pick<PageTarget, 'tab_id'>,
  frame: PageFrame,
  command: Name,
  args: Args<Name>,
  options: CallOptions = {},
): Promise<PageAnswer> {
  const wait = patience(context, options);
  const call: PageCall = {
    command,
    args,
    ref_prefix: refPrefix(frame.document_id),
    url: frame.url,
    origin: hasOwnAddress(frame.url) ? '' : NOT_ASKED_YET,
    version: context.facts.version,
  };
  let rule_urls = [frame.rule_url];
  const target = { tabId: tab_id, documentIds: [frame.document_id] };
  try {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const reply = await wait.for(
        execute(context, { target, injectImmediately: true, func: callAgent, args: [call] }),
      );
      if (!isReply(reply)) throw new AgentError('page_script_failed');
      if (reply.reply === 'done') return { result: reply.result, url: reply.url, rule_urls };
      if (reply.reply === 'failed') throw failure(reply.code, reply.message);
      if (reply.reply === 'absent') {
        await wait.for(execute(context, { target, injectImmediately: true, files: [PAGE_AGENT_FILE] }));
      } else {
        rule_urls = judgedBy(frame, reply);
        if (!rule_urls.every((url) => context.urls.mayEnter(url))) throw new AgentError('page_restricted');
        call.url = reply.url;
        if (call.origin !== '') call.origin = reply.origin;
      }
    }
    throw new AgentError('page_script_failed', 'The address of the page changes all the time.');
  } catch (thrown) {
    throw await explained(thrown, context, tab_id, frame);
  } finally {
    wait.end();
  }
}

const NOT_ASKED_YET = '?';

/**
 * The addresses by which the rules judge a document, all of which must be open: its own, or those of whose content it
 * shows. A page can fill an empty window or frame that is not its own child; where it cannot be told which page of an
 * origin did, every one might have, and of an opaque origin anybody.
 */
function judgedBy({ url: committed, rule_url }: PageFrame, { url, origin, ...told }: Moved): string[] {
  // An empty document that a script wrote anew has the address of the document whose script it was.
  if (hasOwnAddress(url)) return [url];
  const isAround = rule_url !== committed;
  if (origin === 'null') {
    // What stands in the element can only be of the document around; nobody else reaches into it.
    if (isAround && /^about:srcdoc/i.test(url)) return [rule_url];
    const maker = told.base && hasOwnAddress(told.base) ? told.base : UNKNOWN_MAKER;
    return isAround && /^about:/i.test(url) ? [rule_url, maker] : [UNKNOWN_MAKER];
  }
  const isOfOrigin = (one: string | null): one is string => one?.startsWith(`${origin}/`) === true;
  if (isOfOrigin(rule_url)) return [rule_url];
  const { opener, referrer, base } = told;
  if (!isOfOrigin(opener)) return [originAddress(origin)];
  // It may have had another address when it opened the window.
  return [opener, ...[referrer || base].filter(isOfOrigin)];
}

/** Runs in the page, in the world of the extension. Refers to nothing outside itself. */
function callAgent(call: PageCall): PageReply | Promise<PageReply> {
  const world = globalThis as unknown as Record<
    symbol,
    { call(call: PageCall): Promise<PageReply> } | undefined
  >;
  const agent = world[Symbol.for('endue.page-agent')];
  return agent ? agent.call(call) : { reply: 'absent' };
}

/** Chrome lets no script into the document. */
export class KeptOff extends AgentError {
  constructor() {
    super('page_restricted', 'Chrome keeps extensions off this page.');
  }
}

/** Marks what Chrome itself refused; its text is not passed on. */
class ChromeRefusal extends Error {}

async function execute({ browser }: CallContext, injection: Scripting.ScriptInjection): Promise<unknown> {
  let results: Scripting.InjectionResult[];
  try {
    results = await browser.scripting.executeScript(injection);
  } catch {
    throw new ChromeRefusal();
  }
  const [first] = results;
  // An injection that came to nothing has no result: the document went away under it.
  if (!first) throw new DocumentGone();
  return first.result;
}

interface Patience {
  for<T>(work: Promise<T>): Promise<T>;
  end(): void;
}

/** Waits until the request ends or the page has had its time, whichever is first. */
function patience({ signal, deadline, now, setTimer }: CallContext, { timeout_ms }: CallOptions): Patience {
  const left = deadline - now();
  const longest = left - Math.min(ANSWER_MARGIN_MS, left / 4);
  let stop = (): void => {};
  const over = new Promise<never>((_resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    const stopTimer = setTimer(
      () => reject(noAnswer()),
      Math.max(0, Math.min(longest, timeout_ms ?? longest)),
    );
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
    stop = () => {
      stopTimer();
      signal.removeEventListener('abort', onAbort);
    };
  });
  over.catch(() => {});
  return {
    for: (work) => {
      work.catch(() => {});
      return Promise.race([work, over]);
    },
    end: () => stop(),
  };
}

function noAnswer(): AgentError {
  return new AgentError(
    'timeout',
    'The page did not answer in time: it may show a dialog of its own (alert, confirm, prompt) that a person must close, be frozen in the background (tab_activate wakes it), or its scripts are busy.',
  );
}

/** What a failed call means, found out by looking: Chrome's text is not relied on. */
async function explained(
  thrown: unknown,
  { browser }: CallContext,
  tab_id: number,
  frame: PageFrame,
): Promise<unknown> {
  if (!(thrown instanceof ChromeRefusal)) return thrown;
  const tab = await findTab(browser, tab_id).catch((gone: unknown) => gone);
  if (tab instanceof AgentError) return tab;
  const frames = await browser.webNavigation.getAllFrames({ tabId: tab_id }).catch(() => null);
  const isThere = (frames ?? []).some(({ documentId }) => documentId === frame.document_id);
  if (!isThere) return new DocumentGone();
  return new KeptOff();
}

function failure(code: string, message: string): AgentError {
  const known = ERROR_CODES.find((one): one is ErrorCode => one === code) ?? 'page_script_failed';
  return message === '' ? new AgentError(known) : new AgentError(known, message);
}

type Moved = Pick<Extract<PageReply, { reply: 'moved' }>, 'url' | 'origin' | keyof Makers>;

type CheckedReply =
  | { reply: 'done'; url: string; result: unknown }
  | ({ reply: 'moved' } & Moved)
  | { reply: 'failed'; code: string; message: string }
  | { reply: 'absent' };

function isReply(value: unknown): value is CheckedReply {
  if (!isJsonObject(value)) return false;
  const { reply, url, origin, opener, referrer, base, code, message } = value;
  if (reply === 'done') return typeof url === 'string';
  if (reply === 'moved') {
    const isTold = [url, origin, referrer].every((one) => typeof one === 'string');
    return isTold && isAddress(opener) && isAddress(base);
  }
  if (reply === 'failed') return typeof code === 'string' && typeof message === 'string';
  return reply === 'absent';
}

function isAddress(value: unknown): boolean {
  return value === null || typeof value === 'string';
}
