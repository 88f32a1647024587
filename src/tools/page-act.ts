/**
 * Acts on a page: finds the element, waits until it can be acted on, starts the act once, waits until what it
 * started has settled, and says what changed. Every wait is here: the page only answers questions, because its
 * timers are slow in a tab that is not shown and stand still while it shows a dialog.
 */
import type { Tabs } from 'webextension-polyfill';
import type { Act, ActLook } from '../page/acts';
import type { Look } from '../page/observe';
import { AgentError, ERROR_CODES, type ErrorCode } from '../protocol/errors';
import { isJsonObject, type JsonObject } from '../protocol/json';
import { type EffectWatch, watchEffects } from './effect-watch';
import { addressOf, findTab } from './find-tabs';
import { isOpenTab } from './open-tab';
import { callFrame, DocumentGone } from './page-call';
import { type ElementInput, frameOfElement, whyFrameBlocked } from './page-element';
import { type DialogRule, followScripts, type Heard, installHooks } from './page-hooks';
import { findPage, type PageFrame, type PageTarget } from './page-target';
import { pause } from './pause';
import type { ToolContext, ToolResult } from './tool';
import { Turns } from './turns';

export interface ActInput extends ElementInput {
  tab_id?: number;
}

export interface ActOptions {
  /** Null: no hooks are put into the page, for acts that no page answers with dialogs or windows. */
  dialogs: DialogRule | null;
}

/** How long an element may take to appear and to become free to act on. */
const READY_MS = 5_000;
/** How long a selector may fit nothing. */
const APPEAR_MS = 2_000;
const TRY_AGAIN_MS = 60;
/** A page that has not begun by then does not begin any more; until then it cannot be said what it did. */
const BEGIN_MS = 2_000;
/** Without an answer for so long, a page that answered just before shows a dialog, or might as well. */
const STALL_MS = 1_500;
const LOOK_EVERY_MS = 40;
/** So long nothing must happen. */
const QUIET_MS = 160;
/** What goes on longer is not waited for. */
const SETTLE_MS = 3_000;
const LOAD_MS = 15_000;
/** Kept of the request's time for the answer itself. */
const ANSWER_MS = 400;

interface Place {
  page: PageTarget;
  frame: PageFrame;
  /** Null: what has the focus, or the page itself. */
  ref: string | null;
  element: string | null;
  /** Found by a selector: what the page puts in its place is found by it too. */
  is_found_anew: boolean;
}

/**
 * Acts on one tab are done one after the other, in the order in which they came: two at once would answer each other's
 * dialogs, take each other's focus and tell each other's changes.
 */
const turns = new Turns<number>();

/** Runs one act. Throws `element_not_found`, `element_not_actionable`, and what the page tools share. */
export async function performAct(
  context: ToolContext,
  input: ActInput,
  act: Act,
  { dialogs }: ActOptions,
): Promise<ToolResult> {
  // Once for all: another tab may become the active one meanwhile.
  const { tab_id } = await findPage(context, input.tab_id);
  const turn = turns.take(tab_id);
  try {
    await itsTurn(context, turn.come);
    return await perform(context, { ...input, tab_id }, act, dialogs);
  } finally {
    turn.end();
  }
}

/** Throws `timeout`, or the signal's reason, when the turn does not come. */
async function itsTurn(context: ToolContext, come: Promise<void>): Promise<void> {
  const over = new AbortController();
  const end = lastMoment(context);
  const tooLate = async (): Promise<never> => {
    const { setTimer } = context;
    const signal = AbortSignal.any([context.signal, over.signal]);
    await pause({ setTimer, signal }, Math.max(0, end - context.now()));
    throw new AgentError(
      'timeout',
      'Nothing was done: earlier acts in this tab were still under way. Look at the page and try again.',
    );
  };
  try {
    await Promise.race([come, tooLate()]);
  } finally {
    over.abort();
  }
}

