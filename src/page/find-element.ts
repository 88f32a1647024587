/** Which element a tool means: by its ref, or by a selector that must fit exactly one. */
import { AgentError } from '../protocol/errors';
import type { Refs } from './refs';
import { openRoots } from './tree';

export interface ElementTarget {
  ref?: string;
  selector?: string;
}

/** Every fitting element of this document, in open shadow roots too. Throws `invalid_input` for a bad selector. */
export function findAll(selector: string): Element[] {
  try {
    return openRoots().flatMap((root) => [...root.querySelectorAll(selector)]);
  } catch {
    throw new AgentError('invalid_input', 'input.selector is not a valid CSS selector.');
  }
}

/** The element, or null when the selector fits none yet. Throws `element_not_found`, `invalid_input`. */
export function findElement({ ref, selector }: ElementTarget, refs: Refs): Element | null {
  if (ref !== undefined) return refs.find(ref);
  const found = findAll(selector ?? '');
  if (found.length > 1) throw severalFit(found.length);
  return found[0] ?? null;
}

function severalFit(count: number): AgentError {
  return new AgentError(
    'invalid_input',
    `input.selector fits ${count} elements. Make it more specific, or use a ref of page_snapshot.`,
  );
}
