/**
 * The settings of this browser as they hold now: `storage.managed` and `storage.local` behind one face. The
 * shell around `effective-settings`; used by the service worker alone, and created in its first turn, so
 * that Chrome wakes the worker when a policy changes.
 */
import type { Browser, Storage } from 'webextension-polyfill';
import { AgentError } from '../protocol/errors';
import { type EffectiveSettings, effectiveSettings, type StoredSettings } from './effective-settings';
import type { Enrollment, EnrollmentProblem } from './enrollment';
import type { ToolPermission } from './managed-policy';
import { watchPolicy } from './policy-watch';
import { NOTHING_STORED, readStoredSettings, STORED_KEYS } from './stored-settings';
import { tokenDigest } from './token-digest';

export type SaveResult = { saved: true } | { saved: false; problem: EnrollmentProblem };

export interface Settings {
  /**
   * What holds now, fit to dial by. Comes at once, except when a pasted enrollment is there and the policy
   * is not known yet: it is not used before the policy is known or was awaited for 10 s (case 9).
   */
  current(): Promise<EffectiveSettings>;
  /**
   * What holds now, fit to judge a request by: waits until the policy is known, 10 s at most. What an
   * administrator forbids must not run because the policy was read a moment later.
   */
  settled(): Promise<EffectiveSettings>;
  /** What is known now, for showing: does not wait for a policy that is late. */
  glance(): Promise<EffectiveSettings>;
  /** Stores a pasted enrollment; nothing is stored when it is refused. A stop ends, a pause stays. */
  saveEnrollment(enrollment: Enrollment): Promise<SaveResult>;
  /** Forgets the pasted enrollment. Throws `internal_error` when it could not be removed from the profile. */
  forgetEnrollment(): Promise<void>;
  /** Pauses, where policy allows it, or resumes. Throws `internal_error` when it could not be stored. */
  setPaused(paused: boolean): Promise<void>;
  /**
   * What the person allows a tool or a class of tools; null: nothing of its own. Kept, unused, where policy
   * says otherwise. Throws `internal_error` when it could not be stored.
   */
  setToolPermission(name: string, permission: ToolPermission | null): Promise<void>;
  /**
   * Never again with the token of that `token_digest`, until another one comes (wire.md §5 rule 6). Throws
   * `internal_error` when it could not be stored.
   */
  stopToken(digest: string): Promise<void>;
  /** Calls the listener after changes, sometimes without need. Returns the way to stop that. */
  onChanged(listener: () => void): () => void;
}

export interface SettingsDependencies {
  browser: Pick<Browser, 'storage'>;
  /** Keeps content scripts away from `storage.local`, where the token is. */
  restrict?: () => Promise<void>;
}

export function createSettings({ browser, restrict = restrictLocalStorage }: SettingsDependencies): Settings {
  const listeners = new Set<() => void>();
  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  const policy = watchPolicy(browser.storage, notify);
  const stored = watchStored(browser.storage, restrict, notify);

  async function combine(): Promise<EffectiveSettings> {
    const own = await stored.read();
    const managed = policy.reading();
    const digests = new Map<string, string>();
    for (const token of [managed?.policy.enrollment_token, own.enrollment?.token]) {
      if (token) digests.set(token, await tokenDigest(token));
    }
    return effectiveSettings({ managed, stored: own, digestOf: (token) => digests.get(token) ?? '' });
  }

  async function current(): Promise<EffectiveSettings> {
    const { enrollment } = await stored.read();
    await (enrollment === null ? policy.glanced() : policy.known());
    return combine();
  }

  async function settled(): Promise<EffectiveSettings> {
    await policy.known();
    return combine();
  }

  async function glance(): Promise<EffectiveSettings> {
    await policy.glanced();
    return combine();
  }

  async function saveEnrollment({ endpoint, token }: Enrollment): Promise<SaveResult> {
    const { enrollment, idle, allow_user_enrollment } = await glance();
    const isPolicys = enrollment?.source === 'policy' || idle?.state === 'blocked_by_policy';
    if (isPolicys || !allow_user_enrollment) return { saved: false, problem: 'not_allowed' };
    const { stopped_token_digest } = await stored.read();
    if (stopped_token_digest === (await tokenDigest(token))) return { saved: false, problem: 'revoked' };
    try {
      await stored.write({ enrollment: { endpoint, token }, stopped_token_digest: null });
    } catch {
      return { saved: false, problem: 'not_saved' };
    }
    notify();
    return { saved: true };
  }

  let permissionsSet: Promise<void> = Promise.resolve();

  /** Holds from now on, even when it cannot be stored: these are what a person counts on. */
  async function change(values: Partial<StoredSettings>): Promise<void> {
    await stored.assume(values);
    notify();
    try {
      await stored.write(values);
    } catch {
      throw new AgentError('internal_error');
    }
  }

  return {
    current,
    settled,
    glance,
    saveEnrollment,
    forgetEnrollment: () => change({ enrollment: null }),
    async setPaused(paused) {
      if (paused && !(await glance()).allow_pause) return;
      await change({ paused });
    },
    setToolPermission(name, permission) {
      // One after the other: each is made from the list before it.
      const done = permissionsSet.then(async () => {
        const { tool_permissions } = await stored.read();
        const others = tool_permissions.filter(([other]) => other !== name);
        const own = permission === null ? [] : [[name, permission] as const];
        await change({ tool_permissions: [...others, ...own] });
      });
      permissionsSet = done.catch(() => undefined);
      return done;
    },
    stopToken: (digest) => change({ stopped_token_digest: digest }),
    onChanged(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The polyfill does not know `setAccessLevel`, hence `chrome` here. */
async function restrictLocalStorage(): Promise<void> {
  await chrome.storage.local.setAccessLevel({ accessLevel: 'TRUSTED_CONTEXTS' });
}

interface StoredWatch {
  read(): Promise<StoredSettings>;
  /** Takes the values for stored without storing them. */
  assume(values: Partial<StoredSettings>): Promise<void>;
  /** Rejects when nothing was stored. */
  write(values: Partial<StoredSettings>): Promise<void>;
}

/** `storage.local`, kept in memory until somebody else changes it. */
function watchStored(
  storage: Storage.Static,
  restrict: () => Promise<void>,
  changed: () => void,
): StoredWatch {
  let known: StoredSettings | null = null;
  const restricted = restrict().catch(() => {
    console.error('storage.local could not be closed to content scripts');
  });

  async function read(): Promise<StoredSettings> {
    if (known !== null) return known;
    try {
      const loaded = readStoredSettings(await storage.local.get([...STORED_KEYS]));
      // A value that was set meanwhile is newer.
      known ??= loaded;
      return known;
    } catch {
      // Not kept: the next reading may go better.
      return known ?? NOTHING_STORED;
    }
  }

  async function assume(values: Partial<StoredSettings>): Promise<void> {
    known = { ...(await read()), ...values };
  }

  storage.onChanged.addListener((changes, area) => {
    if (area !== 'local' || known === null) return;
    const own: StoredSettings = known;
    const isOurs = STORED_KEYS.every(
      (key) => !Object.hasOwn(changes, key) || isSame(changes[key]?.newValue, own[key]),
    );
    if (isOurs) return;
    known = null;
    changed();
  });

  return {
    read,
    assume,
    async write(values) {
      await restricted;
      await storage.local.set(values);
      await assume(values);
    },
  };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
