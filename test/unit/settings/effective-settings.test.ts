import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { effectiveSettings, type StoredSettings } from '../../../src/settings/effective-settings';
import { readManagedPolicy } from '../../../src/settings/managed-policy';
import { NOTHING_STORED } from '../../../src/settings/stored-settings';

const PASTED = { endpoint: 'wss://person.test/d', token: 'person-token' };
const POLICY = { endpoint: 'wss://policy.test:444/d', enrollment_token: 'policy-token' };
const digestOf = (token: string): string => `digest of ${token}`;

const settings = (raw: object | null, stored: Partial<StoredSettings> = {}) =>
  effectiveSettings({
    managed: raw && readManagedPolicy(raw),
    stored: { ...NOTHING_STORED, ...stored },
    digestOf,
  });

describe('policy.md: what holds', () => {
  it('nothing at all: not enrolled', () => {
    for (const raw of [null, {}]) {
      expect(settings(raw)).toMatchObject({
        enrollment: null,
        idle: { state: 'not_enrolled' },
        managed: false,
        allow_user_enrollment: true,
        allow_pause: true,
        paused: false,
        policy_problems: [],
      });
    }
  });

  it('a pasted enrollment is used when no policy enrolls', () => {
    expect(settings({ allow_pause: false }, { enrollment: PASTED })).toMatchObject({
      enrollment: { source: 'person', ...PASTED, token_digest: 'digest of person-token' },
      idle: null,
      managed: true,
    });
  });

  it('policy wins, and the pasted enrollment comes back when the policy goes', () => {
    const policys = { source: 'policy', endpoint: POLICY.endpoint, token: POLICY.enrollment_token };
    expect(settings(POLICY, { enrollment: PASTED })).toMatchObject({ enrollment: policys, idle: null });
    expect(settings({}, { enrollment: PASTED })).toMatchObject({ enrollment: PASTED, idle: null });
  });

  it.each([
    [{ endpoint: POLICY.endpoint }, 'enrollment_token'],
    [{ enrollment_token: POLICY.enrollment_token }, 'endpoint'],
    [{ endpoint: 5, enrollment_token: POLICY.enrollment_token }, 'endpoint'],
    [{ endpoint: POLICY.endpoint, enrollment_token: 'not/sendable' }, 'enrollment_token'],
  ])('half an enrollment blocks: %j lacks %s', (raw, key) => {
    expect(settings(raw, { enrollment: PASTED, paused: true })).toMatchObject({
      enrollment: null,
      idle: { state: 'blocked_by_policy', key },
    });
  });

  it('allow_user_enrollment: false sets the pasted enrollment aside', () => {
    expect(settings({ allow_user_enrollment: false }, { enrollment: PASTED })).toMatchObject({
      enrollment: null,
      idle: { state: 'not_enrolled' },
      allow_user_enrollment: false,
    });
  });

  it('a pause holds, except where policy does not allow one', () => {
    const stored = { enrollment: PASTED, paused: true };
    expect(settings({}, stored)).toMatchObject({ idle: { state: 'paused' }, paused: true });
    expect(settings({ allow_pause: false }, stored)).toMatchObject({
      idle: null,
      paused: false,
      allow_pause: false,
    });
  });

  it('rule 6: a stopped token is not dialled, another one is', () => {
    const stopped = { enrollment: PASTED, stopped_token_digest: digestOf(PASTED.token) };
    const token_stopped = { state: 'token_stopped', host: 'person.test' };
    expect(settings({}, stopped)).toMatchObject({ enrollment: PASTED, idle: token_stopped });
    expect(settings({}, { ...stopped, paused: true }).idle).toEqual(token_stopped);
    expect(settings({}, { ...stopped, enrollment: { ...PASTED, token: 'new' } }).idle).toBeNull();
    expect(settings(POLICY, stopped).idle).toBeNull();
    expect(settings(POLICY, { stopped_token_digest: digestOf(POLICY.enrollment_token) }).idle).toEqual({
      state: 'token_stopped',
      host: 'policy.test:444',
    });
  });

  it("storages and allow_local_folders are the policy's, and nobody takes an unknown policy for an absent one", () => {
    const declared = { storage_id: 's1', name: 'Work', backing: 'browser' };
    expect(settings({ storages: [declared], allow_local_folders: false })).toMatchObject({
      storages: [declared],
      allow_local_folders: false,
      policy_known: true,
    });
    const defaults = { storages: [], allow_local_folders: true };
    expect(settings({})).toMatchObject({ ...defaults, policy_known: true });
    expect(settings(null)).toMatchObject({ ...defaults, policy_known: false });
    expect(settings({ storages: 5, allow_local_folders: 'no' })).toMatchObject(defaults);
  });

  it('ignored keys are told', () => {
    expect(settings({ allow_pause: 'no' }).policy_problems).toEqual([
      { key: 'allow_pause', reason: 'policy_reason_not_yes_or_no' },
    ]);
  });

  it('property: something is dialled, or there is a reason, never both', () => {
    const raw = fc.record(
      {
        endpoint: fc.constantFrom(POLICY.endpoint, 5, 'nonsense'),
        enrollment_token: fc.constantFrom(POLICY.enrollment_token, false, '/'),
        allow_user_enrollment: fc.constantFrom(true, false, 'x'),
        allow_pause: fc.constantFrom(true, false, 'x'),
      },
      { requiredKeys: [] },
    );
    const stored = fc.record({
      enrollment: fc.constantFrom(null, PASTED),
      paused: fc.boolean(),
      stopped_token_digest: fc.constantFrom(null, digestOf(PASTED.token), digestOf(POLICY.enrollment_token)),
    });
    fc.assert(
      fc.property(fc.option(raw), stored, (policy, own) => {
        const { enrollment, idle } = settings(policy, own);
        if (idle === null) expect(enrollment).not.toBeNull();
        if (enrollment === null) expect(['not_enrolled', 'blocked_by_policy']).toContain(idle?.state);
        if (own.stopped_token_digest !== null && enrollment?.token_digest === own.stopped_token_digest) {
          expect(idle?.state).toBe('token_stopped');
        }
        expect(JSON.stringify(idle)).not.toContain('-token');
      }),
    );
  });
});
