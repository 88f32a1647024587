/** The tools that act on a page as a person's hands do: mouse, keyboard, wheel (tools.md, Catalogue). */

import { AgentError } from '../protocol/errors';
import type { JsonObject } from '../protocol/json';
import type { Key } from '../protocol/keys';
import { keyOf, readKey } from '../protocol/keys';
import { type ActInput, performAct } from './page-act';
import type { DialogRule } from './page-hooks';
import {
  DIALOGS,
  type DialogInput,
  ELEMENT,
  exactlyOne,
  ONE_ELEMENT,
  RETURNS,
  refuseBoth,
  requireSome,
  TAB_ID,
} from './page-inputs';
import { defineTool } from './tool';

/** Told to every model once, where it matters. */
const UNTRUSTED =
  'Pages can tell these events from those of a person: file choosers, the clipboard, full screen, and the few pages that insist on a person stay closed to it.';

interface ClickInput extends ActInput, DialogInput {
  button?: 'left' | 'middle' | 'right';
  count?: number;
  modifiers?: ('Alt' | 'Control' | 'Meta' | 'Shift')[];
}

function dialogRule({ dialogs = 'leave', prompt_text }: DialogInput): DialogRule {
  return { answer: dialogs, ...(prompt_text === undefined ? {} : { text: prompt_text }) };
}

export const pageClick = defineTool<ClickInput>({
  name: 'page_click',
  description:
    'Clicks an element of a page: links, buttons, boxes, menu entries, anything that reacts to a mouse. Scrolls it into view, waits until it is visible, enabled, at rest and not covered, clicks once, ' +
    'and waits until the page has settled, also when the click loads another page. ' +
    RETURNS +
    'When it cannot be clicked the answer is element_not_actionable and says why, for example what covers it; nothing was clicked then. ' +
    `Links to new tabs open in the background. Use page_select for the options of a select. ${UNTRUSTED}`,
  input_schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      tab_id: TAB_ID,
      ...ELEMENT,
      button: { enum: ['left', 'middle', 'right'], default: 'left', description: 'The button of the mouse.' },
      count: {
        type: 'integer',
        minimum: 1,
        maximum: 3,
        default: 1,
        description: '2 for a double click, 3 for a triple one.',
      },
      modifiers: {
        type: 'array',
        uniqueItems: true,
        items: { enum: ['Alt', 'Control', 'Meta', 'Shift'] },
        description: 'Keys held down meanwhile. Control on a link opens it in a new tab.',
      },
      ...DIALOGS,
    },
    ...ONE_ELEMENT,
  },
  class: 'interact',
  read_only: false,
  os_action: 'page.click',
  requires_confirmation: false,
  run(input, context) {
    const { button = 'left', count = 1, modifiers = [] } = input;
    return performAct(
      context,
      input,
      { kind: 'click', button, count, modifiers },
      { dialogs: dialogRule(input) },
    );
  },
});

export const pageFill = defineTool<ActInput & { value: string | boolean }>({
  name: 'page_fill',
  description:
    'Sets a field of a page to a value, in place of what it held: inputs of every type, textareas, editable elements, checkboxes, radio buttons and switches. ' +
    'The page hears the events that typing makes. Formats: date 2026-01-31, time 13:45, datetime-local 2026-01-31T13:45, month 2026-01, week 2026-W05, color #rrggbb, number and range as numbers in a string, ' +
    'true or false for boxes. ' +
    RETURNS +
    'Also value (not of passwords) or checked: what the field holds afterwards, as the page may have changed it. A value that does not fit the type is invalid_input and nothing is changed. ' +
    'Use page_select for a select, page_press with text to type key by key. Files can be chosen only by a person.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['value'],
    properties: {
      tab_id: TAB_ID,
      ...ELEMENT,
      value: {
        type: ['string', 'boolean'],
        maxLength: 1_000_000,
        description:
          'The new value; an empty string clears. true or false for checkboxes, radio buttons and switches.',
      },
    },
    ...ONE_ELEMENT,
  },
  class: 'interact',
  read_only: false,
  os_action: 'page.fill',
  requires_confirmation: false,
  run(input, context) {
    return performAct(context, input, { kind: 'fill', value: input.value }, { dialogs: null });
  },
});

type OneOrMore<Value> = Value | Value[];

interface SelectInput extends ActInput {
  value?: OneOrMore<string>;
  label?: OneOrMore<string>;
  index?: OneOrMore<number>;
}

function oneOrMore(item: JsonObject, description: string): JsonObject {
  return { anyOf: [item, { type: 'array', maxItems: 1_000, items: item }], description };
}

export const pageSelect = defineTool<SelectInput>({
  name: 'page_select',
  description:
    'Chooses options of a select element, by value, by the label a person reads, or by index. With several, in a list that takes several, exactly those are chosen. ' +
    RETURNS +
    'Also selected: value, label and index of each option chosen now. An option that does not exist is invalid_input and the sentence names those there are. ' +
    'Lists that a page makes itself are no select: open and choose with page_click.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      tab_id: TAB_ID,
      ...ELEMENT,
      value: oneOrMore({ type: 'string' }, 'The value of the option, or several values.'),
      label: oneOrMore({ type: 'string' }, 'The visible label of the option, or several labels.'),
      index: oneOrMore(
        { type: 'integer', minimum: 0 },
        'The place of the option, from 0, or several places.',
      ),
    },
    allOf: [ONE_ELEMENT, exactlyOne('value', 'label', 'index')],
  },
  class: 'interact',
  read_only: false,
  os_action: 'page.select',
  requires_confirmation: false,
  run(input, context) {
    const { value, label, index } = input;
    const by = value !== undefined ? 'value' : label !== undefined ? 'label' : 'index';
    const wanted = [value ?? label ?? index ?? []].flat();
    return performAct(context, input, { kind: 'select', by, wanted }, { dialogs: null });
  },
});

