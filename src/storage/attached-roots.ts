/**
 * The engine's Storages as they are attached: a person's folder, or a directory of the browser's own file system (OPFS)
 * under `storages/`. Copies of sealed content lie under `vault/`. Opens anew for every job: a handle that is held keeps an
 * old grant alive (chrome-facts.md).
 */
import { AgentError } from '../protocol/errors';
import type { Attachment } from './attachments';
import type { AttachedStorage, DirectoryHandle, StorageDirectory } from './ports';
import { hex } from './tree-hash';

const STORAGES = 'storages';
const VAULT = 'vault';
/** Safe as a name on every disk on which a browser keeps its files, and no hash. */
const PLAIN_ID = /^[a-z0-9_-]{1,60}$/;

const NOT_PERMITTED =
  'Chrome no longer lets the extension use the folder of this Storage. A person must repair it on the Storages page.';

export interface AttachedRootsParts {
  listStorages(): Promise<Attachment[]>;
  findStorage(storage_id: string): Promise<Attachment | null>;
  noteForgotten(storage_id: string): Promise<void>;
  /** `navigator.storage.getDirectory()`. */
  originRoot(): Promise<DirectoryHandle>;
}

export function attachedRoots({
  listStorages,
  findStorage,
  noteForgotten,
  originRoot,
}: AttachedRootsParts): StorageDirectory {
  async function ownDirectory(name: string): Promise<DirectoryHandle> {
    return (await originRoot()).getDirectoryHandle(name, { create: true });
  }

  async function rootOf({ storage_id, backing, handle, permission }: Attachment): Promise<DirectoryHandle> {
    if (backing === 'browser') {
      const storages = await ownDirectory(STORAGES);
      return storages.getDirectoryHandle(await directoryName(storage_id), { create: true });
    }
    if (!handle || permission === 'lost') throw new AgentError('storage_unavailable', NOT_PERMITTED);
    return handle;
  }

  return {
    async open(storage_id): Promise<AttachedStorage> {
      const attached = await findStorage(storage_id);
      if (!attached) throw new AgentError('storage_unknown');
      const root = await rootOf(attached);
      return { storage_id, name: attached.name, kind: attached.backing, root, fresh: attached.fresh };
    },
    list: async () => (await listStorages()).map(({ storage_id }) => storage_id),
    noteForgotten,
    vault: () => ownDirectory(VAULT),
  };
}

/** Under which name a browser-internal Storage lies in `storages/`: its id where that is a plain name. */
export async function directoryName(storage_id: string): Promise<string> {
  if (PLAIN_ID.test(storage_id)) return storage_id;
  return `id.${hex(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(storage_id)))}`;
}
