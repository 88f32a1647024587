/** Which parts of the popup are there, out of what is known (ui.md). Pure. */
import type { ConnectionState, Overview } from '../../platform/messages';
import type { MessageKey } from '../i18n';

export interface PopupFacts {
  /** Null while not known. */
  connection: ConnectionState | null;
  /** Null while nobody answered. */
  overview: Overview | null;
  /** True when somebody waited long enough for the overview. */
  overview_is_late: boolean;
  /** The person asked for the paste box although there is an enrollment. */
  wants_another: boolean;
}

export interface PopupModel {
  /** The one thing to do about the state. */
  action: 'retry' | 'resume' | null;
  /** What stands under the state line: what a person may look at, or that there is nothing to do here. It may name the host. */
  hint: MessageKey | null;
  /** Whether there is a paste box; `replacing` when it takes the place of an enrollment that works. */
  paste: 'none' | 'shown' | 'replacing';
  pause: boolean;
  forget: boolean;
  another: boolean;
}

export function popupModel(facts: PopupFacts): PopupModel {
  const { connection, overview } = facts;
  const enrollment = overview?.enrollment ?? null;
  const state = connection?.state;
  const mayEnroll =
    (overview?.allow_user_enrollment ?? facts.overview_is_late) &&
    enrollment?.source !== 'policy' &&
    state !== 'blocked_by_policy';
  const needsEnrollment = state === 'token_stopped' || (enrollment === null && !isConnected(connection));
  const isReplacing = facts.wants_another && enrollment !== null && !needsEnrollment;
  const paste = !mayEnroll ? 'none' : needsEnrollment ? 'shown' : isReplacing ? 'replacing' : 'none';
  return {
    action: actionFor(connection, overview),
    hint: hintFor(connection, overview),
    paste,
    pause: enrollment !== null && isPausable(connection, overview),
    forget: enrollment?.source === 'person',
    another: enrollment?.source === 'person' && mayEnroll && paste === 'none',
  };
}

/**
 * The connection as it is to be shown. Just after an enrollment was saved the relay host may still say that
 * there is none: it asks whether to dial, and a policy that is late can make that take a while. `overview` must
 * be newer than the connection: an older one would tell of an enrollment that was just forgotten.
 */
export function shownConnection(
  connection: ConnectionState | null,
  overview: Overview | null,
): ConnectionState | null {
  const enrollment = overview?.enrollment;
  if (connection?.state !== 'not_enrolled' || !enrollment) return connection;
  return { state: 'connecting', host: enrollment.host };
}

/** The offscreen document knows of an enrollment before the overview does. */
function isConnected(connection: ConnectionState | null): boolean {
  return connection !== null && connection.state !== 'not_enrolled';
}

function actionFor(connection: ConnectionState | null, overview: Overview | null): PopupModel['action'] {
  switch (connection?.state) {
    case 'waiting':
    case 'replaced':
      return 'retry';
    case 'paused':
      return 'resume';
    default:
      // Without a connection to ask, a pause must still be possible to end.
      return connection === null && overview?.paused ? 'resume' : null;
  }
}

function isPausable(connection: ConnectionState | null, overview: Overview | null): boolean {
  if (!overview?.allow_pause || overview.paused) return false;
  return !['paused', 'token_stopped', 'blocked_by_policy'].includes(connection?.state ?? '');
}

function hintFor(connection: ConnectionState | null, overview: Overview | null): MessageKey | null {
  switch (connection?.state) {
    case 'blocked_by_policy':
      return 'hint_policy_incomplete';
    case 'waiting':
      return 'hint_waiting';
    case 'token_stopped':
      return overview?.enrollment?.source === 'policy' ? 'hint_policy_token_stopped' : 'hint_token_stopped';
    case 'not_enrolled':
      return overview?.allow_user_enrollment === false ? 'hint_enrolled_by_policy' : null;
    default:
      return null;
  }
}
