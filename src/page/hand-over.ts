/** Shows an element to the page's own world, where `page_evaluate` runs: no reference crosses between worlds. */
import { AgentError } from '../protocol/errors';
import type { PageContext } from './commands';
import { type ElementTarget, findElement } from './find-element';

export interface HandOverArgs extends ElementTarget {
  /** The type of an event that nobody else knows; whoever waits for it there takes the element from its path. */
  event: string;
}

export function handOver({ event, ...target }: HandOverArgs, { refs }: PageContext): { handed: true } {
  const element = findElement(target, refs);
  if (!element)
    throw new AgentError(
      'element_not_found',
      'input.selector fits no element of the page. page_snapshot shows what there is.',
    );
  element.dispatchEvent(new Event(event, { bubbles: true, composed: true }));
  return { handed: true };
}
