/**
 * A browser with a service, an own file system and one real folder, in which many Storages are killed at once: each has a
 * job in the middle of which it stands when the browser dies. Afterwards it is asked what is left.
 */
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import type { JsonObject } from '../../../src/protocol/json';
import { ANNOUNCED_CONCURRENCY } from '../../../src/protocol/limits';
import { HEARTBEAT_MS, HEARTBEATS_MISSED } from '../../../src/relay/storage-host';
import type { RootKind } from '../../../src/storage/ports';
import type { Device } from '../../fake-relay/devices';
import { type FakeRelay, startFakeRelay } from '../../fake-relay/fake-relay';
import { AgentBrowser, newProfile, removeProfile } from './agent-browser';
import type { CdpSession } from './cdp';
import type { CrashScenario, Patient, Texts } from './crash-scenarios';
import { grantFolders, RealFolder } from './real-folder';
import {
  type Hold,
  PROBED,
  probeStorageWorker,
  type Step,
  type StorageProbes,
  type WorkerEnd,
} from './storage-probes';
import { holdDroppedFolder } from './storages';
import { until } from './until';

export interface Victim {
  scenario: CrashScenario;
  kind: RootKind;
  /** Where its job stands still until the kill. */
  hold?: Hold;
}

/** How many jobs the extension runs at a time: more victims would not all be in the middle. */
export const VICTIMS = ANNOUNCED_CONCURRENCY;

export interface Round {
  victims: readonly Victim[];
  /** Only the storage worker ends, so; else the browser is killed. */
  end?: WorkerEnd;
  /** Kills when so many steps of all victims are done, wherever they are; else when each is held, or answered. */
  killAt?: number;
}

export interface Outcome extends Victim {
  /** The answer was `ok`. */
  answered: boolean;
  result: 'old' | 'new' | 'same';
  /** What its job had done by the time of the kill, in order. */
  steps: Step[];
}

interface Bed extends Patient, Victim {
  before: Texts;
  /** After the kill and the restart. */
  found: Texts;
  /** `ok`, or the error's code; null until there is an answer. */
  answer: string | null;
}

const TMP = '.endue-storage-tmp-';
const RECOVERY = /^\.endue-storage-recovery-[^/]*\//;

export class CrashWorld implements AsyncDisposable {
  private count = 0;
  private page: CdpSession | null = null;
  /** Those of the last round, whose next sync is still to be seen. */
  private left: Bed[] = [];

  private constructor(
    private readonly relay: FakeRelay,
    private readonly device: Device,
    private readonly profile: string,
    private readonly folder: RealFolder,
    private readonly directory: string,
    private browser: AgentBrowser,
  ) {}

  static async create(): Promise<CrashWorld> {
    const profile = newProfile();
    const folder = new RealFolder();
    grantFolders(profile, [folder], { kept: true });
    const directory = mkdtempSync(join(tmpdir(), 'endue-storage-'));
    const relay = await startFakeRelay({ storage_directory: directory });
    const device = relay.createDevice();
    const browser = await AgentBrowser.launch({ profile });
    const world = new CrashWorld(relay, device, profile, folder, directory, browser);
    await browser.enroll(device.enrollment);
    await relay.waitForOnline(device);
    const page = await world.openPage();
    await holdDroppedFolder(page, folder);
    await page.evaluate('keepFolder(folder)');
    return world;
  }

