/**
 * Every message between the extension's own contexts, as one typed map: who it is for, what goes in, what
 * comes out. Whatever came over the wire travels as JSON text: Chrome's messages would turn an unpaired
 * surrogate into U+FFFD, and `JSON.stringify` escapes it. Binary never travels here (see `answer-channel`).
 */
import type { Progress, ReadyFrame } from '../protocol/frames';
import type { RequestNames } from '../protocol/request-names';
import type { ActivityEntry } from '../settings/activity';
import type { EnrollmentProblem } from '../settings/enrollment';
import type { ToolPermission } from '../settings/managed-policy';
import type { JobOutcome, KnownStorage } from '../storage/worker-messages';
import type { ToolClass } from '../tools/tool';

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

/** Binary of an answer, without its bytes: they lie in the ledger under the answer's body key. */
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
  /** Where the attachments' bytes are in the ledger; null without attachments. */
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
export interface RequestText extends RequestNames {
  /** Origin of the relay it came from: the ids of another platform are other ids. */
  platform: string;
  id: string;
  command: string | null;
  /** A JSON value; only for a malformed request something else than an object. */
  input: import('../protocol/json').JsonValue;
  /** The sentence of `invalid_request` when the frame was malformed, else null. */
  malformed: string | null;
  /** The sentence of `invalid_input`; null: the input fits, or there is no such tool. Says nothing of a malformed one. */
  invalid: string | null;
}

export interface Overview {
  enrollment: { source: 'policy' | 'person'; host: string } | null;
  allow_user_enrollment: boolean;
  allow_pause: boolean;
  /** False where policy allows only Storages inside the browser. */
  allow_local_folders: boolean;
  managed: boolean;
  paused: boolean;
  /** Managed keys that were ignored, each with the reason as a message key of `_locales`. */
  policy_problems: { key: string; reason: string }[];
  version: string;
  activity: ActivityEntry[];
  /** The last picture that was sent to the platform. */
  last_picture: { data_url: string; captured_at: number } | null;
  /** What the person is asked now, oldest first. */
  questions: PendingQuestion[];
}

/** A tool that waits for the person's word. */
export interface PendingQuestion {
  question_id: string;
  /** The registry's name. */
  tool: string;
  /** Where it would act; null for a tool that touches no page. Text of a page: data. */
  page: { host: string; title: string } | null;
  details: QuestionDetail[];
  /** Epoch milliseconds. */
  deadline: number;
}

export type QuestionDetailKind =
  | 'script'
  | 'address'
  | 'action'
  | 'element'
  | 'text'
  | 'option'
  | 'key'
  | 'storage'
  | 'link'
  | 'path'
  | 'target'
  | 'content';

/** One thing that the tool was given: the platform's text, with nothing in it that is not seen. */
export interface QuestionDetail {
  kind: QuestionDetailKind;
  text: string;
  /** How many characters at its end are not in `text`. */
  left_out: number;
  /** Shown only when the person wants to see it. */
  concealed: boolean;
}

/** What holds for a class of tools or a tool (policy.md, `tool_permissions`). */
export interface PermissionState {
  /** What holds. */
  permission: ToolPermission;
  /** Fixed by managed policy. */
  managed: boolean;
}

export interface ToolPermissionState extends PermissionState {
  name: string;
  /** What the person said of this very tool; null: nothing, it follows its class. */
  own: ToolPermission | null;
  /** What would hold without that. */
  inherited: ToolPermission;
}

export interface ClassPermissionState extends PermissionState {
  class: ToolClass;
  tools: ToolPermissionState[];
}

