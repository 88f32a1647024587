/** `page_wait`: asks a page again and again until it is as the caller wants it (tools.md, Catalogue). */
import { ELEMENT_STATES, type ElementState } from '../protocol/element-states';
import { AgentError } from '../protocol/errors';
import { isJsonObject, type JsonObject } from '../protocol/json';
import { EffectLog, type EffectWatch, watchEffects } from './effect-watch';
import { addressOf } from './find-tabs';
import { assertOpenTab } from './open-tab';
import { callFrame, DocumentGone } from './page-call';
import { ELEMENT, refuseBoth, requireSome, TAB_ID } from './page-inputs';
import { findPage, frameOfRef, type PageFrame, type PageTarget } from './page-target';
import { pause } from './pause';
import { defineTool, type ToolContext } from './tool';

type Idle = 'load' | 'dom' | 'network';

interface WaitInput {
  tab_id?: number;
  text?: string;
  text_gone?: string;
  ref?: string;
  selector?: string;
  state?: ElementState;
  url?: string;
  idle?: Idle;
  timeout_ms?: number;
}

const DEFAULT_MS = 10_000;
const LOOK_EVERY_MS = 100;
const IDLE_MS = 500;
const ANSWER_MS = 300;
/** A frame that does not answer so long is passed over. */
const FRAME_PATIENCE_MS = 1_500;

export const pageWait = defineTool<WaitInput>({
  name: 'page_wait',
  description:
    'Waits until a page is as you say: a text is shown or gone, an element is in a state, the address fits a pattern, or the page is idle. Several conditions must hold together. ' +
    'Use it when an action has an effect that comes later; the actions themselves already wait for what they start. ' +
    'Returns tab_id, url, title and waited_ms as soon as it is so. When the time is up the answer is timeout, and the sentence says what did not come.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      tab_id: TAB_ID,
      text: {
        type: 'string',
        minLength: 1,
        maxLength: 10_000,
        description: 'A text that is to be shown, in any frame.',
      },
      text_gone: {
        type: 'string',
        minLength: 1,
        maxLength: 10_000,
        description: 'A text that is to be shown no more.',
      },
      ...ELEMENT,
      state: {
        enum: [...ELEMENT_STATES],
        default: 'visible',
        description:
          'What the element of ref or selector is to be. A selector may fit several: one is enough, but hidden and detached mean all.',
      },
      url: {
        type: 'string',
        minLength: 1,
        maxLength: 8_192,
        description:
          'The address of the page; * stands for any characters, such as https://example.com/orders/*.',
      },
      idle: {
        enum: ['load', 'dom', 'network'],
        description:
          'load: the page is loaded. dom: its content has not changed for half a second. network: it has asked for nothing for half a second.',
      },
      timeout_ms: {
        type: 'integer',
        minimum: 1,
        maximum: 600_000,
        default: DEFAULT_MS,
        description: 'How long to wait, in milliseconds; never beyond the time of the request.',
      },
    },
  },
  class: 'observe',
  read_only: true,
  os_action: 'page.wait',
  requires_confirmation: false,
  async run(input, context) {
    refuseBoth(input);
    requireSome(input, ['text', 'text_gone', 'ref', 'selector', 'url', 'idle']);
    const start = context.now();
    const left = context.deadline - start;
    const end = Math.min(
      start + (input.timeout_ms ?? DEFAULT_MS),
      context.deadline - Math.min(ANSWER_MS, left / 4),
    );
    const { tab_id } = await findPage(context, input.tab_id);
    const watch = input.idle === 'network' ? watchEffects(context.browser, tab_id) : null;
    const waiting = new Waiting(context, { ...input, tab_id }, watch);
    let missing: string | null = null;
    try {
      for (;;) {
        missing = await waiting.look(end);
        if (missing === null) {
          const tab = await context.browser.tabs.get(tab_id);
          const url = addressOf(tab);
          await assertOpenTab(context, tab);
          const waited_ms = Math.round(context.now() - start);
          return { output: { tab_id, url, title: tab.title ?? '', waited_ms } };
        }
        if (context.now() + LOOK_EVERY_MS > end) throw new AgentError('timeout');
        await pause(context, LOOK_EVERY_MS);
      }
    } catch (thrown) {
      // What was missing says more than that the last question came too late.
      const isLate = thrown instanceof AgentError && thrown.code === 'timeout' && missing !== null;
      if (!isLate || context.signal.aborted) throw thrown;
      throw new AgentError('timeout', `After ${Math.round(context.now() - start)} ms ${missing}.`);
    } finally {
      watch?.stop();
    }
  },
});

/** One wait: what was seen last, and since when it has been so. */
class Waiting {
  private seen = '';
  private quiet_since: number;

  constructor(
    private readonly context: ToolContext,
    private readonly input: WaitInput & { tab_id: number },
    private readonly watch: EffectWatch | null,
  ) {
    this.quiet_since = context.now();
  }

