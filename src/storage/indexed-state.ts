/**
 * The engine's durable state in IndexedDB: one object store, each batch one transaction that is on disk when it
 * resolves (`durability: 'strict'`: the journal must not be lost where the files' moves are kept). Knows no engine.
 */
import { AgentError } from '../protocol/errors';
import type { StateChange, StateStore } from './ports';

const STORE = 'state';

/** `name`: of the database. Throws `internal_error` when the browser cannot open or write it. */
export function indexedState(factory: IDBFactory, name: string): StateStore {
  let opening: Promise<IDBDatabase> | null = null;
  const database = (): Promise<IDBDatabase> => {
    opening ??= open(factory, name, () => {
      opening = null;
    }).catch((thrown) => {
      // The next call tries again.
      opening = null;
      throw thrown;
    });
    return opening;
  };
  return {
    async get(key) {
      const store = (await database()).transaction(STORE, 'readonly').objectStore(STORE);
      return requested(store.get(key));
    },
    async batch(changes, soon) {
      await write(await database(), changes, soon ? 'relaxed' : 'strict');
    },
    async keys(prefix) {
      const store = (await database()).transaction(STORE, 'readonly').objectStore(STORE);
      const keys = await requested(store.getAllKeys(IDBKeyRange.lowerBound(prefix)));
      return keys.map(String).filter((key) => key.startsWith(prefix));
    },
  };
}

function open(factory: IDBFactory, name: string, closed: () => void): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = factory.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => {
      request.result.onclose = closed;
      request.result.onversionchange = () => {
        request.result.close();
        closed();
      };
      resolve(request.result);
    };
    request.onerror = () => reject(failure(request.error));
  });
}

function write(
  database: IDBDatabase,
  changes: readonly StateChange[],
  durability: IDBTransactionDurability,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(STORE, 'readwrite', { durability });
    const store = transaction.objectStore(STORE);
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(failure(transaction.error));
    try {
      for (const change of changes) {
        if ('delete' in change) store.delete(change.key);
        else store.put(change.value, change.key);
      }
    } catch (thrown) {
      // What cannot be cloned must take the others of its batch with it.
      transaction.abort();
      reject(thrown);
    }
  });
}

function requested<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(failure(request.error));
  });
}

function failure(error: DOMException | null): AgentError {
  return new AgentError(error?.name === 'QuotaExceededError' ? 'storage_quota_exceeded' : 'internal_error');
}
