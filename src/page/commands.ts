/** What the page agent can be told to do, by name. Each gets its arguments and the document's facts. */
import { actBegin, actLook, actPrepare } from './acts';
import { checkConditions } from './conditions';
import { readyState, title } from './dom';
import { countMatches, focusFacts, framePoint } from './frame-facts';
import { handOver } from './hand-over';
import type { Refs } from './refs';
import { snapshot } from './snapshot';
import { text } from './text';

/** What every command gets beside its arguments. */
export interface PageContext {
  refs: Refs;
}

/** Answers where the agent is: also the smallest possible call. */
function locate(
  _args: Record<never, never>,
  _page: PageContext,
): { url: string; title: string; ready: boolean } {
  return { url: location.href, title: title(document), ready: readyState(document) === 'complete' };
}

/** Arguments and results are JSON values. A command throws `AgentError` for every failure it foresees. */
export const COMMANDS = {
  locate,
  snapshot,
  text,
  act_prepare: actPrepare,
  act_begin: actBegin,
  act_look: actLook,
  check_conditions: checkConditions,
  count_matches: countMatches,
  focus_facts: focusFacts,
  frame_point: framePoint,
  hand_over: handOver,
};

export type PageCommands = typeof COMMANDS;
