/**
 * Every message between the extension's own contexts, as one typed map: who it is for, what goes in, what
 * comes out. Whatever came over the wire travels as JSON text: Chrome's messages would turn an unpaired
 * surrogate into U+FFFD, and `JSON.stringify` escapes it. Binary never travels here (see `answer-bodies`).
 */
import type { Progress, ReadyFrame } from '../protocol/frames';
import type { ActivityEntry } from '../settings/activity';
import type { EnrollmentProblem } from '../settings/enrollment';

/** What a person sees of the connection (ui.md, States). Times are epoch milliseconds. */
export type ConnectionState =
  | { state: 'not_enrolled' }
  | { state: 'connecting'; host: string }
  | { state: 'handshaking'; host: string }
  | { state: 'online'; host: string; since: number }
  | { state: 'waiting'; host: string; until: number }
  | { state: 'no_network'; host: string }
  | { state: 'replaced'; host: string; until: number }
  | { state: 'token_stopped'; host: string }
  | { state: 'paused' }
  | { state: 'blocked_by_policy'; key: string };

/** Whether to dial, and with what. Only the relay host asks; the token goes nowhere else. */
export type DialDecision =
  | {
      dial: true;
      endpoint: string;
      token: string;
      /** Changes whenever endpoint or token do; tells a running connection whether it is still wanted. */
      enrollment_id: string;
      ready: ReadyFrame;
    }
  | { dial: false; because: Extract<ConnectionState, { state: IdleState }> };

export type IdleState = 'not_enrolled' | 'token_stopped' | 'paused' | 'blocked_by_policy';

/** Binary of an answer, without its bytes: they lie in the answer bodies under the answer's key. */
export interface AttachmentFacts {
  field: string;
  mime_type: string;
  size: number;
  /** The field of the output that holds it, when it is not the output itself. */
  inside?: string;
}

/** An answer as the router hands it to the relay host. */
export interface AnswerMessage {
  /** JSON text of an `Outcome`. */
  outcome: string;
  duration_ms: number;
  attachments: AttachmentFacts[];
  /** Where the attachments' bytes are (see `answer-bodies`); null without attachments. */
  body_key: string | null;
}

export type RunReply = { running: true } | { running: false; answer: AnswerMessage };

/** The screen, which a service worker cannot see: the relay host tells it with each request. In CSS pixels. */
export interface ScreenFacts {
  width: number;
  height: number;
  scale: number;
}

/** JSON text of `RequestText` goes in as `request`. */
export interface RequestText {
  /** Origin of the relay it came from: the ids of another platform are other ids. */
  platform: string;
  id: string;
  command: string | null;
  /** A JSON value; only for a malformed request something else than an object. */
  input: import('../protocol/json').JsonValue;
  /** The sentence of `invalid_request` when the frame was malformed, else null. */
  malformed: string | null;
}

export interface Overview {
  enrollment: { source: 'policy' | 'person'; host: string } | null;
  allow_user_enrollment: boolean;
  allow_pause: boolean;
  managed: boolean;
  paused: boolean;
  /** Managed keys that were ignored, each with the reason as a message key of `_locales`. */
  policy_problems: { key: string; reason: string }[];
  version: string;
  activity: ActivityEntry[];
  /** The last picture that was sent to the platform. */
  last_picture: { data_url: string; captured_at: number } | null;
}

/** Handled by the router in the service worker. */
export interface RouterMessages {
  /** Wakes the worker, readies the 401 watch, and says whether to dial (wire.md §2). */
  'dial.prepare': { in: Record<never, never>; out: DialDecision };
  /** After a dial that failed: the HTTP status of the handshake, or null when none was seen. */
  'dial.handshake_status': { in: Record<never, never>; out: { status: number | null } };
  /** The token was refused for good (rule 6): remembered until another token comes. */
  'dial.token_stopped': { in: { enrollment_id: string }; out: Record<never, never> };
  /** Runs, joins or looks up a request. Answers `running` after a while, to be asked again. */
  'request.run': {
    in: { request: string; remaining_ms: number; screen: ScreenFacts };
    out: RunReply;
  };
  /** Settles a request that never started or is still running; the first settlement wins. */
  'request.settle': {
    in: { request: string; code: 'cancelled' | 'timeout' };
    out: { answer: AnswerMessage };
  };
  /** Asks a running request to stop at its next safe point. `id` is JSON text. */
  'request.cancel': { in: { id: string }; out: Record<never, never> };
  /** The connection changed: badge and tooltip follow. */
  'connection.changed': { in: { connection: ConnectionState }; out: Record<never, never> };
  'overview.get': { in: Record<never, never>; out: Overview };
  'enrollment.save': {
    in: { text: string };
    out: { saved: true } | { saved: false; problem: EnrollmentProblem };
  };
  'enrollment.forget': { in: Record<never, never>; out: Record<never, never> };
  'pause.set': { in: { paused: boolean }; out: Record<never, never> };
  'activity.list': { in: Record<never, never>; out: { activity: ActivityEntry[] } };
  /** A page found no offscreen document: make one. */
  'offscreen.ensure': { in: Record<never, never>; out: Record<never, never> };
}

/** Handled by the relay host in the offscreen document. */
export interface RelayMessages {
  /** Enrollment, pause or policy changed: ask `dial.prepare` and follow it. */
  'relay.reconfigure': { in: Record<never, never>; out: Record<never, never> };
  'relay.retry_now': { in: Record<never, never>; out: Record<never, never> };
  'relay.connection': { in: Record<never, never>; out: { connection: ConnectionState } };
  /** `id` is JSON text. */
  'relay.progress': { in: { id: string; progress: Progress }; out: Record<never, never> };
  /** Puts text on the clipboard, which only a document can. `text` is JSON text. */
  'clipboard.write': { in: { text: string }; out: { written: boolean } };
  /** The main screen as a page sees it; the service worker has none. `scale`: device per CSS pixel. */
  'relay.diagnostics': { in: Record<never, never>; out: { diagnostics: RelayDiagnostics } };
}

/** Counters for a person who looks for a fault; no token, no content. */
export interface RelayDiagnostics {
  dropped_frames: Record<string, number>;
  dials: number;
  closes: Record<string, number>;
  queued: number;
  running: number;
  kept_answers: number;
}

export type MessageMap = RouterMessages & RelayMessages;
export type MessageType = keyof MessageMap;

/** The name of the port on which the offscreen document tells a page every connection state; null until one is known. */
export const CONNECTION_PORT = 'connection';
