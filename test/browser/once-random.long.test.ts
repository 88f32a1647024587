/**
 * Once, across death (wire.md §5 rule 4): the service worker is killed at random moments, every request is answered and no
 * effect happens twice.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../src/protocol/errors';
import type { JsonObject } from '../../src/protocol/json';
import type { Command } from '../fake-relay/commands';
import { seeded } from '../unit/relay/support/seeded';
import { outcomeOf, theAnswer, visitsTo } from './harness/answers';
import { request, responses } from './harness/frames';
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
        const killed = killsAtVisit && visitsTo(world, path) === 1 ? kill() : Promise.resolve();
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
      const outcome = outcomeOf(theAnswer(world, command.id));
      if (plan.path === null) {
        expect(outcome, plan.command).toBe(plan.outcome);
        continue;
      }
      expect(['ok', 'outcome_unknown']).toContain(outcome);
      if (outcome === 'outcome_unknown') cutOff.push(command.id);
      expect(visitsTo(world, plan.path), plan.path).toBeLessThanOrEqual(1);
      if (outcome === 'ok') expect(visitsTo(world, plan.path)).toBe(1);
    }
    expect(new Set(commands.map(({ command }) => command.id)).size).toBe(REQUESTS);
    expect(visitsTo(world, '/conflict')).toBe(0);
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