  /** What is not so yet, as part of a sentence; null when all is. */
  async look(end: number): Promise<string | null> {
    const { context, input } = this;
    const tab = await context.browser.tabs.get(input.tab_id).catch(() => null);
    if (!tab) throw new AgentError('tab_not_found');
    // Before anything is told of it, be it only that its address fits.
    await assertOpenTab(context, tab);
    if (input.url !== undefined && !fitsPattern(addressOf(tab), input.url))
      return 'the address does not fit input.url';
    if (input.idle === 'load' && tab.status !== 'complete') return 'the page is not loaded';
    const asksPage =
      input.idle === 'dom' ||
      [input.text, input.text_gone, input.ref, input.selector].some((one) => one !== undefined);
    let changes = 0;
    if (asksPage) {
      try {
        const page = await findPage(context, input.tab_id);
        const facts = await this.facts(page, end);
        if (typeof facts === 'string') return facts;
        changes = facts.changes;
      } catch (thrown) {
        if (!isPassing(thrown)) throw thrown;
        return 'the page is still loading';
      }
    }
    return input.idle === 'dom' || input.idle === 'network' ? this.idle(changes) : null;
  }

  private idle(changes: number): string | null {
    const log = this.watch?.log ?? new EffectLog();
    const state = `${changes} ${log.events}`;
    const now = this.context.now();
    if (state !== this.seen || log.isBusy) this.quiet_since = now;
    this.seen = state;
    return now - this.quiet_since >= IDLE_MS ? null : 'the page is not idle';
  }

  /** What the documents say, or what is missing. */
  private async facts(page: PageTarget, end: number): Promise<{ changes: number } | string> {
    const { text, text_gone, ref, selector, state = 'visible' } = this.input;
    const main = page.main;
    const all = ref === undefined ? page.frames : framesFor(page, ref, state);
    if (all === null) return `the element is not ${state}`;
    const asked = await Promise.all(all.map((frame) => this.ask(page, frame, frame === main, end)));
    if (text !== undefined && !asked.some((one) => one.text_shown))
      return `the text "${text.slice(0, 80)}" is not shown`;
    if (text_gone !== undefined && asked.some((one) => one.gone_text_shown)) {
      return `the text "${text_gone.slice(0, 80)}" is still shown`;
    }
    if (ref !== undefined || selector !== undefined) {
      const none = state === 'hidden' || state === 'detached';
      const inState = none ? asked.every((one) => one.in_state) : asked.some((one) => one.in_state);
      if (!inState) return `the element is not ${state}`;
    }
    return { changes: asked.reduce((sum, one) => sum + one.changes, 0) };
  }

  private async ask(page: PageTarget, frame: PageFrame, isMain: boolean, end: number): Promise<Facts> {
    const { text, text_gone, ref, selector, state } = this.input;
    const left = Math.max(1, end - this.context.now());
    const args = {
      count: this.input.idle === 'dom',
      ...(text === undefined ? {} : { text }),
      ...(text_gone === undefined ? {} : { text_gone }),
      ...(ref === undefined ? {} : { ref }),
      ...(selector === undefined ? {} : { selector }),
      ...(state === undefined ? {} : { state }),
    };
    const options = { timeout_ms: isMain || ref !== undefined ? left : Math.min(left, FRAME_PATIENCE_MS) };
    try {
      const { result } = await callFrame(this.context, page, frame, 'check_conditions', args, options);
      return readFacts(result);
    } catch (thrown) {
      this.context.signal.throwIfAborted();
      if (isMain || (thrown instanceof AgentError && thrown.code === 'invalid_input')) throw thrown;
      return NOTHING_THERE;
    }
  }
}

interface Facts {
  text_shown: boolean;
  gone_text_shown: boolean;
  in_state: boolean;
  changes: number;
}

/** What a frame that is gone or does not answer counts as. */
const NOTHING_THERE: Facts = { text_shown: false, gone_text_shown: false, in_state: false, changes: 0 };

function readFacts(value: unknown): Facts {
  if (!isJsonObject(value)) throw new AgentError('page_script_failed');
  const { text_shown, gone_text_shown, in_state, changes } = value as JsonObject;
  return {
    text_shown: text_shown === true,
    gone_text_shown: gone_text_shown === true,
    in_state: in_state === true,
    changes: typeof changes === 'number' ? changes : 0,
  };
}

/** The document of the ref; null when it is gone and the element was to be there; none when it was not. */
function framesFor(page: PageTarget, ref: string, state: ElementState): PageFrame[] | null {
  try {
    return [frameOfRef(page, ref)];
  } catch {
    return state === 'hidden' || state === 'detached' ? [] : null;
  }
}

/** What a page that is being replaced answers: the next look will see the new one. */
function isPassing(thrown: unknown): boolean {
  if (thrown instanceof DocumentGone) return true;
  return thrown instanceof AgentError && thrown.code === 'unavailable' && /no page yet/.test(thrown.message);
}

/** Whether an address fits a pattern in which `*` stands for any characters. */
export function fitsPattern(url: string, pattern: string): boolean {
  const parts = pattern.split('*');
  const [first = '', ...rest] = parts;
  if (rest.length === 0) return url === pattern;
  const last = rest.pop() as string;
  if (!url.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = url.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return url.length - last.length >= at && url.endsWith(last);
}
