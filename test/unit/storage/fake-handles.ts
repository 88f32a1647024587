/**
 * A directory tree in memory behind the handles of the File System Access API, as Chrome behaves (chrome-facts.md):
 * handles are paths, `move` replaces without asking, a snapshot's reading fails once the file changed. Other programs
 * act through the plain methods of `FakeDisk`; faults come from its `Fate`. Proven by `handle-contract`.
 */
import type {
  DirectoryHandle,
  FileHandle,
  FileSnapshot,
  FileWriter,
  Handle,
  RootKind,
} from '../../../src/storage/ports';
import { Fate } from './fate';

interface FileNode {
  kind: 'file';
  data: Uint8Array<ArrayBuffer>;
  mtime: number;
  version: number;
}

interface DirectoryNode {
  kind: 'directory';
  children: Map<string, Node>;
}

/** A symbolic link or a name the API would refuse: there, but never listed. */
interface HiddenNode {
  kind: 'hidden';
}

type Node = FileNode | DirectoryNode | HiddenNode;

const encoder = new TextEncoder();

function domError(name: string, message: string = name): DOMException {
  return new DOMException(message, name);
}

export interface FakeDiskOptions {
  kind?: RootKind;
  folds?: boolean;
  now?: () => number;
}

export class FakeDisk {
  private readonly top: DirectoryNode = { kind: 'directory', children: new Map() };
  private readonly options: Required<FakeDiskOptions>;
  /** Bytes that still fit; writing more is a full disk. */
  room = Number.POSITIVE_INFINITY;
  /** How a full disk surfaces. */
  quotaSurfacesAs: 'QuotaExceededError' | 'data pipe' = 'QuotaExceededError';
  /** The root was renamed or removed by another program: every call is NotFoundError. */
  vanished = false;
  /** Called when a file's content has been read but not yet handed out. */
  onRead: ((path: string) => void) | null = null;

  constructor(options: FakeDiskOptions = {}) {
    this.options = { kind: 'browser', folds: false, now: () => 0, ...options };
  }

  root(fate: Fate = new Fate()): DirectoryHandle {
    return new FakeDirectory(this, fate, []);
  }

  clone(now: () => number): FakeDisk {
    const copy = new FakeDisk({ ...this.options, now });
    const copyInto = (from: DirectoryNode, to: DirectoryNode) => {
      for (const [name, node] of from.children) {
        if (node.kind !== 'directory') to.children.set(name, { ...node });
        else {
          const child: DirectoryNode = { kind: 'directory', children: new Map() };
          to.children.set(name, child);
          copyInto(node, child);
        }
      }
    };
    copyInto(this.top, copy.top);
    return copy;
  }

  // --- What other programs do: at once, no faults -------------------------------------------------------

  write(path: string, content: string | Uint8Array, mtime = this.options.now()): void {
    const names = path.split('/');
    const name = names.pop() as string;
    const parent = this.makeDirectory(names);
    const data = typeof content === 'string' ? encoder.encode(content) : new Uint8Array(content);
    const before = parent.children.get(name);
    const version = before?.kind === 'file' ? before.version + 1 : 1;
    parent.children.set(name, { kind: 'file', data: new Uint8Array(data), mtime, version });
  }

  mkdir(path: string): void {
    this.makeDirectory(path.split('/'));
  }

  hide(path: string): void {
    const names = path.split('/');
    const name = names.pop() as string;
    this.makeDirectory(names).children.set(name, { kind: 'hidden' });
  }

  /** Puts a directory into itself. */
  loop(path: string, name: string): void {
    const node = this.find(path.split('/'));
    if (node?.kind === 'directory') node.children.set(name, node);
  }

  remove(path: string): void {
    const names = path.split('/');
    const name = names.pop() as string;
    const parent = this.find(names);
    if (parent?.kind === 'directory') parent.children.delete(name);
  }

  rename(from: string, to: string): void {
    const node = this.find(from.split('/'));
    if (!node) throw new Error(`nothing at ${from}`);
    this.remove(from);
    const names = to.split('/');
    const name = names.pop() as string;
    this.makeDirectory(names).children.set(name, node);
  }

  clear(): void {
    this.top.children.clear();
  }