async function perform(
  context: ToolContext,
  input: ActInput & { tab_id: number },
  act: Act,
  dialogs: DialogRule | null,
): Promise<ToolResult> {
  const give_up = Math.min(context.now() + READY_MS, lastMoment(context));
  const id = `${context.request_id} ${context.now()}`;
  for (;;) {
    const place = await readyPlace(context, input, act, give_up);
    const result = await attempt(context, place, id, act, dialogs);
    if (result) return result;
    // Something moved in between. Nothing was done: look again.
    if (context.now() > give_up) throw new AgentError('element_not_actionable');
  }
}

/** Null when nothing was done, because the element could not be acted on any more. */
async function attempt(
  context: ToolContext,
  place: Place,
  id: string,
  act: Act,
  dialogs: DialogRule | null,
): Promise<ToolResult | null> {
  const { tab_id } = place.page;
  const tab = await findTab(context.browser, tab_id);
  const watch = watchEffects(context.browser, tab_id);
  const hooks = dialogs && (await installHooks(context, tab_id, place.frame, dialogs));
  try {
    const before = await begin(context, place, id, act);
    if (before === null) return null;
    const settled = await settle(context, place, id, watch);
    const heard = hooks && !settled.stalled ? await hooks.collect() : null;
    if (settled.look?.failure) throw failureOf(settled.look.failure);
    return await answer(context, { place, before, settled, watch, heard, tab });
  } finally {
    watch.stop();
    // Not waited for: a page that shows a dialog takes them out when it is closed.
    hooks?.collect();
  }
}

/** Epoch milliseconds at which the answer must be on its way. */
function lastMoment({ deadline, now }: ToolContext): number {
  const left = deadline - now();
  return deadline - Math.min(ANSWER_MS, left / 3);
}

/** Finds the element and waits until it can be acted on, at most until `give_up`. */
async function readyPlace(context: ToolContext, input: ActInput, act: Act, give_up: number): Promise<Place> {
  const { tab_id, ref, selector } = input;
  const absent_until = Math.min(give_up, context.now() + APPEAR_MS);
  let why: AgentError | null = null;
  for (;;) {
    const page = await findPage(context, tab_id);
    try {
      const frame = await frameOfElement(context, page, input);
      const isNamed = ref !== undefined || selector !== undefined;
      if (frame && !isNamed) return { page, frame, ref: null, element: null, is_found_anew: false };
      if (frame) {
        const target = ref === undefined ? { selector: selector ?? '' } : { ref };
        const args = { ...target, kind: act.kind };
        const { result } = await callFrame(context, page, frame, 'act_prepare', args);
        const prepared = readPrepared(result);
        if (prepared.state === 'ready') {
          const { ref: found, element, point } = prepared;
          const blocked = point && (await whyFrameBlocked(context, page, frame, point));
          if (!blocked) {
            return { page, frame, ref: found, element, is_found_anew: ref === undefined };
          }
          why = new AgentError('element_not_actionable', blocked);
        } else if (prepared.state === 'not_yet') {
          why = new AgentError('element_not_actionable', prepared.why);
        } else {
          why = new AgentError('element_not_found');
        }
      } else {
        why = new AgentError(
          'element_not_found',
          'input.selector fits no element of the page. page_snapshot shows what there is.',
        );
      }
    } catch (thrown) {
      // What was in the way before says more than that the last question came too late.
      if (why && thrown instanceof AgentError && thrown.code === 'timeout') throw why;
      // A ref's document never comes back; a selector may fit in the next one.
      if (!(thrown instanceof DocumentGone) || selector === undefined) throw thrown;
      why = thrown;
    }
    const until = why.code === 'element_not_found' ? absent_until : give_up;
    if (context.now() + TRY_AGAIN_MS > until) throw why;
    await pause(context, TRY_AGAIN_MS);
  }
}

type Prepared =
  | { state: 'ready'; ref: string; element: string; point: { x: number; y: number } | null }
  | { state: 'not_yet'; why: string }
  | { state: 'absent' };

