/** A list of changes of the server as the state each touched path ends in. Pure. */
import type { Index, IndexEntry, StoredIndex } from './index-entries';
import { agreedEntry, sameContent } from './index-entries';
import { ancestors, isWithin } from './paths';
import type { RemoteChange, RemoteEntry } from './ports';

/** Null: gone. Only paths that the changes touch, directly or by implication. */
export type RemoteStates = Map<string, RemoteEntry | null>;

/**
 * Applies `changes` since the base in their order. A deletion takes everything under its path; a file has nothing
 * under it; what lies in a directory makes its own entry implied. `full`: the changes are the whole tree, so
 * whatever the index has besides is gone.
 */
export function remoteStates(
  { index, ahead }: StoredIndex,
  changes: readonly RemoteChange[],
  full: boolean,
): RemoteStates {
  const states: RemoteStates = new Map();
  // What is not told of is as it was at the base.
  for (const [path, entry] of ahead) states.set(path, asRemote(path, entry));
  if (full) for (const path of index.keys()) states.set(path, null);
  if (full) for (const path of ahead.keys()) states.set(path, null);
  if (changes.length === 0) return states;
  const children = new Map<string, Set<string>>();
  const note = (path: string) => {
    for (const above of ancestors(path)) {
      const known = children.get(above) ?? new Set();
      known.add(path);
      children.set(above, known);
    }
  };
  for (const path of [...index.keys(), ...ahead.keys()]) note(path);
  const drop = (path: string) => {
    if (states.has(path) || index.has(path)) states.set(path, null);
  };
  for (const change of changes) {
    const under = children.get(change.path);
    if (change.op === 'delete') {
      states.set(change.path, null);
      for (const path of under ?? []) drop(path);
      continue;
    }
    const { op: _, ...entry } = change;
    if (entry.type === 'file') for (const path of under ?? []) drop(path);
    for (const above of ancestors(change.path)) drop(above);
    states.set(change.path, entry);
    note(change.path);
  }
  return states;
}

/** The states in which the remote differs from the index: what a merge has to look at. */
export function outstanding(index: Index, states: RemoteStates): RemoteStates {
  const left: RemoteStates = new Map();
  for (const [path, remote] of states) {
    if (!sameContent(index.get(path), remote)) left.set(path, remote);
  }
  return left;
}

/**
 * Only the states within one of `paths`, and of what gives way above one that is there; all of them when there are none or
 * one is the root. A file that became the directory of a chosen path goes with it: as long as it stayed, the path could
 * not be on the device, and would look deleted there.
 */
export function statesWithin(states: RemoteStates, paths: readonly string[]): RemoteStates {
  if (paths.length === 0) return states;
  const chosen: RemoteStates = new Map();
  for (const [path, remote] of states) {
    if (!paths.some((top) => isWithin(path, top))) continue;
    chosen.set(path, remote);
    if (remote === null) continue;
    for (const above of ancestors(path)) if (states.get(above) === null) chosen.set(above, null);
  }
  return chosen;
}

/** The index entry for a state: null when it is gone. */
export function agreedState(remote: RemoteEntry | null): IndexEntry | null {
  return remote === null ? null : agreedEntry(remote);
}

function asRemote(path: string, entry: IndexEntry | null): RemoteEntry | null {
  if (entry === null) return null;
  if (entry.type === 'directory') return { type: 'directory', path };
  return { type: 'file', path, size: entry.size, sha256: entry.sha256 };
}
