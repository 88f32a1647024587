/**
 * The heartbeat and what it finds out (wire.md §2, §5 rules 1, 6, 7; case 2), in real time against the built
 * extension: most of these tests wait, each in a browser of its own, and so they wait together.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/protocol/json';
import type { LoggedFrame } from '../fake-relay/traffic';
import { request, responses } from './harness/frames';
import { until } from './harness/until';
import { createWorld, type World, type WorldOptions } from './harness/world';

const PING = '{"type":"ping"}';
const PING_INTERVAL_MS = 20_000;
const TOLERANCE_MS = 1_000;
const MIB = 1024 * 1024;

/** One ping interval and two more of silence, a look every 5 s, the first delay with its jitter. */
const REPLACED_WITHIN_MS = 3 * PING_INTERVAL_MS + 5_000 + 1_500;

async function inWorld(options: WorldOptions, test: (world: World) => Promise<void>): Promise<void> {
  const world = await createWorld(options);
  try {
    await test(world);
  } finally {
    await world[Symbol.asyncDispose]();
  }
}

function isPing({ text }: LoggedFrame): boolean {
  return text === PING;
}

/** The next `count` pings after `since`, one by one as they come: the log may forget them. */
async function nextPings({ relay }: World, count: number, since = relay.now()): Promise<LoggedFrame[]> {
  const pings: LoggedFrame[] = [];
  let after = since;
  while (pings.length < count) {
    const ping = await relay.waitForFrame((frame) => frame.at > after && isPing(frame), {
      since: after,
      what: 'the next ping',
      timeout_ms: 4 * PING_INTERVAL_MS,
    });
    pings.push(ping);
    after = ping.at;
  }
  return pings;
}

function gapsOf(pings: LoggedFrame[]): number[] {
  return pings.slice(1).map(({ at }, index) => at - (pings[index] as LoggedFrame).at);
}

/** `stood_ms`: how long the machine let the measuring side stand still, which nobody can tell from a late ping. */
function expectSteady(gaps: number[], stood_ms = 0): void {
  for (const gap of gaps)
    expect(Math.abs(gap - PING_INTERVAL_MS), `${gap} ms`).toBeLessThanOrEqual(TOLERANCE_MS + stood_ms);
}

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
      relay.fault({ fault: 'stall_handshake', times: 2 });
      await browser.enroll(device.enrollment);
      await relay.waitForOnline(device, { timeout_ms: 120_000 });
      const [first = 0, second = 0, third = 0] = relay.handshakes.map(({ at }) => at);
      // 30 s, up to 1 s for the abandoned socket to close, 1 s and then 2 s with their jitter.
      expect(second - first).toBeGreaterThan(31_000 - 100);
      expect(second - first).toBeLessThan(31_000 + 500 + 1_500);
      expect(third - second).toBeGreaterThan(32_000 - 100);
      expect(third - second).toBeLessThan(32_000 + 1_000 + 1_500);
      const { diagnostics } = await browser.message('relay.diagnostics', {});
      expect(diagnostics.closes.opening_deadline).toBe(2);
      await nextPings(world, 2);
      expect(relay.handshakes).toHaveLength(3);
      expect(device.maxOpenSockets).toBe(1);
      expect(relay.violations).toEqual([]);
    }));
});

