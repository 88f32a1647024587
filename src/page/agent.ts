/**
 * The page agent: takes calls of the service worker in this document and answers them. It lives in the
 * extension's own world of the page, where the page's scripts cannot reach it and have overridden nothing.
 */
import { AgentError, type ErrorCode } from '../protocol/errors';
import { COMMANDS, type PageContext } from './commands';
import { Refs } from './refs';

export interface PageCall {
  command: string;
  args: unknown;
  /** The first part of this document's refs (element-ref.ts). */
  ref_prefix: string;
  /** The address the rules were asked about: the command runs only while the document has it. */
  url: string;
  /** The same for a document that has what it shows from elsewhere: its origin. '': its address tells; '?': not asked yet. */
  origin: string;
  /** The extension's version: an agent that an older one left behind does not answer. */
  version: string;
}

export type PageReply =
  | { reply: 'done'; url: string; result: unknown }
  /** Nothing was done: the document has another address or origin. */
  | ({ reply: 'moved'; url: string; origin: string } & Makers)
  | { reply: 'failed'; code: ErrorCode; message: string }
  /** There is no agent of this version in the document. */
  | { reply: 'absent' };

/** Who may have made what a document without an address of its own shows. */
export interface Makers {
  /** The address of the window that opened this one, while it is there and of the same origin. */
  opener: string | null;
  /** The address of the document that brought this one about, at that time; '' when that one keeps it to itself. */
  referrer: string;
  /** What relative addresses are relative to, inherited from that document; null when this one set another. */
  base: string | null;
}

/** What survives an update of the extension in a page that stays. */
export interface PageAgent {
  version: string;
  refs: Refs | null;
  call(call: PageCall): Promise<PageReply> | PageReply;
}

/** Under a symbol: named elements of the page show up as properties of the window, by their strings. */
export const AGENT_KEY = 'endue.page-agent';

/** UTF-16 units. No answer is made of more; much more than that, handed over, ends the process of the extension. */
const MOST_UNITS = 9 * 1024 * 1024;
const TOO_LARGE = 'The page is too large to be read at once. Read a part of it, by ref or selector.';

/** The length of all texts in a result. */
function units(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, one: unknown) => sum + units(one), 0);
}

function makers(): Makers {
  return {
    opener: openerAddress(),
    referrer: document.referrer,
    base: document.querySelector('base[href]') ? null : document.baseURI,
  };
}

function openerAddress(): string | null {
  try {
    // A window of another origin does not let itself be asked.
    return (window.opener as Window | null)?.location.href ?? null;
  } catch {
    return null;
  }
}

const commands = new Map<string, (args: never, page: PageContext) => unknown>(Object.entries(COMMANDS));

export function createPageAgent(version: string, earlier: PageAgent | undefined): PageAgent {
  const agent: PageAgent = {
    version,
    refs: earlier?.refs ?? null,
    async call({ command, args, ref_prefix, url, origin, version: wanted }) {
      if (wanted !== version) return { reply: 'absent' };
      if (location.href !== url || (origin !== '' && self.origin !== origin)) {
        return { reply: 'moved', url: location.href, origin: self.origin, ...makers() };
      }
      agent.refs ??= new Refs(ref_prefix);
      try {
        const run = commands.get(command);
        if (!run) return { reply: 'absent' };
        const result = await run(args as never, { refs: agent.refs });
        if (units(result) > MOST_UNITS) throw new AgentError('output_too_large', TOO_LARGE);
        return { reply: 'done', url: location.href, result };
      } catch (thrown) {
        if (thrown instanceof AgentError) {
          return { reply: 'failed', code: thrown.code, message: thrown.message };
        }
        return { reply: 'failed', code: 'internal_error', message: '' };
      }
    },
  };
  return agent;
}
