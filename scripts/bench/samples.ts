/** Takes samples of several things by turns, so that what else the machine does disturbs all alike. Pure but for the clock. */

export type Work = () => Promise<unknown>;

/** Milliseconds of each thing, `rounds` times, by turns; `between` runs before every sample, unmeasured. */
export async function sampleByTurns<Name extends string>(
  things: Record<Name, Work>,
  rounds: number,
  between: (name: Name) => Promise<unknown> = async () => undefined,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(things) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      await between(name);
      const start = performance.now();
      await things[name]();
      samples[name].push(performance.now() - start);
    }
  }
  return samples;
}

export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

export interface Row {
  what: string;
  ours: number;
  floor: number;
  /** The largest ratio that is good enough; null: a bound that only tells what could be reached. */
  aim: number | null;
}

/** The rows as a Markdown table with ratios against the floors. */
export function table(rows: readonly Row[]): string {
  const lines = rows.map(({ what, ours, floor, aim }) => {
    const ratio = ours / floor;
    const judged = aim === null ? '– | –' : `≤ ${aim}× | ${ratio <= aim ? 'yes' : 'no'}`;
    return `| ${what} | ${ours.toFixed(1)} ms | ${floor.toFixed(1)} ms | ${ratio.toFixed(2)}× | ${judged} |`;
  });
  return [
    '| what | time | floor | ratio | aim | met |',
    '| --- | --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}