describe('while large answers are being sent', () => {
  const LARGE: WorldOptions = {
    proxied: true,
    relay: { relay_config: { max_inline_bytes: 64 * MIB }, keep_log_bytes: 64 * MIB },
    // A PNG of noise as large as this fills most of a frame.
    browser: { flags: ['--window-size=1560,1280'] },
  };

  /** A crowd of answers that want to leave at a time. */
  const CROWD = 8;
  /** All of a crowd, on the narrowest line here, and patience. */
  const ANSWERED_WITHIN_MS = 240_000;

  /** Has `count` large answers made; returns their requests, and how long the largest frame is. */
  async function makeLarge(world: World, count: number): Promise<{ frames: JsonObject[]; bytes: number }> {
    const { relay, device, site } = world;
    site.serve('/noise', NOISE);
    await relay.command(device, {
      command: 'tab_open',
      input: { url: site.url('/noise'), active: true },
    });
    const frames: JsonObject[] = [];
    let bytes = 0;
    for (let number = 1; number <= count; number += 1) {
      const id = `large-${number}`;
      const frame = request(id, 'screenshot', { deliver_image: true, format: 'png' }, ANSWERED_WITHIN_MS);
      relay.send(device, frame);
      frames.push(frame);
      bytes = Math.max(bytes, (await relay.waitForFrame(isAnswerOf(id))).bytes);
    }
    return { frames, bytes };
  }

  /** Told by the first letters: parsing megabytes would keep the stand-in from noting when a ping came. */
  function isAnswerOf(id: string): (frame: LoggedFrame) => boolean {
    const start = `{"type":"tool_response","id":"${id}"`;
    return ({ text }) => text?.startsWith(start) ?? false;
  }

  interface Busy {
    /** How many answers came, and in how many milliseconds each on average. */
    stop(): Promise<{ answers: number; each_ms: number }>;
  }

  /** Asks for each of these answers again whenever it came, until told to stop. */
  function askAgain({ relay, device }: World, frames: JsonObject[]): Busy {
    const started = relay.now();
    let answers = 0;
    let stopped = false;
    const asking = frames.map(async (frame) => {
      while (!stopped) {
        const since = relay.now();
        relay.send(device, frame);
        await relay.waitForFrame(isAnswerOf(String(frame.id)), { since, timeout_ms: ANSWERED_WITHIN_MS });
        answers += 1;
      }
    });
    for (const one of asking) one.catch(() => undefined);
    return {
      async stop() {
        stopped = true;
        await Promise.all(asking);
        return { answers, each_ms: (relay.now() - started) / answers };
      },
    };
  }

  /** Gives the last ping before the line is busy, those while it is, and how long one answer took. */
  async function pingsWhileBusy(
    line: { bytesPerSecond: number; atOnce: number },
    count: number,
    judge: (pings: LoggedFrame[], each_ms: number, stood_ms: number) => void,
  ): Promise<void> {
    await inWorld(LARGE, async (world) => {
      const { relay, device, proxy } = world;
      const { frames, bytes } = await makeLarge(world, line.atOnce);
      expect(bytes).toBeGreaterThan(5 * MIB);
      expect(bytes).toBeLessThanOrEqual(8 * MIB);
      if (line.bytesPerSecond > 0) {
        // A line that is narrow from its first byte on: the system's buffers of the fast one had grown to seconds.
        proxy.throttle(line.bytesPerSecond);
        proxy.cut();
        await until('it is online again', () => device.online && device.connections.length === 2);
      }
      const connections = device.connections.length;
      const before = await nextPings(world, 1);
      const standing = monitorEventLoopDelay({ resolution: 10 });
      standing.enable();
      const busy = askAgain(world, frames);
      const pings = [...before, ...(await nextPings(world, count, before[0]?.at))];
      const { answers, each_ms } = await busy.stop();
      expect(answers).toBeGreaterThan(count);
      standing.disable();
      judge(pings, each_ms, standing.max / 1e6);
      expect(device.connections).toHaveLength(connections);
      for (const { id } of frames) {
        expect(responses(world, String(id)).every(({ status }) => status === 'ok')).toBe(true);
      }
      expect(relay.violations).toEqual([]);
    });
  }

  it('rule 1: pings keep to 20 s ± 1 s', () =>
    pingsWhileBusy({ bytesPerSecond: 0, atOnce: 1 }, 3, (pings) => expectSteady(gapsOf(pings))));

  it('rule 1: while many of them want to leave at once, too', () =>
    pingsWhileBusy({ bytesPerSecond: 0, atOnce: CROWD }, 3, (pings, _each_ms, stood_ms) =>
      expectSteady(gapsOf(pings), stood_ms),
    ));

  it('rule 1: on a line that takes about a second for such an answer, too', () =>
    pingsWhileBusy({ bytesPerSecond: 10 * MIB, atOnce: 1 }, 3, (pings) => expectSteady(gapsOf(pings))));

  it('rule 1: on a line so narrow that an answer takes longer, a ping waits for those that have left, not for all, and the socket is kept', () =>
    pingsWhileBusy({ bytesPerSecond: MIB, atOnce: CROWD }, 3, ([before, ...pings], each_ms) => {
      expect(each_ms).toBeGreaterThan(5 * TOLERANCE_MS);
      for (const [index, { at }] of pings.entries()) {
        const late = at - (before?.at ?? 0) - (index + 1) * PING_INTERVAL_MS;
        // In front of it is the answer that is leaving, and megabytes that the network stack has taken already.
        expect(late, `ping ${index + 1}`).toBeLessThan(TOLERANCE_MS + (CROWD / 2) * each_ms);
      }
    }));
});

const NOISE = `<!doctype html><title>noise</title><style>body{margin:0;overflow:hidden}</style><canvas id="c"></canvas>
  <script>c.width=innerWidth;c.height=innerHeight;const x=c.getContext('2d'),d=x.createImageData(c.width,c.height);
  for(let i=0;i<d.data.length;i+=65536)crypto.getRandomValues(new Uint8Array(d.data.buffer,i,Math.min(65536,d.data.length-i)));
  for(let i=3;i<d.data.length;i+=4)d.data[i]=255;x.putImageData(d,0,0)</script>`;
