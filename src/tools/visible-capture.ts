/** One capture by Chrome, with what the window showed just before and just after (tools.md, screenshot). */
import type { Browser, Tabs } from 'webextension-polyfill';
import { type Content, contentOf } from '../protocol/content';
import { captureError } from './capture-errors';
import type { ActiveTab, CaptureVisible } from './capture-queue';
import { dataUrlBytes } from './data-url';
import { type ImageFacts, imageFacts } from './image-facts';

/** `now` is in epoch milliseconds. */
export function createVisibleCapture(browser: Browser, now: () => number): CaptureVisible {
  const activeTab = async (windowId: number): Promise<ActiveTab | null> => {
    const [tab] = await browser.tabs.query({ active: true, windowId }).catch((): Tabs.Tab[] => []);
    if (tab?.id === undefined) return null;
    return { tab_id: tab.id, url: tab.url ?? '', activated_at: tab.lastAccessed ?? null };
  };

  return async ({ window_id, format, quality }) => {
    // Chrome takes calls in order: this is what was active when the capture began, at no cost in time.
    const asked = activeTab(window_id);
    const details = quality === null ? { format } : { format, quality };
    const data_url = await browser.tabs.captureVisibleTab(window_id, details).catch((thrown: unknown) => {
      throw captureError(thrown);
    });
    const captured_at = now();
    const [after, before, picture] = await Promise.all([activeTab(window_id), asked, pictureOf(data_url)]);
    return { ...picture, captured_at, before, after };
  };
}

/** Goes on while Chrome is asked for the tab. */
async function pictureOf(data_url: string): Promise<ImageFacts & { content: Content }> {
  const bytes = await dataUrlBytes(data_url);
  const facts = imageFacts(bytes);
  return { ...facts, content: contentOf(bytes, facts.mime_type) };
}
