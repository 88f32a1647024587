import { describe, expect, test } from 'vitest';
import type { ConnectionState, ScreenFacts, StorageOverview } from '../../../src/platform/messages';
import type { Question } from '../../../src/router/confirmation';
import { createLastPicture, type SentPicture } from '../../../src/router/last-picture';
import { createRouter, type RouterOptions } from '../../../src/router/router';
import { effectiveSettings, type StoredSettings } from '../../../src/settings/effective-settings';
import type { Enrollment } from '../../../src/settings/enrollment';
import { NO_POLICY } from '../../../src/settings/managed-policy';
import { NOTHING_STORED } from '../../../src/settings/stored-settings';
import { createRig, outcomeOf, request, startsOf } from './rig';

const ENROLLED: StoredSettings = {
  ...NOTHING_STORED,
  enrollment: { endpoint: 'wss://r.test:8443/d', token: 'osat_SECRET9' },
};

const QUESTION: Question = {
  question_id: 'q1',
  request: 'hash',
  tool: 'tab_open',
  page: { host: 'a.test', title: 'A', place: '7 https://a.test' },
  details: [{ kind: 'address', text: 'https://a.test/', left_out: 0, concealed: false }],
  asked_at: 1_000,
  deadline: 9_000,
  verdict: null,
  shown: true,
};
const TOOLS = [
  { name: 'workspace_info', class: 'observe', requires_confirmation: false },
  { name: 'tab_open', class: 'interact', requires_confirmation: false },
  { name: 'page_evaluate', class: 'powerful', requires_confirmation: true },
];

function routerWith({ stored = ENROLLED, allow_pause = true, changes = {} as Partial<RouterOptions> } = {}) {
  const rig = createRig();
  const seen = {
    saved: [] as Enrollment[],
    paused: [] as boolean[],
    shown: [] as ConnectionState[],
    screens: [] as ScreenFacts[],
    storages: [] as (StorageOverview[] | null)[],
    permissions: [] as [string, string | null][],
    answers: [] as [string, boolean][],
    forgotten: 0,
    cleared: 0,
    ensured: 0,
  };
  const glance = async () =>
    effectiveSettings({
      managed: {
        policy: { ...NO_POLICY, allow_pause },
        problems: [{ key: 'log_level', reason: 'policy_reason_not_a_log_level' }],
        managed: true,
      },
      stored,
      digestOf: () => 'digest',
    });
  const router = createRouter({
    dispatch: rig.worker('w'),
    sawScreen: (screen) => {
      seen.screens.push(screen);
    },
    sawStorages: (storages) => {
      seen.storages.push(storages);
    },
    dial: {
      prepare: async () => ({ dial: false, because: { state: 'paused' } }),
      handshakeStatus: async () => ({ status: null }),
      tokenStopped: async () => undefined,
    },
    settings: {
      current: glance,
      settled: glance,
      glance,
      saveEnrollment: async (enrollment) => {
        seen.saved.push(enrollment);
        return { saved: true };
      },
      forgetEnrollment: async () => {
        seen.forgotten += 1;
      },
      setPaused: async (paused) => {
        seen.paused.push(paused);
      },
      setToolPermission: async (name, permission) => {
        seen.permissions.push([name, permission]);
      },
      stopToken: async () => undefined,
      onChanged: () => () => undefined,
    },
    listActivity: async (limit) =>
      Array.from({ length: limit }, (_, at) => ({ at, tool: 'tab_list', outcome: 'ok', duration_ms: 1 })),
    lastPicture: async () => ({ data_url: 'data:', captured_at: 7 }),
    clearPictures: async () => {
      seen.cleared += 1;
    },
    confirmation: {
      waiting: async () => [QUESTION],
      answer: async (question_id, allow) => {
        seen.answers.push([question_id, allow]);
        return question_id === QUESTION.question_id;
      },
    },
    tools: TOOLS,
    showConnection: async (connection) => {
      seen.shown.push(connection);
    },
    ensureOffscreen: async () => {
      seen.ensured += 1;
    },
    version: '1.2.3',
    ...changes,
  });
  return { rig, router, seen };
}

describe('requests travel as JSON text, so that every id arrives as it is', () => {
  test.each(['r1', '__proto__', '\ud83d', '"'])('run, cancel and settle: %j', async (id) => {
    const { rig, router, seen } = routerWith();
    const text = JSON.stringify(request(id));
    const screen = { width: 1280, height: 800, scale: 2 };
    const reply = router['request.run']({ request: text, remaining_ms: 60_000, screen, storages: [] });
    const { context } = await startsOf(rig, 1);
    expect(context.request_id).toBe(id);
    expect(seen.screens).toEqual([screen]);
    expect(seen.storages).toEqual([[]]);
    await router['request.cancel']({ id: JSON.stringify(id) });
    const settled = await router['request.settle']({ request: text, code: 'timeout' });
    expect(outcomeOf(settled.answer)).toMatchObject({ error_code: 'cancelled' });
    expect(await reply).toEqual({ running: false, answer: settled.answer });
  });
});

