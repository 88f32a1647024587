/** Uploads what the server lacks of the changed files. A file that changes meanwhile is read again, then left out. */
import pLimit from 'p-limit';
import { AgentError } from '../protocol/errors';
import { isNotFound, isUnreadable } from './foreign-errors';
import { type Gathered, hashInto } from './gather';
import type { Index } from './index-entries';
import type { Job } from './job';
import { type LocalChanges, localChanges } from './local-changes';
import type { Transport } from './ports';
import type { Session } from './session';

const UPLOADS_IN_FLIGHT = 6;
const TRIES = 3;

export interface Uploaded extends LocalChanges {
  uploadedBytes: number;
}

/** Changes `gathered` where files turned out to be other than they were when they were hashed. */
export async function uploadChanges(
  session: Session,
  transport: Transport,
  index: Index,
  path: string,
  gathered: Gathered,
  job: Job,
): Promise<Uploaded> {
  const failures = new Map<string, number>();
  let uploadedBytes = 0;
  for (;;) {
    const local = localChanges(index, path, gathered);
    const holders = new Map<string, string>();
    for (const change of local.changes) {
      if (change.op === 'put' && change.type === 'file') holders.set(change.sha256, change.path);
    }
    const missing = holders.size === 0 ? [] : await transport.missing([...holders.keys()], job.signal);
    const changed: string[] = [];
    const limit = pLimit(UPLOADS_IN_FLIGHT);
    const work = await Promise.allSettled(
      missing.map((sha256) =>
        limit(async () => {
          const at = holders.get(sha256);
          if (at === undefined) return;
          const sent = await uploadOne(transport, gathered, at, job);
          if (sent === null) changed.push(at);
          else uploadedBytes += sent;
        }),
      ),
    );
    for (const result of work) if (result.status === 'rejected') throw result.reason;
    if (changed.length === 0) return { ...local, uploadedBytes };
    for (const at of changed) await readAgain(session, gathered, at, failures, job);
  }
}

async function readAgain(
  session: Session,
  gathered: Gathered,
  at: string,
  failures: Map<string, number>,
  job: Job,
): Promise<void> {
  const failed = (failures.get(at) ?? 0) + 1;
  failures.set(at, failed);
  const handle = gathered.handles.get(at);
  if (failed < TRIES && handle) return hashInto(session, gathered, at, handle, job);
  gathered.files.delete(at);
  gathered.unstable.push(at);
}

/** The bytes sent; null when the file is no longer what was hashed. */
async function uploadOne(
  transport: Transport,
  gathered: Gathered,
  at: string,
  job: Job,
): Promise<number | null> {
  const file = gathered.files.get(at);
  const handle = gathered.handles.get(at);
  if (!file || !handle) return null;
  try {
    const content = await handle.getFile();
    if (content.size !== file.size || content.lastModified !== file.mtime) return null;
    job.meter.expectBytes(content.size);
    await transport.upload(file.sha256, content, job.signal, job.meter.addBytes);
    return content.size;
  } catch (thrown) {
    if (isNotFound(thrown) || isUnreadable(thrown)) return null;
    if (thrown instanceof AgentError && thrown.code === 'storage_hash_mismatch') return null;
    throw thrown;
  }
}
