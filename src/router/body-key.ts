/**
 * The key under which an answer's attachments are stored before the ledger names it. It carries its time,
 * so that a sweep can tell an abandoned body from one whose answer is just being settled. Pure.
 */

const ABANDONED_MS = 3_600_000;

/** A key no other answer has. `now` in epoch milliseconds. */
export function bodyKey(now: number, uuid: string): string {
  return `${now}.${uuid}`;
}

/** Whether a body that no answer names was left behind by a worker that died, and not just written. */
export function isAbandoned(key: string, now: number): boolean {
  const written = Number(key.slice(0, key.indexOf('.')));
  return !(Math.abs(now - written) < ABANDONED_MS);
}
