import { describe, expect, it } from 'vitest';
import { ABSENCE_BELIEVED_MS, followStoragePolicy } from '../../../src/router/storage-policy';
import { effectiveSettings } from '../../../src/settings/effective-settings';
import { readManagedPolicy } from '../../../src/settings/managed-policy';
import { NOTHING_STORED } from '../../../src/settings/stored-settings';
import type { StoragePolicy } from '../../../src/storage/attachments';

const DECLARED = {
  storages: [{ storage_id: 's1', name: 'Work', backing: 'browser' }],
  allow_local_folders: false,
};

/** Follows a policy that begins as `raw`; null: not known. */
function follow(raw: object | null, sameAsBefore = false) {
  const applied: StoragePolicy[] = [];
  let told = 0;
  let changed = (): void => {};
  let timer = (): void => {};
  const state = { raw };
  followStoragePolicy({
    settings: {
      glance: async () =>
        effectiveSettings({
          managed: state.raw && readManagedPolicy(state.raw),
          stored: NOTHING_STORED,
          digestOf: String,
        }),
      onChanged(listener) {
        changed = listener;
        return () => {};
      },
    },
    async apply(policy) {
      applied.push(policy);
      return !sameAsBefore;
    },
    applied: () => {
      told += 1;
    },
    setTimer(callback, delay) {
      expect(delay).toBe(ABSENCE_BELIEVED_MS);
      timer = callback;
    },
  });
  const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
  return {
    applied,
    told: () => told,
    settled,
    async change(next: object) {
      state.raw = next;
      changed();
      await settled();
    },
    async grow() {
      timer();
      await settled();
    },
  };
}

const NONE: StoragePolicy = { storages: [], allow_local_folders: true };

describe('policy.md: storages, allow_local_folders', () => {
  it('what is declared exists at once', async () => {
    const world = follow(DECLARED);
    await world.settled();
    expect(world.applied).toEqual([DECLARED]);
    expect(world.told()).toBe(1);
  });

  it('nobody is told of the same policy again', async () => {
    const world = follow(DECLARED, true);
    await world.settled();
    expect(world.told()).toBe(0);
  });

  it.each([null, {}])(
    'case 9: a policy that seems absent (%j) may be late, and opens nothing',
    async (raw) => {
      const world = follow(raw);
      await world.settled();
      expect(world.applied).toEqual([]);
      await world.change(DECLARED);
      expect(world.applied).toEqual([DECLARED]);
    },
  );

  it('a policy that stays absent is believed in the end', async () => {
    const world = follow({});
    await world.settled();
    await world.grow();
    expect(world.applied).toEqual([NONE]);
  });

  it('a policy that goes while running goes', async () => {
    const world = follow(DECLARED);
    await world.grow();
    await world.change({});
    expect(world.applied.at(-1)).toEqual(NONE);
  });
});
