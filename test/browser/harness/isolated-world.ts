/** The world in which an extension's content scripts run inside a page, to evaluate in. */
import type { CdpSession } from './cdp';
import { until } from './until';

export type Evaluate = <T = unknown>(expression: string) => Promise<T>;

interface Context {
  id: number;
  origin: string;
  auxData: { type: string };
}

/** Waits for the world of the extension with this origin in the page's document. */
export async function isolatedWorld(page: CdpSession, extensionOrigin: string): Promise<Evaluate> {
  let found: number | undefined;
  const stop = page.connection.on('Runtime.executionContextCreated', ({ context }, sessionId) => {
    const { id, origin, auxData } = context as Context;
    if (sessionId === page.sessionId && origin === extensionOrigin && auxData.type === 'isolated') found = id;
  });
  try {
    // Enabling tells of every context that is there, and of those to come; enabling again tells nothing.
    await page.send('Runtime.disable');
    await page.send('Runtime.enable');
    const contextId = await until('the content script is there', () => found);
    return async <T>(expression: string) => {
      const { result, exceptionDetails } = await page.send('Runtime.evaluate', {
        expression,
        contextId,
        awaitPromise: true,
        returnByValue: true,
      });
      if (exceptionDetails) throw new Error((exceptionDetails as { text: string }).text);
      return (result as { value: T }).value;
    };
  } finally {
    stop();
  }
}
