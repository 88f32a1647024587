/**
 * Watches the storage worker at work: notes, per Storage, each operation that changes something durable (the state's
 * batches, directories, files, moves, removals, commits), and holds a Storage's job for ever after one of them, so that
 * a browser can be killed exactly there.
 */
import type { AgentBrowser } from './agent-browser';
import { CdpSession, type TargetInfo } from './cdp';
import { until } from './until';

/** A Storage whose id does not begin so is left alone; also its root directory has this name. */
export const PROBED = 'crash-';

/** What a job does to what is durable, in the words of a journal. */
export type Step =
  | 'journal opened'
  | 'temp folder made'
  | 'file made'
  | 'file written'
  | 'plan written'
  | 'moved away'
  | 'moved to recovery'
  | 'folder removed'
  | 'folder made'
  | 'moved to its place'
  | 'seals written'
  | 'committed'
  | 'journal finished'
  | 'temp folder removed'
  | 'journal cleared';

/** The `nth` step of this kind. */
export interface Hold {
  step: Step;
  nth: number;
}

export type WorkerEnd = 'breaks' | 'closes';

export interface StorageProbes {
  /** Counts from here on. `hold`: where each Storage's job stands still. `tellAt`: after how many steps of all together. */
  arm(hold: Record<string, Hold>, tellAt?: number): Promise<void>;
  /** What each Storage's job did since `arm`, in order. */
  steps(): Promise<Record<string, Step[]>>;
  /** The worker's end while the browser lives: by an error that nobody catches, or without a word. */
  end(how: WorkerEnd): Promise<void>;
  /** The Storages that were held, or whose step was the one to tell of, since `arm`. */
  reached: string[];
}

/** Puts the probes into the storage worker that runs now. */
export async function probeStorageWorker(browser: AgentBrowser): Promise<StorageProbes> {
  const session = await attachStorageWorker(browser);
  const probes: StorageProbes = {
    reached: [],
    async arm(hold, tellAt = 0) {
      probes.reached = [];
      await session.evaluate(`probes.arm(${JSON.stringify(hold)}, ${tellAt}); true`);
    },
    steps: () => session.evaluate('probes.steps()'),
    async end(how) {
      const last = how === 'closes' ? 'close()' : `throw new Error('a storage worker that breaks')`;
      await session.evaluate(`setTimeout(() => { ${last}; }); true`);
    },
  };
  browser.connection.on('Runtime.bindingCalled', ({ name, payload }, sessionId) => {
    if (sessionId !== session.sessionId || name !== 'tellReached') return;
    probes.reached.push(payload as string);
  });
  await install(session);
  return probes;
}

/** A dedicated worker answers only to those who attach by way of its document. */
export async function attachStorageWorker(browser: AgentBrowser): Promise<CdpSession> {
  let session: CdpSession | undefined;
  const stop = browser.connection.on('Target.attachedToTarget', ({ sessionId, targetInfo }) => {
    const { type, targetId, url } = targetInfo as TargetInfo;
    if (type !== 'worker' || !url.includes('/storage-worker')) return;
    session = new CdpSession(browser.connection, targetId, sessionId as string);
  });
  const offscreen = await browser.offscreen();
  await offscreen.send('Target.setAutoAttach', {
    autoAttach: true,
    waitForDebuggerOnStart: false,
    flatten: true,
  });
  const attached = await until('the storage worker runs', () => session);
  stop();
  return attached;
}

async function install(session: CdpSession): Promise<void> {
  await session.send('Runtime.enable');
  await session.send('Runtime.addBinding', { name: 'tellReached' });
  await session.evaluate(SCRIPT);
}

