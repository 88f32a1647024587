/**
 * Round trips of the built extension against floors measured in the same run, by turns, in one browser:
 * `workspace_info` warm and cold against a bare socket echo plus one bare runtime message, `screenshot`
 * against CDP `Page.captureScreenshot` of the same page and format. Prints a table of medians and ratios. With the argument
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

const FLOOR_EXTENSION = fileURLToPath(new URL('floor-extension', import.meta.url));
const WARM_ROUNDS = 200;
const COLD_ROUNDS = 15;
const PICTURE_ROUNDS = 15;
/** Chrome takes two pictures a second: with this pause none has to wait. */
const PICTURE_PAUSE_MS = 600;

/** The floor's own socket: sends a text, waits for the echo. */
async function floorSocket(world: World): Promise<{ echo(text: string): Promise<unknown>; close(): void }> {
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
    echo(text) {
      const answered = once(socket, 'message');
      socket.send(text);
      return answered;
    },
    close: () => server.close(),
  };
}

function workspaceInfo(world: World): Promise<unknown> {
  return world.relay.command(world.device, { command: 'workspace_info' });
}

async function roundTrips(world: World): Promise<Row[]> {
  const floor = await floorSocket(world);
  const things = { ours: () => workspaceInfo(world), floor: () => floor.echo('message') };
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
  floor.close();
  return [
    { what: '`workspace_info`, worker awake', ours: median(warm.ours), floor: median(warm.floor), aim: 3 },
    { what: '`workspace_info`, worker stopped', ours: median(cold.ours), floor: median(cold.floor), aim: 2 },
  ];
}

async function pictures(world: World): Promise<Row[]> {
  const page = await world.browser.openPage(world.site.url('/welcome'));
  await until('the page is loaded', () => page.evaluate<boolean>(`document.title === 'Welcome'`));
  await page.send('Page.bringToFront');
  return [await pictureRow(world, page, 'jpeg'), await pictureRow(world, page, 'png')];
}

async function pictureRow(world: World, page: CdpSession, format: 'jpeg' | 'png'): Promise<Row> {
  const quality = format === 'jpeg' ? { quality: 85 } : {};
  const things = {
    ours: async () => {
      const input = { deliver_image: true, format, ...quality };
      const response = await world.relay.command(world.device, { command: 'screenshot', input });
      if (response.status === 'error') throw new Error(`screenshot: ${response.error_code}`);
    },
    floor: () => page.send('Page.captureScreenshot', { format, ...quality }),
  };
  const pause = () => new Promise((resolve) => setTimeout(resolve, PICTURE_PAUSE_MS));
  await sampleByTurns(things, 2, pause);
  const { ours, floor } = await sampleByTurns(things, PICTURE_ROUNDS, pause);
  return { what: `\`screenshot\`, ${format}`, ours: median(ours), floor: median(floor), aim: 0.9 };
}

async function main(): Promise<void> {
  if (process.argv[2] === 'storage') return benchStorage();
  await buildExtension({ quiet: true });
  const world = await createWorld({ browser: { extension: `${EXTENSION_DIRECTORY},${FLOOR_EXTENSION}` } });
  try {
    const rows = [...(await roundTrips(world)), ...(await pictures(world))];
    console.log(table(rows));
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
