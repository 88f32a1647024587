/** The merge that comes before a commit: what the server changed since the base is brought to the device. */
import { bringIn } from './incoming';
import type { Job } from './job';
import type { Revision, Transport } from './ports';
import { fetchChanges } from './remote-lists';
import type { RemoteStates } from './remote-states';
import { advance, follow, type Scope } from './scope';
import type { Session } from './session';
import type { Transaction } from './transaction';

export class Merging {
  /** Device paths of incoming states that gave way. */
  readonly kept = new Set<string>();
  /** Up to where the device has followed the server: what a commit stands on. */
  revision: Revision | null;
  deferred: string[] = [];

  constructor(
    private readonly session: Session,
    private readonly transaction: Transaction,
    private readonly transport: Transport,
    private readonly scope: Scope,
    private readonly job: Job,
  ) {
    this.revision = scope.base;
  }

  /** `look` sees what is to be merged first and may throw. */
  async merge(look?: (states: RemoteStates) => void): Promise<void> {
    const fetched = await fetchChanges(this.transport, this.scope.base, this.job.signal);
    const states = follow(this.session, this.scope, fetched);
    look?.(states);
    const brought = await bringIn(
      this.session,
      this.transaction,
      this.transport,
      this.scope,
      states,
      this.job,
      'defer',
    );
    for (const path of brought.kept) this.kept.add(path);
    this.deferred = brought.deferred;
    this.revision = fetched.revision;
    // Short of it while something was left for later.
    if (brought.deferred.length === 0) advance(this.scope, fetched.revision);
  }
}