  read(path: string): string | null {
    const node = this.find(path.split('/'));
    return node?.kind === 'file' ? new TextDecoder().decode(node.data) : null;
  }

  mtime(path: string): number | null {
    const node = this.find(path.split('/'));
    return node?.kind === 'file' ? node.mtime : null;
  }

  /** Files by path with their content, directories that are empty with null. */
  tree(options: { internal?: boolean } = {}): Record<string, string | null> {
    const found: Record<string, string | null> = {};
    const visit = (node: DirectoryNode, at: string) => {
      for (const [name, child] of node.children) {
        const path = at === '' ? name : `${at}/${name}`;
        if (!options.internal && name.startsWith('.endue-storage-')) continue;
        if (child.kind === 'file') found[path] = new TextDecoder().decode(child.data);
        else if (child.kind === 'directory') {
          if (child.children.size === 0) found[path] = null;
          else visit(child, path);
        }
      }
    };
    visit(this.top, '');
    return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  private makeDirectory(names: readonly string[]): DirectoryNode {
    let at = this.top;
    for (const name of names) {
      const child = at.children.get(name);
      if (child && child.kind !== 'directory') throw new Error(`${name} is not a directory`);
      const next: DirectoryNode = child ?? { kind: 'directory', children: new Map() };
      at.children.set(name, next);
      at = next;
    }
    return at;
  }

  // --- What handles do ----------------------------------------------------------------------------------

  now(): number {
    return this.options.now();
  }

  find(names: readonly string[]): Node | null {
    let at: Node = this.top;
    for (const name of names) {
      if (at.kind !== 'directory') return null;
      const key = this.keyOf(at, name);
      const next: Node | undefined = key === null ? undefined : at.children.get(key);
      if (!next) return null;
      at = next;
    }
    return at;
  }

  /** The name as it is stored; a folding root finds it under others too. */
  keyOf(directory: DirectoryNode, name: string): string | null {
    if (directory.children.has(name)) return name;
    if (!this.options.folds) return null;
    for (const there of directory.children.keys()) if (fold(there) === fold(name)) return there;
    return null;
  }

  directory(names: readonly string[]): DirectoryNode {
    if (this.vanished) throw domError('NotFoundError');
    const node = this.find(names);
    if (node === null) throw domError('NotFoundError');
    if (node.kind !== 'directory') throw domError('TypeMismatchError');
    return node;
  }

  file(names: readonly string[]): FileNode {
    const parent = this.directory(names.slice(0, -1));
    const key = this.keyOf(parent, names.at(-1) as string);
    const node = key === null ? undefined : parent.children.get(key);
    if (!node) throw domError('NotFoundError');
    if (node.kind !== 'file') throw domError('TypeMismatchError');
    return node;
  }

  checkName(name: string): void {
    if (name === '' || name === '.' || name === '..' || /[/\\]/.test(name))
      throw new TypeError('Name is not allowed');
    if (this.options.kind === 'folder' && isRefusedByChrome(name)) throw new TypeError('Name is not allowed');
    if (this.options.kind === 'folder' && encoder.encode(name).length > 255)
      throw domError('InvalidStateError');
  }

  takeRoom(bytes: number): void {
    if (bytes <= this.room) {
      this.room -= bytes;
      return;
    }
    if (this.quotaSurfacesAs === 'QuotaExceededError') throw domError('QuotaExceededError');
    throw domError('AbortError', 'Failed to write data to data pipe');
  }
}

function fold(name: string): string {
  // As APFS does: also `ß` and `ss` are the same.
  return name.normalize('NFC').toUpperCase().toLowerCase();
}

/** The measured list of chrome-facts.md, said another way than in the code under test. */
function isRefusedByChrome(name: string): boolean {
  const lower = name.toLowerCase();
  if (['desktop.ini', 'thumbs.db'].includes(lower)) return true;
  if (/^(con|prn|aux|nul|clock\$|com\d|lpt\d)(\.|$)/.test(lower)) return true;
  if (['.lnk', '.url', '.scf'].some((end) => lower.endsWith(end)) || /\.\{.*\}$/.test(lower)) return true;
  if (/[\\:*?"<>|]/.test(name) || /[\p{Cc}\u00ad\u200b\u202a-\u202e\ufeff]/u.test(name)) return true;
  return /^( |\.\.|~)/.test(name) || /( |\.|~)$/.test(name);
}

class FakeDirectory implements DirectoryHandle {
  readonly kind = 'directory';

  constructor(
    readonly disk: FakeDisk,
    readonly fate: Fate,
    readonly names: readonly string[],
  ) {}

  get name(): string {
    return this.names.at(-1) ?? '';
  }

  get path(): string {
    return this.names.join('/');
  }

  async *entries(): AsyncIterable<[string, Handle]> {
    const listed = await this.fate.operate('list', this.path, () => [
      ...this.disk.directory(this.names).children,
    ]);
    for (const [name, node] of listed) {
      if (node.kind === 'directory')
        yield [name, new FakeDirectory(this.disk, this.fate, [...this.names, name])];
      if (node.kind === 'file') yield [name, new FakeFileHandle(this.disk, this.fate, [...this.names, name])];
    }
  }

  getDirectoryHandle(name: string, options?: { create?: boolean }): Promise<DirectoryHandle> {
    return this.fate.operate(options?.create ? 'mkdir' : 'getDirectory', `${this.path}/${name}`, () => {
      this.disk.checkName(name);
      const here = this.disk.directory(this.names);
      const key = this.disk.keyOf(here, name);
      const node = key === null ? undefined : here.children.get(key);
      if (!node && !options?.create) throw domError('NotFoundError');
      if (node && node.kind !== 'directory') throw domError('TypeMismatchError');
      if (!node) here.children.set(name, { kind: 'directory', children: new Map() });
      return new FakeDirectory(this.disk, this.fate, [...this.names, name]);
    });
  }

  getFileHandle(name: string, options?: { create?: boolean }): Promise<FileHandle> {
    return this.fate.operate(options?.create ? 'create' : 'getFileHandle', `${this.path}/${name}`, () => {
      this.disk.checkName(name);
      const here = this.disk.directory(this.names);
      const key = this.disk.keyOf(here, name);
      const node = key === null ? undefined : here.children.get(key);
      if (!node && !options?.create) throw domError('NotFoundError');
      if (node?.kind === 'hidden') throw domError('NotFoundError');
      if (node && node.kind !== 'file') throw domError('TypeMismatchError');
      if (!node) {
        here.children.set(name, { kind: 'file', data: new Uint8Array(), mtime: this.disk.now(), version: 1 });
      }
      return new FakeFileHandle(this.disk, this.fate, [...this.names, name]);
    });
  }

  async removeEntry(name: string, options?: { recursive?: boolean }): Promise<void> {
    if (options?.recursive) await this.removeInside([...this.names, name]);
    await this.fate.operate('remove', `${this.path}/${name}`, () => {
      this.disk.checkName(name);
      const here = this.disk.directory(this.names);
      const key = this.disk.keyOf(here, name);
      const node = key === null ? undefined : here.children.get(key);
      if (!node || key === null) throw domError('NotFoundError');
      if (node.kind === 'directory' && node.children.size > 0) throw domError('InvalidModificationError');
      here.children.delete(key);
    });
  }

  /** Removing a tree is many removals: it can be cut off between any two. */
  private async removeInside(names: string[]): Promise<void> {
    const node = this.disk.find(names);
    if (node?.kind !== 'directory') return;
    for (const [name, child] of [...node.children]) {
      if (child.kind === 'directory') await this.removeInside([...names, name]);
      await this.fate.operate('remove', [...names, name].join('/'), () => void node.children.delete(name));
    }
  }

  async isSameEntry(other: Handle): Promise<boolean> {
    if (!(other instanceof FakeDirectory) || other.disk !== this.disk) return false;
    const mine = this.disk.find(this.names);
    return mine !== null && mine === this.disk.find(other.names);
  }
}

class FakeFileHandle implements FileHandle {
  readonly kind = 'file';

  constructor(
    readonly disk: FakeDisk,
    readonly fate: Fate,
    private names: readonly string[],
  ) {}

  get name(): string {
    return this.names.at(-1) ?? '';
  }

  get path(): string {
    return this.names.join('/');
  }

  getFile(): Promise<FileSnapshot> {
    return this.fate.operate('getFile', this.path, () => {
      const node = this.disk.file(this.names);
      return new FakeSnapshot(this.disk, this.path, node);
    });
  }

  createWritable(): Promise<FileWriter> {
    const swap = [...this.names.slice(0, -1), `${this.name}.crswap`];
    return this.fate.operate('createWritable', this.path, () => {
      this.disk.file(this.names);
      this.disk.checkName(swap.at(-1) as string);
      const parent = this.disk.directory(swap.slice(0, -1));
      const node: FileNode = { kind: 'file', data: new Uint8Array(), mtime: this.disk.now(), version: 1 };
      parent.children.set(swap.at(-1) as string, node);
      return new FakeWriter(this.disk, this.fate, this.names, swap, node);
    });
  }

  move(parent: DirectoryHandle, name: string): Promise<void> {
    return this.fate.operate('move', `${this.path} → ${(parent as FakeDirectory).path}/${name}`, () => {
      if (!(parent instanceof FakeDirectory) || parent.disk !== this.disk) throw domError('NotAllowedError');
      this.disk.checkName(name);
      const node = this.disk.file(this.names);
      const from = this.disk.directory(this.names.slice(0, -1));
      const to = this.disk.directory(parent.names);
      const target = this.disk.find([...parent.names, name]);
      if (target?.kind === 'directory') throw domError('InvalidModificationError');
      from.children.delete(this.disk.keyOf(from, this.name) as string);
      const replaced = this.disk.keyOf(to, name);
      if (replaced !== null) to.children.delete(replaced);
      to.children.set(name, node);
      this.names = [...parent.names, name];
    });
  }

  async isSameEntry(other: Handle): Promise<boolean> {
    return other instanceof FakeFileHandle && other.disk === this.disk && other.path === this.path;
  }
}

class FakeWriter implements FileWriter {
  private parts: Uint8Array[] = [];

  constructor(
    private readonly disk: FakeDisk,
    private readonly fate: Fate,
    private readonly names: readonly string[],
    private readonly swap: readonly string[],
    private readonly node: FileNode,
  ) {}

  write(data: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.fate.operate('write', this.names.join('/'), () => {
      this.disk.takeRoom(data.length);
      this.parts.push(new Uint8Array(data));
    });
  }

  close(): Promise<void> {
    return this.fate.operate('close', this.names.join('/'), async () => {
      this.dropSwap();
      const node = this.disk.file(this.names);
      node.data = new Uint8Array(await new Blob(this.parts as BlobPart[]).arrayBuffer());
      node.mtime = this.disk.now();
      node.version++;
    });
  }

  abort(): Promise<void> {
    return this.fate.operate('abort', this.names.join('/'), () => this.dropSwap());
  }

  private dropSwap(): void {
    const parent = this.disk.directory(this.swap.slice(0, -1));
    if (parent.children.get(this.swap.at(-1) as string) === this.node) {
      parent.children.delete(this.swap.at(-1) as string);
    }
  }
}

class FakeSnapshot implements FileSnapshot {
  readonly size: number;
  readonly lastModified: number;
  private readonly version: number;

  constructor(
    private readonly disk: FakeDisk,
    private readonly path: string,
    private readonly node: FileNode,
  ) {
    this.size = node.data.length;
    this.lastModified = node.mtime;
    this.version = node.version;
  }

  slice(start = 0, end = this.size): Blob {
    return new LateBlob(Math.max(0, Math.min(end, this.size) - start), () => this.bytes(start, end));
  }

  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const whole = () => this.bytes(0, this.size);
    return new ReadableStream({
      pull(controller) {
        const bytes = whole();
        if (bytes.length > 0) controller.enqueue(bytes);
        controller.close();
      },
    });
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.bytes(0, this.size).buffer;
  }

  private bytes(start: number, end: number): Uint8Array<ArrayBuffer> {
    const now = this.disk.find(this.path.split('/'));
    if (this.node.version !== this.version || now === null) throw domError('NotReadableError');
    const bytes = this.node.data.slice(start, end);
    this.disk.onRead?.(this.path);
    return bytes;
  }
}

/** A blob whose bytes are looked for when they are read, as those of a file are. */
class LateBlob extends Blob {
  constructor(
    private readonly length: number,
    private readonly late: () => Uint8Array<ArrayBuffer>,
  ) {
    super([]);
  }

  override get size(): number {
    return this.length;
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    return this.late().buffer;
  }
}
