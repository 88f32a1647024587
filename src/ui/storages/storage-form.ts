/** What a person may write into the form that attaches a Storage (storage.md, Attaching). Pure. */
import { utf8Length } from '../../protocol/json';
import { MAX_STORAGE_ID_BYTES } from '../../storage/attachments';
import type { Translate } from '../i18n';

export const MAX_NAME_CHARACTERS = 100;

/** Controls, unpaired surrogates, and what changes the direction or width of text without being seen. */
const NOT_SHOWN = /[\p{Cc}\p{Surrogate}\u200B\u200E\u200F\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/u;

export interface StorageDraft {
  storage_id: string;
  name: string;
  backing: 'folder' | 'browser';
  /** Name of the chosen folder, or null. */
  folder: string | null;
}

export type IdProblem = 'empty' | 'too_long' | 'not_shown' | 'taken';
export type NameProblem = 'too_long' | 'not_shown';
export type FolderProblem =
  | { problem: 'missing' | 'refused' | 'not_a_folder' | 'not_allowed' }
  | { problem: 'overlaps'; name: string };

export interface FormProblems {
  storage_id: IdProblem | null;
  name: NameProblem | null;
  folder: FolderProblem | null;
}

export const NO_PROBLEMS: FormProblems = { storage_id: null, name: null, folder: null };

/** The id as it is attached: white space around it comes from copying. */
export function storageIdOf({ storage_id }: Pick<StorageDraft, 'storage_id'>): string {
  return storage_id.trim();
}

export function checkDraft(draft: StorageDraft, attached: readonly string[]): FormProblems {
  return {
    storage_id: checkId(storageIdOf(draft), attached),
    name: checkName(draft.name.trim()),
    folder: draft.backing === 'folder' && draft.folder === null ? { problem: 'missing' } : null,
  };
}

export function hasProblem({ storage_id, name, folder }: FormProblems): boolean {
  return storage_id !== null || name !== null || folder !== null;
}

function checkId(id: string, attached: readonly string[]): IdProblem | null {
  if (id === '') return 'empty';
  if (NOT_SHOWN.test(id)) return 'not_shown';
  if (utf8Length(id) > MAX_STORAGE_ID_BYTES) return 'too_long';
  return attached.includes(id) ? 'taken' : null;
}

function checkName(name: string): NameProblem | null {
  if (NOT_SHOWN.test(name)) return 'not_shown';
  return [...name].length > MAX_NAME_CHARACTERS ? 'too_long' : null;
}

export function idProblemInWords(problem: IdProblem, t: Translate): string {
  switch (problem) {
    case 'empty':
      return t('storage_problem_id_empty');
    case 'too_long':
      return t('storage_problem_id_too_long', [String(MAX_STORAGE_ID_BYTES)]);
    case 'not_shown':
      return t('storage_problem_id_not_shown');
    case 'taken':
      return t('storage_problem_id_taken');
  }
}

export function nameProblemInWords(problem: NameProblem, t: Translate): string {
  return problem === 'too_long'
    ? t('storage_problem_name_too_long', [String(MAX_NAME_CHARACTERS)])
    : t('storage_problem_name_not_shown');
}

export function folderProblemInWords(problem: FolderProblem, t: Translate): string {
  switch (problem.problem) {
    case 'missing':
      return t('storage_problem_folder_missing');
    case 'refused':
      return t('storage_problem_folder_refused');
    case 'not_a_folder':
      return t('storage_problem_folder_not_a_folder');
    case 'not_allowed':
      return t('storage_problem_folder_not_allowed');
    case 'overlaps':
      return t('storage_problem_folder_overlaps', [problem.name]);
  }
}
