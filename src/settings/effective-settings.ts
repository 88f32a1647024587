/**
 * What holds now, out of the managed policy and of what this browser has stored (policy.md, wire.md §5
 * rule 6). Pure; digests of tokens are computed by whoever calls.
 */
import type { ConnectionState, IdleState } from '../platform/messages';
import { type Enrollment, enrollmentHost } from './enrollment';
import {
  type ManagedPolicy,
  type ManagedStorage,
  NO_POLICY,
  type PolicyProblem,
  type PolicyReading,
  type ToolPermission,
} from './managed-policy';
import type { Permissions } from './tool-permissions';

/** What this browser has stored by itself. */
export interface StoredSettings {
  /** Pasted by a person. */
  enrollment: Enrollment | null;
  paused: boolean;
  /** Of the token that the relay refused for good, or null. */
  stopped_token_digest: string | null;
  /** What the person set, by tool class or tool name. */
  tool_permissions: readonly (readonly [name: string, permission: ToolPermission])[];
}

/** Why there is no connection, with everything the popup says about it. */
export type IdleConnection = Extract<ConnectionState, { state: IdleState }>;

export interface EffectiveEnrollment extends Enrollment {
  source: 'policy' | 'person';
  /** Tells tokens apart without being one. */
  token_digest: string;
}

export interface EffectiveSettings {
  /** The enrollment that counts; also while idle. */
  enrollment: EffectiveEnrollment | null;
  /** Null when the enrollment may be dialled. */
  idle: IdleConnection | null;
  managed: boolean;
  allow_user_enrollment: boolean;
  allow_pause: boolean;
  /** False: only Storages inside the browser; folders that a person attached are unavailable. */
  allow_local_folders: boolean;
  /** Storages that exist without a person. */
  storages: readonly ManagedStorage[];
  /** False while the policy is not known yet: then the defaults are shown, and nothing may be opened by them. */
  policy_known: boolean;
  /** False where policy does not allow a pause. */
  paused: boolean;
  /** The person's own, which count where policy says nothing. */
  tool_permissions: Permissions;
  policy: ManagedPolicy;
  policy_problems: readonly PolicyProblem[];
}

export interface SettingsSources {
  /** Null while the policy is not known yet: then there is none, for now. */
  managed: PolicyReading | null;
  stored: StoredSettings;
  digestOf(token: string): string;
}

/**
 * Policy wins: its enrollment before a pasted one, which stays stored and comes back when the policy goes;
 * `allow_user_enrollment` and `allow_pause` set aside what a person did before.
 */
export function effectiveSettings({ managed, stored, digestOf }: SettingsSources): EffectiveSettings {
  const policy = managed?.policy ?? NO_POLICY;
  const paused = stored.paused && policy.allow_pause;
  const missing = missingKey(policy);
  const chosen = missing === null ? chooseEnrollment(policy, stored) : null;
  const enrollment = chosen && { ...chosen, token_digest: digestOf(chosen.token) };
  return {
    enrollment,
    idle:
      missing === null
        ? idleBecause(enrollment, stored, paused)
        : { state: 'blocked_by_policy', key: missing },
    managed: managed?.managed ?? false,
    allow_user_enrollment: policy.allow_user_enrollment,
    allow_pause: policy.allow_pause,
    allow_local_folders: policy.allow_local_folders,
    storages: policy.storages,
    policy_known: managed !== null,
    paused,
    tool_permissions: new Map(stored.tool_permissions),
    policy,
    policy_problems: managed?.problems ?? [],
  };
}

/** Half an enrollment is a mistake that a person must see, not a reason to use another one. */
function missingKey({ endpoint, enrollment_token }: ManagedPolicy): 'endpoint' | 'enrollment_token' | null {
  if (endpoint !== null && enrollment_token === null) return 'enrollment_token';
  if (endpoint === null && enrollment_token !== null) return 'endpoint';
  return null;
}

function chooseEnrollment(
  { endpoint, enrollment_token, allow_user_enrollment }: ManagedPolicy,
  { enrollment }: StoredSettings,
): (Enrollment & { source: 'policy' | 'person' }) | null {
  if (endpoint !== null && enrollment_token !== null) {
    return { source: 'policy', endpoint, token: enrollment_token };
  }
  return enrollment !== null && allow_user_enrollment ? { source: 'person', ...enrollment } : null;
}

/** A stopped token comes before a pause: resuming would not help. */
function idleBecause(
  enrollment: EffectiveEnrollment | null,
  stored: StoredSettings,
  paused: boolean,
): IdleConnection | null {
  if (enrollment === null) return { state: 'not_enrolled' };
  if (enrollment.token_digest === stored.stopped_token_digest) {
    return { state: 'token_stopped', host: enrollmentHost(enrollment.endpoint) };
  }
  return paused ? { state: 'paused' } : null;
}
