/** The server's lists as wholes: what changed, and trees. Names are not checked here. */
import { AgentError } from '../protocol/errors';
import type { RemoteChange, RemoteEntry, Revision, Transport } from './ports';
import { changesPages, treePages } from './remote-pages';

export interface FetchedChanges {
  revision: Revision;
  changes: RemoteChange[];
  /** The changes are the whole tree. */
  full: boolean;
}

/** Everything that changed since `since`; the whole tree when it is null or the server no longer knows it. */
export async function fetchChanges(
  transport: Transport,
  since: Revision | null,
  signal: AbortSignal,
): Promise<FetchedChanges> {
  const fetched: RemoteChange[] = [];
  let revision: Revision | undefined;
  const pages = changesPages(transport, { since }, signal);
  for (;;) {
    const step = await pages.next();
    if (step.done) {
      if (step.value === 'complete' && revision !== undefined) {
        return { revision, changes: fetched, full: since === null };
      }
      if (since === null) throw new AgentError('storage_transport_failed');
      return fetchChanges(transport, null, signal);
    }
    revision = step.value.revision;
    for (const change of step.value.changes) fetched.push(change);
  }
}

/** The tree under `path` at `revision`. `path_not_found` when there is nothing. */
export async function fetchTree(
  transport: Transport,
  revision: Revision,
  path: string,
  signal: AbortSignal,
): Promise<RemoteEntry[]> {
  const entries: RemoteEntry[] = [];
  for await (const page of treePages(transport, { revision, path }, signal)) {
    for (const entry of page) entries.push(entry);
  }
  return entries;
}
