/**
 * What is synchronized as one: a Storage without its links, or one link. Each has an index and a base of its own;
 * paths in it are relative to its mount. Knows where they are kept.
 */

import type { Index, IndexEntry } from './index-entries';
import { isWithin, join, relativeTo } from './paths';
import type { Revision, StateChange } from './ports';
import type { LinkRecord, Session } from './session';

export interface Scope {
  /** Its folder, relative to the Storage's root. */
  mount: string;
  index: Index;
  base: Revision | null;
  /** Folders of links inside of it, relative to its mount: not its business. */
  links: string[];
  /** Set by `applyEntries`: an index that is as it was is not written again. */
  indexChanged: boolean;
  /** The state changes that make `index` and `base` durable. */
  write(): StateChange[];
}

export async function storageScope(session: Session): Promise<Scope> {
  const index = await session.storageIndex();
  const scope: Scope = {
    mount: '',
    index,
    indexChanged: false,
    base: session.record.base,
    links: session.record.links.map((link) => link.path),
    write() {
      session.record.base = scope.base;
      return [session.writeRecord(), ...indexChange(scope, session.storageIndexKey())];
    },
  };
  return scope;
}

/** `link` is one of the session's record, or is put there by the caller before `write`. */
export async function linkScope(session: Session, link: LinkRecord): Promise<Scope> {
  const index = await session.linkIndex(link.link_id);
  const inner = session.record.links.filter(
    (other) => other.link_id !== link.link_id && isWithin(other.path, link.path),
  );
  const scope: Scope = {
    mount: link.path,
    index,
    indexChanged: false,
    base: link.base,
    links: inner.map((other) => relativeTo(link.path, other.path)),
    write() {
      link.base = scope.base;
      return [session.writeRecord(), ...indexChange(scope, session.linkIndexKey(link.link_id))];
    },
  };
  return scope;
}

export function devicePath(scope: Scope, path: string): string {
  return join(scope.mount, path);
}

function indexChange(scope: Scope, key: string): StateChange[] {
  return scope.indexChanged ? [{ key, value: scope.index }] : [];
}

/** Changes the index in memory; null: gone. */
export function applyEntries(scope: Scope, entries: ReadonlyMap<string, IndexEntry | null>): void {
  for (const [path, entry] of entries) {
    if (entry === null) scope.index.delete(path);
    else scope.index.set(path, entry);
  }
  if (entries.size > 0) scope.indexChanged = true;
}
