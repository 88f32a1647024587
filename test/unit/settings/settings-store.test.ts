import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Browser } from 'webextension-polyfill';
import { createSettings, type Settings } from '../../../src/settings/settings-store';
import { tokenDigest } from '../../../src/settings/token-digest';

const PASTED = { endpoint: 'wss://person.test/d', token: 'person-token' };
const POLICY = { endpoint: 'wss://policy.test/d', enrollment_token: 'policy-token' };

type Values = Record<string, unknown>;
type ChangeListener = (changes: Record<string, { newValue?: unknown }>, area: string) => void;

/** `storage` of a browser: two areas that tell their changes. */
class FakeStorage {
  local: Values = {};
  managed: Values = {};
  /** What `managed.get` waits for. */
  managedReady: Promise<unknown> = Promise.resolve();
  localFails = false;
  accessLevels: string[] = [];
  #listeners: ChangeListener[] = [];

  readonly browser = {
    storage: {
      local: {
        get: async (keys: string[]) => {
          if (this.localFails) throw new Error('IO error: SECRET9');
          return Object.fromEntries(
            keys.filter((key) => key in this.local).map((key) => [key, this.local[key]]),
          );
        },
        set: async (values: Values) => {
          if (this.localFails) throw new Error('IO error: SECRET9');
          this.setLocal(structuredClone(values));
        },
      },
      managed: {
        get: async () => {
          const answer = { ...this.managed };
          await this.managedReady;
          return answer;
        },
      },
      onChanged: { addListener: (listener: ChangeListener) => this.#listeners.push(listener) },
    },
  } as unknown as Browser;

  setLocal(values: Values): void {
    this.local = { ...this.local, ...values };
    this.#tell(values, 'local');
  }

  /** A key with undefined is removed. */
  setManaged(values: Values): void {
    this.managed = Object.fromEntries(
      Object.entries({ ...this.managed, ...values }).filter(([, value]) => value !== undefined),
    );
    this.#tell(values, 'managed');
  }

  #tell(values: Values, area: string): void {
    const changes = Object.entries(values).map(([key, newValue]) => [
      key,
      newValue === undefined ? {} : { newValue },
    ]);
    for (const listener of this.#listeners) listener(Object.fromEntries(changes), area);
  }
}

let storage: FakeStorage;
let changed: ReturnType<typeof vi.fn<() => void>>;

function start(): Settings {
  const settings = createSettings({
    browser: storage.browser,
    restrict: async () => {
      storage.accessLevels.push('TRUSTED_CONTEXTS');
    },
  });
  changed = vi.fn<() => void>();
  settings.onChanged(changed);
  return settings;
}

/** Whether the promise has settled yet; for saying that it has not. */
function watch(promise: Promise<unknown>): { pending: boolean } {
  const seen = { pending: true };
  void promise.then(() => {
    seen.pending = false;
  });
  return seen;
}

/** Lets real promises go on while the clock is a fake one. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

async function pass(ms: number): Promise<void> {
  await settled();
  await vi.advanceTimersByTimeAsync(ms);
  await settled();
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  vi.spyOn(console, 'error').mockImplementation(() => {});
  storage = new FakeStorage();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('settings: what a person does', () => {
  it('an enrollment that is saved holds at once, and for the next worker', async () => {
    const settings = start();
    expect(await settings.saveEnrollment(PASTED)).toEqual({ saved: true });
    expect(changed).toHaveBeenCalled();
    expect((await settings.current()).enrollment).toMatchObject({ source: 'person', ...PASTED });
    expect((await start().current()).enrollment).toMatchObject({ source: 'person', ...PASTED });
  });

  it('storage is restricted to trusted contexts before an enrollment is stored', async () => {
    let restricted = (): void => {};
    const settings = createSettings({
      browser: storage.browser,
      restrict: () =>
        new Promise((resolve) => {
          restricted = resolve;
        }),
    });
    const saved = settings.saveEnrollment(PASTED);
    await settled();
    expect(storage.local).toEqual({});
    restricted();
    expect(await saved).toEqual({ saved: true });
  });

  it('forget removes the token from the storage', async () => {
    const settings = start();
    await settings.saveEnrollment(PASTED);
    await settings.forgetEnrollment();
    expect((await settings.current()).idle).toEqual({ state: 'not_enrolled' });
    expect(JSON.stringify(storage.local)).not.toContain('person');
  });

  it('a pause holds until it is ended, also over a new enrollment', async () => {
    const settings = start();
    await settings.saveEnrollment(PASTED);
    await settings.setPaused(true);
    await settings.saveEnrollment({ ...PASTED, token: 'other' });
    expect((await start().current()).idle).toEqual({ state: 'paused' });
    await settings.setPaused(false);
    expect((await settings.current()).idle).toBeNull();
  });

  it('no pause where policy does not allow one, also not for later', async () => {
    storage.managed = { allow_pause: false };
    const settings = start();
    await settings.setPaused(true);
    expect(storage.local.paused).toBeUndefined();
  });

  it('wire.md §8: a stop outlives the worker and ends with another token, not with the same', async () => {
    const settings = start();
    await settings.saveEnrollment(PASTED);
    await settings.stopToken(await tokenDigest(PASTED.token));
    const next = start();
    expect((await next.current()).idle).toEqual({ state: 'token_stopped', host: 'person.test' });
    expect(await next.saveEnrollment({ ...PASTED, endpoint: 'wss://other.test/' })).toEqual({
      saved: false,
      problem: 'revoked',
    });
    await next.forgetEnrollment();
    expect(await next.saveEnrollment(PASTED)).toEqual({ saved: false, problem: 'revoked' });
    expect(await next.saveEnrollment({ ...PASTED, token: 'fresh' })).toEqual({ saved: true });
    expect((await next.current()).idle).toBeNull();
    expect(storage.local.stopped_token_digest).toBeNull();
  });

  it.each([POLICY, { endpoint: POLICY.endpoint }, { allow_user_enrollment: false }])(
    'nothing is saved where policy decides: %j',
    async (managed) => {
      storage.managed = managed;
      expect(await start().saveEnrollment(PASTED)).toEqual({ saved: false, problem: 'not_allowed' });
      expect(storage.local).toEqual({});
    },
  );

  it('a permission holds at once and for the next worker; several at a time are all kept', async () => {
    const settings = start();
    await Promise.all([
      settings.setToolPermission('interact', 'ask'),
      settings.setToolPermission('tab_open', 'deny'),
      settings.setToolPermission('__proto__', 'deny'),
    ]);
    await settings.setToolPermission('tab_open', 'allow');
    await settings.setToolPermission('__proto__', null);
    expect(changed).toHaveBeenCalled();
    for (const one of [settings, start()]) {
      expect([...(await one.settled()).tool_permissions]).toEqual([
        ['interact', 'ask'],
        ['tab_open', 'allow'],
      ]);
    }
    storage.setLocal({ tool_permissions: [['a', 'ask'], ['b', 'sometimes'], 'c', [1, 'ask'], null] });
    expect([...(await start().settled()).tool_permissions]).toEqual([['a', 'ask']]);
  });

  it('rubbish in the storage counts as absent', async () => {
    const rubbish: Values[] = [
      { enrollment: 'x', paused: 'yes', stopped_token_digest: 5 },
      { enrollment: { endpoint: 'https://r.test', token: 'abc' }, paused: 1 },
      { enrollment: { endpoint: 'wss://r.test', token: 'a/b' }, paused: null },
      { enrollment: [PASTED] },
    ];
    for (const local of rubbish) {
      storage.local = local;
      expect((await start().current()).idle).toEqual({ state: 'not_enrolled' });
    }
  });

  it('storage that fails counts as empty, is asked again, and saving says so', async () => {
    storage.local = { enrollment: PASTED };
    storage.localFails = true;
    const settings = start();
    expect((await settings.current()).idle).toEqual({ state: 'not_enrolled' });
    expect(await settings.saveEnrollment(PASTED)).toEqual({ saved: false, problem: 'not_saved' });
    storage.localFails = false;
    expect((await settings.current()).enrollment).toMatchObject(PASTED);
  });

  it('a pause and a stop that cannot be stored hold all the same, and it is said', async () => {
    storage.local = { enrollment: PASTED };
    const settings = start();
    await settings.current();
    storage.localFails = true;
    await expect(settings.setPaused(true)).rejects.toMatchObject({ code: 'internal_error' });
    expect((await settings.current()).idle).toEqual({ state: 'paused' });
    await expect(settings.stopToken(await tokenDigest(PASTED.token))).rejects.toMatchObject({
      code: 'internal_error',
    });
    expect((await settings.current()).idle?.state).toBe('token_stopped');
  });

  it('what somebody else writes is read anew', async () => {
    const settings = start();
    await settings.current();
    changed.mockClear();
    storage.setLocal({ enrollment: PASTED });
    expect(changed).toHaveBeenCalledTimes(1);
    expect((await settings.current()).enrollment).toMatchObject(PASTED);
  });

  it('a listener that is removed hears nothing more', async () => {
    const settings = start();
    const listener = vi.fn();
    settings.onChanged(listener)();
    await settings.saveEnrollment(PASTED);
    expect(listener).not.toHaveBeenCalled();
  });
});

describe('case 9: a policy that comes late', () => {
  it('get is {} at first, a change brings the enrollment at 5 s: it applies without restart', async () => {
    const settings = start();
    expect((await settings.current()).idle).toEqual({ state: 'not_enrolled' });
    await pass(5_000);
    expect(changed).not.toHaveBeenCalled();
    storage.setManaged(POLICY);
    await pass(300);
    expect(changed).toHaveBeenCalledTimes(1);
    expect(await settings.current()).toMatchObject({
      enrollment: { source: 'policy', endpoint: POLICY.endpoint },
    });
  });

  it('get pending for 8 s, nothing pasted: the popup is usable at once, then the policy applies', async () => {
    storage.managed = POLICY;
    storage.managedReady = new Promise((resolve) => {
      setTimeout(resolve, 8_000);
    });
    const settings = start();
    const [current, glance] = [settings.current(), settings.glance()];
    await pass(200);
    expect((await current).idle).toEqual({ state: 'not_enrolled' });
    expect((await glance).allow_user_enrollment).toBe(true);
    await pass(7_800);
    expect(changed).toHaveBeenCalledTimes(1);
    expect((await settings.current()).enrollment?.source).toBe('policy');
  });

  it('get pending for 8 s, one pasted: it is not dialled, the policy is', async () => {
    storage.local = { enrollment: PASTED };
    storage.managed = POLICY;
    storage.managedReady = new Promise((resolve) => {
      setTimeout(resolve, 8_000);
    });
    const settings = start();
    const [current, glance] = [settings.current(), settings.glance()];
    const waiting = watch(current);
    await pass(7_999);
    expect(waiting.pending).toBe(true);
    expect((await glance).enrollment).toMatchObject(PASTED);
    await pass(1);
    expect((await current).enrollment).toMatchObject({ source: 'policy', endpoint: POLICY.endpoint });
  });

  it('get pending for 8 s: no request is judged before the policy is there, whatever enrolls', async () => {
    let arrive = (): void => {};
    storage.managedReady = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    storage.managed = { tool_permissions: { interact: 'deny' } };
    const judged = start().settled();
    const seen = watch(judged);
    await pass(8_000);
    expect(seen.pending).toBe(true);
    arrive();
    expect((await judged).policy.tool_permissions.get('interact')).toBe('deny');
  });

  it('get never answers: the pasted enrollment is used after 10 s', async () => {
    storage.local = { enrollment: PASTED };
    storage.managedReady = new Promise(() => {});
    const current = start().current();
    const waiting = watch(current);
    await pass(9_999);
    expect(waiting.pending).toBe(true);
    await pass(1);
    expect((await current).enrollment).toMatchObject({ source: 'person', ...PASTED });
  });

  it('get never answers, a change brings the policy: what the change says is enough', async () => {
    storage.local = { enrollment: PASTED };
    storage.managedReady = new Promise(() => {});
    const settings = start();
    const current = settings.current();
    await pass(5_000);
    storage.setManaged(POLICY);
    await pass(1_300);
    expect((await current).enrollment?.source).toBe('policy');
    storage.setManaged({ enrollment_token: undefined });
    await pass(1_300);
    expect((await settings.current()).idle).toEqual({ state: 'blocked_by_policy', key: 'enrollment_token' });
  });

  it('an old answer of get does not undo a newer change', async () => {
    let release = (_value: unknown): void => {};
    storage.managedReady = new Promise((resolve) => {
      release = resolve;
    });
    const settings = start();
    await settled();
    storage.managedReady = Promise.resolve();
    storage.setManaged(POLICY);
    await pass(300);
    release(null);
    await settled();
    expect((await settings.current()).enrollment?.source).toBe('policy');
  });

  it('a change of several keys in pieces is one change', async () => {
    const settings = start();
    await settings.current();
    storage.setManaged({ endpoint: POLICY.endpoint });
    await pass(200);
    storage.setManaged({ enrollment_token: POLICY.enrollment_token });
    await pass(299);
    expect(changed).not.toHaveBeenCalled();
    await pass(1);
    expect(changed).toHaveBeenCalledTimes(1);
    expect((await settings.current()).idle).toBeNull();
  });

  it('a worker that a change wakes tells of it, though it never knew the policy before', async () => {
    storage.managed = { ...POLICY, allow_pause: false };
    const settings = start();
    storage.setManaged({ enrollment_token: 'another-token' });
    await pass(300);
    expect(changed).toHaveBeenCalledTimes(1);
    expect(await settings.current()).toMatchObject({
      enrollment: { endpoint: POLICY.endpoint, token: 'another-token' },
      allow_pause: false,
    });
  });

  it('a policy that is there from the start is not a change', async () => {
    storage.managed = POLICY;
    const settings = start();
    expect((await settings.current()).enrollment?.source).toBe('policy');
    await pass(20_000);
    expect(changed).not.toHaveBeenCalled();
  });

  it('the policy goes: the pasted enrollment comes back', async () => {
    storage.local = { enrollment: PASTED };
    storage.managed = POLICY;
    const settings = start();
    expect((await settings.current()).enrollment?.source).toBe('policy');
    storage.setManaged({ endpoint: undefined, enrollment_token: undefined });
    await pass(300);
    expect(changed).toHaveBeenCalledTimes(1);
    expect((await settings.current()).enrollment).toMatchObject({ source: 'person', ...PASTED });
  });

  it('a browser without managed storage has no policy', async () => {
    storage.managedReady = Promise.reject(new Error('no managed storage'));
    storage.local = { enrollment: PASTED };
    expect((await start().current()).enrollment).toMatchObject({ source: 'person' });
  });

  it('what is ignored is logged by key and reason, never by value', async () => {
    storage.managed = { ...POLICY, enrollment_token: 'SECRET9/==', allow_pause: 'SECRET8' };
    await start().current();
    const logged = JSON.stringify(vi.mocked(console.warn).mock.calls);
    expect(logged).toContain('allow_pause');
    expect(logged).not.toContain('SECRET');
  });

  it('log_level error: what is only ignored is not logged', async () => {
    storage.managed = { ...POLICY, allow_pause: 'no', log_level: 'error' };
    await start().current();
    expect(console.warn).not.toHaveBeenCalled();
  });
});
