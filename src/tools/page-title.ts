/** The title of a page that was just loaded. */
import type { Tabs } from 'webextension-polyfill';
import { addressOf } from './find-tabs';
import { pause } from './pause';
import type { ToolContext } from './tool';

/** A page that does not answer by then, because it shows a dialog say, has the title that Chrome shows. */
const PATIENCE_MS = 500;

/**
 * Chrome hears of a title a moment after the load has ended, and shows the address in its place until then. Then the page
 * itself is asked, as long as it is the page at this address.
 */
export async function titleOf(
  context: Pick<ToolContext, 'browser' | 'setTimer' | 'signal'>,
  tab: Tabs.Tab,
): Promise<string> {
  const shown = tab.title ?? '';
  if (tab.id === undefined || !/^https?:/.test(tab.url ?? '')) return shown;
  if (!standsForTitle(shown, addressOf(tab))) return shown;
  const asked = context.browser.scripting.executeScript({
    target: { tabId: tab.id },
    func: () => [location.href, document.title],
  });
  const told = await Promise.race([asked, pause(context, PATIENCE_MS)]).catch(() => undefined);
  const [href, title] = (told?.[0]?.result ?? []) as unknown[];
  return href === tab.url && typeof title === 'string' && title !== '' ? title : shown;
}

/** Chrome leaves out the scheme and a last slash, and decodes the rest. */
function standsForTitle(title: string, address: string): boolean {
  return title === '' || address.includes(title) || decoded(address).includes(title);
}

function decoded(address: string): string {
  try {
    return decodeURI(address);
  } catch {
    return address;
  }
}
