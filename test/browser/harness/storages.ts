/** Attaching Storages in tests: the same entry in the same database that the Storages page writes. */
import type { AgentBrowser } from './agent-browser';
import type { CdpSession } from './cdp';
import type { RealFolder } from './real-folder';
import { until } from './until';

/** Attaches a browser-internal Storage, as a person does on the Storages page. */
export async function attachBrowserStorage(browser: AgentBrowser, storage_id: string): Promise<void> {
  const page = await browser.extensionPage();
  try {
    await attach(page, storage_id, `{ backing: 'browser' }`);
  } finally {
    await page.close();
  }
}

/** Drops the folder on a page of the extension, which holds its handle as `folder` from then on. */
export async function holdDroppedFolder(page: CdpSession, folder: RealFolder): Promise<void> {
  await page.evaluate(`(() => {
    addEventListener('dragover', (event) => event.preventDefault());
    addEventListener('drop', async (event) => {
      event.preventDefault();
      globalThis.folder = await event.dataTransfer.items[0].getAsFileSystemHandle();
    });
  })()`);
  await folder.dropOn(page);
  await until('the page has the folder', () => page.evaluate<boolean>('globalThis.folder !== undefined'));
}

/** Attaches the folder that `holdDroppedFolder` left on the page. */
export function attachFolderStorage(page: CdpSession, storage_id: string): Promise<void> {
  return attach(page, storage_id, `{ backing: 'folder', handle: folder }`);
}

/** `facts`: an expression. */
async function attach(page: CdpSession, storage_id: string, facts: string): Promise<void> {
  const common = JSON.stringify({ storage_id, name: storage_id, kept: false, fresh: true });
  await page.evaluate(`new Promise((resolve, reject) => {
    const opening = indexedDB.open('endue-storages');
    opening.onupgradeneeded = () => opening.result.createObjectStore('storages');
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      const transaction = database.transaction('storages', 'readwrite');
      const row = { ...${common}, ...${facts} };
      transaction.objectStore('storages').put(row, ${JSON.stringify(`attached/${storage_id}`)});
      transaction.oncomplete = () => { database.close(); resolve(true); };
      transaction.onabort = () => reject(transaction.error);
    };
  })`);
  await page.evaluate(`chrome.runtime.sendMessage({ type: 'storages.changed', input: {} })`);
}
