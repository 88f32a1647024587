/**
 * What the device has at a path against what was last agreed on: for `file_stat`, and with every hash for what is to be
 * moved or taken away. Reads content only where size and time do not tell.
 */
import pLimit from 'p-limit';
import { AgentError } from '../../protocol/errors';
import { DeviceView } from '../device-view';
import { hashStable, READS_IN_FLIGHT } from '../hash-file';
import { entriesWithin, type IndexFile } from '../index-entries';
import { isWithin, quote, relativeTo } from '../paths';
import type { FileHandle, FileSnapshot } from '../ports';
import { isSurelyUnchanged } from '../racy-time';
import { scan } from '../scan';
import { devicePath, linkScope, type Scope, storageScope } from '../scope';
import type { Session } from '../session';
import { type HashedEntry, treeHash } from '../tree-hash';

export interface FoundFile {
  path: string;
  handle: FileHandle;
  file: FileSnapshot;
}

export interface Standing {
  kind: 'file' | 'directory';
  files: FoundFile[];
  /** Every directory under the path. */
  directories: string[];
  emptyDirectories: string[];
  /** False when something that is there cannot be seen or read. */
  complete: boolean;
}

/** What stands at a device path; null when nothing does. */
export async function standing(
  session: Session,
  path: string,
  signal: AbortSignal,
): Promise<Standing | null> {
  const found = await new DeviceView(session.root, session.folds).look(path);
  if (found.kind === 'absent') return null;
  if (found.kind === 'file') {
    const { handle } = found;
    const file = await handle.getFile();
    return {
      kind: 'file',
      files: [{ path, handle, file }],
      directories: [],
      emptyDirectories: [],
      complete: true,
    };
  }
  const seen = await scan(found.handle, { prefix: path, links: [], signal });
  return {
    kind: 'directory',
    files: [...seen.files].map(([at, { handle, file }]) => ({ path: at, handle, file })),
    directories: [...seen.directories],
    emptyDirectories: [...seen.emptyDirectories].filter((at) => at !== path),
    complete: seen.complete && seen.leftOut.length === 0,
  };
}

/** What was agreed on of a file at a device path. */
export type Agreed = (path: string) => IndexFile | null;

export async function agreedFiles(session: Session): Promise<Agreed> {
  const scopes = (await allScopes(session)).sort((a, b) => b.mount.length - a.mount.length);
  return (path) => {
    const scope = scopes.find(({ mount }) => isWithin(path, mount));
    const entry = scope?.index.get(relativeTo(scope.mount, path));
    return entry?.type === 'file' ? entry : null;
  };
}

/** The hash of each file, by its path. `storage_state_conflict` when one changes whenever it is read. */
export async function hashesOf(
  session: Session,
  files: readonly FoundFile[],
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const agreed = await agreedFiles(session);
  const limit = pLimit(READS_IN_FLIGHT);
  const hashed = await Promise.all(
    files.map((found) =>
      limit(async () => [found.path, await hashOf(found, agreed(found.path), signal)] as const),
    ),
  );
  return new Map(hashed);
}

async function hashOf(
  { path, handle, file }: FoundFile,
  agreed: IndexFile | null,
  signal: AbortSignal,
): Promise<string> {
  const seen = { size: file.size, mtime: file.lastModified };
  if (agreed && isSurelyUnchanged(agreed, seen)) return agreed.sha256;
  const hashed = await hashStable(handle, signal, undefined, file);
  if (hashed.state === 'stable' && hashed.size === file.size) return hashed.sha256;
  throw new AgentError('storage_state_conflict', `${quote(path)} changes while it is read.`);
}

/** The file's or the tree's hash (storage.md, Hashes). */
export async function hashOfAll(
  session: Session,
  path: string,
  { kind, files, emptyDirectories }: Standing,
  signal: AbortSignal,
): Promise<string> {
  const hashes = await hashesOf(session, files, signal);
  if (kind === 'file') return hashes.get(path) as string;
  const entries: HashedEntry[] = files.map((found) => ({
    type: 'file',
    path: relativeTo(path, found.path),
    size: found.file.size,
    sha256: hashes.get(found.path) as string,
  }));
  for (const at of emptyDirectories) entries.push({ type: 'directory', path: relativeTo(path, at) });
  return treeHash(entries);
}

/** Whether the device differs from what was last agreed on, at the path or under it (storage.md, Words). */
export async function isUnsaved(
  session: Session,
  path: string,
  found: Standing,
  signal: AbortSignal,
): Promise<boolean> {
  const scopes = await allScopes(session);
  const agreed = new Map<string, IndexFile | null>();
  for (const scope of scopes) {
    if (!isWithin(path, scope.mount) && !isWithin(scope.mount, path)) continue;
    const top = isWithin(path, scope.mount) ? relativeTo(scope.mount, path) : '';
    for (const [at, entry] of entriesWithin(scope.index, top, scope.links)) {
      agreed.set(devicePath(scope, at), entry.type === 'file' ? entry : null);
    }
  }
  const present = new Map(found.files.map((file) => [file.path, file]));
  const directories = new Set([...found.directories, ...(found.kind === 'directory' ? [path] : [])]);
  for (const [at, entry] of agreed) if (entry ? !present.has(at) : !directories.has(at)) return true;
  for (const at of found.emptyDirectories) if (agreed.get(at) !== null) return true;
  const doubtful: [FoundFile, IndexFile][] = [];
  for (const [at, file] of present) {
    const entry = agreed.get(at);
    if (!entry || entry.size !== file.file.size) return true;
    const seen = { size: file.file.size, mtime: file.file.lastModified };
    if (!isSurelyUnchanged(entry, seen)) doubtful.push([file, entry]);
  }
  for (const [file, entry] of doubtful) {
    const hashed = await hashStable(file.handle, signal, undefined, file.file);
    if (hashed.state !== 'stable' || hashed.sha256 !== entry.sha256) return true;
  }
  return false;
}

async function allScopes(session: Session): Promise<Scope[]> {
  return [
    await storageScope(session),
    ...(await Promise.all(session.record.links.map((link) => linkScope(session, link)))),
  ];
}
