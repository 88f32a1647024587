/** wire.md §5, design.md: a dead offscreen document is noticed by nobody, so that the alarm has to look. */
import { afterEach, describe, expect, it } from 'vitest';
import { createWorld, type World } from './harness/world';

let world: World | undefined;

afterEach(async () => {
  await world?.[Symbol.asyncDispose]();
  world = undefined;
});

describe('wire.md §5: one socket, one offscreen document', () => {
  it('an offscreen document that is gone is noticed by the alarm alone, made anew, and connects once', async () => {
    const w = await createWorld();
    world = w;
    const worker = await w.browser.serviceWorker();
    await worker.evaluate('chrome.offscreen.closeDocument()');
    await worker.detach();
    await w.relay.waitForOnline(w.device, { after: 1, timeout_ms: 180_000 });
    expect(await w.browser.offscreenTargets()).toHaveLength(1);
    expect(w.relay.connections.filter(({ open }) => open)).toHaveLength(1);
  });
});
