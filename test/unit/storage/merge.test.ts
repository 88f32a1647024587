import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { IndexEntry } from '../../../src/storage/index-entries';
import { type DeviceEntry, decide } from '../../../src/storage/merge';
import type { RemoteEntry } from '../../../src/storage/ports';

const agreed = (sha256: string): IndexEntry => ({ type: 'file', size: 1, sha256, mtime: 1, checked_at: 9 });
const device = (sha256: string): DeviceEntry => ({ type: 'file', sha256 });
const remote = (sha256: string): RemoteEntry => ({ type: 'file', path: 'p', size: 1, sha256 });
const DIRECTORY = { type: 'directory' } as const;
const remoteDirectory: RemoteEntry = { type: 'directory', path: 'p' };

describe('storage.md, Who wins, at one path', () => {
  test('the remote did not change: nothing, whatever the device did', () => {
    for (const here of [null, device('1'), device('2'), DIRECTORY]) {
      expect(decide(agreed('1'), here, remote('1'))).toBe('nothing');
    }
    expect(decide(null, device('1'), null)).toBe('nothing');
  });

  test('incoming never overwrites unsaved', () => {
    expect(decide(agreed('1'), device('mine'), remote('theirs'))).toBe('keep');
    expect(decide(null, device('mine'), remote('theirs'))).toBe('keep');
    expect(decide(agreed('1'), device('mine'), null)).toBe('keep');
    expect(decide(agreed('1'), { type: 'unreadable' }, remote('theirs'))).toBe('keep');
    expect(decide(agreed('1'), { type: 'unreadable' }, null)).toBe('keep');
  });

  test('what the device saved and left alone takes the incoming', () => {
    expect(decide(agreed('1'), device('1'), remote('2'))).toBe('take');
    expect(decide(agreed('1'), device('1'), null)).toBe('take');
    expect(decide(null, null, remote('2'))).toBe('take');
    expect(decide(agreed('1'), device('1'), remoteDirectory)).toBe('take');
  });

  test('equal content on both sides is no change', () => {
    expect(decide(agreed('1'), device('2'), remote('2'))).toBe('agree');
    expect(decide(null, device('2'), remote('2'))).toBe('agree');
    expect(decide(agreed('1'), null, null)).toBe('agree');
    expect(decide(null, DIRECTORY, remoteDirectory)).toBe('agree');
  });

  test('a local deletion does not beat a remote edit that the device had not seen', () => {
    expect(decide(agreed('1'), null, remote('2'))).toBe('take');
  });

  test('a local deletion stands when the remote did not edit', () => {
    expect(decide(agreed('1'), null, remote('1'))).toBe('nothing');
  });

  test('a directory where a file comes has to give way first', () => {
    expect(decide(null, DIRECTORY, remote('1'))).toBe('replace');
  });

  test('an unsaved file where a directory comes stays', () => {
    expect(decide(null, device('mine'), remoteDirectory)).toBe('keep');
  });

  test('a directory that was put in the place of a deleted file is left alone', () => {
    expect(decide(agreed('1'), DIRECTORY, null)).toBe('agree');
    expect(decide(DIRECTORY, DIRECTORY, null)).toBe('take');
  });

  test('for every combination: what is taken was saved or absent', () => {
    const sha = fc.constantFrom('1', '2', '3');
    const index = fc.option(fc.oneof(sha.map(agreed), fc.constant<IndexEntry>(DIRECTORY)));
    const here = fc.option(fc.oneof(sha.map(device), fc.constant<DeviceEntry>(DIRECTORY)));
    const there = fc.option(fc.oneof(sha.map(remote), fc.constant(remoteDirectory)));
    fc.assert(
      fc.property(index, here, there, (i, d, r) => {
        if (decide(i, d, r) !== 'take' || d?.type !== 'file') return;
        expect(i).toMatchObject({ sha256: d.sha256 });
      }),
      { numRuns: 500 },
    );
  });
});
