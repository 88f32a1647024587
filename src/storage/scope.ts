/**
 * What is synchronized as one: a Storage without its links, or one link. Each has an index and a base of its own;
 * paths in it are relative to its mount. Knows how they are kept in step, and where.
 */
import { type IndexEntry, type StoredIndex, sameContent } from './index-entries';
import { isWithin, join, relativeTo } from './paths';
import type { RemoteChange, Revision, StateChange } from './ports';
import { outstanding, type RemoteStates, remoteStates } from './remote-states';
import type { LinkRecord, Session } from './session';

export interface Scope extends StoredIndex {
  /** Its folder, relative to the Storage's root. */
  mount: string;
  base: Revision | null;
  /** Folders of links inside of it, relative to its mount: not its business. */
  links: string[];
  /** An index that is as it was is not written again. */
  indexChanged: boolean;
  /** The state changes that make index and base durable. */
  write(): StateChange[];
}

export async function storageScope(session: Session): Promise<Scope> {
  const key = session.storageIndexKey();
  const scope: Scope = {
    ...(await session.loadIndex(key)),
    mount: '',
    base: session.record.base,
    links: session.record.links.map((link) => link.path),
    indexChanged: false,
    write() {
      session.record.base = scope.base;
      return [session.writeRecord(), ...indexChange(scope, key)];
    },
  };
  return scope;
}

/** `link` is one of the session's record, or is put there by the caller before `write`. */
export async function linkScope(session: Session, link: LinkRecord): Promise<Scope> {
  const key = session.linkIndexKey(link.link_id);
  const inner = session.record.links.filter(
    (other) => other.link_id !== link.link_id && isWithin(other.path, link.path),
  );
  const scope: Scope = {
    ...(await session.loadIndex(key)),
    mount: link.path,
    base: link.base,
    links: inner.map((other) => relativeTo(link.path, other.path)),
    indexChanged: false,
    write() {
      link.base = scope.base;
      return [session.writeRecord(), ...indexChange(scope, key)];
    },
  };
  return scope;
}

function indexChange({ index, ahead, indexChanged }: Scope, key: string): StateChange[] {
  return indexChanged ? [{ key, value: { index, ahead } satisfies StoredIndex }] : [];
}

export function devicePath(scope: Scope, path: string): string {
  return join(scope.mount, path);
}

/** Changes the index in memory; null: gone. Until `advance` it is ahead of the base there. */
export function applyEntries(scope: Scope, entries: ReadonlyMap<string, IndexEntry | null>): void {
  for (const [path, entry] of entries) {
    const before = scope.index.get(path) ?? null;
    if (!scope.ahead.has(path) && !sameContent(before, entry)) scope.ahead.set(path, before);
    if (entry === null) scope.index.delete(path);
    else scope.index.set(path, entry);
  }
  if (entries.size > 0) scope.indexChanged = true;
}

/** The index agrees with `revision` as a whole: it is the base. */
export function advance(scope: Scope, revision: Revision): void {
  scope.base = revision;
  if (scope.ahead.size > 0) scope.indexChanged = true;
  scope.ahead.clear();
}

/** Begins anew: everything of the remote is to be brought. */
export function forget(scope: Scope): void {
  scope.index.clear();
  scope.ahead.clear();
  scope.base = null;
  scope.indexChanged = true;
}

/** Where the remote differs from the index, by what changed since the base. */
export function differences(
  scope: Scope,
  fetched: { changes: readonly RemoteChange[]; full: boolean },
): RemoteStates {
  return outstanding(scope.index, remoteStates(scope, fetched.changes, fetched.full));
}

/**
 * The same for who is to follow the remote. A server that no longer knows the base, and has nothing at all of what was
 * saved, lost its content or is another one: that is never read as "everything was deleted", as little as a device that is
 * suddenly empty. Then nothing is agreed on any more: the device's files are unsaved, and the next commit brings them there.
 */
export function follow(
  session: Session,
  scope: Scope,
  fetched: { changes: readonly RemoteChange[]; full: boolean },
): RemoteStates {
  if (isNothingLeft(scope, fetched)) {
    session.unsettle();
    forget(scope);
  }
  return differences(scope, fetched);
}

/** Files were saved, and neither the path nor the content of any of them is in the whole tree, which was read anew. */
export function isNothingLeft(
  { base, index }: Scope,
  { changes, full }: { changes: readonly RemoteChange[]; full: boolean },
): boolean {
  if (!full || base === null) return false;
  const saved = new Set<string>();
  for (const [path, entry] of index) if (entry.type === 'file') saved.add(path).add(entry.sha256);
  const isKnown = (change: RemoteChange) =>
    change.op === 'put' && change.type === 'file' && (saved.has(change.path) || saved.has(change.sha256));
  return saved.size > 0 && !changes.some(isKnown);
}
