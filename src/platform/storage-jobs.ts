/**
 * The storage worker as the router reaches it: through the offscreen document, which may be asked again about the same
 * job by another instance of the service worker.
 */
import { AgentError } from '../protocol/errors';
import type { JsonObject } from '../protocol/json';
import type { StorageJob } from '../storage/worker-messages';
import type { StorageService, ToolContext, ToolResult } from '../tools/tool';
import { readBody, removeBodies } from './answer-bodies';
import type { JobReply } from './messages';
import { send } from './messaging';

const ASK_AGAIN_MS = 250;

/** The key of a job that is joined by its request's id. JSON keeps unpaired surrogates apart. */
function joinedKey(request_id: string): string {
  return JSON.stringify(request_id);
}

/** UUID of the offscreen document that is there now. */
export async function storageHost(): Promise<string> {
  return (await send('storages.host', {})).host;
}

export function cancelHandedOver(request_id: string, code: 'cancelled' | 'timeout'): void {
  send('storages.cancel', { key: joinedKey(request_id), code }).catch(() => undefined);
}

export function createStorageService(): StorageService {
  async function run(tool: string, input: JsonObject, context: ToolContext): Promise<ToolResult> {
    const { host, request_id, signal } = context;
    // What may run again is not joined: each asking is a job of its own.
    const key = host === null ? `${joinedKey(request_id)} ${crypto.randomUUID()}` : joinedKey(request_id);
    const job = JSON.stringify({ tool, request_id, input } satisfies StorageJob);
    const passOn = () => {
      const code = codeOf(signal);
      send('storages.cancel', { key, code }).catch(() => undefined);
    };
    // What was cancelled before it began does not begin; what another instance began is joined, and told.
    const begin = !signal.aborted;
    if (begin) signal.addEventListener('abort', passOn, { once: true });
    else passOn();
    try {
      for (;;) {
        const reply = await ask({
          host,
          key,
          job,
          begin,
          remaining_ms: Math.max(1, context.deadline - context.now()),
        });
        if (reply?.state === 'unknown' && !begin) throw new AgentError(codeOf(signal));
        if (reply?.state === 'unknown') throw new AgentError('outcome_unknown');
        if (reply?.state === 'done') return await resultOf(reply);
        if (signal.aborted && codeOf(signal) === 'timeout') throw new AgentError('timeout');
        if (signal.aborted) passOn();
        if (reply === null) await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
      }
    } finally {
      signal.removeEventListener('abort', passOn);
    }
  }

  return {
    run,
    async list() {
      const { storages } = await send('storages.list', {}).catch(() => ({ storages: null }));
      return storages;
    },
  };
}

/** Null when nobody answered: a document that died is made anew, and knows that it does not know the job. */
function ask(message: Parameters<typeof send<'storages.job'>>[1]): Promise<JobReply | null> {
  return send('storages.job', message).catch(() => null);
}

async function resultOf({ outcome }: Extract<JobReply, { state: 'done' }>): Promise<ToolResult> {
  if (!outcome.ok) throw new AgentError(outcome.code, outcome.sentence || undefined);
  const output = JSON.parse(outcome.output) as JsonObject;
  const { body_key } = outcome;
  if (body_key === null) return { output };
  const attachments = await Promise.all(
    outcome.attachments.map(async ({ field, mime_type }) => {
      const blob = await readBody(body_key, field);
      if (!blob) throw new AgentError('internal_error');
      return { field, mime_type, blob };
    }),
  );
  // The router stores them under the key of its answer.
  await removeBodies([body_key]).catch(() => undefined);
  return { output, attachments };
}

function codeOf(signal: AbortSignal): 'cancelled' | 'timeout' {
  const reason: unknown = signal.reason;
  return reason instanceof AgentError && reason.code === 'timeout' ? 'timeout' : 'cancelled';
}
