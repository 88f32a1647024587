/** `path_sync`: brings the remotely changed paths; unsaved files are kept. */
import { bringIn } from '../incoming';
import { requirePath } from '../paths';
import { fetchChanges } from '../remote-lists';
import { statesWithin } from '../remote-states';
import { advance, follow, storageScope } from '../scope';
import { type Mode, need } from './mode';

/** `paths` may name directories; without any, everything that changed is brought. */
export const pathSync: Mode = async (session, transaction, input, job) => {
  const paths = input.paths ?? [];
  for (const path of paths) requirePath(path, 'root_refused');
  const transport = job.connect({ storage_id: session.storage.storage_id }, need(input, 'token'));
  need(input, 'revision');
  const scope = await storageScope(session);
  const fetched = await fetchChanges(transport, scope.base, job.signal);
  const states = follow(session, scope, fetched);
  const wanted = statesWithin(states, paths);
  const { kept } = await bringIn(session, transaction, transport, scope, wanted, job, 'refuse');
  // The base passes over nothing that was not brought.
  if (wanted.size === states.size) advance(scope, fetched.revision);
  await transaction.finish(scope.write());
  return { revision: fetched.revision, kept };
};
