/**
 * Follows the cursors of `tree` and `changes` to their end (storage-transport.md). One page is held at a time.
 * A server that leads in a circle, changes the revision on the way, or sends pages without end is
 * `storage_transport_failed`.
 */
import { AgentError } from '../protocol/errors';
import type { RemoteChange, RemoteEntry, Revision, Transport } from './ports';

/** Pages in a row that may be empty although a cursor follows. [ours] */
const EMPTY_PAGES_ALLOWED = 100;
/** More than any device holds; a list without end would fill the memory, and end the connection with it. [ours] */
export const MOST_ITEMS = 2_000_000;

/** Every entry under `path` in `revision`, page by page. Errors: those of `Transport.tree`. */
export async function* treePages(
  transport: Transport,
  query: { revision: Revision; path: string; limit?: number },
  signal: AbortSignal,
): AsyncGenerator<RemoteEntry[], void, void> {
  const course = new Course();
  for (let cursor: string | null = null; ; ) {
    const page = await transport.tree({ ...query, cursor }, signal);
    course.check(page.revision, page.entries.length, page.next_cursor);
    if (page.entries.length > 0) yield page.entries;
    if (page.next_cursor === null) return;
    cursor = page.next_cursor;
  }
}

export type ChangesStep = { revision: Revision; changes: RemoteChange[] };

/**
 * What changed since `since` (null: everything), page by page; every step names the revision that all of them
 * lead to, and there is at least one step. Returns `expired` when the server no longer knows `since`: read the
 * tree instead, and forget the steps already given. Errors: those of `Transport.changes`.
 */
export async function* changesPages(
  transport: Transport,
  query: { since: Revision | null; limit?: number },
  signal: AbortSignal,
): AsyncGenerator<ChangesStep, 'complete' | 'expired', void> {
  const course = new Course();
  for (let cursor: string | null = null; ; ) {
    const page = await transport.changes({ ...query, cursor }, signal);
    if (page.expired) return 'expired';
    course.check(page.revision, page.changes.length, page.next_cursor);
    yield { revision: page.revision, changes: page.changes };
    if (page.next_cursor === null) return 'complete';
    cursor = page.next_cursor;
  }
}

class Course {
  readonly #cursors = new Set<string>();
  #revision: Revision | undefined;
  #empty = 0;
  #items = 0;

  check(revision: Revision, items: number, next: string | null): void {
    this.#revision ??= revision;
    this.#empty = items === 0 ? this.#empty + 1 : 0;
    this.#items += items;
    const astray =
      revision !== this.#revision ||
      this.#empty > EMPTY_PAGES_ALLOWED ||
      this.#items > MOST_ITEMS ||
      (next !== null && this.#cursors.has(next));
    if (astray) {
      throw new AgentError(
        'storage_transport_failed',
        'The pages of the storage service do not fit together.',
      );
    }
    if (next !== null) this.#cursors.add(next);
  }
}
