/** Waiting for the browser no longer than makes sense. Knows timers, and nothing of files. */
import { cancellation } from './foreign-errors';

/**
 * What `work` comes to, or null when it has not come to anything after `ms` milliseconds. Throws what `signal` says as soon as
 * it is aborted. In both cases nobody waits for `work` any more, and what it comes to later is nobody's.
 */
export async function inTime<T extends object>(
  work: Promise<T>,
  ms: number,
  signal: AbortSignal,
): Promise<T | null> {
  let stop = (): void => undefined;
  const over = new Promise<null>((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), ms);
    const onAbort = (): void => reject(cancellation(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    stop = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    stop();
    work.catch(() => undefined);
  }
}
