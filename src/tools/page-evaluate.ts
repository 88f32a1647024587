/** `page_evaluate`: an expression of the caller's in the page's own world (tools.md, Catalogue). */
import type { Scripting } from 'webextension-polyfill';
import { AgentError } from '../protocol/errors';
import { isJsonObject, type JsonObject, type JsonValue } from '../protocol/json';
import { MAX_FRAME_BYTES } from '../protocol/limits';
import { addressOf } from './find-tabs';
import { isOpenTab } from './open-tab';
import { callFrame, DocumentGone } from './page-call';
import { type ElementInput, frameOfElement } from './page-element';
import { ELEMENT, refuseBoth, TAB_ID } from './page-inputs';
import { findPage, type PageFrame, type PageTarget } from './page-target';
import { defineTool, type ToolContext } from './tool';

interface EvaluateInput extends ElementInput {
  tab_id?: number;
  expression: string;
}

const ANSWER_MS = 300;
/** A page that shows a dialog by then does not say where it is. */
const LOOK_MS = 1_000;
const LONGEST_MESSAGE = 2_000;
/** More would fit into no frame; much more than that, handed over, ends the process of the extension. */
const MOST_UNITS = MAX_FRAME_BYTES;

export const pageEvaluate = defineTool<EvaluateInput>({
  name: 'page_evaluate',
  description:
    "Runs a JavaScript expression in a page, among the page's own scripts, and returns its value. Use it for what no other page tool does, such as reading the state of an application. " +
    'A promise is awaited, and await may be used. With ref or selector the expression runs in the frame of that element and finds it as element. ' +
    'Returns tab_id, url, type (of the value, such as undefined, null, number, object) and result: the value as JSON; what JSON cannot hold is described in words. ' +
    'An error that the script throws is page_script_failed with its message, and so is a page whose security policy forbids evaluating. Needs confirmation.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['expression'],
    properties: {
      tab_id: TAB_ID,
      ...ELEMENT,
      expression: {
        type: 'string',
        minLength: 1,
        maxLength: 1_000_000,
        description:
          'An expression, such as document.title or await (await fetch("/api")).json(); or statements, of which the last one gives the value.',
      },
    },
  },
  class: 'powerful',
  read_only: false,
  os_action: 'page.evaluate',
  requires_confirmation: true,
  async run(input, context) {
    refuseBoth(input);
    const { tab_id: wanted, expression, ref, selector } = input;
    const page = await findPage(context, wanted);
    const isElementMeant = ref !== undefined || selector !== undefined;
    const frame = isElementMeant ? await frameOfElement(context, page, input) : page.main;
    if (!frame)
      throw new AgentError(
        'element_not_found',
        'input.selector fits no element of the page. page_snapshot shows what there is.',
      );
    const key = isElementMeant ? `endue-${crypto.randomUUID()}` : null;
    if (key) {
      await inPage(context, page, frame, expectElement, [key]);
      const target = ref === undefined ? { selector: selector ?? '' } : { ref };
      await callFrame(context, page, frame, 'hand_over', { ...target, event: key });
    } else {
      // The rules are asked about the address at this moment, as for every other tool.
      await callFrame(context, page, frame, 'locate', {});
    }
    const reply = readReply(
      await inPage(context, page, frame, evaluate, [expression, key, MOST_UNITS, LONGEST_MESSAGE]),
    );
    // While the script ran, the page may have come to an address that is closed, and what it found there with it.
    const isThere = await stillOpen(context, page, frame);
    const tab = await context.browser.tabs.get(page.tab_id).catch(() => null);
    const url = tab ? addressOf(tab) : null;
    const shown = tab && (await isOpenTab(context, tab)) ? url : null;
    if (isThere === null && shown === null) throw new AgentError('page_restricted');
    return { output: { tab_id: page.tab_id, url: shown, ...reply } };
  },
});

/** False when the script has left the document, null when it does not answer. Throws `page_restricted`. */
async function stillOpen(context: ToolContext, page: PageTarget, frame: PageFrame): Promise<boolean | null> {
  try {
    await callFrame(context, page, frame, 'locate', {}, { timeout_ms: LOOK_MS });
    return true;
  } catch (thrown) {
    if (thrown instanceof DocumentGone) return false;
    context.signal.throwIfAborted();
    if (thrown instanceof AgentError && thrown.code === 'tab_not_found') return false;
    if (thrown instanceof AgentError && thrown.code === 'timeout') return null;
    throw thrown;
  }
}

