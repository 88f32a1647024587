/**
 * The least an extension of this shape can do for a request; the benchmark calls `start`. `message`: answers at once.
 * `writes`: the id is written down, then the answer. `jpeg`, `png`: Chrome's own capture, as it comes.
 */
const WORK = {
  message: async () => 'pong',
  async writes() {
    const database = await opened();
    await written(database, 'id');
    await written(database, 'answer');
    return 'pong';
  },
  jpeg: () => chrome.tabs.captureVisibleTab({ format: 'jpeg', quality: 85 }),
  png: () => chrome.tabs.captureVisibleTab({ format: 'png' }),
};

chrome.runtime.onMessage.addListener((message, _sender, reply) => {
  WORK[message]().then(reply, () => reply('failed'));
  return true;
});

let database = null;

function opened() {
  database ??= new Promise((resolve, reject) => {
    const opening = indexedDB.open('floor');
    opening.onupgradeneeded = () => opening.result.createObjectStore('rows');
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
  return database;
}

function written(to, key) {
  return new Promise((resolve, reject) => {
    const transaction = to.transaction('rows', 'readwrite', { durability: 'relaxed' });
    transaction.objectStore('rows').put({ at: Date.now() }, key);
    transaction.commit();
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  });
}

opened();

globalThis.start = (port) =>
  chrome.offscreen.createDocument({
    url: `offscreen.html#${port}`,
    reasons: ['WORKERS'],
    justification: 'Holds a socket for the benchmark.',
  });
