/** What the offscreen document and its storage worker say to each other. Types only. */
import type { ErrorCode } from '../protocol/errors';
import type { Progress } from '../protocol/frames';
import type { JsonObject } from '../protocol/json';
import type { Attachment } from './attachments';
import type { StorageFacts } from './engine';

/** One call of a tool that the storage worker runs. Its input may hold a token: it is kept only while it runs. */
export interface StorageJob {
  tool: string;
  request_id: string;
  input: JsonObject;
}

/** What a job came to. `output` is JSON text; attachments' bytes are in the answer bodies under `body_key`. */
export type JobOutcome =
  | {
      ok: true;
      output: string;
      attachments: { field: string; mime_type: string }[];
      body_key: string | null;
    }
  | { ok: false; code: ErrorCode; sentence: string };

/** What a page or `workspace_info` may know of an attached Storage. */
export type KnownStorage = Omit<Attachment, 'handle' | 'fresh'> & StorageFacts;

export type ToWorker =
  /** `job`: JSON text. `endpoint`: of the relay socket, to whose origin the job's token may go. */
  | { type: 'run'; key: string; job: string; endpoint: string | null }
  | { type: 'abort'; key: string; code: 'cancelled' | 'timeout' }
  | { type: 'list'; call: number }
  /** Something was attached, repaired or detached. */
  | { type: 'changed' }
  /** Asks for a sign of life. */
  | { type: 'ping' };

export type FromWorker =
  | { type: 'progress'; key: string; progress: Progress }
  | { type: 'done'; key: string; outcome: JobOutcome }
  | { type: 'listed'; call: number; storages: KnownStorage[] }
  | { type: 'pong' };
