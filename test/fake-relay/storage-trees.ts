/**
 * Trees of the stand-in's storage service as values: listing, difference, and what a commit does to them.
 * A tree holds its files and its empty directories by path; a directory that holds anything is implied. Pure.
 */
import { createHash } from 'node:crypto';

export interface TreeFile {
  type: 'file';
  size: number;
  sha256: string;
  mtime?: number;
}

export type TreeNode = TreeFile | { type: 'directory' };

/** Path → node. */
export type Tree = ReadonlyMap<string, TreeNode>;

export type ListedEntry = TreeNode & { path: string };
export type ListedChange = ({ op: 'put' } & ListedEntry) | { op: 'delete'; path: string };

/** The order of storage-transport.md: by UTF-8 bytes (which is by code point, not by UTF-16 unit). */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8'));
}

/** True for `path` itself and everything under it; `""` holds everything. */
export function isWithin(path: string, top: string): boolean {
  return top === '' || path === top || path.startsWith(`${top}/`);
}

/** The directories above `path`, nearest first, without the root. */
export function ancestors(path: string): string[] {
  const found: string[] = [];
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
    found.push(path.slice(0, at));
  return found;
}

/** The part of `tree` under `top`, its paths relative to `top`; an empty directory at `top` itself is no entry. */
export function subtree(tree: Tree, top: string): Tree {
  if (top === '') return tree;
  const found = new Map<string, TreeNode>();
  for (const [path, node] of tree) {
    if (path.startsWith(`${top}/`)) found.set(path.slice(top.length + 1), node);
  }
  return found;
}

/** Entries at and under `path`, sorted; null when there is nothing (the root is always there). */
export function list(tree: Tree, path: string): ListedEntry[] | null {
  const entries: ListedEntry[] = [];
  for (const [at, node] of tree) if (isWithin(at, path)) entries.push({ path: at, ...node });
  if (entries.length === 0 && path !== '') return null;
  return entries.sort((a, b) => byBytes(a.path, b.path));
}

function isSame(a: TreeNode | undefined, b: TreeNode | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.type === 'directory' || b.type === 'directory') return a.type === b.type;
  return a.sha256 === b.sha256 && a.size === b.size;
}

/** What leads from `older` to `newer`: deletions first, then puts, each sorted. */
export function difference(older: Tree, newer: Tree): ListedChange[] {
  const implied = new Set([...newer.keys()].flatMap(ancestors));
  const deletes: ListedChange[] = [];
  for (const [path, node] of older) {
    if (newer.has(path)) continue;
    // An empty directory that was filled is still there.
    if (node.type === 'directory' && implied.has(path)) continue;
    deletes.push({ op: 'delete', path });
  }
  const puts: ListedChange[] = [];
  for (const [path, node] of newer) {
    if (!isSame(older.get(path), node)) puts.push({ op: 'put', path, ...node });
  }
  const sorted = (changes: ListedChange[]) => changes.sort((a, b) => byBytes(a.path, b.path));
  return [...sorted(deletes), ...sorted(puts)];
}

/** The hash of what is at `path` (storage.md, Hashes): a file's own, else the tree's; null when nothing is there. */
export function hashAt(tree: Tree, path: string): string | null {
  const node = tree.get(path);
  if (node?.type === 'file') return node.sha256;
  const entries = list(subtree(tree, path), '') ?? [];
  if (entries.length === 0 && node === undefined && path !== '') return null;
  const hash = createHash('sha256');
  for (const entry of entries) {
    if (entry.type === 'directory') hash.update(`directory\0${entry.path}\n`);
    else hash.update(`file\0${entry.path}\0${entry.size}\0${entry.sha256}\n`);
  }
  return hash.digest('hex');
}

export type Applied =
  | { kind: 'applied'; tree: Tree; overwritten: string[] }
  /** Others changed something that this commit would take away unseen: it has to merge first. */
  | { kind: 'conflict' }
  | { kind: 'invalid'; sentence: string };

/**
 * A commit made on `base`, applied to `head`. Deletions act before puts, whatever their order. A put over
 * another writer's file wins and is listed; a deletion, or a change between file and directory, that would
 * take away what another writer put since `base` is a conflict (storage.md, Who wins).
 */
export function applyCommit(base: Tree, head: Tree, changes: readonly ListedChange[]): Applied {
  const foreign = new Map<string, TreeNode | undefined>();
  for (const change of difference(base, head)) foreign.set(change.path, head.get(change.path));
  const tree = new GrowingTree(head);
  const overwritten = new Set<string>();
  const puts = new Map<string, TreeNode>();
  for (const change of changes) {
    if (change.op === 'delete') continue;
    const { op, path, ...node } = change;
    if (puts.has(path)) return { kind: 'invalid', sentence: 'a path is put twice' };
    puts.set(path, node);
  }

  for (const change of changes) {
    if (change.op !== 'delete') continue;
    for (const path of tree.within(change.path)) {
      if (foreign.get(path) !== undefined && !puts.has(path)) return { kind: 'conflict' };
      tree.delete(path);
    }
  }
  for (const [path, node] of puts) {
    for (const above of ancestors(path)) {
      const there = tree.nodes.get(above);
      if (there?.type === 'directory') tree.delete(above);
      if (there?.type !== 'file') continue;
      if (foreign.has(above)) return { kind: 'conflict' };
      return { kind: 'invalid', sentence: 'a file lies above a put path' };
    }
    if (tree.holds(path)) {
      // A directory that holds something is there already.
      if (node.type === 'directory') continue;
      if (tree.within(path).some((below) => foreign.has(below))) return { kind: 'conflict' };
      return { kind: 'invalid', sentence: 'a file is put where a directory holds something' };
    }
    const theirs = foreign.get(path);
    if (theirs !== undefined && !isSame(theirs, node)) {
      if (theirs.type !== node.type) return { kind: 'conflict' };
      overwritten.add(path);
    }
    tree.set(path, node);
  }
  return { kind: 'applied', tree: tree.nodes, overwritten: [...overwritten].sort(byBytes) };
}

/** A tree that is being changed, with a count of what each directory holds, so that large commits stay quick. */
class GrowingTree {
  readonly nodes: Map<string, TreeNode>;
  readonly #held = new Map<string, number>();

  constructor(tree: Tree) {
    this.nodes = new Map(tree);
    for (const path of tree.keys()) this.#count(path, 1);
  }

  /** Whether anything lies under `path`. */
  holds(path: string): boolean {
    return (this.#held.get(path) ?? 0) > 0;
  }

  /** The paths at and under `path`. */
  within(path: string): string[] {
    if (path !== '' && !this.holds(path)) return this.nodes.has(path) ? [path] : [];
    return [...this.nodes.keys()].filter((at) => isWithin(at, path));
  }

  set(path: string, node: TreeNode): void {
    if (!this.nodes.has(path)) this.#count(path, 1);
    this.nodes.set(path, node);
  }

  delete(path: string): void {
    if (this.nodes.delete(path)) this.#count(path, -1);
  }

  #count(path: string, by: number): void {
    for (const above of ancestors(path)) this.#held.set(above, (this.#held.get(above) ?? 0) + by);
  }
}
