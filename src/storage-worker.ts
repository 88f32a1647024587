/** The storage worker of the offscreen document: the engine and the file tools, wired to the browser. */
import { putJobBody } from './platform/job-bodies';
import { padDirectoryLog } from './platform/torn-logs';
import { attachedRoots } from './storage/attached-roots';
import { type FolderHandle, findStorage, listStorages, noteForgotten } from './storage/attachments';
import { StorageEngine } from './storage/engine';
import { fileTools } from './storage/files/file-tools';
import { indexedState } from './storage/indexed-state';
import { JobRunner } from './storage/job-runner';
import type { StoragePathInput } from './storage/modes/mode';
import type { Clock, DirectoryHandle } from './storage/ports';
import { type ChangeRecord, createRootWatch } from './storage/root-watch';
import { createSealWatch } from './storage/seal-watch';
import { transportsTo } from './storage/transport';
import type { FromWorker, ToWorker } from './storage/worker-messages';

interface WorkerScope {
  postMessage(message: FromWorker): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
  FileSystemObserver?: new (heard: (records: readonly ChangeRecord[]) => void) => AnyObserver;
}

interface AnyObserver {
  observe(handle: FolderHandle | DirectoryHandle, options: { recursive: boolean }): Promise<void>;
  disconnect(): void;
}

const scope = self as unknown as WorkerScope;

const clock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const stop = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', stop);
        resolve();
      }, ms);
      signal.addEventListener('abort', stop, { once: true });
    }),
};
const random = Math.random;

const storages = attachedRoots({
  listStorages,
  findStorage,
  noteForgotten,
  originRoot,
});

let padded: Promise<void> | null = null;

async function originRoot(): Promise<DirectoryHandle> {
  const root = await navigator.storage.getDirectory();
  // What cannot be written now, for want of room perhaps, is no reason to refuse to read.
  padded ??= padDirectoryLog(root).catch(() => undefined);
  await padded;
  return root as unknown as DirectoryHandle;
}

const { FileSystemObserver } = scope;
const stillness = createRootWatch({
  createObserver: FileSystemObserver
    ? (heard) => {
        const observer = new FileSystemObserver(heard);
        return {
          observe: (root, options) => observer.observe(root, options),
          disconnect: () => observer.disconnect(),
        };
      }
    : null,
  later: (run, ms) => setTimeout(run, ms),
  newId: () => crypto.randomUUID(),
});

const state = indexedState(indexedDB, 'endue-storage-state');
const engine = new StorageEngine({
  storages,
  state,
  clock,
  random,
  stillness,
  connect: () => {
    throw new Error('every job brings its own transport');
  },
});

const watchSeals = createSealWatch({
  engine,
  listStorages,
  createObserver: FileSystemObserver
    ? (changed) => {
        const observer = new FileSystemObserver(() => changed());
        return {
          observe: (handle: FolderHandle, options) => observer.observe(handle, options),
          disconnect: () => observer.disconnect(),
        };
      }
    : null,
  later: (run, ms) => setTimeout(run, ms),
});

const runner = new JobRunner({
  engine,
  tools: {
    workspace_storage_path: async (input, { request_id, signal, connect, progress }) => ({
      output: await engine.run({
        request_id,
        input: input as unknown as StoragePathInput,
        connect,
        signal,
        progress,
      }),
    }),
    ...fileTools(engine, storages),
  },
  transportsTo: (endpoint) =>
    transportsTo({ endpoint, fetch: (url, init) => fetch(url, init), clock, random }),
  listStorages,
  keepBody: (attachments) =>
    putJobBody(
      Object.fromEntries(attachments.map(({ field, blob }) => [field, blob])),
      Date.now(),
      crypto.randomUUID(),
    ),
  jobEnded: watchSeals,
  changed: recover,
  post: (message) => scope.postMessage(message),
});

scope.onmessage = ({ data }) => runner.hear(data);

function recover(): void {
  engine.recover().then(watchSeals, () => undefined);
}

recover();