const SCRIPT = `(() => {
  const PROBED = ${JSON.stringify(PROBED)};
  const ID = new RegExp(PROBED + '[a-z0-9-]+');
  const owners = new WeakMap();
  const ownerOf = (handle) => owners.get(handle) ?? (handle.name.startsWith(PROBED) ? handle.name : undefined);
  const owned = (handle, owner) => {
    if (owner !== undefined) owners.set(handle, owner);
    return handle;
  };
  let armed = false;
  let hold = {};
  let tellAt = 0;
  let total = 0;
  let steps = {};
  globalThis.probes = {
    arm(newHold, newTellAt) {
      armed = true;
      hold = newHold;
      tellAt = newTellAt;
      total = 0;
      held = new Set();
      steps = {};
    },
    steps: () => steps,
  };
  const never = () => new Promise(() => undefined);
  let held = new Set();
  const isHeld = (owner) => armed && owner !== undefined && held.has(owner);
  /** True when the job of this Storage is to stand still here. */
  const done = (owner, name) => {
    if (!armed || owner === undefined) return false;
    steps[owner] ??= [];
    steps[owner].push(name);
    total += 1;
    const at = hold[owner];
    const isPlace = at?.step === name && steps[owner].filter((step) => step === name).length === at.nth;
    if (isPlace) held.add(owner);
    if (isPlace || total === tellAt) tellReached(owner);
    return held.has(owner);
  };
  const probe = (owner, name, work) => {
    if (isHeld(owner)) return never();
    return work().then((result) => (done(owner, name) ? never() : result));
  };
  const wrap = (prototype, name, make) => {
    prototype[name] = make(prototype[name]);
  };

  const isTemp = (name) => name.startsWith('.endue-storage-tmp-');
  const made = (call, name) => {
    if (call === 'getFileHandle') return 'file made';
    return isTemp(name) ? 'temp folder made' : 'folder made';
  };
  const moved = (from, to) => {
    if (to.startsWith('old-')) return 'moved away';
    return from.startsWith('new-') ? 'moved to its place' : 'moved to recovery';
  };
  const written = (journal) => {
    if (journal === null) return 'journal cleared';
    if (journal.phase !== 'open') return 'journal finished';
    return journal.plans.length === 0 ? 'journal opened' : 'plan written';
  };

  const directory = FileSystemDirectoryHandle.prototype;
  for (const name of ['getDirectoryHandle', 'getFileHandle']) {
    wrap(directory, name, (original) => async function (child, options) {
      const owner = ownerOf(this);
      const get = async () => owned(await original.call(this, child, options), owner);
      return options?.create ? probe(owner, made(name, child), get) : get();
    });
  }
  wrap(directory, 'removeEntry', (original) => function (child, options) {
    return probe(ownerOf(this), isTemp(child) ? 'temp folder removed' : 'folder removed', () => original.call(this, child, options));
  });
  wrap(directory, 'entries', (original) => async function* () {
    const owner = ownerOf(this);
    for await (const [name, handle] of original.call(this)) yield [name, owned(handle, owner)];
  });
  const file = FileSystemFileHandle.prototype;
  wrap(file, 'move', (original) => function (parent, name) {
    const from = this.name;
    return probe(ownerOf(parent), moved(from, name), () => original.call(this, parent, name));
  });
  wrap(file, 'createWritable', (original) => async function (options) {
    return owned(await original.call(this, options), ownerOf(this));
  });
  wrap(WritableStream.prototype, 'close', (original) => function () {
    return probe(owners.get(this), 'file written', () => original.call(this));
  });

  const batches = new WeakMap();
  for (const name of ['put', 'delete']) {
    wrap(IDBObjectStore.prototype, name, (original) => function (...args) {
      const key = String(name === 'put' ? args[1] : args[0]);
      const batch = batches.get(this.transaction) ?? { owner: ID.exec(key)?.[0], name: 'seals written' };
      if (key.endsWith('/journal')) batch.name = written(name === 'put' ? args[0] : null);
      else if (batch.name === 'plan written') batch.name = 'seals written';
      batches.set(this.transaction, batch);
      return original.apply(this, args);
    });
  }
  const { set, get } = Object.getOwnPropertyDescriptor(IDBTransaction.prototype, 'oncomplete');
  Object.defineProperty(IDBTransaction.prototype, 'oncomplete', {
    get,
    set(handler) {
      set.call(this, handler && ((event) => {
        const batch = batches.get(this);
        if (isHeld(batch?.owner)) return;
        if (batch && done(batch.owner, batch.name)) return;
        handler.call(this, event);
      }));
    },
  });

  const request = globalThis.fetch;
  globalThis.fetch = (url, init) => {
    const send = () => request(url, init);
    return String(url).endsWith('/commits') ? probe(ID.exec(String(url))?.[0], 'committed', send) : send();
  };
  return true;
})()`;
