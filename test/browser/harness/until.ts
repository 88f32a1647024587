/** Waits for conditions, never for times. */

/** Asking costs the machine time that what is waited for needs: the longer it takes, the less often it is asked. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 100;

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
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.3, LONGEST_PAUSE_MS)) {
    const answer = await ask();
    if (answer !== false && answer !== null && answer !== undefined) {
      return answer as Exclude<T, false | null | undefined>;
    }
    if (performance.now() > end) throw new Error(`gave up waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
