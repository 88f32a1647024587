/** The popup and the button while Chrome has put the service worker to sleep by itself, which takes 30 s. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CdpSession } from './harness/cdp';
import { Person } from './harness/person';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

let world: World;
let onlooker: CdpSession;

beforeAll(async () => {
  world = await createWorld();
  // It does nothing by itself, and keeps nobody awake.
  onlooker = await world.browser.extensionPage('manifest.json');
});

afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

describe('with the service worker asleep', () => {
  it('a popup tells the state of this moment, not the one before the sleep', async () => {
    const { browser, relay, device } = world;
    await browser.serviceWorkerSleeps();
    relay.disconnect(device, 1012);
    const person = await Person.open(browser);
    await person.sentenceIs(/^Another browser is using this enrollment/);
    await person.click('Retry now');
    await relay.waitForOnline(device, { after: 1 });
    await person.sentenceIs(/^Online · /);
    await person.leave();
  });

  it('badge and tooltip follow the connection', async () => {
    const { browser, relay, device } = world;
    const button = () =>
      onlooker.evaluate<string[]>(
        'Promise.all([chrome.action.getBadgeText({}), chrome.action.getTitle({})])',
      );
    await until('the badge is gone', async () => (await button())[0] === '');
    await browser.serviceWorkerSleeps();
    relay.revoke(device);
    await until('the badge calls for a person', async () => (await button())[0] === '!');
    expect((await button())[1]).toBe('This enrollment was revoked. Paste a new one');
    expect(relay.violations).toEqual([]);
  });
});
