/**
 * One job's changes of the device and of the durable state, all or nothing: opens the journal before it touches
 * anything, publishes plans, and either finishes with one state batch or undoes. A job that changes nothing
 * on the device writes no journal.
 */
import { isNotFound } from './foreign-errors';
import { isEmptyPlan, type Journal, newJournal, type Plan, tempFolder } from './journal';
import type { DirectoryHandle, FileHandle, StateChange } from './ports';
import { ChangedAfterAll, publish } from './publish';
import type { Seal } from './seals';
import { loadRecord, type Session } from './session';
import { undoPlans } from './undo';
import { dropVaultFolders } from './vault';

export class Transaction {
  private journal: Journal | null = null;
  private temp: DirectoryHandle | null = null;
  private names = 0;
  /** Device paths whose size and time lied. */
  private distrusted: string[] = [];

  constructor(private readonly session: Session) {}

  /** A name in the temp folder that nothing has. */
  newName(kind: 'new' | 'old'): string {
    return `${kind}-${this.names++}`;
  }

  async tempFolder(): Promise<DirectoryHandle> {
    if (this.temp) return this.temp;
    const journal = await this.open();
    this.temp = await this.session.root.getDirectoryHandle(tempFolder(journal), { create: true });
    return this.temp;
  }

  /** Writes the plan into the journal, then carries it out. Staged files are in the temp folder already; `staged`: handles at hand. */
  async publish(
    plan: Plan,
    signal: AbortSignal,
    staged: ReadonlyMap<string, FileHandle> = new Map(),
  ): Promise<void> {
    if (isEmptyPlan(plan)) return;
    const temp = await this.tempFolder();
    const journal = await this.open();
    journal.plans.push(plan);
    await this.write(this.session.writeJournal(journal));
    try {
      const { root, kind } = this.session.storage;
      await publish(plan, { root, kind, temp, staged }, signal);
    } catch (thrown) {
      if (thrown instanceof ChangedAfterAll) this.distrusted.push(...thrown.paths);
      throw thrown;
    }
  }

  /** Changes the seals at once and durably; undoing brings the former ones back. */
  async setSeals(seals: Seal[]): Promise<void> {
    await this.open(() => {
      this.session.record.seals = seals;
    });
  }

  /** Announces a vault folder before it is made: undoing removes it. */
  async makesVaultFolder(name: string): Promise<void> {
    const journal = await this.open();
    journal.vault_made.push(name);
    await this.write(this.session.writeJournal(journal));
  }

  /** The one moment at which the job is done: `changes` and the end of the journal in one batch. */
  async finish(changes: readonly StateChange[], vaultDropped: readonly string[] = []): Promise<void> {
    if (this.journal === null && vaultDropped.length === 0) {
      if (changes.length > 0) await this.write(...changes);
      return;
    }
    const journal = this.journal ?? newJournal(this.session.newId());
    // A copy: should the batch fail, the undoing needs the plans.
    const finished: Journal = {
      ...journal,
      phase: 'finished',
      plans: [],
      vault_dropped: [...journal.vault_dropped, ...vaultDropped],
    };
    try {
      await this.write(...changes, this.session.writeJournal(finished));
    } catch (thrown) {
      // Whether it came to be is what is written, not what was answered.
      if ((await this.session.journal())?.phase !== 'finished') throw thrown;
    }
    this.journal = null;
    await clear(this.session, finished).catch(() => undefined);
  }

  /** Writes what is no loss when the machine fails a moment later: a job that changed nothing ends with it. */
  async remark(changes: readonly StateChange[]): Promise<void> {
    if (this.journal !== null) return this.finish(changes);
    await this.session.ports.state.batch(changes, 'soon');
  }

  /** Brings back what was. When even that fails the journal stays, and the next job or start does it. */
  async undo(): Promise<void> {
    if (this.journal === null) {
      const changes = await this.session.distrust(this.distrusted);
      if (changes.length > 0) await this.write(...changes);
      return;
    }
    // The batch that was to end it may have come to be after all: then what it says is so, and nothing is undone.
    const written = await this.session.journal();
    if (written?.phase === 'finished') await clear(this.session, written);
    else await undoJournal(this.session, this.journal, this.distrusted);
  }

  private async open(change?: () => void): Promise<Journal> {
    if (this.journal !== null && !change) return this.journal;
    const journal = this.journal ?? newJournal(this.session.newId());
    this.session.unsettle();
    if (change) {
      journal.seals_before ??= structuredClone(this.session.record.seals);
      change();
    }
    await this.write(this.session.writeJournal(journal), ...(change ? [this.session.writeRecord()] : []));
    this.journal = journal;
    return journal;
  }

  private write(...changes: StateChange[]): Promise<void> {
    return this.session.ports.state.batch(changes);
  }
}

/** Undoes an open journal; may be cut off at any point and be called again. */
export async function undoJournal(
  session: Session,
  journal: Journal,
  distrusted: readonly string[] = [],
): Promise<void> {
  session.unsettle();
  await undoPlans(journal, session.root, session.now());
  // Not the session's own record: the job may have changed it on its way to a batch that never came.
  const record = await loadRecord(session.ports.state, session.storage.storage_id);
  if (journal.seals_before !== null) record.seals = journal.seals_before;
  const undone: Journal = {
    ...journal,
    phase: 'undone',
    plans: [],
    vault_dropped: journal.vault_made,
  };
  await session.ports.state.batch([
    ...(await session.distrust(distrusted)),
    session.writeRecord(record),
    session.writeJournal(undone),
  ]);
  await clear(session, undone);
}

/** Removes what a finished or undone journal left, then the journal. */
export async function clear(session: Session, journal: Journal): Promise<void> {
  try {
    await session.root.removeEntry(tempFolder(journal), { recursive: true });
  } catch (thrown) {
    if (!isNotFound(thrown)) throw thrown;
  }
  await dropVaultFolders(session, journal.vault_dropped);
  await session.ports.state.batch([session.writeJournal(null)]);
}
