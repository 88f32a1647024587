/** Waits for conditions, never for times. */

/**
 * Asks again and again until the answer is neither false, null nor undefined, and returns it. Gives up with
 * a sentence that says what was waited for; `patience` (ms) is generous, because machines are slow.
 */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  patience = 45_000,
): Promise<Exclude<T, false | null | undefined>> {
  const end = performance.now() + patience;
  for (;;) {
    const answer = await ask();
    if (answer !== false && answer !== null && answer !== undefined) {
      return answer as Exclude<T, false | null | undefined>;
    }
    if (performance.now() > end) throw new Error(`gave up waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
