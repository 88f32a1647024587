/**
 * One offscreen document, ever (chrome-facts: two creations racing throw; a dead one is noticed by nobody).
 * The polyfill does not know `offscreen`, hence `chrome` here.
 */
const OFFSCREEN_PAGE = 'src/offscreen.html';

let creating: Promise<void> | null = null;

/** True while the offscreen document is there. */
export async function hasOffscreen(): Promise<boolean> {
  const contexts = await chrome.runtime.getContexts({
    contextTypes: [chrome.runtime.ContextType.OFFSCREEN_DOCUMENT],
  });
  return contexts.length > 0;
}

/** Creates the offscreen document unless it is there; callers that race share one creation. */
export function ensureOffscreen(): Promise<void> {
  creating ??= createIfMissing().finally(() => {
    creating = null;
  });
  return creating;
}

async function createIfMissing(): Promise<void> {
  if (await hasOffscreen()) return;
  try {
    await chrome.offscreen.createDocument({
      url: OFFSCREEN_PAGE,
      reasons: [chrome.offscreen.Reason.WORKERS],
      justification: 'Holds the connection to the platform and runs the storage worker.',
    });
  } catch (thrown) {
    // Another start of this worker may have created it in between: what counts is that it is there.
    if (!(await hasOffscreen())) throw thrown;
  }
}
