import { describe, expect, it } from 'vitest';
import type { ConnectionState, Overview } from '../../../src/platform/messages';
import {
  type PopupFacts,
  type PopupModel,
  popupModel,
  shownConnection,
} from '../../../src/ui/popup/popup-model';

const host = 'r.test';
const enrolled: Overview = {
  enrollment: { source: 'person', host },
  allow_user_enrollment: true,
  allow_pause: true,
  allow_local_folders: true,
  managed: false,
  paused: false,
  policy_problems: [],
  version: '0.1.0',
  activity: [],
  last_picture: null,
  questions: [],
};
const fresh: Overview = { ...enrolled, enrollment: null };
const byPolicy: Overview = { ...enrolled, managed: true, enrollment: { source: 'policy', host } };

const online: ConnectionState = { state: 'online', host, since: 0 };
const notEnrolled: ConnectionState = { state: 'not_enrolled' };
const stopped: ConnectionState = { state: 'token_stopped', host };
const blocked: ConnectionState = { state: 'blocked_by_policy', key: 'endpoint' };

const model = (
  connection: ConnectionState | null,
  overview: Overview | null,
  more: Partial<PopupFacts> = {},
): PopupModel => popupModel({ connection, overview, overview_is_late: false, wants_another: false, ...more });

describe('ui.md: the state line is always true', () => {
  it('an enrollment that was just saved is being connected, though the relay host does not know it yet', () => {
    expect(shownConnection(notEnrolled, enrolled)).toEqual({ state: 'connecting', host });
    expect(shownConnection(notEnrolled, fresh)).toBe(notEnrolled);
    expect(shownConnection(notEnrolled, null)).toBe(notEnrolled);
    expect(shownConnection(online, enrolled)).toBe(online);
    expect(shownConnection(null, enrolled)).toBeNull();
  });
});

describe('ui.md: what the popup offers', () => {
  it('first run: the paste box and nothing else', () => {
    expect(model(notEnrolled, fresh)).toEqual({
      action: null,
      hint: null,
      paste: 'shown',
      pause: false,
      forget: false,
      another: false,
    });
  });

  it('online: pause, forget, another enrollment', () => {
    expect(model(online, enrolled)).toEqual({
      action: null,
      hint: null,
      paste: 'none',
      pause: true,
      forget: true,
      another: true,
    });
  });

  it('another enrollment: the paste box, which can be closed again', () => {
    expect(model(online, enrolled, { wants_another: true })).toMatchObject({
      paste: 'replacing',
      another: false,
    });
  });

  it.each<ConnectionState>([
    { state: 'waiting', host, until: 0 },
    { state: 'replaced', host, until: 0 },
  ])('%j: Retry now', (state) => {
    expect(model(state, enrolled).action).toBe('retry');
  });

  it('while there is no connection, and when the token was refused: what a person may look at', () => {
    expect(model({ state: 'waiting', host, until: 0 }, enrolled).hint).toBe('hint_waiting');
    expect(model(stopped, enrolled).hint).toBe('hint_token_stopped');
  });

  it('paused: Resume in place of Pause', () => {
    expect(model({ state: 'paused' }, { ...enrolled, paused: true })).toMatchObject({
      action: 'resume',
      pause: false,
    });
  });

  it('revoked: the paste box at once, and Forget', () => {
    expect(model(stopped, enrolled)).toMatchObject({
      paste: 'shown',
      pause: false,
      forget: true,
      another: false,
    });
  });

  it('enrolled by policy: nothing to paste and nothing to forget', () => {
    expect(model(online, byPolicy, { wants_another: true })).toMatchObject({
      paste: 'none',
      forget: false,
      another: false,
      pause: true,
    });
    expect(model(stopped, byPolicy)).toMatchObject({ paste: 'none', hint: 'hint_policy_token_stopped' });
    expect(model(online, { ...byPolicy, allow_pause: false }).pause).toBe(false);
  });

  it('policy.md: allow_user_enrollment: false hides the paste box and says so', () => {
    expect(model(notEnrolled, { ...fresh, allow_user_enrollment: false })).toMatchObject({
      paste: 'none',
      hint: 'hint_enrolled_by_policy',
    });
  });

  it('an incomplete policy is for the administrator', () => {
    expect(model(blocked, fresh)).toMatchObject({
      paste: 'none',
      hint: 'hint_policy_incomplete',
      action: null,
    });
  });

  it('case 9: usable while nobody knows the settings yet, after a moment', () => {
    expect(model(notEnrolled, null).paste).toBe('none');
    expect(model(notEnrolled, null, { overview_is_late: true }).paste).toBe('shown');
    expect(model(online, null, { overview_is_late: true }).paste).toBe('none');
  });

  it('usable while the connection is not known', () => {
    expect(model(null, fresh).paste).toBe('shown');
    expect(model(null, { ...enrolled, paused: true }).action).toBe('resume');
    expect(model(null, enrolled)).toMatchObject({ paste: 'none', pause: true });
  });

  it('just saved: the box does not come back while the connection catches up', () => {
    expect(model(notEnrolled, enrolled).paste).toBe('none');
    expect(model({ state: 'connecting', host }, fresh).paste).toBe('none');
  });
});