/** Runs a function in the page's own world, for as long as the request may last. */
async function inPage<Args extends unknown[]>(
  { browser, signal, setTimer, deadline, now }: ToolContext,
  { tab_id }: PageTarget,
  { document_id }: PageFrame,
  func: (...args: Args) => unknown,
  args: Args,
): Promise<unknown> {
  const target = { tabId: tab_id, documentIds: [document_id] };
  const injection = {
    target,
    world: 'MAIN',
    injectImmediately: true,
    func,
    args,
  } as Scripting.ScriptInjection;
  let stop = (): void => {};
  const over = new Promise<never>((_resolve, reject) => {
    const left = deadline - now();
    const stopTimer = setTimer(() => reject(noEnd()), Math.max(0, left - Math.min(ANSWER_MS, left / 4)));
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort);
    stop = () => {
      stopTimer();
      signal.removeEventListener('abort', onAbort);
    };
  });
  const run = browser.scripting.executeScript(injection).then(
    (results) => results[0],
    () => undefined,
  );
  try {
    const first = await Promise.race([run, over]);
    if (!first) {
      throw new AgentError(
        'page_script_failed',
        'The page was left or replaced before the script came to its end.',
      );
    }
    return first.result;
  } finally {
    stop();
  }
}

function noEnd(): AgentError {
  return new AgentError(
    'timeout',
    'The script did not come to its end in time, and may still be running: it waits for something, is busy, or shows a dialog (alert, confirm, prompt) that a person must close.',
  );
}

function readReply(value: unknown): { type: string; result: JsonValue } {
  if (!isJsonObject(value)) {
    throw new AgentError('page_script_failed', 'The page gave no answer that could be read.');
  }
  const { end, type, result, message } = value;
  if (end === 'blocked') {
    throw new AgentError(
      'page_script_failed',
      'The security policy of the page (CSP) forbids evaluating scripts. Nothing was run. Use page_snapshot, page_text and the tools that act instead.',
    );
  }
  if (end === 'too_large') throw new AgentError('output_too_large');
  if (end === 'value' && typeof type === 'string') return { type, result: result ?? null };
  const said = typeof message === 'string' ? message.slice(0, LONGEST_MESSAGE) : '';
  throw new AgentError('page_script_failed', `The script failed: ${said || 'the page gave no reason'}`);
}

/** Runs in the page's own world. Refers to nothing outside itself. */
function expectElement(key: string): null {
  const world = window as unknown as Record<string, unknown>;
  addEventListener(
    key,
    (event) => {
      event.stopImmediatePropagation();
      Object.defineProperty(world, key, { value: event.composedPath()[0], configurable: true });
    },
    { capture: true, once: true },
  );
  return null;
}

/**
 * Runs in the page's own world. Refers to nothing outside itself, and leans on as little as possible of what the
 * page may have overridden: no JSON, no array methods.
 */
