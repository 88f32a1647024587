/** Which names a caller may have meant. Pure. */

const MOST_LISTED = 5;
/** What is further off is another word. */
const FURTHEST = 3;
const LONGEST_COMPARED = 64;

/** Of names like `domain.verb`: those that share domain or verb first, then those a few letters off. */
export function nearNames(wanted: string, known: readonly string[]): string[] {
  const name = wanted.slice(0, LONGEST_COMPARED).toLowerCase();
  const parts = new Set(name.split(/[._\s]/).filter(Boolean));
  return known
    .map((one) => ({
      one,
      off: distance(name, one),
      shared: one.split('.').filter((part) => parts.has(part)).length,
    }))
    .filter(({ off, shared }) => off <= FURTHEST || shared > 0)
    .sort((a, b) => b.shared - a.shared || a.off - b.off)
    .slice(0, MOST_LISTED)
    .map(({ one }) => one);
}

/** The field that was meant, also in another spelling (`tabId`) or as a part of its name; null when none is near. */
export function nearField(wanted: string, known: readonly string[]): string | null {
  const name = wanted
    .slice(0, LONGEST_COMPARED)
    .replace(/[\s-]+/g, '_')
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase();
  const parts = new Set(name.split('_').filter(Boolean));
  const [nearest] = known
    .map((one) => ({
      one,
      off: distance(name, one),
      shared: one.split('_').filter((part) => parts.has(part)).length,
    }))
    // Of short names every other one is a few letters off.
    .filter(({ off, shared }) => shared > 0 || off <= Math.min(FURTHEST, name.length / 2))
    .sort((a, b) => b.shared - a.shared || a.off - b.off);
  return nearest?.one ?? null;
}

/** How many letters must be put in, taken out or changed. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next[j] = Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
