/**
 * The storage path against floors measured in the same worker and the same run, on the browser's own file system and on
 * a real folder: first save, unchanged save, save after one edit, place. Prints a table of times, ratios and aims.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../src/protocol/json';
import type { RootKind } from '../../src/storage/ports';
import { AgentBrowser, newProfile, removeProfile } from '../../test/browser/harness/agent-browser';
import type { CdpSession } from '../../test/browser/harness/cdp';
import { grantFolders, RealFolder } from '../../test/browser/harness/real-folder';
import { attachStorageWorker } from '../../test/browser/harness/storage-probes';
import {
  attachBrowserStorage,
  attachFolderStorage,
  holdDroppedFolder,
} from '../../test/browser/harness/storages';
import type { Device } from '../../test/fake-relay/devices';
import { type FakeRelay, startFakeRelay } from '../../test/fake-relay/fake-relay';
import { buildExtension } from '../build.mjs';
import { median } from './samples';

const FILES = Number(process.env.BENCH_FILES ?? 10_000);
const FILE_BYTES = 30_000;
const FILES_IN_A_DIRECTORY = 100;
const PLACED_FILES = Math.min(1_000, FILES);
const ROUNDS = 3;
/** Times newer than this are not trusted: an unchanged file would be read again (storage.md, the racy rule). */
const SETTLED_MS = 3_500;

interface Row {
  what: string;
  ours: number;
  floor: number;
  floorOf: string;
  aim: number | null;
}

/** The bytes of file `n`: no two files are equal. The same words are evaluated in the worker. */
const CONTENT = `(n) => {
  const words = new Uint32Array(${FILE_BYTES / 4});
  for (let at = 0; at < words.length; at += 1) words[at] = Math.imul(n * 8191 + at + 1, 2654435761);
  return new Uint8Array(words.buffer);
}`;
const content = new Function(`return ${CONTENT}`)() as (n: number) => Uint8Array;
const pathOf = (n: number) => `d${Math.floor(n / FILES_IN_A_DIRECTORY)}/f${n}.bin`;

/** What a careful program would have to do at least, with the same numbers in flight as the engine has. */
const FLOORS = `(() => {
  const content = ${CONTENT};
  const together = async (items, inFlight, work) => {
    let next = 0;
    await Promise.all(Array.from({ length: inFlight }, async () => {
      while (next < items.length) await work(items[next++]);
    }));
  };
  const listed = async (directory, found = []) => {
    for await (const handle of directory.values()) {
      if (handle.kind === 'directory') await listed(handle, found);
      else found.push(handle);
    }
    return found;
  };
  const attachedFolder = (id) => new Promise((resolve, reject) => {
    const opening = indexedDB.open('endue-storages');
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const request = opening.result.transaction('storages').objectStore('storages').get('attached/' + id);
      request.onsuccess = () => { opening.result.close(); resolve(request.result.handle); };
      request.onerror = () => reject(request.error);
    };
  });
  const timed = async (work) => {
    const start = performance.now();
    await work();
    return performance.now() - start;
  };
  const storages = async () => (await navigator.storage.getDirectory()).getDirectoryHandle('storages', { create: true });
  const write = async (directory, name, bytes) => {
    const handle = await directory.getFileHandle(name, { create: true });
    const writer = await handle.createWritable();
    await writer.write(bytes);
    await writer.close();
    return handle;
  };
  globalThis.floors = {
    async root(kind, id) {
      return kind === 'folder' ? attachedFolder(id) : (await storages()).getDirectoryHandle(id, { create: true });
    },
    async fill(root, count, inDirectory) {
      for (let first = 0; first < count; first += inDirectory) {
        const directory = await root.getDirectoryHandle('d' + first / inDirectory, { create: true });
        const numbers = Array.from({ length: Math.min(inDirectory, count - first) }, (_, at) => first + at);
        await together(numbers, 16, (n) => write(directory, 'f' + n + '.bin', content(n)));
      }
    },
    list: (root) => timed(async () => {
      await together(await listed(root), 32, (handle) => handle.getFile());
    }),
    hash: (root) => timed(async () => {
      await together(await listed(root), 32, async (handle) => {
        await crypto.subtle.digest('SHA-256', await (await handle.getFile()).arrayBuffer());
      });
    }),
    async place(root, count, blobs) {
      const numbers = Array.from({ length: count }, (_, n) => n);
      const contents = numbers.map(content);
      const download = async (n) => {
        const response = await fetch(blobs.url + blobs.hashes[n], { headers: blobs.headers, cache: 'no-store', credentials: 'omit' });
        const bytes = await response.arrayBuffer();
        await crypto.subtle.digest('SHA-256', bytes);
        return bytes;
      };
      const time = await timed(async () => {
        const staging = await root.getDirectoryHandle('.endue-storage-floor', { create: true });
        const target = await root.getDirectoryHandle('floor', { create: true });
        const handles = [];
        await together(numbers, 16, async (n) => {
          handles[n] = await write(staging, 'new-' + n, blobs ? await download(n) : contents[n]);
          if (blobs) await handles[n].getFile();
          else await handles[n].move(target, 'f' + n);
        });
        // Nothing is moved before everything is there.
        if (blobs) await together(numbers, 16, (n) => handles[n].move(target, 'f' + n));
      });
      await root.removeEntry('.endue-storage-floor', { recursive: true });
      await root.removeEntry('floor', { recursive: true });
      return time;
    },
    edit: async (root) => void (await write(await root.getDirectoryHandle('d0'), 'f0.bin', crypto.getRandomValues(new Uint8Array(1000)))),
  };
  return true;
})()`;

