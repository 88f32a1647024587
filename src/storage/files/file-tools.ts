/**
 * The file tools (tools.md, `file_*`) inside attached Storages: the same paths, seals and refusals as the storage-path
 * modes, in the same queue. Each is all or nothing. Inputs are valid by the tools' schemas.
 */
import { AgentError } from '../../protocol/errors';
import type { JsonObject } from '../../protocol/json';
import type { StorageEngine } from '../engine';
import type { JobResult, RunningJob, RunTool } from '../job-runner';
import type { StorageDirectory } from '../ports';
import type { Session } from '../session';
import type { Transaction } from '../transaction';
import { moveEntry } from './move-entry';
import { listFiles, readImage, readText, statFile } from './read-tools';
import { removeEntry } from './remove-entry';
import { writeText } from './write-entry';

/** One tool on an open Storage. */
export type FileWork<Input> = (
  input: Input,
  at: { session: Session; transaction: Transaction; signal: AbortSignal },
) => Promise<JobResult>;

export function fileTools(
  engine: Pick<StorageEngine, 'perform'>,
  storages: Pick<StorageDirectory, 'list'>,
): Record<string, RunTool> {
  /** May be left out when exactly one Storage is attached. */
  async function storageOf(storage_id: unknown): Promise<string> {
    if (typeof storage_id === 'string') return storage_id;
    const attached = await storages.list();
    const [only] = attached;
    if (only !== undefined && attached.length === 1) return only;
    if (only === undefined)
      throw new AgentError(
        'storage_unknown',
        'No Storage is attached to this device. A person attaches one on the Storages page of the extension.',
      );
    throw new AgentError(
      'invalid_input',
      'input lacks the field "storage_id": several Storages are attached. workspace_info lists them.',
    );
  }

  const tool =
    <Input>(work: FileWork<Input>, reads?: 'reads'): RunTool =>
    async (input: JsonObject, { signal }: RunningJob) => {
      const storage_id = await storageOf(input.storage_id);
      return engine.perform(
        storage_id,
        signal,
        (session, transaction) => work(input as Input, { session, transaction, signal }),
        reads,
      );
    };

  return {
    file_list: tool(listFiles, 'reads'),
    file_stat: tool(statFile, 'reads'),
    file_read_text: tool(readText, 'reads'),
    file_read_image: tool(readImage, 'reads'),
    file_write: tool(writeText),
    file_move: tool(moveEntry),
    file_remove: tool(removeEntry),
  };
}
