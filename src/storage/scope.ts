/**
 * What is synchronized as one: a Storage without its links, or one link. Each has an index and a base of its own;
 * paths in it are relative to its mount. Knows how they are kept in step, and where.
 */
import { AgentError } from '../protocol/errors';
import { type Index, type IndexEntry, type StoredIndex, sameContent } from './index-entries';
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

/**
 * Where the remote differs from the index, by what changed since the base. `storage_state_conflict` when the server no
 * longer knows the base and has nothing at all of what was saved: one that lost its content, or another one under the same
 * name. That is never read as "everything was deleted", as little as a device that is suddenly empty.
 */
export function differences(
  scope: Scope,
  fetched: { changes: readonly RemoteChange[]; full: boolean },
): RemoteStates {
  if (fetched.full && scope.base !== null && isNothingLeft(scope.index, fetched.changes)) {
    const what = scope.mount === '' ? 'Storage' : 'link';
    const mend =
      scope.mount === ''
        ? 'Detach the Storage on the Storages page and attach it anew: then its files are saved again.'
        : 'Remove the link with link_remove and pull it again.';
    throw new AgentError(
      'storage_state_conflict',
      `The platform has nothing left of what was saved of this ${what}. Nothing was deleted on the device. ${mend}`,
    );
  }
  return outstanding(scope.index, remoteStates(scope, fetched.changes, fetched.full));
}

/** More than one file was saved, and neither its path nor its content is in the whole tree. */
function isNothingLeft(index: Index, tree: readonly RemoteChange[]): boolean {
  const saved = new Set<string>();
  let files = 0;
  for (const [path, entry] of index) {
    if (entry.type !== 'file') continue;
    files++;
    saved.add(path).add(entry.sha256);
  }
  const isKnown = (change: RemoteChange) =>
    change.op === 'put' && change.type === 'file' && (saved.has(change.path) || saved.has(change.sha256));
  return files > 1 && !tree.some(isKnown);
}
