/**
 * Round trips of the built extension against floors measured in the same run, by turns, in one browser:
 * `workspace_info` warm and cold against a bare socket echo plus one bare runtime message, `screenshot`
 * against CDP `Page.captureScreenshot` of the same page and format. Beside each what a bare extension needs that does
 * nothing else. Prints a table of medians and ratios. With the argument
 * `storage` it measures the storage path instead.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { type WebSocket, WebSocketServer } from 'ws';
import { EXTENSION_DIRECTORY, EXTENSION_ORIGIN } from '../../test/browser/harness/agent-browser';
import type { CdpSession } from '../../test/browser/harness/cdp';
import { until } from '../../test/browser/harness/until';
import { createWorld, type World } from '../../test/browser/harness/world';
import { buildExtension } from '../build.mjs';
import { median, type Row, sampleByTurns, table } from './samples';
import { benchStorage } from './storage';

type Samples = Record<'ours' | 'floor' | 'bound', number[]>;

const FLOOR_EXTENSION = fileURLToPath(new URL('floor-extension', import.meta.url));
const WARM_ROUNDS = 200;
const COLD_ROUNDS = 15;
const PICTURE_ROUNDS = 15;
/** Chrome takes two pictures a second: with this pause none has to wait. */
const PICTURE_PAUSE_MS = 600;

interface FloorSocket {
  /** Sends a text and waits for what comes back. */
  ask(text: 'message' | 'writes' | 'jpeg' | 'png'): Promise<unknown>;
  close(): void;
}

/** The bare extension's own socket. */
async function floorSocket(world: World): Promise<FloorSocket> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  await once(server, 'listening');
  const connected = once(server, 'connection');
  const worker = await until('the floor extension is there', async () =>
    (await world.browser.targets()).find(({ url }) => url.endsWith('/worker.js')),
  );
  const session = await world.browser.connection.attach(worker.targetId);
  await session.evaluate(`start(${(server.address() as AddressInfo).port})`);
  await session.detach();
  const [socket] = (await connected) as [WebSocket];
  return {
    async ask(text) {
      const answered = once(socket, 'message');
      socket.send(text);
      const [answer] = await answered;
      if (String(answer) === 'failed') throw new Error(`the bare extension failed at ${text}`);
    },
    close: () => server.close(),
  };
}

function workspaceInfo(world: World): Promise<unknown> {
  return world.relay.command(world.device, { command: 'workspace_info' });
}

async function roundTrips(world: World, floor: FloorSocket): Promise<Row[]> {
  const things = {
    ours: () => workspaceInfo(world),
    floor: () => floor.ask('message'),
    bound: () => floor.ask('writes'),
  };
  await sampleByTurns(things, 20);
  const warm = await sampleByTurns(things, WARM_ROUNDS);
  // A page without scripts: nothing but the measured message wakes a worker.
  const page = await world.browser.openPage(`${EXTENSION_ORIGIN}/icons/icon-16.png`, { background: true });
  const cold = await sampleByTurns(things, COLD_ROUNDS, async () => {
    await world.browser.killServiceWorker(page);
    await until('the workers have stopped', async () =>
      (await world.browser.targets()).every(({ type }) => type !== 'service_worker'),
    );
  });
  await page.close();
  return [
    ...rowsOf(
      '`workspace_info`, worker awake',
      'a bare extension with its two writes, worker awake',
      warm,
      3,
    ),
    ...rowsOf(
      '`workspace_info`, worker stopped',
      'a bare extension with its two writes, worker stopped',
      cold,
      2,
    ),
  ];
}

function rowsOf(what: string, bare: string, samples: Samples, aim: number): Row[] {
  const floor = median(samples.floor);
  return [
    { what, ours: median(samples.ours), floor, aim },
    { what: bare, ours: median(samples.bound), floor, aim: null },
  ];
}

async function pictures(world: World, floor: FloorSocket): Promise<Row[]> {
  const page = await world.browser.openPage(world.site.url('/welcome'));
  await until('the page is loaded', () => page.evaluate<boolean>(`document.title === 'Welcome'`));
  await page.send('Page.bringToFront');
  return [
    ...(await pictureRows(world, floor, page, 'jpeg')),
    ...(await pictureRows(world, floor, page, 'png')),
  ];
}

async function pictureRows(
  world: World,
  bare: FloorSocket,
  page: CdpSession,
  format: 'jpeg' | 'png',
): Promise<Row[]> {
  const quality = format === 'jpeg' ? { quality: 85 } : {};
  const things = {
    ours: async () => {
      const input = { deliver_image: true, format, ...quality };
      const response = await world.relay.command(world.device, { command: 'screenshot', input });
      if (response.status === 'error') throw new Error(`screenshot: ${response.error_code}`);
    },
    floor: () => page.send('Page.captureScreenshot', { format, ...quality }),
    bound: () => bare.ask(format),
  };
  const pause = () => new Promise((resolve) => setTimeout(resolve, PICTURE_PAUSE_MS));
  await sampleByTurns(things, 2, pause);
  const samples = await sampleByTurns(things, PICTURE_ROUNDS, pause);
  return rowsOf(`\`screenshot\`, ${format}`, `the bare \`captureVisibleTab\` of ${format}`, samples, 0.9);
}

async function main(): Promise<void> {
  if (process.argv[2] === 'storage') return benchStorage();
  await buildExtension({ quiet: true });
  const world = await createWorld({ browser: { extension: `${EXTENSION_DIRECTORY},${FLOOR_EXTENSION}` } });
  try {
    const floor = await floorSocket(world);
    console.log(table([...(await roundTrips(world, floor)), ...(await pictures(world, floor))]));
    floor.close();
  } finally {
    await world[Symbol.asyncDispose]();
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  },
);
