/**
 * Keeps the attached Storages told of the policy (policy.md: `storages`, `allow_local_folders`). What was last known holds
 * until the policy of this start is known; one that is absent at first may still come (case 9), so it is believed late.
 */
import type { EffectiveSettings } from '../settings/effective-settings';
import type { Settings } from '../settings/settings-store';
import type { StoragePolicy } from '../storage/attachments';

export interface StoragePolicyPorts {
  settings: Pick<Settings, 'glance' | 'onChanged'>;
  /** False when nothing changed by it. */
  apply(policy: StoragePolicy): Promise<boolean>;
  /** Another policy holds: lists and badge follow. */
  applied(): void;
  setTimer(callback: () => void, delay_ms: number): unknown;
}

/** As long as a policy may be late (`POLICY_PATIENCE_MS`). */
export const ABSENCE_BELIEVED_MS = 10_000;

export function followStoragePolicy(ports: StoragePolicyPorts): void {
  let isYoung = true;

  async function follow(): Promise<void> {
    const settings = await ports.settings.glance();
    if (isYoung && !(settings.policy_known && settings.managed)) return;
    if (await ports.apply(policyOf(settings))) ports.applied();
  }

  const begin = (): void => {
    follow().catch(() => console.error('the policy for Storages could not be applied'));
  };
  ports.settings.onChanged(begin);
  begin();
  ports.setTimer(() => {
    isYoung = false;
    begin();
  }, ABSENCE_BELIEVED_MS);
}

function policyOf({ storages, allow_local_folders }: EffectiveSettings): StoragePolicy {
  return { storages, allow_local_folders };
}
