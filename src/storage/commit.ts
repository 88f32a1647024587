/** Commits, with merges in between when the server wants one first, and which base may be adopted afterwards. */
import { AgentError } from '../protocol/errors';
import type { Job } from './job';
import type { CommitBody, CommitReply, Revision, Transport } from './ports';
import { fetchChanges } from './remote-lists';
import { advance, differences, type Scope } from './scope';

/** storage.md, Conflicts: the first commit and up to 5 more after merges. */
const COMMITS = 6;

/**
 * `body` is asked anew after each merge; null: nothing is left to commit. `merge` makes the device and the index follow
 * the server. Bodies are counted: the same key is sent only with the same body. `storage_state_conflict` when the server still
 * wants another merge after the last.
 */
export async function commitWithMerges(
  transport: Transport,
  job: Job,
  body: () => Promise<CommitBody | null>,
  merge: () => Promise<void>,
): Promise<CommitReply | null> {
  for (let n = 1; ; n++) {
    const next = await body();
    if (next === null) return null;
    try {
      return await transport.commit(next, `${job.request_id}:${n}`, job.signal);
    } catch (thrown) {
      const again = thrown instanceof AgentError && thrown.code === 'storage_state_conflict' && n < COMMITS;
      if (!again) throw thrown;
    }
    await merge();
  }
}

/**
 * Adopts the revision of a commit as the base when nothing of others lies between; else the base stays, so that
 * others' commits are merged at the next step and never skipped. The index must hold the commit already. What is
 * committed stays committed: a failure to ask is none of the job.
 */
export async function adoptCommit(
  transport: Transport,
  scope: Scope,
  committed: Revision,
  signal: AbortSignal,
): Promise<void> {
  try {
    const fetched = await fetchChanges(transport, scope.base, signal);
    if (fetched.revision === committed && differences(scope, fetched).size === 0) advance(scope, committed);
  } catch {
    // The next step asks again.
  }
}
