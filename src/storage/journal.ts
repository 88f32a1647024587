/**
 * The journal of one job on one Storage: written before anything on the device is touched, it says what to
 * finish or undo (storage.md, Nothing is lost). The job is done the moment its one state batch turns the phase to
 * `finished`; before that everything is undone, after it only the temp folder is left to clear. Neither
 * needs a network. Holds no token. Pure.
 */
import type { Seal } from './seals';

/** What is moved where nobody writes, into the temp folder, and must then have this content. */
export interface Displaced {
  path: string;
  temp: string;
  size: number;
  sha256: string;
}

/** What is moved out of the temp folder to its place. */
export interface Placed {
  path: string;
  temp: string;
  size: number;
  sha256: string;
}

/** Unsaved content that is moved to the recovery folder as it is. */
export interface Recovered {
  from: string;
  to: string;
}

/** One publishing: its parts are done in this order, and undone in the reverse. Device paths. */
export interface Plan {
  displaced: Displaced[];
  recovered: Recovered[];
  /** Removed if empty, in this order (inner ones first). They stood there when the plan was made. */
  emptied: string[];
  /** In this order (outer ones first). They did not stand there when the plan was made. */
  made: string[];
  placed: Placed[];
}

export interface Journal {
  /** Of the temp folder, `.endue-storage-tmp-<id>`. */
  id: string;
  /** `undone` and `finished`: nothing is left to do but clear the temp folder. */
  phase: 'open' | 'undone' | 'finished';
  plans: Plan[];
  /** The seals as they were before, when the job changed them. */
  seals_before: Seal[] | null;
  /** Vault folders the job made, or that are no longer needed when it is finished. */
  vault_made: string[];
  vault_dropped: string[];
}

export const TEMP_PREFIX = '.endue-storage-tmp-';
export const RECOVERY_PREFIX = '.endue-storage-recovery-';

export function newJournal(id: string): Journal {
  return { id, phase: 'open', plans: [], seals_before: null, vault_made: [], vault_dropped: [] };
}

export function tempFolder(journal: { id: string }): string {
  return `${TEMP_PREFIX}${journal.id}`;
}

export function emptyPlan(): Plan {
  return { displaced: [], recovered: [], emptied: [], made: [], placed: [] };
}

export function isEmptyPlan(plan: Plan): boolean {
  return Object.values(plan).every((part) => part.length === 0);
}

/** What the next start has to do about a journal it finds. */
export function whatToDo(journal: Journal | null): 'nothing' | 'undo' | 'clear' {
  if (journal === null) return 'nothing';
  return journal.phase === 'open' ? 'undo' : 'clear';
}

/** How one placed file is undone, by what is found. */
export type PlacedUndo = 'not_placed' | 'take_back' | 'look_at' | 'undone' | 'leave';

/** Where a file that had been placed is taken back to, to be looked at: it may have been edited since. */
export function takenBack(placed: Placed): string {
  return `undo-${placed.temp}`;
}

/**
 * `temp`: the file is still in the temp folder, so it never got to its place. `taken`: an undo before this one took it
 * back, and may not have looked at it. `restored`: what had been displaced from the path is no longer in the temp
 * folder, so an undo before this one has put it back already: what stands there is not what was placed.
 */
export function undoPlaced(found: {
  temp: boolean;
  taken: boolean;
  restored: boolean;
  atPath: 'file' | 'directory' | 'absent';
}): PlacedUndo {
  if (found.temp) return 'not_placed';
  if (found.taken) return 'look_at';
  if (found.restored) return 'undone';
  return found.atPath === 'file' ? 'take_back' : 'leave';
}

export type DisplacedUndo = 'not_displaced' | 'move_back' | 'make_room' | 'recover';

/** `make_room`: someone put another file there meanwhile; it goes to the recovery folder. `recover`: no way back. */
export function undoDisplaced(
  temp: boolean,
  atPath: 'file' | 'directory' | 'absent' | 'blocked',
): DisplacedUndo {
  if (!temp) return 'not_displaced';
  if (atPath === 'absent') return 'move_back';
  return atPath === 'file' ? 'make_room' : 'recover';
}

/** The folder for what could not stay: `.endue-storage-recovery-<time>-<label>`. `now` in epoch ms. */
export function recoveryFolder(now: number, label: string): string {
  const time = new Date(now).toISOString().replaceAll(/[-:]/g, '').replace(/\.\d+/, '');
  const safe = label.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64);
  return `${RECOVERY_PREFIX}${time}-${safe}`;
}
