/** What the device has under a path of a scope, with every content's hash: the left side of a commit. */
import { DeviceView } from './device-view';
import { hashStable } from './hash-file';
import type { IndexFile } from './index-entries';
import type { Job } from './job';
import type { LocalState } from './local-changes';
import { requireSameRoot } from './marker';
import type { FileHandle, FileSnapshot } from './ports';
import { isSurelyUnchanged } from './racy-time';
import { type ScannedFile, scan } from './scan';
import { devicePath, type Scope } from './scope';
import type { Session } from './session';

export interface Gathered extends LocalState {
  files: Map<string, IndexFile>;
  emptyDirectories: Set<string>;
  unstable: string[];
  kind: 'file' | 'directory' | 'absent';
  handles: Map<string, FileHandle>;
  /** Every directory under the path, the empty ones too. */
  directories: Set<string>;
}

/** `path`: of the scope. What is surely unchanged is not read. */
export async function gather(session: Session, scope: Scope, path: string, job: Job): Promise<Gathered> {
  const found = await new DeviceView(session.root, session.folds).look(devicePath(scope, path));
  const gathered: Gathered = {
    kind: found.kind,
    files: new Map(),
    emptyDirectories: new Set(),
    directories: new Set(),
    unstable: [],
    leftOut: [],
    complete: true,
    handles: new Map(),
  };
  if (found.kind === 'absent') {
    // A root that went away must not look like a deletion.
    await requireSameRoot(session);
    return gathered;
  }
  if (found.kind === 'file') {
    const file = await found.handle.getFile();
    const scanned = { handle: found.handle, file, size: file.size, mtime: file.lastModified };
    await take(session, scope, gathered, path, scanned, job);
    return gathered;
  }
  const seen = await scan(found.handle, {
    prefix: path,
    links: scope.links,
    signal: job.signal,
    found: job.meter.files,
    // Listing leaves the disk idle, and reading the lister: both at once.
    each: (at, file) => take(session, scope, gathered, at, file, job),
  });
  await requireSameRoot(session);
  return {
    ...gathered,
    emptyDirectories: seen.emptyDirectories,
    directories: seen.directories,
    leftOut: seen.leftOut,
    complete: seen.complete && gathered.complete,
  };
}

/** Notes one file as it is, and reads it unless it is surely unchanged. */
async function take(
  session: Session,
  scope: Scope,
  gathered: Gathered,
  path: string,
  file: ScannedFile,
  job: Job,
): Promise<void> {
  gathered.handles.set(path, file.handle);
  const agreed = scope.index.get(path);
  if (agreed?.type === 'file' && isSurelyUnchanged(agreed, file)) gathered.files.set(path, agreed);
  else await hashInto(session, gathered, path, file.handle, job, file.file);
}

/** Reads one file (again) and notes what it is now. */
export async function hashInto(
  session: Session,
  gathered: Gathered,
  path: string,
  handle: FileHandle,
  job: Job,
  known?: FileSnapshot,
): Promise<void> {
  const checked_at = session.now();
  gathered.files.delete(path);
  const writers = session.storage.kind === 'browser' ? 'nobody' : 'others';
  const hashed = await hashStable(handle, job.signal, job.meter.addBytes, known, writers);
  if (hashed.state === 'unstable') gathered.unstable.push(path);
  else if (hashed.state === 'gone') gathered.complete = false;
  else {
    const { size, sha256, mtime } = hashed;
    gathered.files.set(path, { type: 'file', size, sha256, mtime, checked_at });
  }
}
