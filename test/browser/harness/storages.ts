/** Attaching Storages in tests: the same entry in the same database that the Storages page writes. */
import type { AgentBrowser } from './agent-browser';

/** Attaches a browser-internal Storage, as a person does on the Storages page. */
export async function attachBrowserStorage(browser: AgentBrowser, storage_id: string): Promise<void> {
  const row = { storage_id, name: storage_id, backing: 'browser', kept: false, fresh: true };
  const page = await browser.extensionPage();
  try {
    await page.evaluate<boolean>(`new Promise((resolve, reject) => {
      const opening = indexedDB.open('endue-storages');
      opening.onupgradeneeded = () => opening.result.createObjectStore('storages');
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        const database = opening.result;
        const transaction = database.transaction('storages', 'readwrite');
        transaction.objectStore('storages').put(${JSON.stringify(row)}, ${JSON.stringify(`attached/${storage_id}`)});
        transaction.oncomplete = () => { database.close(); resolve(true); };
        transaction.onabort = () => reject(transaction.error);
      };
    })`);
    await page.evaluate(`chrome.runtime.sendMessage({ type: 'storages.changed', input: {} })`);
  } finally {
    await page.close();
  }
}