  /** What the service and the relay had to complain about. */
  get violations(): readonly string[] {
    return this.relay.violations;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close().catch(() => undefined);
    removeProfile(this.profile);
    await this.relay.close();
    this.folder.remove();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /**
   * One kill with everything that leads to it and follows from it; the expectations are inside. The next sync of its
   * Storages runs beside what prepares the next round, or in `settle`.
   */
  async round({ victims, killAt, end }: Round): Promise<Outcome[]> {
    const beds = await this.makeBeds(victims);
    await this.attach(beds);
    await Promise.all([this.settle(), this.prepare(beds)]);
    const inputs = await Promise.all(beds.map((bed) => bed.scenario.act(bed)));
    const probes = await probeStorageWorker(this.browser);
    await probes.arm(
      Object.fromEntries(beds.flatMap(({ storage_id, hold }) => (hold ? [[storage_id, hold]] : []))),
      killAt,
    );
    beds.forEach((bed, at) => {
      this.code(bed, inputs[at] as JsonObject).then(
        (code) => {
          bed.answer = code;
        },
        () => undefined,
      );
    });
    await this.waitForKill(beds, probes, killAt);
    const steps = await probes.steps();
    const isOnline = end ? await this.endWorker(probes, end, beds) : await this.restart();
    await this.waitForRecovery(beds);
    const outcomes = await this.judge(beds, steps);
    this.left = beds;
    await isOnline();
    return outcomes;
  }

  /** After the last round: its Storages converge with the service. */
  async settle(): Promise<void> {
    const beds = this.left;
    this.left = [];
    if (beds.length === 0) return;
    await this.converge(beds);
    // By now the relay has been told of all that could still be told.
    for (const { scenario, kind, answer, found } of beds) {
      const where = `the answer to ${scenario.name} on ${kind}`;
      expect([null, 'ok', 'outcome_unknown'], where).toContain(answer);
      if (answer === 'ok') expect(found, where).toEqual(scenario.after);
    }
    await this.detach(beds);
  }

  private async makeBeds(victims: readonly Victim[]): Promise<Bed[]> {
    const { storage } = this.relay;
    const beds: Bed[] = [];
    for (const victim of victims) {
      const storage_id = `${PROBED}${this.count++}-${randomUUID()}`;
      const link_id = `l-${storage_id}`;
      const target_id = `t-${storage_id}`;
      await storage.createStorage(storage_id);
      await storage.createStorage(target_id);
      await storage.createLink({
        link_id,
        storage_id,
        path: 'link',
        target: { storage_id: target_id, path: 'box' },
      });
      const token = storage.issueToken({ storage_id }, { link_id }, { storage_id: target_id });
      beds.push({
        ...victim,
        storage_id,
        link_id,
        target_id,
        token,
        service: storage,
        before: {},
        found: {},
        answer: null,
      });
    }
    return beds;
  }

  private async attach(beds: readonly Bed[]): Promise<void> {
    await this.evaluate(
      'attachAll',
      beds.map(({ storage_id, kind }) => ({ storage_id, kind })),
    );
    await this.edit(beds, ({ scenario }) => scenario.first);
  }

  private async prepare(beds: readonly Bed[]): Promise<void> {
    const { storage } = this.relay;
    await Promise.all(
      beds.map(async (bed) => {
        await this.ok(bed, { mode: 'save_path', path: '' });
        const { linked } = bed.scenario;
        if (!linked) return;
        const box = Object.fromEntries(Object.entries(linked).map(([path, text]) => [`box/${path}`, text]));
        const revision = await storage.write(bed.target_id, box);
        await this.ok(bed, { mode: 'link_pull', link_id: bed.link_id, path: 'link', revision });
      }),
    );
    await this.edit(beds, ({ scenario }) => scenario.local);
    const trees = await this.trees(beds);
    beds.forEach((bed, at) => {
      bed.before = contentOf(trees[at] as Texts);
    });
  }

  private async waitForKill(beds: readonly Bed[], probes: StorageProbes, killAt?: number): Promise<void> {
    await until('every job stands where it is to be killed', () =>
      killAt !== undefined
        ? probes.reached.length > 0 || beds.every(({ answer }) => answer !== null)
        : beds.every((bed) => bed.answer !== null || probes.reached.includes(bed.storage_id)),
    );
  }

  /** Resolves with what waits until the device is online again. */
  private async restart(): Promise<() => Promise<void>> {
    const connections = this.device.connections.length;
    await this.browser.kill();
    this.page = null;
    this.browser = await AgentBrowser.launch({ profile: this.profile });
    return async () => void (await this.relay.waitForOnline(this.device, { after: connections }));
  }

  /** Resolves once each job is answered, long before its deadline. */
  private async endWorker(
    probes: StorageProbes,
    end: WorkerEnd,
    beds: readonly Bed[],
  ): Promise<() => Promise<void>> {
    await probes.end(end);
    const patience = 2 * HEARTBEAT_MS * HEARTBEATS_MISSED;
    await until(
      'the jobs of a worker that is gone are answered',
      () => beds.every(({ answer }) => answer !== null),
      patience,
    );
    expect(beds.map(({ answer }) => answer)).toEqual(beds.map(() => 'outcome_unknown'));
    return async () => undefined;
  }

  /** Nobody asks for anything: the start alone has to do it. */
  private async waitForRecovery(beds: readonly Bed[]): Promise<void> {
    await until('no journal and no temp folder is left', async () => {
      const journals = await this.evaluate<string[]>(
        'journalsOf',
        beds.map(({ storage_id }) => storage_id),
      );
      if (journals.length > 0) return false;
      return (await this.trees(beds)).every((tree) => !Object.keys(tree).some(isTemp));
    });
  }

  private async judge(beds: readonly Bed[], steps: Record<string, Step[]>): Promise<Outcome[]> {
    const trees = await this.trees(beds);
    return beds.map((bed, at) => {
      const { scenario, kind, hold, before, answer, storage_id } = bed;
      const done = steps[storage_id] ?? [];
      const found = contentOf(trees[at] as Texts);
      bed.found = found;
      const where = `${scenario.name} on ${kind}, killed after ${done.length}: ${done.at(-1) ?? 'nothing'}`;
      expect([before, scenario.after], where).toContainEqual(found);
      const isOld = same(found, before);
      const isNew = same(found, scenario.after);
      return {
        scenario,
        kind,
        ...(hold && { hold }),
        steps: done,
        answered: answer === 'ok',
        result: isOld ? (isNew ? 'same' : 'old') : 'new',
      };
    });
  }

  private async converge(beds: readonly Bed[]): Promise<void> {
    const { storage } = this.relay;
    await Promise.all(
      beds.map(async (bed) => {
        storage.wantMerge(bed.target_id, false);
        for (const input of bed.scenario.converge(bed)) {
          const code = await this.code(bed, input);
          // When the job was done, the link is gone already.
          const fine = input.mode === 'link_remove' ? ['ok', 'link_unknown'] : ['ok'];
          expect(fine, `${input.mode} after ${bed.scenario.name} on ${bed.kind}`).toContain(code);
        }
      }),
    );
    const trees = await this.trees(beds);
    for (const [at, bed] of beds.entries()) {
      const where = `${bed.scenario.name} on ${bed.kind}, after the next sync`;
      const own: Texts = {};
      const linked: Texts = {};
      for (const [path, text] of Object.entries(contentOf(trees[at] as Texts))) {
        if (path.startsWith('recovered/')) continue;
        if (path.startsWith('link/')) linked[`box/${path.slice('link/'.length)}`] = text;
        else own[path] = text;
      }
      expect(own, where).toEqual(await storage.texts(bed.storage_id));
      if (bed.scenario.name === 'link_remove') expect(linked, where).toEqual({});
      else expect(linked, where).toEqual(await storage.texts(bed.target_id));
    }
  }

  private async detach(beds: readonly Bed[]): Promise<void> {
    await this.evaluate(
      'detachAll',
      beds.map(({ storage_id }) => storage_id),
    );
    for (const { storage_id } of beds) rmSync(this.onDisk(storage_id), { recursive: true, force: true });
  }

  // --- What is on the device --------------------------------------------------------------------------------

  private onDisk(storage_id: string): string {
    return join(this.folder.path, storage_id);
  }

  private async edit(
    beds: readonly Bed[],
    editsOf: (bed: Bed) => Record<string, string | null>,
  ): Promise<void> {
    const inBrowser: [string, Record<string, string | null>][] = [];
    for (const bed of beds) {
      const edits = editsOf(bed);
      if (bed.kind === 'browser') inBrowser.push([bed.storage_id, edits]);
      else for (const [path, text] of Object.entries(edits)) this.editOnDisk(bed.storage_id, path, text);
    }
    await this.evaluate('editAll', inBrowser);
  }

  private editOnDisk(storage_id: string, path: string, text: string | null): void {
    const at = join(this.onDisk(storage_id), path);
    if (text === null) rmSync(at);
    else {
      mkdirSync(dirname(at), { recursive: true });
      writeFileSync(at, text);
    }
  }

  /** Everything there is, internal names too; empty directories end in `/`. */
  private async trees(beds: readonly Bed[]): Promise<Texts[]> {
    const inBrowser = await this.evaluate<Texts[]>(
      'readAll',
      beds.filter(({ kind }) => kind === 'browser').map(({ storage_id }) => storage_id),
    );
    return beds.map(({ kind, storage_id }) =>
      kind === 'browser' ? (inBrowser.shift() as Texts) : readDisk(this.onDisk(storage_id)),
    );
  }

  // --- Calls ------------------------------------------------------------------------------------------------

  /** `ok`, or the error's code. */
  private async code(bed: Bed, input: JsonObject): Promise<string> {
    const { storage_id, token } = bed;
    const response = await this.relay.command(this.device, {
      command: 'workspace_storage_path',
      input: { storage_id, token, ...input },
      timeout_ms: 300_000,
    });
    return response.status === 'ok' ? 'ok' : response.error_code;
  }

  private async ok(bed: Bed, input: JsonObject): Promise<void> {
    expect(await this.code(bed, input), `${input.mode} of ${bed.scenario.name}`).toBe('ok');
  }

  private async openPage(): Promise<CdpSession> {
    this.page ??= await this.browser.extensionPage('src/ui/activity/activity.html');
    await this.page.evaluate(PAGE_SCRIPT);
    return this.page;
  }

  private async evaluate<T>(name: string, argument: unknown): Promise<T> {
    const page = this.page ?? (await this.openPage());
    return page.evaluate<T>(`${name}(${JSON.stringify(argument)})`);
  }
}

function readDisk(root: string): Texts {
  const found: Texts = {};
  const walk = (prefix: string) => {
    const entries = readdirSync(join(root, prefix), { withFileTypes: true });
    if (entries.length === 0 && prefix !== '') found[prefix] = '';
    for (const entry of entries) {
      const path = `${prefix}${entry.name}`;
      if (entry.isDirectory()) walk(`${path}/`);
      else found[path] = readFileSync(join(root, path), 'utf8');
    }
  };
  if (existsSync(root)) walk('');
  return found;
}

function isTemp(path: string): boolean {
  return path.startsWith(TMP) || path.endsWith('.crswap');
}

/** A person's content of a tree, with that of recovery folders under `recovered/`. */
function contentOf(tree: Texts): Texts {
  const content: Texts = {};
  for (const [path, text] of Object.entries(tree)) {
    if (RECOVERY.test(path)) content[path.replace(RECOVERY, 'recovered/')] = text;
    else if (!path.startsWith('.endue-storage-')) content[path] = text;
  }
  return content;
}

function same(a: Texts, b: Texts): boolean {
  const sorted = (texts: Texts) => JSON.stringify(Object.entries(texts).sort());
  return sorted(a) === sorted(b);
}

/** Functions for a page of the extension: attaching many at once, and reading and writing the browser's file system. */
const PAGE_SCRIPT = `(() => {
  const database = (name, store) => new Promise((resolve, reject) => {
    const opening = indexedDB.open(name);
    opening.onupgradeneeded = () => opening.result.createObjectStore(store);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => resolve(opening.result);
  });
  const inStore = async (name, store, mode, work) => {
    const db = await database(name, store);
    try {
      return await new Promise((resolve, reject) => {
        const transaction = db.transaction(store, mode);
        const request = work(transaction.objectStore(store));
        transaction.oncomplete = () => resolve(request?.result);
        transaction.onabort = () => reject(transaction.error);
      });
    } finally {
      db.close();
    }
  };
  const tellChanged = () => chrome.runtime.sendMessage({ type: 'storages.changed', input: {} });
  const storages = async () =>
    (await navigator.storage.getDirectory()).getDirectoryHandle('storages', { create: true });
  const read = async (directory, prefix, found) => {
    let empty = true;
    for await (const [name, handle] of directory.entries()) {
      empty = false;
      const path = prefix + name;
      if (handle.kind === 'directory') await read(handle, path + '/', found);
      // What is moved away while it is read is looked for again by whoever waits.
      else found[path] = await handle.getFile().then((file) => file.text()).catch(() => '(gone)');
    }
    if (empty && prefix !== '') found[prefix] = '';
    return found;
  };
  Object.assign(globalThis, {
    keepFolder: (folder) =>
      inStore('crash-test', 'handles', 'readwrite', (store) => void store.put(folder, 'folder')).then(() => true),
    async attachAll(victims) {
      const folder = await inStore('crash-test', 'handles', 'readonly', (store) => store.get('folder'));
      const rows = [];
      for (const { storage_id, kind } of victims) {
        const common = { storage_id, name: storage_id, kept: true, fresh: true, backing: kind };
        if (kind === 'browser') rows.push(common);
        else rows.push({ ...common, handle: await folder.getDirectoryHandle(storage_id, { create: true }) });
      }
      await inStore('endue-storages', 'storages', 'readwrite', (store) => {
        for (const row of rows) store.put(row, 'attached/' + row.storage_id);
      });
      await tellChanged();
    },
    async detachAll(ids) {
      await inStore('endue-storages', 'storages', 'readwrite', (store) => {
        for (const id of ids) store.delete('attached/' + id);
      });
      await tellChanged();
      const root = await storages();
      for (const id of ids) await root.removeEntry(id, { recursive: true }).catch(() => undefined);
    },
    async editAll(edits) {
      const root = await storages();
      for (const [id, texts] of edits) {
        for (const [path, text] of Object.entries(texts)) {
          const names = path.split('/');
          const name = names.pop();
          let directory = await root.getDirectoryHandle(id, { create: true });
          for (const each of names) directory = await directory.getDirectoryHandle(each, { create: true });
          if (text === null) {
            await directory.removeEntry(name);
            continue;
          }
          const writer = await (await directory.getFileHandle(name, { create: true })).createWritable();
          await writer.write(text);
          await writer.close();
        }
      }
    },
    async readAll(ids) {
      const root = await storages();
      return Promise.all(ids.map(async (id) =>
        read(await root.getDirectoryHandle(id, { create: true }), '', {}).catch(() => ({ '.endue-storage-tmp-moving': '' }))));
    },
    async journalsOf(ids) {
      const keys = ids.map((id) => 'storage/' + JSON.stringify(id) + '/journal');
      const present = await inStore('endue-storage-state', 'state', 'readonly', (store) => store.getAllKeys());
      return keys.filter((key) => present.includes(key));
    },
  });
  return true;
})()`;
