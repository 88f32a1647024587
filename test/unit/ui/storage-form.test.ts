import { describe, expect, it } from 'vitest';
import {
  checkDraft,
  type FolderProblem,
  folderProblemInWords,
  hasProblem,
  idProblemInWords,
  NO_PROBLEMS,
  nameProblemInWords,
  type StorageDraft,
  storageIdOf,
} from '../../../src/ui/storages/storage-form';
import { texts } from './texts';

const right: StorageDraft = { storage_id: 'st_1', name: 'Work', backing: 'folder', folder: 'work' };
const problems = (draft: Partial<StorageDraft>, attached: string[] = []) =>
  checkDraft({ ...right, ...draft }, attached);

describe('storage.md, Attaching: what may be written into the form', () => {
  it('a right one has no problem', () => {
    expect(problems({})).toEqual(NO_PROBLEMS);
    expect(hasProblem(problems({}))).toBe(false);
    expect(problems({ name: '' })).toEqual(NO_PROBLEMS);
    expect(problems({ backing: 'browser', folder: null })).toEqual(NO_PROBLEMS);
    expect(problems({ storage_id: '저장소/1 é' })).toEqual(NO_PROBLEMS);
  });

  it.each([
    ['', 'empty'],
    [' \t', 'empty'],
    ['a\nb', 'not_shown'],
    ['a\u0000b', 'not_shown'],
    ['a\u202Eb', 'not_shown'],
    ['a\u200Bb', 'not_shown'],
    ['a\uD800b', 'not_shown'],
    ['x'.repeat(129), 'too_long'],
    ['한'.repeat(43), 'too_long'],
    ['st_0', 'taken'],
    [' st_0\n', 'taken'],
  ])('storage id %j: %s', (storage_id, problem) => {
    const found = problems({ storage_id }, ['st_0']);
    expect(found).toEqual({ ...NO_PROBLEMS, storage_id: problem });
    expect(hasProblem(found)).toBe(true);
  });

  it('the longest id is taken, and white space around it is not a part of it', () => {
    expect(problems({ storage_id: 'x'.repeat(128) })).toEqual(NO_PROBLEMS);
    expect(problems({ storage_id: '한'.repeat(42) })).toEqual(NO_PROBLEMS);
    expect(storageIdOf({ ...right, storage_id: ' st_1\n' })).toBe('st_1');
  });

  it.each([
    ['x'.repeat(101), 'too_long'],
    ['a\u0007', 'not_shown'],
    ['a\u2066b', 'not_shown'],
  ])('name %j: %s', (name, problem) => {
    expect(problems({ name })).toEqual({ ...NO_PROBLEMS, name: problem });
  });

  it('a name of 100 characters is right, whatever they are', () => {
    expect(problems({ name: '👩'.repeat(100) })).toEqual(NO_PROBLEMS);
  });

  it('a folder must be chosen', () => {
    expect(problems({ folder: null }).folder).toEqual({ problem: 'missing' });
  });

  it('all problems are told at once', () => {
    expect(problems({ storage_id: '', name: '\u0007', folder: null })).toEqual({
      storage_id: 'empty',
      name: 'not_shown',
      folder: { problem: 'missing' },
    });
  });

  it.each(['en', 'ko'] as const)('each problem has words of its own (%s)', (language) => {
    const { t } = texts(language);
    const folder: FolderProblem[] = [
      ...(['missing', 'refused', 'not_a_folder', 'not_allowed'] as const).map((problem) => ({ problem })),
      { problem: 'overlaps', name: 'Photos' },
    ];
    const words = [
      ...(['empty', 'too_long', 'not_shown', 'taken'] as const).map((one) => idProblemInWords(one, t)),
      ...(['too_long', 'not_shown'] as const).map((one) => nameProblemInWords(one, t)),
      ...folder.map((one) => folderProblemInWords(one, t)),
    ];
    expect(new Set(words).size).toBe(11);
    expect(words.join()).toContain('128');
    expect(words.join()).toContain('100');
    expect(words.join()).toContain('Photos');
  });
});
