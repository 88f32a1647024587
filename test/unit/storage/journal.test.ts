import { describe, expect, test } from 'vitest';
import {
  newJournal,
  recoveryFolder,
  undoDisplaced,
  undoPlaced,
  whatToDo,
} from '../../../src/storage/journal';

describe('what the next start does', () => {
  test('undo while the job had not finished, clear afterwards', () => {
    expect(whatToDo(null)).toBe('nothing');
    expect(whatToDo(newJournal('1'))).toBe('undo');
    expect(whatToDo({ ...newJournal('1'), phase: 'finished' })).toBe('clear');
    expect(whatToDo({ ...newJournal('1'), phase: 'undone' })).toBe('clear');
  });

  test('a placed file: what never got there is left, what got there is taken back to be looked at', () => {
    const found = { temp: false, taken: false, restored: false, atPath: 'file' as const };
    expect(undoPlaced({ ...found, temp: true })).toBe('not_placed');
    expect(undoPlaced(found)).toBe('take_back');
    expect(undoPlaced({ ...found, atPath: 'absent' })).toBe('leave');
    expect(undoPlaced({ ...found, atPath: 'directory' })).toBe('leave');
  });

  test('an undo that was cut off does not take the restored old file for the placed one', () => {
    expect(undoPlaced({ temp: false, taken: false, restored: true, atPath: 'file' })).toBe('undone');
    expect(undoPlaced({ temp: false, taken: true, restored: true, atPath: 'file' })).toBe('look_at');
  });

  test('a displaced file goes back; what stands in its way is not overwritten', () => {
    expect(undoDisplaced(false, 'file')).toBe('not_displaced');
    expect(undoDisplaced(true, 'absent')).toBe('move_back');
    expect(undoDisplaced(true, 'file')).toBe('make_room');
    expect(undoDisplaced(true, 'directory')).toBe('recover');
    expect(undoDisplaced(true, 'blocked')).toBe('recover');
  });

  test('the recovery folder names time and link in characters that every root holds', () => {
    expect(recoveryFolder(Date.UTC(2026, 10, 30, 18, 5, 9, 123), 'l/1:é')).toBe(
      '.endue-storage-recovery-20261130T180509Z-l_1__',
    );
  });
});