async function evaluate(
  expression: string,
  key: string | null,
  most_units: number,
  longest_message: number,
): Promise<JsonObject> {
  const { eval: run } = globalThis;
  // Without a prototype: a page may teach every object `then`, and so answer in its place.
  const reply = (members: JsonObject): JsonObject => ({ __proto__: null, ...members }) as JsonObject;
  const failed = (thrown: unknown): JsonObject => {
    let said = '';
    try {
      said = `${thrown}`;
    } catch {
      said = 'an error that cannot be shown';
    }
    let message = '';
    for (let at = 0; at < said.length && at < longest_message; at += 1) message += said[at];
    return reply({ end: 'failed', message });
  };
  try {
    run('1');
  } catch {
    return reply({ end: 'blocked' });
  }
  let element: unknown;
  if (key) {
    const world = window as unknown as Record<string, unknown>;
    element = world[key];
    delete world[key];
  }
  let value: unknown;
  try {
    let whole: unknown;
    try {
      whole = run(`(async (element) => (${expression}\n))`);
    } catch {
      // No expression: statements. What is wrong with them is told from here.
      whole = null;
    }
    if (typeof whole === 'function') value = await whole(element);
    else {
      try {
        value = await run(expression);
      } catch (thrown) {
        const isAwait = thrown instanceof SyntaxError && /await/.test(expression);
        if (!isAwait) throw thrown;
        value = await run(`(async (element) => { ${expression}\n })`)(element);
      }
    }
  } catch (thrown) {
    return failed(thrown);
  }
  const open: unknown[] = [];
  let left = 100_000;
  let room = most_units;
  const text = (said: string): string => {
    room -= said.length;
    return room < 0 ? '' : said;
  };
  const json = (one: unknown): JsonValue => {
    left -= 1;
    if (left < 0) return '[too much]';
    if (one === null || typeof one === 'boolean') return one;
    if (typeof one === 'string') return text(one);
    if (typeof one === 'number') return one - one === 0 ? one : `${one}`;
    if (one === undefined) return null;
    if (typeof one === 'bigint') return text(`${one}`);
    if (typeof one === 'symbol') return '[symbol]';
    if (typeof one === 'function') return text(`[function ${one.name}]`);
    const object = one as object;
    for (let index = 0; index < open.length; index += 1) if (open[index] === object) return '[circular]';
    if (open.length > 30) return '[too deep]';
    if (object === window) return '[window]';
    if (isNode(object)) {
      const { nodeName, localName, id } = object as Element;
      return text(localName ? `[element ${localName}${id ? `#${id}` : ''}]` : `[${nodeName}]`);
    }
    if (
      object instanceof Date ||
      object instanceof Error ||
      object instanceof RegExp ||
      object instanceof URL
    )
      return text(`${object}`);
    open[open.length] = object;
    const result = contentOf(object);
    open.length -= 1;
    return result;
  };
  /** Of another frame too, whose classes are others. */
  const isNode = (one: object): boolean => {
    try {
      if (one instanceof Node) return true;
      return 'nodeType' in one && 'nodeName' in one && 'ownerDocument' in one && 'appendChild' in one;
    } catch {
      return false;
    }
  };
  const contentOf = (object: object): JsonValue => {
    const isList = (one: object): one is ArrayLike<unknown> & object =>
      Array.isArray(one) ||
      one instanceof NodeList ||
      one instanceof HTMLCollection ||
      one instanceof DOMTokenList ||
      (ArrayBuffer.isView(one) && 'length' in one);
    if (isList(object)) {
      const list: JsonValue[] = [];
      for (let index = 0; index < object.length && left > 0; index += 1) list[index] = json(object[index]);
      return list;
    }
    if (
      object instanceof Map ||
      object instanceof Set ||
      object instanceof URLSearchParams ||
      object instanceof FormData ||
      object instanceof Headers
    ) {
      const list: JsonValue[] = [];
      for (const one of object) list[list.length] = json(one);
      return list;
    }
    // The browser's own objects have no members of their own; many say themselves what they are in JSON.
    let toJSON: unknown;
    try {
      ({ toJSON } = object as { toJSON?: unknown });
    } catch {
      // A window of another origin, for one.
      return '[an object that cannot be read]';
    }
    if (typeof toJSON === 'function') return json(toJSON.call(object));
    const record = { __proto__: null } as unknown as JsonObject;
    let isEmpty = true;
    for (const name in object) {
      if (!Object.hasOwn(object, name)) continue;
      isEmpty = false;
      let member: unknown;
      try {
        member = (object as Record<string, unknown>)[name];
      } catch {
        member = '[a getter that throws]';
      }
      if (typeof member === 'function' || member === undefined) continue;
      record[text(name)] = json(member);
      if (left < 0 || room < 0) break;
    }
    const said = isEmpty ? `${Object.prototype.toString.call(object)}` : '[object Object]';
    const isNothing =
      said === '[object Object]' || object instanceof DOMStringMap || object instanceof Storage;
    return isNothing ? record : text(said);
  };
  try {
    const result = json(value);
    if (room < 0) return reply({ end: 'too_large' });
    return reply({ end: 'value', type: value === null ? 'null' : typeof value, result });
  } catch (thrown) {
    return failed(thrown);
  }
}
