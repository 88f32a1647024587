import validators from 'virtual:agent-frame-validators';
import { describe, expect, test } from 'vitest';
import type { DialDecision } from '../../../src/platform/messages';
import { createDial, type DialOptions } from '../../../src/router/dial';
import { tokenDigestIn } from '../../../src/router/enrollment-id';
import { createSessionEpoch } from '../../../src/router/session-epoch';
import { effectiveSettings, type StoredSettings } from '../../../src/settings/effective-settings';
import { tokenDigest } from '../../../src/settings/token-digest';

const EPOCH = '0f8fad5b-d9cb-469f-a165-70867728950e';
const TOKEN = 'osat_SECRET9';
const ENROLLED: StoredSettings = {
  enrollment: { endpoint: 'wss://r.test/d', token: TOKEN },
  paused: false,
  stopped_token_digest: null,
  tool_permissions: [],
};

async function dialWith(stored: StoredSettings, changes: Partial<DialOptions> = {}) {
  const digest = await tokenDigest(stored.enrollment?.token ?? '');
  const seen = { watched: [] as string[], followed: [] as string[], stopped: [] as string[] };
  const dial = createDial({
    settings: {
      current: async () => effectiveSettings({ managed: null, stored, digestOf: () => digest }),
      stopToken: async (stopped) => {
        seen.stopped.push(stopped);
      },
    },
    handshakes: { follow: (endpoint) => seen.followed.push(endpoint), last: async () => 401 },
    watch: (endpoint) => seen.watched.push(endpoint),
    facts: async () => ({
      version: '1.2.3',
      browser_name: 'Chromium',
      browser_version: '156.0.0.0',
      os: 'linux',
      arch: 'x86_64',
    }),
    policy: async () => ({ managed: false, asked_tools: new Set(), blocked_tools: new Set(['screenshot']) }),
    tools: [{ name: 'describe_tools' }, { name: 'screenshot' }, { name: 'tab_list' }],
    sessionEpoch: async () => EPOCH,
    ...changes,
  });
  return { dial, seen, digest };
}

async function decided(stored: StoredSettings): Promise<Extract<DialDecision, { dial: true }>> {
  const decision = await (await dialWith(stored)).dial.prepare();
  if (!decision.dial) throw new Error(`not to be dialled: ${decision.because.state}`);
  return decision;
}

describe('wire.md §3: what is announced', () => {
  test('the facts, the tools that are allowed now, and only what is on', async () => {
    const { ready } = await decided(ENROLLED);
    expect(validators.ready?.(ready)).toBe(true);
    expect(ready).toEqual({
      type: 'ready',
      version: '1.2.3',
      tools: ['describe_tools', 'tab_list'],
      os: 'linux',
      arch: 'x86_64',
      session_epoch: EPOCH,
      capabilities: ['concurrency:4', 'ping_interval:20', 'ack', 'progress', 'blob_upload'],
    });
  });
});

describe('whether to dial', () => {
  test('wire.md §2: the watch for 401 is there before the answer', async () => {
    const { dial, seen } = await dialWith(ENROLLED);
    expect(await dial.prepare()).toMatchObject({ dial: true, endpoint: 'wss://r.test/d', token: TOKEN });
    expect(seen.watched).toEqual(['wss://r.test/d']);
    expect(seen.followed).toEqual(['wss://r.test/d']);
  });

  test('the name of an enrollment changes with endpoint and token, and shows neither', async () => {
    const of = async (endpoint: string, token: string) =>
      (await decided({ ...ENROLLED, enrollment: { endpoint, token } })).enrollment_id;
    const ids = await Promise.all([
      of('wss://r.test/d', TOKEN),
      of('wss://r.test/e', TOKEN),
      of('wss://r.test/d', 'other'),
    ]);
    expect(new Set(ids).size).toBe(3);
    expect(await of('wss://r.test/d', TOKEN)).toBe(ids[0]);
    expect(ids.join()).not.toContain('SECRET9');
    expect(ids.join()).not.toContain('r.test');
  });

  test('not enrolled, paused, or stopped: no token leaves', async () => {
    const digest = await tokenDigest(TOKEN);
    const states = [
      { ...ENROLLED, enrollment: null },
      { ...ENROLLED, paused: true },
      { ...ENROLLED, stopped_token_digest: digest },
    ];
    const decisions = await Promise.all(
      states.map(async (stored) => (await dialWith(stored)).dial.prepare()),
    );
    expect(decisions).toEqual([
      { dial: false, because: { state: 'not_enrolled' } },
      { dial: false, because: { state: 'paused' } },
      { dial: false, because: { state: 'token_stopped', host: 'r.test' } },
    ]);
  });

  test('wire.md §5 rule 6: a refused token is remembered by its digest, whatever is enrolled since', async () => {
    const { enrollment_id } = await decided(ENROLLED);
    const { dial, seen, digest } = await dialWith({ ...ENROLLED, enrollment: null });
    await dial.tokenStopped(enrollment_id);
    expect(seen.stopped).toEqual([await tokenDigest(TOKEN)]);
    expect(seen.stopped).not.toEqual([digest]);
    expect(tokenDigestIn(enrollment_id)).toBe(seen.stopped[0]);
  });

  test('the status of the handshake is passed on', async () => {
    expect(await (await dialWith(ENROLLED)).dial.handshakeStatus()).toEqual({ status: 401 });
  });
});

describe('wire.md §3: session_epoch', () => {
  function session() {
    const kept: Record<string, unknown> = {};
    let made = 0;
    const area = {
      get: async (key: string) => ({ [key]: kept[key] }),
      set: async (values: Record<string, unknown>) => {
        await new Promise((resolve) => setImmediate(resolve));
        Object.assign(kept, values);
      },
    };
    const worker = () =>
      createSessionEpoch(area as unknown as Parameters<typeof createSessionEpoch>[0], () => {
        made += 1;
        return `uuid-${made}`;
      });
    return { worker, kept };
  }

  test('one for all who ask at once, and for every later worker', async () => {
    const { worker } = session();
    const epoch = worker();
    expect(await Promise.all([epoch(), epoch(), epoch()])).toEqual(['uuid-1', 'uuid-1', 'uuid-1']);
    expect(await worker()()).toBe('uuid-1');
  });

  test('a new one after a restart, which empties the session', async () => {
    const { worker, kept } = session();
    await worker()();
    for (const key of Object.keys(kept)) delete kept[key];
    expect(await worker()()).toBe('uuid-2');
  });

  test('a session that could not be read is asked again', async () => {
    let fails = 1;
    const epoch = createSessionEpoch(
      {
        get: () => (fails-- > 0 ? Promise.reject(new Error('gone')) : Promise.resolve({})),
        set: () => Promise.resolve(),
      },
      () => 'uuid',
    );
    await expect(epoch()).rejects.toThrow();
    expect(await epoch()).toBe('uuid');
  });
});
