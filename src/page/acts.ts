/**
 * Actions in this document, each in three calls: `act_prepare` looks whether it can be done, `act_begin` starts it
 * once, `act_look` tells how it went and what changed. None of them waits, because a page whose tab is not shown
 * has slow timers, and one that shows an alert has none: the service worker does the waiting.
 */
import { AgentError, type ErrorCode } from '../protocol/errors';
import type { JsonObject } from '../protocol/json';
import type { Key } from '../protocol/keys';
import { controlOf, type Needs, readiness, standIn } from './actionability';
import {
  type ClickOptions,
  click,
  noteScriptForms,
  type ScriptLink,
  takeNewTabs,
  takeScripts,
} from './click';
import type { PageContext } from './commands';
import { describeElement } from './describe-element';
import { isConnected, tagOf } from './dom';
import { editingHost, fill, heldBy, mustFocus } from './fill';
import { type ElementTarget, findElement } from './find-element';
import { hover } from './hover';
import { type Look, type Message, Observation } from './observe';
import type { Point } from './pointer';
import { heldByFocus, press } from './press';
import { type ScrollOptions, scroll } from './scroll';
import { type SelectOptions, select, selectedOf } from './select';
import { nearestInTree } from './tree';

export type Act =
  | ({ kind: 'click' } & ClickOptions)
  | { kind: 'fill'; value: string | boolean }
  | ({ kind: 'select' } & SelectOptions)
  | { kind: 'press'; keys: Key[] }
  | { kind: 'hover' }
  | ({ kind: 'scroll' } & ScrollOptions);

const NEEDS: Record<Act['kind'], Needs | null> = {
  click: { pointer: true, enabled: true },
  fill: { pointer: false, enabled: true },
  select: { pointer: false, enabled: true },
  press: { pointer: false, enabled: false },
  hover: { pointer: true, enabled: false },
  scroll: null,
};

export type Prepared =
  /** `point`: where in this document it would be clicked; null for acts without a pointer. */
  | { state: 'ready'; ref: string; element: string; point: Point | null }
  /** `why` is a sentence for the caller. */
  | { state: 'not_yet'; why: string }
  /** The selector fits nothing so far. */
  | { state: 'absent' };

export interface PrepareArgs extends ElementTarget {
  kind: Act['kind'];
}

/** Finds the element, scrolls it into view and looks whether it can be acted on. Repeated until it can. */
export function actPrepare({ kind, ...target }: PrepareArgs, { refs }: PageContext): Prepared {
  const element = findElement(target, refs);
  if (!element) return { state: 'absent' };
  const able = check(element, kind);
  if (!able.ready) return { state: 'not_yet', why: able.why };
  const point = NEEDS[kind]?.pointer ? able.point : null;
  return { state: 'ready', ref: refs.of(element), element: describeElement(element), point };
}

export interface BeginArgs {
  /** Of this action alone: begun twice under one id, it is done once. */
  id: string;
  /** Left out: what has the focus, or the page. */
  ref?: string;
  act: Act;
  /** Epoch milliseconds: a page that hears of it later must not act any more. */
  start_by: number;
}

export type Begun = { begun: true; before: Look } | { begun: false; why: string };

interface Running {
  element: Element | null;
  act: Act;
  observation: Observation;
  before: Look;
  done: boolean;
  result: JsonObject;
  failure: { code: ErrorCode; message: string } | null;
  new_tabs: string[];
  scripts: ScriptLink[];
}

const running = new Map<string, Running>();
/** Those that were begun and are over: never again. */
const known = new Set<string>();

/** Starts the action in a task of its own, so that this call is answered even when the action opens an alert. */
export function actBegin({ id, ref, act, start_by }: BeginArgs, { refs }: PageContext): Begun {
  const earlier = running.get(id);
  if (earlier) return { begun: true, before: earlier.before };
  if (known.has(id)) throw new AgentError('internal_error');
  if (Date.now() > start_by) throw new AgentError('timeout');
  const element = ref === undefined ? null : findElement({ ref }, refs);
  if (element) {
    const able = check(element, act.kind);
    if (!able.ready) return { begun: false, why: able.why };
  }
  known.add(id);
  const observation = new Observation(refs, element);
  const before = observation.look();
  const run: Running = {
    element,
    act,
    observation,
    before,
    done: false,
    result: {},
    failure: null,
    new_tabs: [],
    scripts: [],
  };
  running.set(id, run);
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    perform(run);
  };
  port2.postMessage(null);
  return { begun: true, before };
}

