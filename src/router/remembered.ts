/** Asks once for what does not change while the worker lives. Pure. */

/** Callers share one question and its answer; a question that failed is asked again by the next caller. */
export function remembered<T>(ask: () => Promise<T>): () => Promise<T> {
  let known: Promise<T> | null = null;
  return () => {
    known ??= ask().catch((thrown) => {
      known = null;
      throw thrown;
    });
    return known;
  };
}
