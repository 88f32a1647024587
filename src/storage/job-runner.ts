/**
 * The storage worker's work, without the worker: runs what the host hands over, tells its progress and its end, and lists
 * what is attached. The engine, the tools and the stores are passed in.
 */
import { AgentError, toAgentError } from '../protocol/errors';
import type { Progress } from '../protocol/frames';
import type { JsonObject } from '../protocol/json';
import type { Attachment } from './attachments';
import type { StorageEngine, StorageFacts } from './engine';
import type { ConnectTransport } from './ports';
import type { FromWorker, JobOutcome, KnownStorage, StorageJob, ToWorker } from './worker-messages';

export interface RunningJob {
  request_id: string;
  /** Aborted by a cancel or at the deadline, with an `AgentError` as its reason. */
  signal: AbortSignal;
  /** To the origin that was the socket's when the job came. */
  connect: ConnectTransport;
  progress(progress: Progress): void;
}

export interface JobResult {
  output: JsonObject;
  attachments?: { field: string; mime_type: string; blob: Blob }[];
}

/** Throws `AgentError`; whatever else it throws is `internal_error`. */
export type RunTool = (input: JsonObject, job: RunningJob) => Promise<JobResult>;

export interface JobRunnerParts {
  engine: Pick<StorageEngine, 'facts'>;
  tools: Readonly<Record<string, RunTool>>;
  transportsTo(endpoint: string): ConnectTransport;
  listStorages(): Promise<Attachment[]>;
  /** Keeps the bytes of attachments and says under which key. */
  keepBody(attachments: readonly { field: string; blob: Blob }[]): Promise<string>;
  jobEnded(): void;
  /** Something was attached, repaired or detached. */
  changed(): void;
  post(message: FromWorker): void;
}

const NO_FACTS: StorageFacts = {
  revision: null,
  saved_at: null,
  sealed: [],
  links: [],
  gone: false,
  recovery_folders: [],
};

export class JobRunner {
  readonly #parts: JobRunnerParts;
  readonly #running = new Map<string, AbortController>();

  constructor(parts: JobRunnerParts) {
    this.#parts = parts;
  }

  hear(message: ToWorker): void {
    switch (message.type) {
      case 'run':
        void this.#run(message);
        break;
      case 'abort':
        this.#running.get(message.key)?.abort(new AgentError(message.code));
        break;
      case 'list':
        void this.#list(message.call);
        break;
      case 'changed':
        this.#parts.changed();
        break;
      case 'ping':
        this.#parts.post({ type: 'pong' });
        break;
    }
  }

  async #run({ key, job, endpoint }: Extract<ToWorker, { type: 'run' }>): Promise<void> {
    const { post, jobEnded } = this.#parts;
    const abort = new AbortController();
    this.#running.set(key, abort);
    const outcome = await this.#outcome(JSON.parse(job) as StorageJob, endpoint, abort.signal, (progress) =>
      post({ type: 'progress', key, progress }),
    );
    this.#running.delete(key);
    post({ type: 'done', key, outcome });
    jobEnded();
  }

  async #outcome(
    { tool, request_id, input }: StorageJob,
    endpoint: string | null,
    signal: AbortSignal,
    progress: (progress: Progress) => void,
  ): Promise<JobOutcome> {
    try {
      const run = Object.hasOwn(this.#parts.tools, tool) ? this.#parts.tools[tool] : undefined;
      if (!run) throw new AgentError('unknown_tool');
      const connect = endpoint === null ? noTransport : this.#parts.transportsTo(endpoint);
      const { output, attachments = [] } = await run(input, { request_id, signal, connect, progress });
      return {
        ok: true,
        output: JSON.stringify(output),
        attachments: attachments.map(({ field, mime_type }) => ({ field, mime_type })),
        body_key: attachments.length > 0 ? await this.#parts.keepBody(attachments) : null,
      };
    } catch (thrown) {
      const { code, message } = toAgentError(thrown);
      return { ok: false, code, sentence: message };
    }
  }

  async #list(call: number): Promise<void> {
    const { engine, listStorages, post } = this.#parts;
    const attached = await listStorages().catch(() => []);
    const storages = await Promise.all(
      attached.map(async ({ handle: _handle, fresh: _fresh, ...known }): Promise<KnownStorage> => {
        const facts = await engine.facts(known.storage_id).catch(() => NO_FACTS);
        // Whatever Chrome allows: a person must repair it.
        return { ...known, ...facts, ...(facts.gone && { permission: 'lost' }) };
      }),
    );
    post({ type: 'listed', call, storages });
  }
}

function noTransport(): never {
  throw new AgentError('storage_transport_failed', 'The device is connected to no platform.');
}
