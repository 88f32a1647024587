/** Waiting inside a tool, given up with the request. */
import type { ToolContext } from './tool';

/** Resolves after `ms` milliseconds; rejects with the signal's reason when the request ends before. */
export function pause(
  { setTimer, signal }: Pick<ToolContext, 'setTimer' | 'signal'>,
  ms: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      stop();
      reject(signal.reason);
    };
    const stop = setTimer(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
