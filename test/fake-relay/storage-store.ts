/**
 * The stand-in's content-addressed store on disk: blobs by their hash, revisions as lists of entries, links,
 * and the answers that idempotency keys were given. Everything lies under one directory and is found again
 * when another store opens it. Knows no HTTP.
 *
 *   blobs/ab/<sha256>   uploads/<sha256>   storages/<id>/state.json   storages/<id>/trees/<n>.json   links.json
 */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ListedEntry, Tree, TreeNode } from './storage-trees';

export type StoredRevision = string | number;

export interface StoredAnswer {
  /** Of the request's body. */
  body_sha256: string;
  status: number;
  body: Record<string, unknown>;
}

interface StorageState {
  storage_id: string;
  /** Whether revisions are numbers or strings on the wire. */
  numbered: boolean;
  /** The number of the newest tree of the main line. */
  head: number;
  /** The number the next tree gets, staged ones included. */
  next: number;
  /** The first number that `changes` and `tree` still know. */
  oldest: number;
  staged: number[];
  answers: Record<string, StoredAnswer>;
}

export interface StoredLink {
  link_id: string;
  storage_id: string;
  path: string;
  target: { storage_id: string; path: string };
  broken: boolean;
}

export class StoredStorage {
  readonly #directory: string;
  readonly #state: StorageState;
  readonly #trees = new Map<number, Tree>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(directory: string, state: StorageState) {
    this.#directory = directory;
    this.#state = state;
  }

  get id(): string {
    return this.#state.storage_id;
  }

  get head(): StoredRevision {
    return this.#name(this.#state.head);
  }

  /** Lets one commit at a time change this Storage. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** The revision as it goes over the wire, from its text in an address. */
  revisionOf(text: string): StoredRevision {
    const number = this.#number(text);
    return number === null ? text : this.#name(number);
  }

  /** The tree of a revision given as text or as it is; null when it is unknown or expired. */
  async tree(revision: StoredRevision): Promise<Tree | null> {
    const number = this.#number(revision);
    if (number === null) return null;
    const kept = this.#trees.get(number);
    if (kept !== undefined) return kept;
    const entries = JSON.parse(await readFile(this.#treePath(number), 'utf8')) as ListedEntry[];
    const tree: Tree = new Map(entries.map(({ path, ...node }): [string, TreeNode] => [path, node]));
    this.#trees.set(number, tree);
    return tree;
  }

  async headTree(): Promise<Tree> {
    const tree = await this.tree(this.head);
    if (tree === null) throw new Error('the head is never expired');
    return tree;
  }

  /** Every revision of the main line that is still known, oldest first. */
  revisions(): StoredRevision[] {
    const { oldest, head, staged } = this.#state;
    const numbers: number[] = [];
    for (let n = oldest; n <= head; n += 1) if (!staged.includes(n)) numbers.push(n);
    return numbers.map((n) => this.#name(n));
  }

  /** Makes `tree` the new head, or a staged revision beside it; durable when it resolves. */
  async add(
    tree: Tree,
    as: 'head' | 'staged',
    answer?: { key: string; of: (revision: StoredRevision) => StoredAnswer },
  ) {
    const number = this.#state.next;
    const entries = [...tree].map(([path, node]) => ({ path, ...node }));
    await writeDurably(this.#treePath(number), JSON.stringify(entries));
    this.#trees.set(number, tree);
    this.#state.next += 1;
    if (as === 'head') this.#state.head = number;
    else this.#state.staged.push(number);
    if (answer !== undefined) this.#state.answers[answer.key] = answer.of(this.#name(number));
    await this.save();
    return this.#name(number);
  }

  answer(key: string): StoredAnswer | undefined {
    return Object.hasOwn(this.#state.answers, key) ? this.#state.answers[key] : undefined;
  }

  async keepAnswer(key: string, answer: StoredAnswer): Promise<void> {
    this.#state.answers[key] = answer;
    await this.save();
  }

  /** Forgets every revision before the head. */
  async expireHistory(): Promise<void> {
    this.#state.oldest = this.#state.head;
    await this.save();
  }

  async save(): Promise<void> {
    await writeDurably(join(this.#directory, 'state.json'), JSON.stringify(this.#state));
  }

  #name(number: number): StoredRevision {
    return this.#state.numbered ? number : `r${number}`;
  }

  #number(revision: StoredRevision): number | null {
    const digits = /^r?(\d{1,15})$/.exec(String(revision))?.[1];
    const number = Number(digits ?? Number.NaN);
    const { oldest, head, staged } = this.#state;
    if (String(this.#name(number)) !== String(revision)) return null;
    return staged.includes(number) || (number >= oldest && number <= head) ? number : null;
  }

  #treePath(number: number): string {
    return join(this.#directory, 'trees', `${number}.json`);
  }
}

export class StorageStore {
  readonly #directory: string;
  readonly storages = new Map<string, StoredStorage>();
  readonly links = new Map<string, StoredLink>();
  /** Of the blobs that were seen: none is ever taken away. */
  readonly #sizes = new Map<string, number>();

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async open(directory: string): Promise<StorageStore> {
    const store = new StorageStore(directory);
    for (const name of ['blobs', 'uploads', 'storages'])
      await mkdir(join(directory, name), { recursive: true });
    for (const name of await readdir(join(directory, 'storages'))) {
      const at = join(directory, 'storages', name);
      const text = await readFile(join(at, 'state.json'), 'utf8').catch(() => null);
      // Its creation was cut off.
      if (text === null) continue;
      const state = JSON.parse(text) as StorageState;
      state.answers = Object.assign(Object.create(null), state.answers);
      store.storages.set(state.storage_id, new StoredStorage(at, state));
    }
    const links = await readFile(join(directory, 'links.json'), 'utf8').catch(() => '[]');
    for (const link of JSON.parse(links) as StoredLink[]) store.links.set(link.link_id, link);
    return store;
  }

  async createStorage(storage_id: string, numbered: boolean): Promise<StoredStorage> {
    if (this.storages.has(storage_id)) throw new Error(`there is a Storage ${storage_id} already`);
    const state: StorageState = {
      storage_id,
      numbered,
      head: -1,
      next: 0,
      oldest: 0,
      staged: [],
      answers: Object.create(null),
    };
    const name = createHash('sha256').update(storage_id).digest('hex').slice(0, 32);
    const storage = new StoredStorage(join(this.#directory, 'storages', name), state);
    await storage.add(new Map(), 'head');
    this.storages.set(storage_id, storage);
    return storage;
  }

  async saveLinks(): Promise<void> {
    await writeDurably(join(this.#directory, 'links.json'), JSON.stringify([...this.links.values()]));
  }

  blobPath(sha256: string): string {
    return join(this.#directory, 'blobs', sha256.slice(0, 2), sha256);
  }

  /** Size of a blob in bytes, null when it is not there. */
  async blobSize(sha256: string): Promise<number | null> {
    const known = this.#sizes.get(sha256);
    if (known !== undefined) return known;
    const size = await sizeOf(this.blobPath(sha256));
    if (size !== null) this.#sizes.set(sha256, size);
    return size;
  }

  async blobs(): Promise<string[]> {
    const found: string[] = [];
    for (const shelf of await readdir(join(this.#directory, 'blobs'))) {
      found.push(...(await readdir(join(this.#directory, 'blobs', shelf))));
    }
    return found.sort();
  }

  /** Where a PUT's bytes are received before they are looked at. */
  receivingPath(): string {
    return join(this.#directory, 'uploads', `put-${randomUUID()}`);
  }

  uploadPath(sha256: string): string {
    return join(this.#directory, 'uploads', sha256);
  }

  /** How far the resumable upload of a blob is: its whole size once it is complete. */
  async uploadOffset(sha256: string): Promise<number> {
    return (await this.blobSize(sha256)) ?? (await sizeOf(this.uploadPath(sha256))) ?? 0;
  }

  /** Makes the file at `path` the blob `sha256`; removes it and returns false when its hash is another. */
  async accept(path: string, sha256: string): Promise<boolean> {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
    if (hash.digest('hex') !== sha256) {
      await rm(path, { force: true });
      return false;
    }
    await mkdir(dirname(this.blobPath(sha256)), { recursive: true });
    await rename(path, this.blobPath(sha256));
    return true;
  }

  async putBlob(bytes: Uint8Array): Promise<string> {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if ((await this.blobSize(sha256)) === null) {
      await mkdir(dirname(this.blobPath(sha256)), { recursive: true });
      const path = this.receivingPath();
      await writeFile(path, bytes);
      await rename(path, this.blobPath(sha256));
    }
    return sha256;
  }

  async readBlob(sha256: string): Promise<Buffer> {
    return readFile(this.blobPath(sha256));
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch {
    return null;
  }
}

/** The file is the old one or the new one, whenever the process ends. */
async function writeDurably(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, text, { flush: true });
  await rename(draft, path);
}
