/** The parts of input schemas that the page tools share (tools.md, Common shapes). */
import { AgentError } from '../protocol/errors';
import type { JsonObject } from '../protocol/json';
import type { ElementInput } from './page-element';

export const TAB_ID: JsonObject = {
  type: 'integer',
  minimum: 0,
  description: 'The tab. Default: the active tab of the window that was last focused.',
};

const REF: JsonObject = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  description: 'The element, by its ref from page_snapshot. Not together with selector.',
};

const SELECTOR: JsonObject = {
  type: 'string',
  minLength: 1,
  maxLength: 4_096,
  description:
    'The element, by a CSS selector that fits exactly one. Open shadow roots are searched too, and frames when the page itself has no match. Not together with ref.',
};

/** Properties of a tool that takes an element. */
export const ELEMENT: JsonObject = { ref: REF, selector: SELECTOR };

/** Of a tool that cannot do without one: exactly one of `ref` and `selector`. */
export const ONE_ELEMENT = exactlyOne('ref', 'selector');

export function exactlyOne(...fields: string[]): JsonObject {
  return {
    oneOf: fields.map((field) => ({
      required: [field],
      properties: Object.fromEntries(fields.map((one) => [one, one === field])),
    })),
  };
}

/** For tools that can do without an element. */
export function refuseBoth({ ref, selector }: ElementInput): void {
  if (ref !== undefined && selector !== undefined) {
    throw new AgentError('invalid_input', 'input must have at most one of the fields "ref", "selector".');
  }
}

/** For tools that need at least one of several fields. */
export function requireSome(input: object, fields: readonly string[]): void {
  if (fields.some((field) => Object.hasOwn(input, field))) return;
  const named = fields.map((field) => `"${field}"`).join(', ');
  throw new AgentError('invalid_input', `input must have at least one of the fields ${named}.`);
}

export const DIALOGS: JsonObject = {
  dialogs: {
    enum: ['leave', 'accept', 'dismiss'],
    default: 'leave',
    description:
      'What happens to alert, confirm and prompt that this opens. leave: they are shown and wait for a person. accept, dismiss: they are answered so without being shown, and told in changes.dialogs.',
  },
  prompt_text: {
    type: 'string',
    maxLength: 10_000,
    description: "With dialogs accept: what a prompt is answered with. Default: the prompt's own preset.",
  },
};

export interface DialogInput {
  dialogs?: 'leave' | 'accept' | 'dismiss';
  prompt_text?: string;
}

/** What every acting tool returns, for its description. */
export const RETURNS =
  'Returns tab_id, url, ref and element (what was acted on), settled (false when the page was still busy), and changes, with only what changed: ' +
  'url, title, navigated (another document), focus, content, messages (dialogs and announcements of the page), new_tabs (opened in the background), tab_closed, ' +
  'dialog (one that waits for a person). After navigated, take a new page_snapshot. ';