function readPrepared(value: unknown): Prepared {
  if (isJsonObject(value)) {
    const { state, ref, element, why, point } = value;
    if (state === 'ready' && typeof ref === 'string' && typeof element === 'string') {
      return { state, ref, element, point: readPoint(point) };
    }
    if (state === 'not_yet' && typeof why === 'string') return { state, why };
    if (state === 'absent') return { state };
  }
  throw new AgentError('page_script_failed');
}

function readPoint(value: unknown): { x: number; y: number } | null {
  if (!isJsonObject(value)) return null;
  const { x, y } = value;
  return typeof x === 'number' && typeof y === 'number' ? { x, y } : null;
}

/** Starts the act. Null when the element could not be acted on any more: then nothing was done. */
async function begin(
  context: ToolContext,
  { page, frame, ref, is_found_anew }: Place,
  id: string,
  act: Act,
): Promise<Look | null> {
  const patience = Math.min(BEGIN_MS, Math.max(0, lastMoment(context) - context.now()));
  const start_by = context.now() + patience;
  const args = { id, act, start_by, ...(ref === null ? {} : { ref }) };
  let result: unknown;
  try {
    // Longer than the page may take to begin: once this gives up, the act will never be done.
    ({ result } = await callFrame(context, page, frame, 'act_begin', args, { timeout_ms: patience + 100 }));
  } catch (thrown) {
    if (thrown instanceof AgentError && thrown.code === 'timeout') {
      throw new AgentError(
        'timeout',
        'Nothing was done: the page does not answer. It may show a dialog (alert, confirm, prompt) that a person must close, or its scripts are busy.',
      );
    }
    const isReplaced = thrown instanceof AgentError && thrown.code === 'element_not_found';
    if (is_found_anew && isReplaced && !(thrown instanceof DocumentGone)) return null;
    throw thrown;
  }
  if (isJsonObject(result) && result.begun === false) return null;
  const before = isJsonObject(result) ? readLook(result.before) : null;
  if (!before) throw new AgentError('page_script_failed');
  return before;
}

interface Settled {
  /** What the document said last; null when it is gone or does not answer. */
  look: ActLook | null;
  /** Nothing happened any more. */
  quiet: boolean;
  /** The page stopped answering: it shows a dialog. */
  stalled: boolean;
  /** The document came to an address that is closed: what it said then is not told. */
  restricted: boolean;
}

/** Waits until what the act started is over, within bounds. */
async function settle(context: ToolContext, place: Place, id: string, watch: EffectWatch): Promise<Settled> {
  const { log } = watch;
  const start = context.now();
  const end = lastMoment(context);
  let last_change = start;
  let seen = '';
  let look: ActLook | null = null;
  let isThere = true;
  let links_followed = false;
  let restricted = false;
  for (;;) {
    const now = context.now();
    const patience = log.isNavigating ? LOAD_MS : SETTLE_MS;
    if (now >= Math.min(end, start + patience))
      return { look: await lastLook(), quiet: false, stalled: false, restricted };
    await pause(context, Math.min(LOOK_EVERY_MS, Math.max(1, end - now)));
    if (log.closed) return { look, quiet: true, stalled: false, restricted };
    if (isThere && !log.isNavigating) {
      const answer = await ask(context, place, id, false, end);
      if (typeof answer !== 'string') look = answer;
      else if (answer !== 'stalled' || log.navigated) isThere = false;
      // A document that is about to be left need not answer any more.
      else if (!log.isNavigating) return { look, quiet: false, stalled: true, restricted };
      if (answer === 'restricted') restricted = true;
    }
    if (look?.done && !links_followed) {
      links_followed = true;
      await openInBackground(context, place.page.tab_id, look.new_tabs, watch);
      await followScripts(context, place.page.tab_id, place.frame, look.scripts);
      // What they start, they start only now.
      if (look.scripts.length > 0) seen = '';
    }
    const state = `${log.events} ${look?.now.changes} ${look?.now.url} ${isThere}`;
    const isDone = !isThere || look?.done === true;
    if (state !== seen || log.isBusy || !isDone) last_change = context.now();
    seen = state;
    if (context.now() - last_change >= QUIET_MS) {
      return { look: await lastLook(), quiet: true, stalled: false, restricted };
    }
  }

  async function lastLook(): Promise<ActLook | null> {
    if (!isThere) return look;
    const answer = await ask(context, place, id, true, end);
    if (answer === 'restricted') restricted = true;
    return typeof answer === 'string' ? look : answer;
  }
}

