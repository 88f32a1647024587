/**
 * The storage worker as tools reach it: through messages to the offscreen document, which another instance of the service
 * worker may have asked about the same job before. Sees the messages only.
 */
import type { JobReply, StorageMessages, StorageOverview } from '../platform/messages';
import type { Content } from '../protocol/content';
import { AgentError } from '../protocol/errors';
import type { JsonObject } from '../protocol/json';
import type { StorageJob } from '../storage/worker-messages';
import type { StorageService, ToolContext, ToolResult } from '../tools/tool';
import type { DispatchOptions } from './dispatch';

type Send = <T extends keyof StorageMessages>(
  type: T,
  input: StorageMessages[T]['in'],
) => Promise<StorageMessages[T]['out']>;

export interface StorageJobsPorts {
  /** Rejects when nobody answered. */
  send: Send;
  /** Where the worker keeps the bytes of attachments (`platform/job-bodies.ts`). */
  bodies: {
    read(key: string, field: string): Promise<Content | undefined>;
    remove(key: string): Promise<void>;
  };
  /** What is attached, as the last request told it; null when it did not. */
  told(): StorageOverview[] | null;
  newId(): string;
  wait(ms: number): Promise<void>;
}

/** A document that does not answer may be made anew meanwhile. */
const ASK_AGAIN_MS = 250;

export function createStorageJobs({ send, bodies, told, newId, wait }: StorageJobsPorts): {
  service: StorageService;
  handover: DispatchOptions['handover'];
} {
  const cancel = (id: string, code: 'cancelled' | 'timeout'): void => {
    send('storages.cancel', { request_id: JSON.stringify(id), code }).catch(() => undefined);
  };

  async function run(tool: string, input: JsonObject, context: ToolContext): Promise<ToolResult> {
    const { host, platform, request_id, signal, deadline, now } = context;
    // What may run again is not joined: each asking is a job of its own.
    // JSON keeps unpaired surrogates apart. What one platform was answered is never told to another.
    const joined = JSON.stringify([platform, request_id]);
    const key = host === null ? `${joined} ${newId()}` : joined;
    const job = JSON.stringify({ tool, request_id, input } satisfies StorageJob);
    const passOn = (): void => cancel(request_id, codeOf(signal));
    // What was cancelled before it began does not begin; what another instance began is joined, and told.
    const begin = !signal.aborted;
    if (begin) signal.addEventListener('abort', passOn, { once: true });
    else passOn();
    try {
      for (;;) {
        const remaining_ms = Math.max(1, deadline - now());
        const reply = await send('storages.job', { host, platform, key, job, begin, remaining_ms }).catch(
          () => null,
        );
        if (reply?.state === 'unknown') throw new AgentError(begin ? 'outcome_unknown' : codeOf(signal));
        if (reply?.state === 'done') return await resultOf(reply);
        // Nobody waits any longer.
        if (now() >= deadline) throw new AgentError('timeout');
        if (reply === null) await wait(ASK_AGAIN_MS);
        if (signal.aborted) passOn();
      }
    } finally {
      signal.removeEventListener('abort', passOn);
    }
  }

  async function resultOf({ outcome }: Extract<JobReply, { state: 'done' }>): Promise<ToolResult> {
    if (!outcome.ok) throw new AgentError(outcome.code, outcome.sentence || undefined);
    const output = JSON.parse(outcome.output) as JsonObject;
    const { body_key } = outcome;
    if (body_key === null) return { output };
    const attachments = await Promise.all(
      outcome.attachments.map(async ({ field, mime_type }) => {
        const content = await bodies.read(body_key, field);
        if (!content) throw new AgentError('internal_error');
        return { field, mime_type, content };
      }),
    );
    // The router stores them under the key of its answer.
    await bodies.remove(body_key).catch(() => undefined);
    return { output, attachments };
  }

  return {
    service: {
      run,
      async list() {
        const seen = told();
        if (seen !== null) return seen;
        const { storages } = await send('storages.list', {}).catch(() => ({ storages: null }));
        return storages;
      },
    },
    handover: {
      host: async () => (await send('storages.host', {})).host,
      cancel,
    },
  };
}

function codeOf(signal: AbortSignal): 'cancelled' | 'timeout' {
  const reason: unknown = signal.reason;
  return reason instanceof AgentError && reason.code === 'timeout' ? 'timeout' : 'cancelled';
}
