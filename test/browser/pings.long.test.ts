/**
 * The heartbeat and what it finds out (wire.md §2, §5 rules 1, 6, 7; case 2), in real time against the built
 * extension: these tests wait, each in a browser of its own, and so they wait together.
 */
import { describe, expect, it } from 'vitest';
import type { LoggedFrame } from '../fake-relay/traffic';
import {
  expectSteady,
  gapsOf,
  inWorld,
  isPing,
  nextPings,
  PING,
  PING_INTERVAL_MS,
  TOLERANCE_MS,
} from './harness/pings';
import { until } from './harness/until';
import type { World } from './harness/world';

/** One ping interval and two more of silence, a look every 5 s, the first delay with its jitter. */
const REPLACED_WITHIN_MS = 3 * PING_INTERVAL_MS + 5_000 + 1_500;

/**
 * Lets the service worker sleep until something else than an alarm wakes it. Chrome puts it to sleep after
 * 30 s without events, and the alarm that looks after the offscreen document comes every 30 s.
 */
async function letWorkerSleep({ browser }: World): Promise<void> {
  const page = await browser.extensionPage('src/ui/activity/activity.html');
  await page.evaluate('chrome.alarms.clearAll()');
  await page.close();
  await browser.serviceWorkerSleeps();
}

/** Looks at the targets all the time; tells how often the service worker was running. */
function watchWorker({ browser }: World): { looks(): number; awake(): number; stop(): Promise<void> } {
  let looks = 0;
  let awake = 0;
  let stopped = false;
  const watching = (async () => {
    while (!stopped) {
      if (await browser.serviceWorkerTarget()) awake += 1;
      looks += 1;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  })();
  return {
    looks: () => looks,
    awake: () => awake,
    async stop() {
      stopped = true;
      await watching;
    },
  };
}

describe.concurrent('while nothing is asked', () => {
  it('rule 1: exact pings every 20 s ± 1 s, from the open socket on, with the service worker asleep all the time', () =>
    inWorld({}, async (world) => {
      const { relay, device } = world;
      const online = await relay.waitForOnline(device);
      await letWorkerSleep(world);
      const worker = watchWorker(world);
      const pings = await nextPings(world, 8);
      await worker.stop();
      expect(worker.looks()).toBeGreaterThan(100);
      expect(worker.awake()).toBe(0);
      expectSteady(gapsOf(pings));
      const all = relay.received.filter(isPing);
      expectSteady([(all[0] as LoggedFrame).at - online.opened_at, ...gapsOf(all)]);
      for (const { bytes, text, binary } of all) expect([bytes, text, binary]).toEqual([15, PING, null]);
      expect(device.connections).toHaveLength(1);
      expect(relay.violations).toEqual([]);
    }));

  it('rule 6: 401 at the handshake is noticed though the service worker slept, and nobody dials again', () =>
    inWorld({}, async (world) => {
      const { relay, device, browser } = world;
      await letWorkerSleep(world);
      expect(await browser.serviceWorkerTarget()).toBeUndefined();
      relay.fault({ fault: 'refuse_handshake', status: 401, times: 1 });
      const dialed = relay.handshakes.length;
      relay.disconnect(device, 1006);
      await until(
        'the token is stopped',
        async () => (await browser.connectionState())?.state === 'token_stopped',
      );
      expect(relay.handshakes.slice(dialed).map(({ status }) => status)).toEqual([401]);
      await browser.message('relay.retry_now', {});
      await browser.message('relay.reconfigure', {});
      const since = relay.now();
      // An attempt that merely failed would have been followed by five others.
      await until('a minute has passed', () => relay.now() - since > 65_000, 90_000);
      expect(relay.handshakes).toHaveLength(dialed + 1);
      expect((await browser.connectionState())?.state).toBe('token_stopped');
      expect(relay.violations).toEqual([]);
    }));

  it('case 2: a half-open socket is replaced once, within the bounds; its late end changes nothing', () =>
    inWorld({ proxied: true }, async (world) => {
      const { relay, proxy, device, browser } = world;
      const dialed = proxy.accepted;
      const silent = relay.now();
      proxy.pause();
      await until('another socket is dialed', () => proxy.accepted > dialed, 2 * REPLACED_WITHIN_MS);
      const replaced = relay.now() - silent;
      expect(replaced).toBeGreaterThan(2 * PING_INTERVAL_MS - TOLERANCE_MS);
      expect(replaced).toBeLessThan(REPLACED_WITHIN_MS);
      // What the old socket still had to say, and its end, come after the new one is open.
      proxy.resume();
      const second = await relay.waitForOnline(device, { after: 1 });
      await until('the old one has ended', () => device.connections[0]?.closed !== null);
      const pings = await nextPings(world, 2, second.opened_at);
      expectSteady([(pings[0] as LoggedFrame).at - second.opened_at, ...gapsOf(pings)]);
      expect(proxy.accepted).toBe(dialed + 1);
      expect(device.connections).toHaveLength(2);
      expect(device.connection).toBe(second);
      expect((await browser.connectionState())?.state).toBe('online');
      const { diagnostics } = await browser.message('relay.diagnostics', {});
      expect(diagnostics.closes.half_open).toBe(1);
      expect(diagnostics.dials).toBe(2);
      expect((await relay.command(device, { command: 'workspace_info' })).status).toBe('ok');
      // Two at the relay, which could not know that the agent had given up the first.
      expect(device.maxOpenSockets).toBeLessThanOrEqual(2);
      expect(relay.violations).toEqual([]);
    }));

  it('rule 1: a relay that hears but says nothing is half-open too', () =>
    inWorld({}, async (world) => {
      const { relay, device } = world;
      const silent = relay.now();
      relay.fault({ fault: 'no_pong' });
      const first = device.connection;
      await relay.until(() => first?.closed, 'the first socket to close', {
        timeout_ms: 2 * REPLACED_WITHIN_MS,
      });
      expect((first?.closed?.at ?? 0) - silent).toBeGreaterThan(2 * PING_INTERVAL_MS - TOLERANCE_MS);
      relay.clearFaults();
      const second = await relay.waitForOnline(device, { after: 1 });
      expect(second.opened_at - silent).toBeLessThan(REPLACED_WITHIN_MS);
      expect(relay.connections).toHaveLength(2);
      expect(device.maxOpenSockets).toBe(1);
      expect(relay.violations).toEqual([]);
    }));

  it('§2: an opening that stalls 30 s is abandoned and counts as failed: the delay doubles', () =>
    inWorld({ enrolled: false }, async (world) => {
      const { relay, device, browser } = world;
      relay.fault({ fault: 'stall_handshake', times: 3 });
      await browser.enroll(device.enrollment);
      await relay.waitForOnline(device, { timeout_ms: 180_000 });
      const [first = 0, second = 0, third = 0, fourth = 0] = relay.handshakes.map(({ at }) => at);
      // The first is dialed while browsers start beside this one, and may be noticed late.
      expect(second - first).toBeGreaterThan(30_000);
      // 30 s, up to 1 s for the abandoned socket to close, 2 s and then 4 s with their jitter.
      for (const [gap, delay] of [
        [third - second, 2_000],
        [fourth - third, 4_000],
      ] as const) {
        expect(gap).toBeGreaterThan(30_000 + delay - 300);
        expect(gap).toBeLessThan(31_000 + 1.5 * delay + 1_000);
      }
      const { diagnostics } = await browser.message('relay.diagnostics', {});
      expect(diagnostics.closes.opening_deadline).toBe(3);
      await nextPings(world, 2);
      expect(relay.handshakes).toHaveLength(4);
      expect(device.maxOpenSockets).toBe(1);
      expect(relay.violations).toEqual([]);
    }));
});