async function ask(
  context: ToolContext,
  { page, frame }: Place,
  id: string,
  last: boolean,
  end: number,
): Promise<ActLook | 'stalled' | 'gone' | 'restricted'> {
  const timeout_ms = Math.max(1, Math.min(STALL_MS, end - context.now()));
  try {
    const { result } = await callFrame(context, page, frame, 'act_look', { id, last }, { timeout_ms });
    const look = readActLook(result);
    if (!look) throw new AgentError('page_script_failed');
    return look;
  } catch (thrown) {
    context.signal.throwIfAborted();
    if (thrown instanceof DocumentGone) return 'gone';
    if (!(thrown instanceof AgentError)) throw thrown;
    if (thrown.code === 'timeout') return 'stalled';
    // The tab went, or came to an address that is closed: what there is to say, the answer says.
    return thrown.code === 'page_restricted' ? 'restricted' : 'gone';
  }
}

async function openInBackground(
  { browser, urls }: ToolContext,
  tab_id: number,
  addresses: readonly string[],
  { log }: EffectWatch,
): Promise<void> {
  for (const url of addresses) {
    if (!/^https?:/.test(url) || !urls.mayEnter(url)) continue;
    const source = await browser.tabs.get(tab_id).catch(() => null);
    const place = source?.windowId === undefined ? {} : { windowId: source.windowId, openerTabId: tab_id };
    const tab = await browser.tabs.create({ url, active: false, ...place }).catch(() => null);
    if (tab?.id !== undefined) log.opened({ tab_id: tab.id, url });
  }
}

interface Outcome {
  place: Place;
  before: Look;
  settled: Settled;
  watch: EffectWatch;
  heard: Heard | null;
  /** The tab before the act. */
  tab: Tabs.Tab;
}

async function answer(context: ToolContext, outcome: Outcome): Promise<ToolResult> {
  const { place, before, settled, watch, heard } = outcome;
  const { log } = watch;
  const { ref } = place;
  const url_before = addressOf(outcome.tab);
  const title_before = outcome.tab.title ?? '';
  const { tab_id } = place.page;
  if (heard) await openInBackground(context, tab_id, heard.blocked_windows, watch);
  const changes: JsonObject = {};
  const tab = await context.browser.tabs.get(tab_id).catch(() => null);
  const url = tab ? addressOf(tab) : url_before;
  const isOpen = !tab || (await isOpenTab(context, tab));
  if (!tab || log.closed) changes.tab_closed = true;
  if (log.navigated) changes.navigated = true;
  if (!isOpen) changes.restricted = true;
  if (isOpen && url !== url_before) changes.url = url;
  if (isOpen && tab && (tab.title ?? '') !== title_before) changes.title = tab.title ?? '';
  if (isOpen && log.failed) changes.load_failed = loadFailure(log.failed);
  if (settled.stalled) {
    changes.dialog = {
      open: true,
      note: 'The page stopped answering: most likely it shows a dialog (alert, confirm, prompt, or a question before leaving) that a person must close. Until then no tool can read or act on this page.',
    };
  }
  if (isOpen && !settled.restricted && heard && heard.dialogs.length > 0) changes.dialogs = heard.dialogs;
  const { look } = settled;
  if (look && !log.navigated) {
    if (look.now.focus?.ref !== before.focus?.ref) changes.focus = look.now.focus as JsonObject | null;
    if (look.now.changes > before.changes) changes.content = true;
    if (look.messages.length > 0) changes.messages = look.messages as unknown as JsonObject[];
  }
  const came = await Promise.all(log.new_tabs.map((one) => loadedTab(context, one.tab_id, one.url)));
  const new_tabs = came.filter((one) => one !== null);
  if (new_tabs.length > 0) changes.new_tabs = new_tabs;
  return {
    output: {
      tab_id,
      url: isOpen ? url : null,
      ...(ref === null ? {} : { ref, element: place.element }),
      ...(look?.result ?? {}),
      changes,
      settled: settled.quiet,
    },
  };
}

