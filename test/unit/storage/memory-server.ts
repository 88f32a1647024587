/** The storage service in memory, behind `Transport`: revisions, blobs, links, with faults. For unit tests only. */
import { AgentError } from '../../../src/protocol/errors';
import { isWithin, join, relativeTo } from '../../../src/storage/paths';
import type {
  ChangesPage,
  CommitBody,
  CommitReply,
  LinkFacts,
  RemoteChange,
  RemoteEntry,
  Revision,
  Transport,
  TransportBase,
  TreePage,
} from '../../../src/storage/ports';
import { treeHash } from '../../../src/storage/tree-hash';
import type { Fate } from './fate';
import { sha256Of } from './sha256';

type Tree = Map<string, RemoteEntry>;

interface Stored {
  revisions: Map<Revision, Tree>;
  head: Revision;
}

interface Link {
  storage_id: string;
  path: string;
  target: { storage_id: string; path: string };
  gone: boolean;
}

export class MemoryServer {
  private readonly storages = new Map<string, Stored>();
  private readonly answered = new Map<string, { body: string; reply: CommitReply }>();
  readonly blobs = new Map<string, Uint8Array<ArrayBuffer>>();
  readonly links = new Map<string, Link>();
  /** `strict` wants a merge before every commit on a base that is not the head. */
  policy: 'lenient' | 'strict' = 'lenient';
  pageSize = 3;
  /** Lists whatever it has, whatever was asked for. */
  hostile = false;
  /** What may not happen: a key with two bodies, a put without its blob. */
  readonly violations: string[] = [];
  readonly calls: string[] = [];
  readonly commits: { body: CommitBody; key: string }[] = [];
  uploads = 0;
  downloads = 0;
  readonly tokens = new Set<string>();
  /** Called before each call; may throw, may write as another writer. */
  trouble: ((call: string) => void | Promise<void>) | null = null;
  /** Bytes instead of those of a blob. */
  corrupt: ((sha256: string, bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>) | null = null;
  private counter = 0;

  clone(): MemoryServer {
    const copy = new MemoryServer();
    for (const [id, stored] of this.storages) {
      copy.storages.set(id, { head: stored.head, revisions: new Map(stored.revisions) });
    }
    for (const [key, answer] of this.answered) copy.answered.set(key, answer);
    for (const [sha256, bytes] of this.blobs) copy.blobs.set(sha256, bytes);
    for (const [id, link] of this.links) copy.links.set(id, { ...link });
    copy.policy = this.policy;
    copy.counter = this.counter;
    return copy;
  }

  create(storageId: string): void {
    const first = this.newRevision();
    this.storages.set(storageId, { revisions: new Map([[first, new Map()]]), head: first });
  }

  link(linkId: string, storageId: string, path: string, target: { storage_id: string; path: string }): void {
    this.links.set(linkId, { storage_id: storageId, path, target, gone: false });
  }

  head(storageId: string): Revision {
    return this.stored(storageId).head;
  }

  /** What another writer does: contents by path, null deletes. Makes a revision. */
  async write(storageId: string, files: Record<string, string | null>): Promise<Revision> {
    const changes: RemoteChange[] = [];
    for (const [path, content] of Object.entries(files)) {
      if (content === null) changes.push({ op: 'delete', path });
      else changes.push({ op: 'put', ...(await this.entry(path, content)) });
    }
    return this.commitChanges(storageId, changes, true);
  }

  async mkdir(storageId: string, path: string): Promise<Revision> {
    return this.commitChanges(storageId, [{ op: 'put', type: 'directory', path }], true);
  }

  /** A revision beside the head, as for `place_path`. */
  async stageBeside(storageId: string, entries: (RemoteEntry | [string, string])[]): Promise<Revision> {
    const tree: Tree = new Map();
    for (const each of entries) {
      const entry = Array.isArray(each) ? await this.entry(each[0], each[1]) : each;
      tree.set(entry.path, entry);
    }
    const revision = this.newRevision();
    this.stored(storageId).revisions.set(revision, tree);
    return revision;
  }

  /** The head's files with their contents, empty directories with null. */
  tree(storageId: string, revision = this.head(storageId)): Record<string, string | null> {
    const found: Record<string, string | null> = {};
    const tree = this.stored(storageId).revisions.get(revision) ?? new Map<string, RemoteEntry>();
    for (const [path, entry] of tree) found[path] = entry.type === 'file' ? this.text(entry.sha256) : null;
    return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Every content of every revision. */
  contents(): Set<string> {
    const found = new Set<string>();
    for (const stored of this.storages.values()) {
      for (const tree of stored.revisions.values()) {
        for (const entry of tree.values()) if (entry.type === 'file') found.add(this.text(entry.sha256));
      }
    }
    return found;
  }

  forget(storageId: string, revision: Revision): void {
    this.stored(storageId).revisions.delete(revision);
  }

  connect(base: TransportBase, token: string, fate: Fate): Transport {
    this.tokens.add(token);
    return new MemoryTransport(this, base, fate);
  }

  // --- For the transport -------------------------------------------------------------------------------

  where(base: TransportBase): { storageId: string; path: string; link: Link | null } {
    if ('storage_id' in base) return { storageId: base.storage_id, path: '', link: null };
    const link = this.links.get(base.link_id);
    if (!link) throw new AgentError('link_unknown');
    if (link.gone) throw new AgentError('link_target_gone');
    return { storageId: link.target.storage_id, path: link.target.path, link };
  }

  treeAt(storageId: string, revision: Revision): Tree | undefined {
    return this.stored(storageId).revisions.get(revision);
  }

  async commit(storageId: string, at: string, body: CommitBody, key: string): Promise<CommitReply> {
    const text = JSON.stringify(body);
    const before = this.answered.get(key);
    if (before) {
      if (before.body !== text) this.violations.push(`the key ${key} came with two bodies`);
      return before.reply;
    }
    this.commits.push({ body, key });
    const stored = this.stored(storageId);
    const head = stored.revisions.get(stored.head) as Tree;
    const base = body.base_revision === null ? new Map() : stored.revisions.get(body.base_revision);
    const changes = body.changes.map((change) => ({ ...change, path: join(at, change.path) }));
    const stale = body.base_revision !== null && body.base_revision !== stored.head;
    if (!base || (stale && this.policy === 'strict')) throw new AgentError('storage_state_conflict');
    if (body.expected_hash !== undefined) {
      const found = await hashAt(head, join(at, body.path));
      if (found !== body.expected_hash) throw new AgentError('storage_state_conflict');
    }
    const overwritten = new Set<string>();
    for (const change of changes) {
      for (const [path, entry] of head) {
        const hit = change.op === 'delete' ? isWithin(path, change.path) : path === change.path;
        if (hit && JSON.stringify(content(base.get(path))) !== JSON.stringify(content(entry))) {
          overwritten.add(relativeTo(at, path));
        }
      }
    }
    const revision = this.commitChanges(storageId, changes, false);
    const reply = { revision, overwritten: [...overwritten] };
    this.answered.set(key, { body: text, reply });
    return reply;
  }

  private commitChanges(storageId: string, changes: readonly RemoteChange[], foreign: boolean): Revision {
    const stored = this.stored(storageId);
    const tree: Tree = new Map(stored.revisions.get(stored.head));
    for (const change of changes) {
      if (change.op === 'delete') {
        for (const path of [...tree.keys()]) if (isWithin(path, change.path)) tree.delete(path);
        continue;
      }
      const { op: _, ...entry } = change;
      if (entry.type === 'file' && !this.blobs.has(entry.sha256) && !foreign) {
        this.violations.push(`${entry.path} was put without its blob`);
      }
      for (const path of [...tree.keys()]) {
        const below = path !== entry.path && isWithin(path, entry.path);
        const above = path !== entry.path && isWithin(entry.path, path);
        if ((below && entry.type === 'file') || above) tree.delete(path);
      }
      const implied =
        entry.type === 'directory' && [...tree.keys()].some((path) => isWithin(path, entry.path));
      if (!implied || tree.get(entry.path)?.type === 'file') tree.set(entry.path, entry);
    }
    const revision = this.newRevision();
    stored.revisions.set(revision, tree);
    stored.head = revision;
    return revision;
  }

  async entry(path: string, text: string): Promise<RemoteEntry> {
    const bytes = new TextEncoder().encode(text);
    const sha256 = await sha256Of(bytes);
    this.blobs.set(sha256, bytes);
    return { type: 'file', path, size: bytes.length, sha256 };
  }

  private text(sha256: string): string {
    return new TextDecoder().decode(this.blobs.get(sha256));
  }

  private stored(storageId: string): Stored {
    const stored = this.storages.get(storageId);
    if (!stored) throw new AgentError('storage_unknown');
    return stored;
  }

  private newRevision(): Revision {
    return `r${this.counter++}`;
  }
}

function content(entry: RemoteEntry | undefined): unknown {
  return entry && (entry.type === 'file' ? entry.sha256 : 'directory');
}

async function hashAt(tree: Tree, path: string): Promise<string | null> {
  const own = tree.get(path);
  if (own?.type === 'file') return own.sha256;
  const entries = [...tree.values()].filter((entry) => entry.path !== path && isWithin(entry.path, path));
  return treeHash(entries.map((entry) => ({ ...entry, path: relativeTo(path, entry.path) })));
}

class MemoryTransport implements Transport {
  constructor(
    private readonly server: MemoryServer,
    private readonly base: TransportBase,
    private readonly fate: Fate,
  ) {}

  link(signal: AbortSignal): Promise<LinkFacts> {
    return this.call('link', signal, () => {
      if (!('link_id' in this.base)) throw new AgentError('link_unknown');
      const { link } = this.server.where(this.base);
      if (!link) throw new AgentError('link_unknown');
      const { storage_id, path, target } = link;
      return { link_id: this.base.link_id, storage_id, path, target };
    });
  }

  tree(
    query: { revision: Revision; path: string; cursor: string | null },
    signal: AbortSignal,
  ): Promise<TreePage> {
    return this.call('tree', signal, () => {
      const at = this.server.where(this.base);
      const tree = this.server.treeAt(at.storageId, query.revision);
      const top = join(at.path, query.path);
      const entries = this.listed(tree ?? new Map(), at.path, top);
      if (!tree || (entries.length === 0 && query.path !== '')) throw new AgentError('path_not_found');
      const page = this.page(entries, query.cursor);
      return { revision: query.revision, entries: page.items, next_cursor: page.next };
    });
  }

  changes(
    query: { since: Revision | null; cursor: string | null },
    signal: AbortSignal,
  ): Promise<ChangesPage> {
    return this.call('changes', signal, () => {
      const at = this.server.where(this.base);
      const revision = this.server.head(at.storageId);
      const head = this.listed(this.server.treeAt(at.storageId, revision) ?? new Map(), at.path, at.path);
      const old = query.since === null ? new Map() : this.server.treeAt(at.storageId, query.since);
      if (!old) return { expired: true };
      const before = new Map(this.listed(old, at.path, at.path).map((entry) => [entry.path, entry]));
      const now = new Map(head.map((entry) => [entry.path, entry]));
      const changes: RemoteChange[] = [];
      for (const path of before.keys()) if (!now.has(path)) changes.push({ op: 'delete', path });
      for (const [path, entry] of now) {
        if (content(before.get(path)) !== content(entry)) changes.push({ op: 'put', ...entry });
      }
      const page = this.page(changes, query.cursor);
      return { expired: false, revision, changes: page.items, next_cursor: page.next };
    });
  }

  missing(sha256: readonly string[], signal: AbortSignal): Promise<string[]> {
    return this.call('missing', signal, () => sha256.filter((each) => !this.server.blobs.has(each)));
  }

  upload(
    sha256: string,
    file: Pick<Blob, 'size' | 'arrayBuffer'>,
    signal: AbortSignal,
    sent?: (bytes: number) => void,
  ): Promise<void> {
    return this.call('upload', signal, async () => {
      const bytes = new Uint8Array(await file.arrayBuffer());
      if ((await sha256Of(bytes)) !== sha256) throw new AgentError('storage_hash_mismatch');
      this.server.blobs.set(sha256, bytes);
      this.server.uploads++;
      sent?.(bytes.length);
    });
  }

  download(sha256: string, offset: number, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    return this.call('download', signal, () => {
      const bytes = this.server.blobs.get(sha256);
      if (!bytes) throw new AgentError('path_not_found');
      this.server.downloads++;
      const sent = (this.server.corrupt?.(sha256, bytes) ?? bytes).slice(offset);
      return new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < sent.length; at += 7) controller.enqueue(sent.slice(at, at + 7));
          controller.close();
        },
      });
    });
  }

  commit(body: CommitBody, key: string, signal: AbortSignal): Promise<CommitReply> {
    return this.call('commit', signal, () => {
      const at = this.server.where(this.base);
      return this.server.commit(at.storageId, at.path, body, key);
    });
  }

  private async call<T>(name: string, signal: AbortSignal, effect: () => T | Promise<T>): Promise<T> {
    if (signal.aborted) throw signal.reason;
    return this.fate.operate(`server: ${name}`, '', async () => {
      this.server.calls.push(name);
      await this.server.trouble?.(name);
      return effect();
    });
  }

  private listed(tree: Tree, base: string, top: string): RemoteEntry[] {
    if (this.server.hostile) return [...tree.values()];
    return [...tree.values()]
      .filter((entry) => isWithin(entry.path, top))
      .filter((entry) => base === '' || (isWithin(entry.path, base) && entry.path !== base))
      .map((entry) => ({ ...entry, path: relativeTo(base, entry.path) }));
  }

  private page<T>(items: readonly T[], cursor: string | null): { items: T[]; next: string | null } {
    const from = cursor === null ? 0 : Number(cursor);
    const to = from + this.server.pageSize;
    return { items: items.slice(from, to), next: to < items.length ? String(to) : null };
  }
}