class StorageBench {
  constructor(
    private readonly relay: FakeRelay,
    private readonly device: Device,
    private readonly worker: CdpSession,
    private readonly kind: RootKind,
    private readonly storage_id: string,
    private readonly token: string,
  ) {}

  floor<T = number>(call: string): Promise<T> {
    const root = `await floors.root('${this.kind}', '${this.storage_id}')`;
    return this.worker.evaluate<T>(`(async () => floors.${call.replace('ROOT', root)})()`);
  }

  async ours(input: JsonObject): Promise<number> {
    const start = performance.now();
    const response = await this.relay.command(this.device, {
      command: 'workspace_storage_path',
      input: { storage_id: this.storage_id, token: this.token, ...input },
      timeout_ms: 600_000,
    });
    if (response.status !== 'ok') throw new Error(`${input.mode}: ${response.error_code}: ${response.error}`);
    return performance.now() - start;
  }

  /** By turns, so that what else the machine does disturbs both alike. */
  private async byTurns<Name extends string>(
    things: Record<Name, () => Promise<number>>,
  ): Promise<Record<Name, number>> {
    const names = Object.keys(things) as Name[];
    const times = new Map(names.map((name) => [name, [] as number[]]));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const name of names) times.get(name)?.push(await things[name]());
    }
    const medians = names.map((name) => [name, median(times.get(name) ?? [])]);
    return Object.fromEntries(medians) as Record<Name, number>;
  }

  /** What a program needs to download the placed content by itself. */
  private blobs(): { url: string; headers: Record<string, string>; hashes: string[] } {
    return {
      url: `${this.relay.origin}/api/v1/relay/storages/${this.storage_id}/blobs/`,
      headers: { Authorization: `Bearer ${this.token}` },
      hashes: Array.from({ length: PLACED_FILES }, (_, n) =>
        createHash('sha256').update(content(n)).digest('hex'),
      ),
    };
  }

  async rows(): Promise<Row[]> {
    const on = this.kind === 'browser' ? 'own file system' : 'folder';
    const { storage } = this.relay;
    const save: JsonObject = { mode: 'save_path', path: '' };
    const list = () => this.floor('list(ROOT)');
    const rows: Row[] = [];
    const add = (what: string, floorOf: string, aim: number | null, times: Pick<Row, 'ours' | 'floor'>) => {
      rows.push({ what: `${what}, ${on}`, floorOf, aim, ...times });
      console.log(lineOf(rows.at(-1) as Row));
    };
    // The second reading of the floor is as warm as the first save's.
    await this.floor('hash(ROOT)');
    const hashing = [await this.floor('hash(ROOT)')];
    const first = await this.ours(save);
    hashing.push(await this.floor('hash(ROOT)'));
    add(`first save of ${FILES} files`, 'read + hash', 1.3, { ours: first, floor: median(hashing) });

    await settle();
    await this.ours(save);
    add('unchanged save', 'list', 1.1, await this.byTurns({ floor: list, ours: () => this.ours(save) }));
    const edited = async () => {
      await this.floor('edit(ROOT)');
      return this.ours(save);
    };
    add('save after one edit', 'list', null, await this.byTurns({ floor: list, ours: edited }));

    let round = 0;
    const placed = async () => {
      round += 1;
      const files = Array.from({ length: PLACED_FILES }, (_, n) => [`placed${round}/f${n}`, content(n)]);
      const revision = await storage.stage(this.storage_id, Object.fromEntries(files));
      return this.ours({ mode: 'place_path', path: `placed${round}`, revision });
    };
    const blobs = JSON.stringify(this.blobs());
    const { ours, floor, downloading } = await this.byTurns({
      floor: () => this.floor(`place(ROOT, ${PLACED_FILES})`),
      downloading: () => this.floor(`place(ROOT, ${PLACED_FILES}, ${blobs})`),
      ours: placed,
    });
    const what = `place of ${PLACED_FILES} files`;
    add(what, 'write + move', 1.5, { ours, floor });
    add(what, 'download + write + move', null, { ours, floor: downloading });
    return rows;
  }
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
}