/** A load that ends so has no fault: there was no page to load. */
function loadFailure(error: string): string {
  if (error !== 'net::ERR_ABORTED') return error;
  return `${error}: no page came. It is a download (download_list tells), the server had no page to give, or the load was stopped.`;
}

/** A tab that came, when its page is there or has had its time; null when it is gone, as that of a download. */
async function loadedTab(
  context: ToolContext,
  tab_id: number,
  first_url: string,
): Promise<JsonObject | null> {
  const end = Math.min(context.now() + LOAD_MS, lastMoment(context));
  for (;;) {
    const tab = await context.browser.tabs.get(tab_id).catch(() => null);
    const isLoaded = tab?.status === 'complete' && !tab.pendingUrl && tab.url !== '';
    if (!tab) return null;
    if (isLoaded || context.now() + TRY_AGAIN_MS > end) {
      const url = addressOf(tab) || first_url;
      const isOpen = await isOpenTab(context, tab);
      return isOpen ? { tab_id, url, title: tab.title ?? '' } : { tab_id, restricted: true };
    }
    await pause(context, TRY_AGAIN_MS);
  }
}

function failureOf({ code, message }: { code: ErrorCode; message: string }): AgentError {
  return message === '' ? new AgentError(code) : new AgentError(code, message);
}

function readActLook(value: unknown): ActLook | null {
  if (!isJsonObject(value)) return null;
  const { done, result, failure, new_tabs, scripts, now, messages } = value;
  const look = readLook(now);
  if (!look || typeof done !== 'boolean' || !isJsonObject(result)) return null;
  if (!Array.isArray(new_tabs) || !Array.isArray(scripts) || !Array.isArray(messages)) return null;
  return {
    done,
    result,
    failure: readFailure(failure),
    new_tabs: new_tabs.filter((one) => typeof one === 'string'),
    scripts: scripts.flatMap(readScript),
    now: look,
    messages: messages.flatMap(readMessage),
  };
}

function readScript(value: unknown): ActLook['scripts'] {
  if (!isJsonObject(value)) return [];
  const { url, target } = value;
  const isScript = typeof url === 'string' && /^javascript:/i.test(url) && typeof target === 'string';
  return isScript ? [{ url, target }] : [];
}

function readMessage(value: unknown): ActLook['messages'] {
  if (!isJsonObject(value)) return [];
  const { role, ref, text } = value;
  const isMessage = typeof role === 'string' && typeof ref === 'string' && typeof text === 'string';
  return isMessage ? [{ role, ref, text }] : [];
}

function readFailure(value: unknown): ActLook['failure'] {
  if (!isJsonObject(value)) return null;
  const code = ERROR_CODES.find((one) => one === value.code) ?? 'page_script_failed';
  return { code, message: typeof value.message === 'string' ? value.message : '' };
}

function readLook(value: unknown): Look | null {
  if (!isJsonObject(value)) return null;
  const { changes, url, title, focus, loaded } = value;
  if (typeof changes !== 'number' || typeof url !== 'string' || typeof title !== 'string') return null;
  return { changes, url, title, focus: readFocus(focus), loaded: loaded === true };
}

function readFocus(value: unknown): Look['focus'] {
  if (!isJsonObject(value)) return null;
  const { ref, element } = value;
  return typeof ref === 'string' && typeof element === 'string' ? { ref, element } : null;
}
