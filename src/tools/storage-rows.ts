/** The attached Storages as `workspace_info` shows them (tools.md, workspace_info), within its size. Pure. */
import type { StorageOverview } from '../platform/messages';
import { type JsonObject, utf8Length } from '../protocol/json';

/** How many sealed paths and links of each Storage are shown, from all to none. */
const SHOWN_EACH = [Number.POSITIVE_INFINITY, 100, 20, 5, 0];
const LONGEST_NAME = 200;

/**
 * One row per Storage, as a whole at most `room` bytes of JSON. What does not fit is left out and counted
 * (`sealed_paths_left_out`, `links_left_out`); as a last resort whole Storages, those at the end.
 */
export function storageRows(storages: readonly StorageOverview[], room: number): JsonObject[] {
  for (const shown of SHOWN_EACH) {
    const rows = storages.map((storage) => row(storage, shown));
    if (utf8Length(JSON.stringify(rows)) <= room) return rows;
  }
  const rows: JsonObject[] = [];
  let left = room - 2;
  for (const storage of storages) {
    const next = row(storage, 0);
    left -= utf8Length(JSON.stringify(next)) + 1;
    if (left < 0) break;
    rows.push(next);
  }
  return rows;
}

function row(
  { storage_id, name, backing, permission, revision, sealed, links }: StorageOverview,
  shown: number,
) {
  const more = (all: number): number => Math.max(0, all - shown);
  return {
    storage_id,
    name: name.slice(0, LONGEST_NAME),
    backing,
    permission,
    revision,
    sealed_paths: sealed.slice(0, shown).map(({ path }) => path),
    ...(more(sealed.length) > 0 && { sealed_paths_left_out: more(sealed.length) }),
    links: links.slice(0, shown).map(({ link_id, path, broken }) => ({ link_id, path, broken })),
    ...(more(links.length) > 0 && { links_left_out: more(links.length) }),
  };
}
