/**
 * One UUID per run of the extension in this browser (wire.md §3): kept in `storage.session`, so that it
 * survives the worker and the offscreen document, but neither a restart nor a reload.
 */
import type { Storage } from 'webextension-polyfill';
import { remembered } from './remembered';

const KEY = 'session_epoch';

/** Callers that come while it is being made get the same one. */
export function createSessionEpoch(
  session: Pick<Storage.StorageArea, 'get' | 'set'>,
  newUuid: () => string,
): () => Promise<string> {
  return remembered(async () => {
    const { [KEY]: kept } = await session.get(KEY);
    if (typeof kept === 'string') return kept;
    const made = newUuid();
    await session.set({ [KEY]: made });
    return made;
  });
}
