/** What the platform had this browser do, for the person to see (ui.md, Activity). Pure. */
import type { ErrorCode } from '../protocol/errors';

export interface ActivityEntry {
  /** Epoch milliseconds of the start. */
  at: number;
  /** Tool name as asked for; cut to 64 characters. */
  tool: string;
  outcome: 'ok' | ErrorCode;
  duration_ms: number;
}

/** How many entries are kept. */
export const ACTIVITY_KEPT = 200;
const LONGEST_TOOL_NAME = 64;

/** The list with one more entry, oldest first; what is more than is kept is dropped. */
export function withActivity(entries: readonly ActivityEntry[], entry: ActivityEntry): ActivityEntry[] {
  const cut = { ...entry, tool: [...entry.tool].slice(0, LONGEST_TOOL_NAME).join('') };
  return [...entries, cut].slice(-ACTIVITY_KEPT);
}

/** The newest `limit` entries, newest first. */
export function newestActivity(entries: readonly ActivityEntry[], limit: number): ActivityEntry[] {
  return limit < 1 ? [] : entries.slice(-limit).reverse();
}