export interface PermissionSettings {
  managed: boolean;
  classes: ClassPermissionState[];
  /** The managed URL rules; null where there is no list. */
  url_allowlist: string[] | null;
  url_blocklist: string[];
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
    in: {
      request: string;
      remaining_ms: number;
      screen: ScreenFacts;
      /** What is attached, told with a request that wants it or when it is nothing; null: ask `storages.list`. */
      storages: StorageOverview[] | null;
      /** It was cancelled since it began. */
      cancelled?: boolean;
    };
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
  /** The person's answer to a question; false when it came too late. */
  'question.answer': { in: { question_id: string; allow: boolean }; out: { counted: boolean } };
  'permissions.get': { in: Record<never, never>; out: { permissions: PermissionSettings } };
  /** Null: nothing of its own. A name that is no tool and no class changes nothing, nor what policy fixes. */
  'permissions.set': {
    in: { name: string; permission: ToolPermission | null };
    out: { permissions: PermissionSettings };
  };
  /** The managed URL rules, for the consoles: what closed pages say is not kept. */
  'urls.lists': {
    in: Record<never, never>;
    out: { url_allowlist: readonly string[] | null; url_blocklist: readonly string[] };
  };
  'activity.list': { in: Record<never, never>; out: { activity: ActivityEntry[] } };
  /** A page found no offscreen document: make one. */
  'offscreen.ensure': { in: Record<never, never>; out: Record<never, never> };
}

/** Handled by the relay host in the offscreen document. */
export interface RelayMessages {
  /** Enrollment, pause or policy changed: ask `dial.prepare` and follow it, and `urls.lists`. */
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

/** An attached Storage with what is durable of it. */
export type StorageOverview = KnownStorage;

/** A job for the storage worker. */
export interface StorageJobMessage {
  /**
   * Which offscreen document it was handed to first: only that one can know it. Null for a job that may run again, so that
   * any will do.
   */
  host: string | null;
  /** Origin of the relay the request came from: the job's token may go nowhere else. */
  platform: string;
  /** One per job: the same key joins the same job. */
  key: string;
  /** JSON text of a `StorageJob`. */
  job: string;
  /** False: only a job that is known is joined. */
  begin: boolean;
  remaining_ms: number;
}

/** `unknown`: it was cut off with the document that had it, or its outcome is no longer kept. */
export type JobReply = { state: 'running' } | { state: 'done'; outcome: JobOutcome } | { state: 'unknown' };

/** Handled by the storage host in the offscreen document. */
export interface StorageMessages {
  /** For the Storages page and `workspace_info`. Null when the worker does not answer in time. */
  'storages.list': { in: Record<never, never>; out: { storages: StorageOverview[] | null } };
  /** A page attached, repaired or detached something. */
  'storages.changed': { in: Record<never, never>; out: Record<never, never> };
  /**
   * Lets go of every folder handle, which a page must have before it asks Chrome to keep a grant (chrome-facts.md).
   * False while a job runs.
   */
  'storages.release': { in: Record<never, never>; out: { released: boolean } };
  /** UUID of this offscreen document. */
  'storages.host': { in: Record<never, never>; out: { host: string } };
  /** Starts or joins a job. Answers `running` after a while, to be asked again. */
  'storages.job': { in: StorageJobMessage; out: JobReply };
  /** Asks the jobs of a request to stop at their next safe point. `request_id` is JSON text. */
  'storages.cancel': { in: { request_id: string; code: 'cancelled' | 'timeout' }; out: Record<never, never> };
}

/** Handled by the service worker beside the router's: Chrome's grants for folders (chrome-facts.md). */
export interface GrantMessages {
  /**
   * Every page of the extension leaves and comes back, `tab` at `url`: Chrome then forgets each grant that is not kept,
   * and what remains is known to be kept. False, and nobody leaves, while a job needs a folder.
   */
  'grants.leave': { in: { tab: number; url: string }; out: { leaving: boolean } };
  /** A page changed a Storage: the badge follows. */
  'grants.look': { in: Record<never, never>; out: Record<never, never> };
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

export type MessageMap = RouterMessages & RelayMessages & StorageMessages & GrantMessages;
export type MessageType = keyof MessageMap;

/** What the keys of questions in `storage.session` begin with: pages follow their changes. */
export const QUESTION_PREFIX = 'question:';

/** The name of the port on which the offscreen document tells a page every connection state; null until one is known. */
export const CONNECTION_PORT = 'connection';