function lineOf({ what, ours, floor, floorOf, aim }: Row): string {
  const ratio = ours / floor;
  const aimed = aim === null ? '– | –' : `≤ ${aim}× | ${ratio <= aim ? 'yes' : 'no'}`;
  return `| ${what} | ${(ours / 1000).toFixed(2)} s | ${floorOf} ${(floor / 1000).toFixed(2)} s | ${ratio.toFixed(2)}× | ${aimed} |`;
}

/** The content is at the service before the first save: the floor has no network either. */
async function seedService(relay: FakeRelay): Promise<void> {
  await relay.storage.createStorage('seed');
  for (let first = 0; first < FILES; first += 1_000) {
    const numbers = Array.from({ length: Math.min(1_000, FILES - first) }, (_, at) => first + at);
    await relay.storage.write('seed', Object.fromEntries(numbers.map((n) => [`f${n}`, content(n)])));
  }
}

/** Runs it all and prints the table. */
export async function benchStorage(): Promise<void> {
  await buildExtension({ quiet: true });
  const profile = newProfile();
  const folder = new RealFolder();
  grantFolders(profile, [folder], { kept: true });
  const directory = mkdtempSync(join(tmpdir(), 'endue-bench-'));
  const relay = await startFakeRelay({ storage_directory: directory });
  const device = relay.createDevice();
  const browser = await AgentBrowser.launch({ profile });
  try {
    await browser.enroll(device.enrollment);
    await relay.waitForOnline(device);
    for (let n = 0; n < FILES; n += 1) {
      if (n % FILES_IN_A_DIRECTORY === 0) mkdirSync(join(folder.path, `d${n / FILES_IN_A_DIRECTORY}`));
      writeFileSync(join(folder.path, pathOf(n)), content(n));
    }
    await seedService(relay);
    const page = await browser.extensionPage('src/ui/activity/activity.html');
    await holdDroppedFolder(page, folder);
    await relay.storage.createStorage('bench-folder');
    await relay.storage.createStorage('bench-browser');
    await attachFolderStorage(page, 'bench-folder');
    await attachBrowserStorage(browser, 'bench-browser');
    await page.close();
    const worker = await attachStorageWorker(browser);
    await worker.evaluate(FLOORS);
    const rows: Row[] = [];
    for (const kind of ['browser', 'folder'] as const) {
      const storage_id = `bench-${kind}`;
      const token = relay.storage.issueToken({ storage_id });
      const bench = new StorageBench(relay, device, worker, kind, storage_id, token);
      if (kind === 'browser') await bench.floor(`fill(ROOT, ${FILES}, ${FILES_IN_A_DIRECTORY})`);
      rows.push(...(await bench.rows()));
    }
    const head = ['| what | ours | floor | ratio | aim | met |', '| --- | --- | --- | --- | --- | --- |'];
    console.log(['', ...head, ...rows.map(lineOf)].join('\n'));
  } finally {
    await browser.close();
    removeProfile(profile);
    await relay.close();
    folder.remove();
    rmSync(directory, { recursive: true, force: true });
  }
}
