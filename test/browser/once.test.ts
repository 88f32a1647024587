/**
 * Once, across death (wire.md §5 rule 4; case 4): whatever is killed and whenever, every request is answered
 * and no effect happens twice. The effect that is counted is a visit to the site.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../src/protocol/errors';
import type { ToolResponseFrame } from '../../src/protocol/frames';
import type { JsonObject } from '../../src/protocol/json';
import type { Command } from '../fake-relay/commands';
import { seeded } from '../unit/relay/support/seeded';
import { request, responses } from './harness/frames';
import { serveSlowPage } from './harness/slow-page';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

const SEED = 20_261_130;
const REQUESTS = 200;
/** So many are under way at a time: more than run at once, few enough that none waits for its deadline. */
const UNDER_WAY = 10;
const TIMEOUT_MS = 60_000;

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

interface Plan {
  command: string;
  input: JsonObject;
  /** What it must come to when nothing is killed. */
  outcome: 'ok' | ErrorCode;
  /** The page that its effect is a visit to; null for what may run any number of times. */
  path: string | null;
}

/** One request of the mix, drawn by weight. */
function draw(random: () => number, number: number): Plan {
  const path = `/effect/${number}`;
  const visit = { command: 'tab_open', input: { url: world.site.url(path) }, outcome: 'ok', path } as const;
  const harmless = (command: string, input: JsonObject, outcome: Plan['outcome']): Plan => ({
    command,
    input,
    outcome,
    path: null,
  });
  const mix: [number, Plan][] = [
    [6, visit],
    [4, harmless('workspace_info', {}, 'ok')],
    [4, harmless('tab_list', {}, 'ok')],
    [1, harmless('screenshot', {}, 'ok')],
    [1, harmless('screenshot', { deliver_image: true, format: 'png' }, 'ok')],
    [2, harmless('app_launch', { name: 'x' }, 'unknown_tool')],
    [2, harmless('tab_open', { url: world.site.url(path), colour: 'red' }, 'invalid_input')],
  ];
  let rest = random() * mix.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, plan] of mix) {
    rest -= weight;
    if (rest < 0) return plan;
  }
  return visit;
}

function pick<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T;
}

function outcomeOf(frame: ToolResponseFrame): 'ok' | ErrorCode {
  return frame.status === 'ok' ? 'ok' : frame.error_code;
}

function visitsTo(path: string): number {
  return world.site.visits.filter((visited) => visited === path).length;
}

/** Every answer an id got as its own outcome: a conflict belongs to another request under its name. */
function outcomes(id: string): ToolResponseFrame[] {
  return responses(world, id).filter((frame) => outcomeOf(frame) !== 'request_id_conflict');
}

/** The one answer this id has, however often it was given. */
function theAnswer(id: string): ToolResponseFrame {
  const different = new Set(outcomes(id).map((frame) => JSON.stringify(frame)));
  expect(different.size, `different answers of ${id}`).toBe(1);
  return outcomes(id)[0] as ToolResponseFrame;
}

async function online(after: number): Promise<void> {
  await world.relay.waitForOnline(world.device, { after, timeout_ms: 120_000 });
}

