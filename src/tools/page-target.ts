/**
 * The page a tool means, and the documents in it: found anew for every call, by Chrome's own list of frames,
 * which answers also while a page hangs. A document is named by its id, so that what was meant for one page
 * never reaches the next one in the same tab.
 */
import type { Browser, Tabs, WebNavigation } from 'webextension-polyfill';
import { parseRef, refPrefix } from '../protocol/element-ref';
import { AgentError } from '../protocol/errors';
import { addressOf, findTab, meantTab } from './find-tabs';
import type { ToolContext } from './tool';

/** One document that the agent may enter. */
export interface PageFrame {
  frame_id: number;
  /** -1 for the main frame. */
  parent_frame_id: number;
  /** Chrome's id of the document, unique as long as the browser runs. */
  document_id: string;
  /** The address Chrome committed. */
  url: string;
  /** The address the rules are asked about: of an inherited document (about:srcdoc, blob:) its origin's. */
  rule_url: string;
}

export interface PageTarget {
  tab_id: number;
  main: PageFrame;
  /** Every document that may be entered, the main one first, children behind their parents. */
  frames: PageFrame[];
  /** Frames that may not be entered: by the rules, or because Chrome keeps extensions off. */
  closed: ClosedFrame[];
}

export type ClosedFrame = Pick<PageFrame, 'frame_id' | 'parent_frame_id' | 'url'>;

export type PageContext = Pick<ToolContext, 'browser' | 'urls'>;

/** Chrome's own, unknown to the polyfill's types. */
type ChromeFrame = WebNavigation.GetAllFramesCallbackDetailsItemType & { documentLifecycle?: string };

/**
 * The page of `tab_id`, or of the active tab of the last focused window. Throws `tab_not_found`,
 * `page_restricted` (Chrome's own pages, the rules), `unavailable` (the page is not loaded), `navigation_failed`.
 */
export async function findPage(
  { browser, urls }: PageContext,
  tab_id: number | undefined,
): Promise<PageTarget> {
  const tab = await meantTab(browser, tab_id);
  const id = tab.id as number;
  refuseUnreachable(tab);
  const frames = await framesOf(browser, id);
  const main = frames.find(({ frameId }) => frameId === 0);
  if (!main) throw await noDocument(browser, id);
  const target = sort(frames, (url) => urls.mayEnter(url));
  const [first] = target.frames;
  if (first?.frame_id !== 0) throw restricted(main.url);
  if (main.errorOccurred) {
    throw new AgentError(
      'navigation_failed',
      'The tab shows an error of the browser instead of a page. tab_navigate loads it again.',
    );
  }
  return { tab_id: id, main: first, ...target };
}

/** The document a ref belongs to. Throws `element_not_found`, also for refs of pages the tab has left. */
export function frameOfRef({ frames }: PageTarget, ref: string): PageFrame {
  const prefix = parseRef(ref)?.prefix;
  const frame = frames.find(({ document_id }) => refPrefix(document_id) === prefix);
  if (!prefix || !frame) throw new AgentError('element_not_found');
  return frame;
}

/** A tab whose page cannot answer is refused at once, with what would help. */
function refuseUnreachable(tab: Tabs.Tab): void {
  if (tab.discarded || tab.status === 'unloaded') {
    throw new AgentError(
      'unavailable',
      'Chrome has unloaded the page of this tab to save memory. tab_navigate with action reload, or tab_activate, loads it again.',
    );
  }
  const url = addressOf(tab);
  if (url !== '' && !isReachable(url)) throw restricted(url);
}

const REACHABLE = new Set(['http:', 'https:', 'file:', 'about:', 'blob:', 'data:', 'filesystem:']);

/** False for what Chrome keeps extensions off by its scheme. */
function isReachable(url: string): boolean {
  return REACHABLE.has(url.slice(0, url.indexOf(':') + 1).toLowerCase());
}

function restricted(url: string): AgentError {
  return isReachable(url)
    ? new AgentError(
        'page_restricted',
        'The rules of this device close the address of this page to the agent.',
      )
    : new AgentError(
        'page_restricted',
        "Chrome keeps extensions off this page: it is one of the browser's own, an extension's, or a view of a page's source. Name the tab_id of an ordinary web page (tab_list), or go to one.",
      );
}

async function framesOf(browser: Browser, tabId: number): Promise<ChromeFrame[]> {
  const frames = await browser.webNavigation.getAllFrames({ tabId }).catch(() => null);
  return frames ?? [];
}

async function noDocument(browser: Browser, tab_id: number): Promise<AgentError> {
  await findTab(browser, tab_id);
  return new AgentError('unavailable', 'The tab has no page yet. Wait for its load, or navigate it anew.');
}

/** Which frames are open to the agent. A frame inside a closed one is judged by its own address. */
function sort(
  all: readonly ChromeFrame[],
  mayEnter: (url: string) => boolean,
): Pick<PageTarget, 'frames' | 'closed'> {
  const byId = new Map(all.map((frame) => [frame.frameId, frame]));
  const frames: PageFrame[] = [];
  const closed: ClosedFrame[] = [];
  for (const frame of [...all].sort((one, other) => depth(one, byId) - depth(other, byId))) {
    const { frameId: frame_id, parentFrameId: parent_frame_id, url, documentId, documentLifecycle } = frame;
    if ((documentLifecycle ?? 'active') !== 'active') continue;
    const rule_url = ruleUrl(frame, byId);
    if (documentId && isReachable(url) && mayEnter(rule_url)) {
      frames.push({ frame_id, parent_frame_id, document_id: documentId, url, rule_url });
    } else {
      closed.push({ frame_id, parent_frame_id, url });
    }
  }
  return { frames, closed };
}

function depth(frame: ChromeFrame, byId: ReadonlyMap<number, ChromeFrame>): number {
  const parent = byId.get(frame.parentFrameId);
  return parent && parent !== frame ? depth(parent, byId) + 1 : 0;
}

/**
 * about:, blob: and data: documents have no address of their own: they count as what made them. A blob: tells the
 * origin of that; when it is the parent's, the parent's address says more.
 */
function ruleUrl(frame: ChromeFrame, byId: ReadonlyMap<number, ChromeFrame>): string {
  const inherits = /^(?:about|data|blob|filesystem):/i.test(frame.url);
  const parent = byId.get(frame.parentFrameId);
  const around = inherits && parent ? ruleUrl(parent, byId) : null;
  const inner = /^(?:blob|filesystem):(https?:\/\/[^/]+)/i.exec(frame.url)?.[1];
  if (inner && !around?.startsWith(`${inner}/`)) return `${inner}/`;
  return around ?? frame.url;
}
