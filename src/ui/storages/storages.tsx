/** The Storages page's shell: the one place where it talks to the browser and to the other contexts. */
import { render } from 'preact';
import { browser } from '../../platform/browser';
import {
  askForFolder,
  doFoldersOverlap,
  droppedFolder,
  isFolderThere,
  pickFolder,
} from '../../platform/folder-access';
import { send } from '../../platform/messaging';
import {
  attachBrowser,
  attachFolder,
  detach,
  findStorage,
  listStorages,
  noteKept,
} from '../../storage/attachments';
import { createTexts, labelDocument } from '../i18n';
import { StoragesApp, type StoragesPorts } from './storages-app';
import { readVisitNote, writeVisitNote } from './visit-note';

const texts = createTexts(browser.i18n);

const ports: StoragesPorts = {
  texts,
  note: readVisitNote(location.hash),
  async list() {
    const { storages } = await send('storages.list', {});
    if (storages === null) throw new Error('the storage worker did not answer');
    return storages;
  },
  async allowsFolders() {
    return (await send('overview.get', {})).allow_local_folders;
  },
  pickFolder,
  droppedFolder,
  askForFolder,
  async overlapping(handle) {
    for (const { name, handle: other } of await listStorages()) {
      if (other && (await doFoldersOverlap(handle, other))) return name;
    }
    return null;
  },
  async attachFolder(storage) {
    await attachFolder(storage);
  },
  async attachBrowser(storage) {
    await attachBrowser(storage);
    await tellChanged();
  },
  async detach(storage_id) {
    await detach(storage_id);
    await tellChanged();
  },
  async askAgain(storage_id) {
    // A handle that somebody else holds would keep the kind of its old grant.
    await send('storages.release', {}).catch(() => undefined);
    const handle = (await findStorage(storage_id))?.handle;
    if (!handle) return 'refused';
    // Until it is proven, a new grant is for this session.
    await noteKept(storage_id, false);
    if (!(await askForFolder(handle))) return 'refused';
    return (await isFolderThere(handle)) ? 'granted' : 'gone';
  },
  async leave(note) {
    const tab = await browser.tabs.getCurrent();
    if (tab?.id === undefined) return false;
    const url = location.href.replace(/#.*$/, '') + writeVisitNote(note);
    return (await send('grants.leave', { tab: tab.id, url })).leaving;
  },
  tellChanged,
};

/** Nobody needs the answer: who does not hear it finds out by itself. */
async function tellChanged(): Promise<void> {
  await send('storages.changed', {}).catch(() => undefined);
  send('grants.look', {}).catch(() => undefined);
}

// A note is for one visit: reloading the page must not say it again.
history.replaceState(null, '', location.pathname);
// What this page finds out when it looks, the badge says, too.
send('grants.look', {}).catch(() => undefined);
// Grants that are not kept end with the last page: the badge follows.
addEventListener('pagehide', () => void send('grants.look', {}).catch(() => undefined));

labelDocument(document, texts, 'storages_page_title');
render(<StoragesApp ports={ports} />, document.getElementById('app') as HTMLElement);
