/** What the page agent can be told to do, by name. Each gets its arguments and the document's facts. */
import type { Refs } from './refs';

/** What every command gets beside its arguments. */
export interface PageContext {
  refs: Refs;
}

/** Answers where the agent is: also the smallest possible call. */
function locate(
  _args: Record<never, never>,
  _page: PageContext,
): { url: string; title: string; ready: boolean } {
  return { url: location.href, title: document.title, ready: document.readyState === 'complete' };
}

/** Arguments and results are JSON values. A command throws `AgentError` for every failure it foresees. */
export const COMMANDS = {
  locate,
};

export type PageCommands = typeof COMMANDS;
