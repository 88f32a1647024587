/** What the platform had this browser do, for the person to see (ui.md, Activity). Pure. */
import type { ErrorCode } from '../protocol/errors';

export interface ActivityEntry {
  /** Epoch milliseconds of the start. */
  at: number;
  /** Tool name as asked for; cut to 64 characters. */
  tool: string;
  /** The registry's name of the tool that ran in its place (os-interface.md); absent when it ran itself. */
  behind?: string;
  /** `waiting`: for the person's answer. */
  outcome: 'ok' | ErrorCode | 'waiting';
  duration_ms: number;
  /** What came of asking the person; absent when nobody had to be asked. */
  asked?: 'waiting' | 'allowed' | 'declined' | 'unanswered';
}

/** How many entries are kept. */
export const ACTIVITY_KEPT = 200;
