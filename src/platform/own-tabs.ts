/** The tabs that show pages of this extension. The polyfill does not know `getContexts`, hence `chrome` here. */
import { browser } from './browser';

export interface OwnTab {
  id: number;
  url: string;
}

/** In `storage.session`, so that another instance of the worker finds it. */
const KEY = 'tabs_sent_away';

export async function ownTabs(): Promise<OwnTab[]> {
  const contexts = await chrome.runtime.getContexts({ contextTypes: [chrome.runtime.ContextType.TAB] });
  return contexts.flatMap(({ tabId, documentUrl }) =>
    documentUrl === undefined ? [] : [{ id: tabId, url: documentUrl }],
  );
}

/** Rejects when the tab is gone. */
export async function goToTab({ id, url }: OwnTab): Promise<void> {
  await browser.tabs.update(id, { url });
}

export async function rememberTabs(tabs: OwnTab[]): Promise<void> {
  await browser.storage.session.set({ [KEY]: tabs });
}

export async function recallTabs(): Promise<OwnTab[]> {
  const { [KEY]: tabs } = await browser.storage.session.get(KEY);
  return Array.isArray(tabs) ? (tabs as OwnTab[]) : [];
}
