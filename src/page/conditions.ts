/** What `page_wait` waits for, looked at once in this document. */

import type { ElementState } from '../protocol/element-states';
import { AgentError } from '../protocol/errors';
import { controlOf, whyDisabled, whyHidden } from './actionability';
import type { PageContext } from './commands';
import { type ElementTarget, findAll } from './find-element';
import { allRoots, attributeOf, shownTextOf } from './tree';

export interface ConditionArgs extends ElementTarget {
  text?: string;
  text_gone?: string;
  state?: ElementState;
  /** Whether changes of the content are to be counted. */
  count: boolean;
}

export interface ConditionFacts {
  text_shown: boolean;
  gone_text_shown: boolean;
  /** Whether the element of the ref or selector is in the state here. */
  in_state: boolean;
  /** Changes of the content since this document was first asked. */
  changes: number;
}

let changes = 0;
let observer: MutationObserver | null = null;
let asked_at = 0;
/** Nobody has asked for so long: nobody waits any more. */
const FORGOTTEN_MS = 5_000;

export function checkConditions(
  { text, text_gone, state, count, ...target }: ConditionArgs,
  { refs }: PageContext,
): ConditionFacts {
  if (count) countChanges();
  const isElementMeant = target.ref !== undefined || target.selector !== undefined;
  const texts = text === undefined && text_gone === undefined ? [] : shownTexts();
  return {
    text_shown: text !== undefined && includes(texts, text),
    gone_text_shown: text_gone !== undefined && includes(texts, text_gone),
    in_state: isElementMeant && isInState(allOf(target, refs), state ?? 'visible'),
    changes,
  };
}

function countChanges(): void {
  asked_at = performance.now();
  if (observer) return;
  observer = new MutationObserver((records, counting) => {
    changes += records.length;
    if (performance.now() - asked_at < FORGOTTEN_MS) return;
    counting.disconnect();
    observer = null;
  });
  observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
}

function allOf({ ref, selector }: ElementTarget, refs: PageContext['refs']): Element[] {
  if (ref === undefined) return findAll(selector ?? '');
  try {
    return [refs.find(ref)];
  } catch (thrown) {
    if (thrown instanceof AgentError && thrown.code === 'element_not_found') return [];
    throw thrown;
  }
}

function isInState(elements: readonly Element[], state: ElementState): boolean {
  switch (state) {
    case 'attached':
      return elements.length > 0;
    case 'detached':
      return elements.length === 0;
    case 'visible':
      return elements.some((one) => whyHidden(one) === null);
    case 'hidden':
      return elements.every((one) => whyHidden(one) !== null);
    case 'enabled':
      return elements.some((one) => whyDisabled(controlOf(one)) === null);
    case 'disabled':
      return elements.some((one) => whyDisabled(controlOf(one)) !== null);
    default:
      return elements.some((one) => isChecked(controlOf(one)) === (state === 'checked'));
  }
}

function isChecked(element: Element): boolean {
  if (element instanceof HTMLInputElement) return element.checked;
  return attributeOf(element, 'aria-checked') === 'true';
}

/** What a person sees, with white space as one space: of the document, of each shadow root, and of each field. */
function shownTexts(): string[] {
  return allRoots().flatMap((root) => {
    const parts =
      root instanceof ShadowRoot ? [...root.children] : [document.body ?? document.documentElement];
    return [...parts.flatMap(shownIn), ...fieldTexts(root)];
  });
}

/** Of an element that is not shown, the browser tells the whole text. */
function shownIn(part: Element): string[] {
  if (!(part instanceof HTMLElement)) return [];
  if (part.checkVisibility()) return [plain(shownTextOf(part))];
  // Without a box of its own it may be shown all the same.
  return getComputedStyle(part).display === 'contents' ? [...part.children].flatMap(shownIn) : [];
}

const FIELDS =
  'textarea, input:not([type="password" i], [type="hidden" i], [type="checkbox" i], [type="radio" i], [type="file" i], [type="image" i])';

function fieldTexts(root: Document | ShadowRoot): string[] {
  const fields = [...root.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(FIELDS)];
  return fields.flatMap((field) => (field.value && whyHidden(field) === null ? [plain(field.value)] : []));
}

function includes(texts: readonly string[], wanted: string): boolean {
  const text = plain(wanted);
  return texts.some((one) => one.includes(text));
}

function plain(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