interface PressInput extends ActInput, DialogInput {
  key?: string;
  text?: string;
  repeat?: number;
}

export const pagePress = defineTool<PressInput>({
  name: 'page_press',
  description:
    'Presses keys on a page: one key or shortcut, or a text key by key. The page hears keydown, keypress and keyup; then happens what the key does in a browser: characters are typed at the caret, ' +
    'Enter submits a form or breaks a line, Space presses buttons and boxes, Tab moves the focus, arrows move the caret, choose in selects, radio buttons and sliders, or scroll, Escape closes dialogs, Control+a selects all. ' +
    'Without ref or selector the keys go to what has the focus. ' +
    RETURNS +
    'Also value: what the field with the focus holds afterwards. Shortcuts of the browser itself (Control+t, F5) and copy and paste do nothing.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      tab_id: TAB_ID,
      ...ELEMENT,
      key: {
        type: 'string',
        minLength: 1,
        maxLength: 60,
        description:
          'A character or the name of a key, with modifiers before it: Enter, Tab, Shift+Tab, ArrowDown, Escape, a, Control+a. ControlOrMeta is the one that shortcuts use on this computer. Not together with text.',
      },
      text: {
        type: 'string',
        minLength: 1,
        maxLength: 5_000,
        description: 'A text to type key by key; line breaks press Enter. Not together with key.',
      },
      repeat: {
        type: 'integer',
        minimum: 1,
        maximum: 100,
        default: 1,
        description: 'How often the key or the text is pressed.',
      },
      ...DIALOGS,
    },
    ...exactlyOne('key', 'text'),
  },
  class: 'interact',
  read_only: false,
  os_action: 'page.press',
  requires_confirmation: false,
  run(input, context) {
    refuseBoth(input);
    const { key, text = '', repeat = 1 } = input;
    const isMac = context.facts.os === 'mac';
    const once: Key[] =
      key === undefined
        ? [...text.replace(/\r\n/g, '\n')].map((one) => ({ ...keyOf(one), modifiers: [] }))
        : [readKey(key, isMac)];
    const keys = Array.from({ length: repeat }, () => once).flat();
    if (keys.length > MOST_KEYS) {
      throw new AgentError('invalid_input', `input: at most ${MOST_KEYS} keys are pressed at a time.`);
    }
    return performAct(context, input, { kind: 'press', keys }, { dialogs: dialogRule(input) });
  },
});

const MOST_KEYS = 5_000;

export const pageHover = defineTool<ActInput>({
  name: 'page_hover',
  description:
    'Moves the pointer onto an element of a page and leaves it there, for menus and hints that open when pointed at. ' +
    RETURNS +
    'What a page shows by style sheet alone (:hover) does not appear, because no real pointer moves; click it, or look for it with page_snapshot.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    properties: { tab_id: TAB_ID, ...ELEMENT },
    ...ONE_ELEMENT,
  },
  class: 'interact',
  read_only: false,
  os_action: 'page.hover',
  requires_confirmation: false,
  run(input, context) {
    return performAct(context, input, { kind: 'hover' }, { dialogs: null });
  },
});

interface ScrollInput extends ActInput {
  to?: 'top' | 'bottom' | 'left' | 'right';
  by_x?: number;
  by_y?: number;
}

const AMOUNT: JsonObject = { type: 'number', minimum: -1_000_000, maximum: 1_000_000 };

export const pageScroll = defineTool<ScrollInput>({
  name: 'page_scroll',
  description:
    'Scrolls a page or a part of it. With ref or selector alone: brings that element into view. With to or by_x, by_y: scrolls the page, or the scrollable part that the element is in, to an end or by so many CSS pixels. ' +
    'The other tools scroll by themselves; use this to make a page load more, or before a screenshot. ' +
    RETURNS +
    'Also moved, and scroll: x, y, and max_x, max_y, how far it goes. In a tab that is not shown, pages that load more when something comes into view may not notice: tab_activate shows it.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      tab_id: TAB_ID,
      ...ELEMENT,
      to: { enum: ['top', 'bottom', 'left', 'right'], description: 'The end to scroll to.' },
      by_x: { ...AMOUNT, description: 'CSS pixels to the right; negative to the left.' },
      by_y: { ...AMOUNT, description: 'CSS pixels down; negative up.' },
    },
  },
  class: 'interact',
  read_only: false,
  os_action: 'page.scroll',
  requires_confirmation: false,
  run(input, context) {
    refuseBoth(input);
    requireSome(input, ['ref', 'selector', 'to', 'by_x', 'by_y']);
    const { to, by_x, by_y } = input;
    if (to !== undefined && (by_x !== undefined || by_y !== undefined)) {
      throw new AgentError('invalid_input', 'input must have either "to" or "by_x" and "by_y", not both.');
    }
    const act = {
      kind: 'scroll' as const,
      ...(to === undefined ? {} : { to }),
      ...(by_x === undefined ? {} : { by_x }),
      ...(by_y === undefined ? {} : { by_y }),
    };
    return performAct(context, input, act, { dialogs: null });
  },
});
