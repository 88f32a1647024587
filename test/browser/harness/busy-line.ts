/** A line on which large answers leave all the time, and the pings between them. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect } from 'vitest';
import type { JsonObject } from '../../../src/protocol/json';
import type { LoggedFrame } from '../../fake-relay/traffic';
import { request, responses } from './frames';
import { inWorld, nextPings } from './pings';
import { until } from './until';
import type { World, WorldOptions } from './world';

export const MIB = 1024 * 1024;

const LARGE: WorldOptions = {
  proxied: true,
  relay: { relay_config: { max_inline_bytes: 64 * MIB }, keep_log_bytes: 64 * MIB },
  // A PNG of noise as large as this fills most of a frame.
  browser: { flags: ['--window-size=1560,1280'] },
};

/** A crowd of answers that want to leave at a time. */
export const CROWD = 8;
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
export async function pingsWhileBusy(
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

const NOISE = `<!doctype html><title>noise</title><style>body{margin:0;overflow:hidden}</style><canvas id="c"></canvas>
  <script>c.width=innerWidth;c.height=innerHeight;const x=c.getContext('2d'),d=x.createImageData(c.width,c.height);
  for(let i=0;i<d.data.length;i+=65536)crypto.getRandomValues(new Uint8Array(d.data.buffer,i,Math.min(65536,d.data.length-i)));
  for(let i=3;i<d.data.length;i+=4)d.data[i]=255;x.putImageData(d,0,0)</script>`;
