/**
 * Once, across death (wire.md §5 rule 4; case 4): whatever is killed and whenever, every request is answered
 * and no effect happens twice. The effect that is counted is a visit to the site.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seeded } from '../unit/relay/support/seeded';
import { outcomeOf, outcomes, theAnswer, visitsTo } from './harness/answers';
import { request, responses } from './harness/frames';
import { serveSlowPage } from './harness/slow-page';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

const SEED = 20_261_130;

let world: World;

beforeAll(async () => {
  world = await createWorld();
  const opened = await world.relay.command(world.device, {
    command: 'tab_open',
    input: { url: world.site.url('/welcome'), active: true },
  });
  expect(opened.status).toBe('ok');
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

async function online(after: number): Promise<void> {
  await world.relay.waitForOnline(world.device, { after, timeout_ms: 120_000 });
}

describe('wire.md §5 rule 4: the browser is killed', () => {
  it.each([1, 2, 3])(
    'in the midst of requests (%i): after the restart nothing runs a second time, resends get the stored answer',
    async (round) => {
      const { relay, site, device } = world;
      const random = seeded(SEED + round);
      const slow = ['a', 'b'].map((name) => {
        const path = `/killed/${round}/${name}`;
        return { path, ...serveSlowPage(world, path) };
      });
      const quick = ['c', 'd', 'e', 'f'].map((name) => `/killed/${round}/${name}`);
      for (const path of quick) site.serve(path, `<title>${path}</title>`);
      const paths = [...slow.map(({ path }) => path), ...quick];
      const opened = paths.map((path) => ({
        path,
        command: relay.startCommand(device, { command: 'tab_open', input: { url: site.url(path) } }),
      }));
      const others = ['workspace_info', 'tab_list', 'app_stop', 'screenshot'].map((command) =>
        relay.startCommand(device, { command }),
      );
      const enough = relay.received.length + 4 + Math.floor(random() * 12);
      await until('both slow pages are asked for', () =>
        slow.every(({ path }) => visitsTo(world, path) === 1),
      );
      await relay.until(() => relay.received.length >= enough, 'some answers');
      const before = device.connections.length;
      await world.browser.kill();
      await world.relaunch();
      await online(before);

      const commands = [...opened.map(({ command }) => command), ...others];
      await Promise.all(commands.map(({ finished }) => finished));
      for (const { path } of slow) {
        const answer = await opened.find((one) => one.path === path)?.command.finished;
        expect(answer).toMatchObject({ status: 'error', error_code: 'outcome_unknown' });
      }
      for (const { id, frame } of commands) {
        const given = outcomes(world, id).length;
        relay.send(device, frame);
        await relay.until(() => outcomes(world, id).length > given, 'the answer of the resend');
        theAnswer(world, id);
      }
      for (const { path, command } of opened) {
        const outcome = outcomeOf(theAnswer(world, command.id));
        expect(['ok', 'outcome_unknown']).toContain(outcome);
        expect(visitsTo(world, path), path).toBeLessThanOrEqual(1);
        if (outcome === 'ok') expect(visitsTo(world, path)).toBe(1);
      }
      expect(relay.violations).toEqual([]);
      for (const { release } of slow) release();
    },
  );
});

describe('case 4: once only, across death', () => {
  it('service worker and offscreen document die after the effect, before the answer: one effect, however often it is sent', async () => {
    const { relay, device, site, browser } = world;
    const slow = serveSlowPage(world, '/case-4');
    const frame = request('case-4', 'tab_open', { url: site.url('/case-4') });
    const before = device.connections.length;
    relay.send(device, frame);
    await until('the effect is there', () => visitsTo(world, '/case-4') === 1);
    expect(responses(world, 'case-4')).toEqual([]);
    const worker = await browser.serviceWorker();
    await worker.evaluate('chrome.offscreen.closeDocument()');
    await worker.detach();
    const page = await browser.extensionPage('src/ui/activity/activity.html');
    await browser.killServiceWorker(page);
    await page.close();
    await relay.until(() => device.connection === null, 'the connection to break');
    slow.release();
    await browser.message('offscreen.ensure', {});
    await online(before);
    // While the first of them is worked on, one answer does for both (rule 4).
    relay.send(device, frame);
    relay.send(device, frame);
    await relay.until(() => responses(world, 'case-4').length > 0, 'an answer');
    const given = responses(world, 'case-4').length;
    relay.send(device, frame);
    await relay.until(() => responses(world, 'case-4').length > given, 'the answer of a later resend');
    expect(theAnswer(world, 'case-4')).toMatchObject({ status: 'error', error_code: 'outcome_unknown' });
    expect(visitsTo(world, '/case-4')).toBe(1);
    expect(relay.violations).toEqual([]);
  });
});

/** An unpacked extension comes back from a reload in developer mode only. */
async function reloadExtension(): Promise<void> {
  const { browser } = world;
  const extensions = await browser.openPage('chrome://extensions');
  await until('the page of extensions is ready', () =>
    extensions.evaluate<boolean>('!!globalThis.chrome?.developerPrivate'),
  );
  await extensions.evaluate('chrome.developerPrivate.updateProfileConfiguration({ inDeveloperMode: true })');
  await extensions.close();
  const page = await browser.extensionPage('src/ui/activity/activity.html');
  // Its own page goes with it, before it can answer.
  page.evaluate('chrome.runtime.reload()').catch(() => undefined);
}

describe('wire.md §3 and §5 rule 4: the extension is reloaded', () => {
  it('what was cut off is answered outcome_unknown, under a new session_epoch, and not run again', async () => {
    const { relay, device, site } = world;
    const slow = serveSlowPage(world, '/reloaded');
    const { epoch } = await relay.waitForOnline(device);
    const before = device.connections.length;
    const answered = await relay.command(device, { command: 'workspace_info' });
    const cutOff = relay.startCommand(device, {
      command: 'tab_open',
      input: { url: site.url('/reloaded') },
      timeout_ms: 90_000,
    });
    await until('the effect is there', () => visitsTo(world, '/reloaded') === 1);
    await reloadExtension();
    await online(before);
    slow.release();
    expect(device.connection?.epoch).not.toBe(epoch);
    expect(await cutOff.finished).toMatchObject({ status: 'error', error_code: 'outcome_unknown' });
    const stored = device.commands.get(answered.id)?.frame as string;
    relay.send(device, stored);
    await relay.until(() => responses(world, answered.id).length === 2, 'the stored answer');
    expect(theAnswer(world, answered.id)).toEqual(answered);
    expect(visitsTo(world, '/reloaded')).toBe(1);
    expect(relay.violations).toEqual([]);
  });
});
