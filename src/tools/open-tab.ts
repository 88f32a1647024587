/**
 * Whether tools may touch what a tab shows, and tell of it. An address tells, where there is one; a window without an
 * address of its own (about:blank, data:, blob:) has the title and the content that some page gave it, and is asked.
 */
import type { Tabs } from 'webextension-polyfill';
import { AgentError } from '../protocol/errors';
import { hasOwnAddress, isEmptyPage, UNKNOWN_MAKER } from '../settings/url-rules';
import { addressOf } from './find-tabs';
import { type CallContext, callFrame, KeptOff } from './page-call';

export type ShownTab = Pick<Tabs.Tab, 'id' | 'url' | 'pendingUrl'>;

/** A window that does not answer so long is taken for closed. */
const WINDOW_PATIENCE_MS = 1_500;

/** Never rejects, but with the signal's reason. Where the tab is about to go counts while it shows nothing. */
export async function isOpenTab(context: CallContext, tab: ShownTab): Promise<boolean> {
  const { urls } = context;
  const url = addressOf(tab);
  if (!isEmptyPage(url) && !urls.mayEnter(url)) return false;
  // Where no rule closes anything nobody needs to be asked.
  if (url === '' || hasOwnAddress(url) || urls.mayEnter(UNKNOWN_MAKER)) return true;
  return isOpenContent(context, tab.id ?? -1, url);
}

/** Throws `page_restricted`. */
export async function assertOpenTab(context: CallContext, tab: ShownTab): Promise<void> {
  if (!(await isOpenTab(context, tab))) throw new AgentError('page_restricted');
}

async function isOpenContent(context: CallContext, tab_id: number, url: string): Promise<boolean> {
  const frames = await context.browser.webNavigation.getAllFrames({ tabId: tab_id }).catch(() => null);
  const main = frames?.find(({ frameId }) => frameId === 0);
  const document_id = (main as { documentId?: string } | undefined)?.documentId;
  if (!main || document_id === undefined || main.url !== url) return false;
  const frame = { frame_id: 0, parent_frame_id: -1, document_id, url, rule_url: url };
  try {
    await callFrame(context, { tab_id }, frame, 'locate', {}, { timeout_ms: WINDOW_PATIENCE_MS });
    return true;
  } catch (thrown) {
    context.signal.throwIfAborted();
    // Chrome lets extensions into every empty window that some page opened: this one is the browser's, or the agent's.
    return thrown instanceof KeptOff && isEmptyPage(url);
  }
}
