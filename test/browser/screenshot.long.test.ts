/** `screenshot` (tools.md) over a longer time, and of a window that is minimized. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CAPTURES_PER_SECOND } from '../../src/protocol/limits';
import { pictureBytes, pictureFacts } from './harness/picture';
import { call, inServiceWorker, openTab, refusal } from './harness/tool-calls';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

let world: World;

beforeAll(async () => {
  world = await createWorld();
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

describe('the pace', () => {
  const SECONDS = 30;

  it(`2 screenshots a second for ${SECONDS} s without one error`, async () => {
    const { relay, device } = world;
    await openTab(world, '/welcome', { active: true });
    const answers = [];
    for (let n = 0; n < SECONDS * CAPTURES_PER_SECOND; n += 1) {
      answers.push(relay.command(device, { command: 'screenshot', input: { deliver_image: true } }));
      await new Promise((resolve) => setTimeout(resolve, 1_000 / CAPTURES_PER_SECOND));
    }
    const ends = await Promise.all(answers);
    expect(ends.filter(({ status }) => status !== 'ok')).toEqual([]);
    for (const { output } of ends) {
      expect(pictureFacts(pictureBytes(world, output ?? {}))).toEqual({
        mime_type: output?.mime_type,
        width: output?.width,
        height: output?.height,
      });
    }
    // Callers that fall behind share a picture; nobody is given a stale one for long.
    const pictures = new Set(ends.map(({ output }) => output?.captured_at));
    expect(pictures.size).toBeGreaterThan(ends.length / 2);
    expect(relay.violations).toEqual([]);
  });

  it(`${3 * CAPTURES_PER_SECOND} unequal screenshots a second are late, and without an error too`, async () => {
    const { relay, device } = world;
    const answers = [];
    for (let n = 0; n < 30; n += 1) {
      answers.push(relay.command(device, { command: 'screenshot', input: { quality: 40 + n } }));
      await new Promise((resolve) => setTimeout(resolve, 1_000 / (3 * CAPTURES_PER_SECOND)));
    }
    const ends = await Promise.all(answers);
    expect(ends.filter(({ status }) => status !== 'ok')).toEqual([]);
    expect(relay.violations).toEqual([]);
  });
});

describe('a minimized window', () => {
  it('is screen_unavailable by its deadline, by tab_id too, until tab_activate brings it back', async () => {
    const tab_id = await openTab(world, '/welcome', { active: true });
    const target = (await world.browser.targets()).find(({ url }) => url === world.site.url('/welcome'));
    const { connection } = world.browser;
    const { windowId } = await connection.send('Browser.getWindowForTarget', { targetId: target?.targetId });
    await connection.send('Browser.setWindowBounds', { windowId, bounds: { windowState: 'minimized' } });
    await until('Chrome calls the window minimized', () =>
      inServiceWorker<boolean>(
        world,
        `chrome.windows.getLastFocused().then(({ state }) => state === 'minimized')`,
      ),
    );
    for (const input of [{}, { tab_id }]) {
      expect(await refusal(world, 'screenshot', input, { timeout_ms: 10_000 })).toMatchObject({
        error_code: 'screen_unavailable',
        error: expect.stringContaining('minimized'),
      });
    }
    // Everything else goes on.
    expect(await call(world, 'tab_navigate', { tab_id, action: 'reload' })).toMatchObject({ tab_id });
    await call(world, 'tab_activate', { tab_id });
    expect((await call(world, 'screenshot')).tab).toMatchObject({ tab_id });
    expect(world.relay.violations).toEqual([]);
  });

  it('minimized between the look at it and the capture, it is answered all the same', async () => {
    const { relay, device, browser } = world;
    const tab_id = await openTab(world, '/welcome', { active: true });
    const target = (await browser.targets()).find(({ url }) => url === world.site.url('/welcome'));
    const { windowId } = await browser.connection.send('Browser.getWindowForTarget', {
      targetId: target?.targetId,
    });
    // The first two take the slots of this second: the third waits for its turn.
    const shots = [61, 62, 63].map((quality) =>
      relay.command(device, { command: 'screenshot', input: { quality, tab_id }, timeout_ms: 20_000 }),
    );
    await shots[0];
    await browser.connection.send('Browser.setWindowBounds', {
      windowId,
      bounds: { windowState: 'minimized' },
    });
    for (const answer of await Promise.all(shots)) {
      if (answer.status === 'error') expect(answer.error_code).toBe('screen_unavailable');
    }
    await call(world, 'tab_activate', { tab_id });
    expect((await call(world, 'screenshot')).tab).toMatchObject({ tab_id });
    expect(relay.violations).toEqual([]);
  });
});
