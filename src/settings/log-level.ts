/** Which lines a person who looks for a fault gets to see (policy.md, `log_level`). Pure. */
import type { LogLevel } from './managed-policy';

const WEIGHTS: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 };

/** Whether a line of this level is written where `threshold` is set. */
export function isLogged(level: LogLevel, threshold: LogLevel): boolean {
  return WEIGHTS[level] <= WEIGHTS[threshold];
}