describe('wire.md §5 rule 4: the service worker is killed at random moments', () => {
  it(`${REQUESTS} mixed requests get ${REQUESTS} answers, and no tool with an effect runs twice`, async () => {
    const { relay, site, device, browser } = world;
    const random = seeded(SEED);
    const page = await browser.extensionPage('src/ui/activity/activity.html');
    let kills = 0;
    let stops = 0;
    const stopListening = browser.connection.on('ServiceWorker.workerVersionUpdated', ({ versions }) => {
      stops += (versions as { runningStatus: string }[]).filter((v) => v.runningStatus === 'stopped').length;
    });
    const kill = (): Promise<void> => {
      kills += 1;
      return browser.killServiceWorker(page);
    };

    const commands: { plan: Plan; command: Command }[] = [];
    const conflicts: string[] = [];
    for (let number = 0; number < REQUESTS; number += 1) {
      const plan = draw(random, number);
      const killsAtVisit = random() < 0.3;
      const path = plan.path ?? '';
      site.serve(path, (_request, response) => {
        // The effect is there, the answer is not.
        const killed = killsAtVisit && visitsTo(path) === 1 ? kill() : Promise.resolve();
        void killed.then(() => response.end(`<title>${path}</title>`));
      });
      commands.push({
        plan,
        command: relay.startCommand(device, {
          command: plan.command,
          input: plan.input,
          timeout_ms: TIMEOUT_MS,
        }),
      });
      if (random() < 0.2) {
        relay.send(device, pick(random, commands).command.frame);
      }
      if (random() < 0.05) {
        const { id } = pick(random, commands).command;
        conflicts.push(id);
        relay.send(device, request(id, 'tab_open', { url: site.url('/conflict') }));
      }
      if (random() < 0.15) {
        const enough = relay.received.length + 1 + Math.floor(random() * 6);
        await relay.until(
          () => relay.received.length >= enough || commands.every(({ command }) => command.status === 'done'),
          'more frames',
          { timeout_ms: TIMEOUT_MS },
        );
        await kill();
      }
      await relay.until(
        () => commands.filter(({ command }) => command.status !== 'done').length < UNDER_WAY,
        'room for the next request',
        { timeout_ms: 2 * TIMEOUT_MS },
      );
    }
    // Rejects when an answer is late.
    await Promise.all(commands.map(({ command }) => command.finished));
    await until('the resends are answered too', async () => {
      const { diagnostics } = await browser.message('relay.diagnostics', {});
      return diagnostics.queued + diagnostics.running + diagnostics.kept_answers === 0;
    });
    stopListening();

    const cutOff: string[] = [];
    for (const { plan, command } of commands) {
      const outcome = outcomeOf(theAnswer(command.id));
      if (plan.path === null) {
        expect(outcome, plan.command).toBe(plan.outcome);
        continue;
      }
      expect(['ok', 'outcome_unknown']).toContain(outcome);
      if (outcome === 'outcome_unknown') cutOff.push(command.id);
      expect(visitsTo(plan.path), plan.path).toBeLessThanOrEqual(1);
      if (outcome === 'ok') expect(visitsTo(plan.path)).toBe(1);
    }
    expect(new Set(commands.map(({ command }) => command.id)).size).toBe(REQUESTS);
    expect(visitsTo('/conflict')).toBe(0);
    for (const id of conflicts) {
      expect(responses(world, id).map(outcomeOf)).toContain('request_id_conflict');
    }
    // The kills struck: workers died, and runs with them.
    expect(kills).toBeGreaterThan(20);
    expect(stops).toBeGreaterThan(20);
    expect(cutOff.length).toBeGreaterThan(5);
    expect(device.maxOpenSockets).toBe(1);
    expect(relay.violations).toEqual([]);
    await page.close();
  });
});

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
      await until('both slow pages are asked for', () => slow.every(({ path }) => visitsTo(path) === 1));
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
        const given = outcomes(id).length;
        relay.send(device, frame);
        await relay.until(() => outcomes(id).length > given, 'the answer of the resend');
        theAnswer(id);
      }
      for (const { path, command } of opened) {
        const outcome = outcomeOf(theAnswer(command.id));
        expect(['ok', 'outcome_unknown']).toContain(outcome);
        expect(visitsTo(path), path).toBeLessThanOrEqual(1);
        if (outcome === 'ok') expect(visitsTo(path)).toBe(1);
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
    await until('the effect is there', () => visitsTo('/case-4') === 1);
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
    expect(theAnswer('case-4')).toMatchObject({ status: 'error', error_code: 'outcome_unknown' });
    expect(visitsTo('/case-4')).toBe(1);
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
    await until('the effect is there', () => visitsTo('/reloaded') === 1);
    await reloadExtension();
    await online(before);
    slow.release();
    expect(device.connection?.epoch).not.toBe(epoch);
    expect(await cutOff.finished).toMatchObject({ status: 'error', error_code: 'outcome_unknown' });
    const stored = device.commands.get(answered.id)?.frame as string;
    relay.send(device, stored);
    await relay.until(() => responses(world, answered.id).length === 2, 'the stored answer');
    expect(theAnswer(answered.id)).toEqual(answered);
    expect(visitsTo('/reloaded')).toBe(1);
    expect(relay.violations).toEqual([]);
  });
});