function perform(run: Running): void {
  const stopListening = noteScriptForms();
  try {
    run.result = { ...carryOut(run.element, run.act) };
  } catch (thrown) {
    run.failure =
      thrown instanceof AgentError
        ? { code: thrown.code, message: thrown.message }
        : { code: 'internal_error', message: '' };
  } finally {
    stopListening();
    run.new_tabs = takeNewTabs();
    run.scripts = takeScripts();
    run.done = true;
  }
}

function carryOut(element: Element | null, act: Act): object {
  if (act.kind === 'scroll') return scroll(element, act);
  if (act.kind === 'press') {
    if (element) goTo(controlOf(element));
    return press(act.keys);
  }
  if (!element) throw new AgentError('element_not_found');
  if (act.kind === 'select') return select(element, act);
  const able = check(element, act.kind);
  // Between the last look and now lies no task of the page's that was not already waiting.
  if (!able.ready) throw new AgentError('element_not_actionable', able.why);
  switch (act.kind) {
    case 'click':
      click(able.hit, able.point, act);
      return {};
    case 'hover':
      hover(able.hit, able.point);
      return {};
    case 'fill':
      return fill(element, act.value, able.point);
  }
}

function check(
  element: Element,
  kind: Act['kind'],
): { ready: true; point: Point; hit: Element } | { ready: false; why: string } {
  if (kind === 'click') refuseOption(element);
  const needs = NEEDS[kind];
  if (!needs) return { ready: true, point: { x: 0, y: 0 }, hit: element };
  const target = kind === 'scroll' ? element : standIn(element);
  return readiness(target, needs);
}

/** Gives it the focus. In an editor, which has the focus as a whole, the caret goes to the end of it. */
function goTo(element: Element): void {
  mustFocus(element);
  const host = editingHost(element);
  if (host === null || host === element) return;
  getSelection()?.selectAllChildren(element);
  getSelection()?.collapseToEnd();
}

function settledResult(run: Running): JsonObject {
  const { value: _value, checked: _checked, ...rest } = run.result;
  return { ...rest, ...heldNow(run) };
}

/** What the page has made of it since: many pages put a value right, or take it back, a moment later. */
function heldNow({ element, act }: Running): object {
  if (act.kind === 'press') return heldByFocus();
  if (element === null) return {};
  if (act.kind === 'fill') return heldBy(element);
  if (act.kind !== 'select') return {};
  const list = controlOf(element);
  return list instanceof HTMLSelectElement && isConnected(list) ? { selected: selectedOf(list) } : {};
}

/** A list that Chrome shows takes no clicks of a script. */
function refuseOption(element: Element): void {
  const list = tagOf(element) === 'option' ? nearestInTree(element, 'select') : null;
  if (!list || getComputedStyle(list).appearance === 'base-select') return;
  throw new AgentError(
    'element_not_actionable',
    `Options are not clicked: use page_select on their list, ${describeElement(list)}.`,
  );
}

export interface LookArgs {
  id: string;
  /** True for the last look: also tells what the page announced, and forgets the action. */
  last: boolean;
}

export interface ActLook {
  done: boolean;
  result: JsonObject;
  failure: { code: ErrorCode; message: string } | null;
  /** Addresses to open in tabs in the background. */
  new_tabs: string[];
  /** `javascript:` links to follow in the page's own world. */
  scripts: ScriptLink[];
  now: Look;
  messages: Message[];
}

/** How the action went so far. */
export function actLook({ id, last }: LookArgs, _page: PageContext): ActLook {
  const run = running.get(id);
  if (!run) throw new AgentError('internal_error');
  const { observation, done, failure, new_tabs, scripts } = run;
  if (done && !failure) run.result = settledResult(run);
  const look: ActLook = {
    done,
    result: run.result,
    failure,
    new_tabs,
    scripts,
    now: observation.look(),
    messages: last ? observation.messages() : [],
  };
  if (last) {
    observation.end();
    running.delete(id);
  }
  return look;
}