describe('the popup', () => {
  test('sees what holds, and never the token', async () => {
    const { router } = routerWith();
    const overview = await router['overview.get']({});
    expect(overview).toEqual({
      enrollment: { source: 'person', host: 'r.test:8443' },
      allow_user_enrollment: true,
      allow_local_folders: true,
      allow_pause: true,
      managed: true,
      paused: false,
      policy_problems: [{ key: 'log_level', reason: 'policy_reason_not_a_log_level' }],
      version: '1.2.3',
      activity: expect.any(Array),
      last_picture: { data_url: 'data:', captured_at: 7 },
      questions: [
        {
          question_id: 'q1',
          tool: 'tab_open',
          page: { host: 'a.test', title: 'A' },
          details: QUESTION.details,
          deadline: 9_000,
        },
      ],
    });
    expect(overview.activity).toHaveLength(5);
    expect(JSON.stringify(overview)).not.toContain('SECRET9');
    expect((await router['activity.list']({})).activity).toHaveLength(200);
  });

  test('works without the activity', async () => {
    const { router } = routerWith({ changes: { listActivity: () => Promise.reject(new Error('broken')) } });
    expect(await router['overview.get']({})).toMatchObject({ activity: [], version: '1.2.3' });
    await expect(router['activity.list']({})).rejects.toThrow();
  });

  test('case 1: a paste is understood before it is stored; what is wrong is said without the text', async () => {
    const { router, seen } = routerWith();
    expect(await router['enrollment.save']({ text: ' wss://r.test/d \n"abc123"\r\n' })).toEqual({
      saved: true,
    });
    expect(seen.saved).toEqual([{ endpoint: 'wss://r.test/d', token: 'abc123' }]);
    const refused = await router['enrollment.save']({ text: '{"token":"SECRET9"}' });
    expect(refused).toEqual({ saved: false, problem: 'endpoint_missing' });
    expect(seen.saved).toHaveLength(1);
  });

  test('forgetting takes the pictures along', async () => {
    const { router, seen } = routerWith();
    await router['enrollment.forget']({});
    expect(seen).toMatchObject({ forgotten: 1, cleared: 1 });
  });

  test('policy.md: where no pause is allowed there is none, but resuming always works', async () => {
    const { router, seen } = routerWith({ allow_pause: false });
    await router['pause.set']({ paused: true });
    expect(seen.paused).toEqual([]);
    await router['pause.set']({ paused: false });
    expect(seen.paused).toEqual([false]);
    const allowed = routerWith();
    await allowed.router['pause.set']({ paused: true });
    expect(allowed.seen.paused).toEqual([true]);
  });

  test('answers a question; what is not a clear yes is a no', async () => {
    const { router, seen } = routerWith();
    expect(await router['question.answer']({ question_id: 'q1', allow: true })).toEqual({ counted: true });
    expect(await router['question.answer']({ question_id: 'gone', allow: false })).toEqual({
      counted: false,
    });
    await router['question.answer']({ question_id: 'q1', allow: 'yes' as unknown as boolean });
    expect(seen.answers).toEqual([
      ['q1', true],
      ['gone', false],
      ['q1', false],
    ]);
  });

  test('sets permissions of classes and tools; of nothing else, and of nothing that policy fixes', async () => {
    const { router, seen } = routerWith();
    const { permissions } = await router['permissions.get']({});
    expect(
      permissions.classes.map((group) => [
        group.class,
        group.permission,
        group.tools.map(({ name }) => name),
      ]),
    ).toEqual([
      ['interact', 'allow', ['tab_open']],
      ['powerful', 'ask', ['page_evaluate']],
    ]);
    for (const name of ['interact', 'tab_open', 'workspace_info', '__proto__', 'page_evaluate', 'files']) {
      await router['permissions.set']({ name, permission: 'deny' });
    }
    await router['permissions.set']({ name: 'tab_open', permission: null });
    expect(seen.permissions).toEqual([
      ['interact', 'deny'],
      ['tab_open', 'deny'],
      ['page_evaluate', 'deny'],
      ['tab_open', null],
    ]);
  });

  test('the relay host and the pages are heard', async () => {
    const { router, seen } = routerWith();
    await router['connection.changed']({ connection: { state: 'connecting', host: 'r.test' } });
    await router['offscreen.ensure']({});
    expect(seen.shown).toEqual([{ state: 'connecting', host: 'r.test' }]);
    expect(seen.ensured).toBe(1);
    expect(await router['dial.prepare']({})).toMatchObject({ dial: false });
    expect(await router['dial.handshake_status']({})).toEqual({ status: null });
    expect(await router['dial.token_stopped']({ enrollment_id: 'x' })).toEqual({});
  });
});

describe('ui.md: what was seen', () => {
  const picture = (image_id: string): SentPicture => ({
    image_id,
    content: new Blob(['large']),
    mime_type: 'image/jpeg',
    width: 10,
    height: 10,
    captured_at: 5,
  });

  test('a picture is scaled once, however often it is looked at', async () => {
    let shrunk = 0;
    let sent: SentPicture | null = null;
    const last = createLastPicture({
      find: async () => sent,
      shrink: async ({ image_id }) => {
        shrunk += 1;
        return new Blob([image_id], { type: 'image/jpeg' });
      },
    });
    expect(await last()).toBeNull();
    sent = picture('a');
    expect(await last()).toEqual({ data_url: `data:image/jpeg;base64,${btoa('a')}`, captured_at: 5 });
    await last();
    expect(shrunk).toBe(1);
    sent = picture('b');
    expect((await last())?.data_url).toContain(btoa('b'));
    sent = null;
    expect(await last()).toBeNull();
  });

  test('one that cannot be shown is none', async () => {
    const last = createLastPicture({
      find: async () => picture('a'),
      shrink: () => Promise.reject(new Error()),
    });
    expect(await last()).toBeNull();
  });
});
