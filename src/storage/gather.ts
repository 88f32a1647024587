/** What the device has under a path of a scope, with every content's hash: the left side of a commit. */
import pLimit from 'p-limit';
import { DeviceView } from './device-view';
import { hashStable, READS_IN_FLIGHT } from './hash-file';
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
    await hashAll(session, scope, new Map([[path, scanned]]), gathered, job);
    return gathered;
  }
  const seen = await scan(found.handle, {
    prefix: path,
    links: scope.links,
    signal: job.signal,
    found: job.meter.files,
  });
  await hashAll(session, scope, seen.files, gathered, job);
  await requireSameRoot(session);
  return {
    ...gathered,
    emptyDirectories: seen.emptyDirectories,
    directories: seen.directories,
    leftOut: seen.leftOut,
    complete: seen.complete && gathered.complete,
  };
}

async function hashAll(
  session: Session,
  scope: Scope,
  files: ReadonlyMap<string, ScannedFile>,
  gathered: Gathered,
  job: Job,
): Promise<void> {
  const limit = pLimit(READS_IN_FLIGHT);
  await Promise.all(
    [...files].map(async ([path, file]) => {
      gathered.handles.set(path, file.handle);
      const agreed = scope.index.get(path);
      if (agreed?.type === 'file' && isSurelyUnchanged(agreed, file)) gathered.files.set(path, agreed);
      else await limit(() => hashInto(session, gathered, path, file.handle, job, file.file));
    }),
  );
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
  const hashed = await hashStable(handle, job.signal, job.meter.addBytes, known);
  if (hashed.state === 'unstable') gathered.unstable.push(path);
  else if (hashed.state === 'gone') gathered.complete = false;
  else {
    const { size, sha256, mtime } = hashed;
    gathered.files.set(path, { type: 'file', size, sha256, mtime, checked_at });
  }
}
