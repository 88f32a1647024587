import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { expect, onTestFinished, test } from 'vitest';
import type { TcpProxy } from '../../fake-relay/tcp-proxy';
import { proxyTo } from './helpers';

interface Line {
  proxy: TcpProxy;
  /** The server's end of each connection, in order. */
  served: Socket[];
  dial(): Promise<Socket>;
}

/** A server that sends back what it gets, behind a proxy. */
async function echo(): Promise<Line> {
  const served: Socket[] = [];
  const server = createServer((socket) => {
    served.push(socket);
    socket.on('error', () => undefined);
    socket.pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await proxyTo((server.address() as AddressInfo).port);
  const clients: Socket[] = [];
  onTestFinished(() => {
    for (const socket of [...clients, ...served]) socket.destroy();
    server.close();
  });
  const dial = async (): Promise<Socket> => {
    const socket = connect(proxy.port, '127.0.0.1');
    clients.push(socket);
    await once(socket, 'connect');
    return socket;
  };
  return { proxy, served, dial };
}

/** Resolves when so many bytes came. */
function receive(socket: Socket, length: number): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const take = (chunk: Buffer): void => {
      chunks.push(chunk);
      const all = Buffer.concat(chunks);
      if (all.length < length) return;
      socket.off('data', take);
      resolve(all);
    };
    socket.on('data', take);
  });
}

async function roundTrip(socket: Socket, text: string): Promise<string> {
  const back = receive(socket, text.length);
  socket.write(text);
  return (await back).toString();
}

test('forwards both ways, large amounts whole, and the end', async () => {
  const { proxy, dial } = await echo();
  const socket = await dial();
  const bytes = Buffer.alloc(3_000_000, 'abcdefg');
  const back = receive(socket, bytes.length);
  socket.write(bytes);
  expect((await back).equals(bytes)).toBe(true);
  expect([proxy.connections, proxy.accepted]).toEqual([1, 1]);
  socket.end();
  await once(socket, 'close');
  await expect.poll(() => proxy.connections).toBe(0);
});

test('pause: nothing passes and nobody is told, not even of an end; resume delivers it all', async () => {
  const { proxy, served, dial } = await echo();
  const socket = await dial();
  await roundTrip(socket, 'before');
  proxy.pause();
  let came = '';
  socket.on('data', (bytes: Buffer) => {
    came += bytes.toString();
  });
  socket.write('during');
  const other = await dial();
  const otherBack = receive(other, 5);
  other.write('other');
  other.end();
  // What is paused cannot be waited for; a direct round trip shows that time has passed.
  const { dial: dialDirect } = await echo();
  await roundTrip(await dialDirect(), 'elsewhere');
  expect(came).toBe('');
  expect(served[0]?.destroyed).toBe(false);
  proxy.resume();
  await expect.poll(() => came).toBe('during');
  expect((await otherBack).toString()).toBe('other');
});

test('cut: both sides are reset', async () => {
  const { proxy, served, dial } = await echo();
  const socket = await dial();
  await roundTrip(socket, 'x');
  const errors = [once(socket, 'error'), once(served[0] as Socket, 'error')];
  proxy.cut();
  for (const error of errors) expect((await error)[0]).toMatchObject({ code: 'ECONNRESET' });
  await expect.poll(() => proxy.connections).toBe(0);
  expect(await roundTrip(await dial(), 'again')).toBe('again');
});

test('cut works on paused connections too', async () => {
  const { proxy, dial } = await echo();
  const socket = await dial();
  await roundTrip(socket, 'x');
  proxy.pause();
  const error = once(socket, 'error');
  proxy.cut();
  expect((await error)[0]).toMatchObject({ code: 'ECONNRESET' });
});

test('a side that breaks takes the other with it, either way', async () => {
  const { proxy, served, dial } = await echo();
  const first = await dial();
  await roundTrip(first, 'x');
  first.on('error', () => undefined);
  served[0]?.resetAndDestroy();
  await once(first, 'close');

  const second = await dial();
  await roundTrip(second, 'x');
  const closed = once(served[1] as Socket, 'close');
  second.resetAndDestroy();
  await closed;
  await expect.poll(() => proxy.connections).toBe(0);
});

test('delay: each way takes so much longer, in order', async () => {
  const { proxy, dial } = await echo();
  const socket = await dial();
  await roundTrip(socket, 'x');
  proxy.delay(40);
  const start = performance.now();
  expect(await roundTrip(socket, 'abc')).toBe('abc');
  expect(performance.now() - start).toBeGreaterThanOrEqual(78);
  proxy.delay(0);
  expect(await roundTrip(socket, 'fast')).toBe('fast');
});

test('throttle: no more than so many bytes a second', async () => {
  const { proxy, dial } = await echo();
  const socket = await dial();
  await roundTrip(socket, 'x');
  proxy.throttle(100_000);
  const start = performance.now();
  const back = receive(socket, 20_000);
  socket.write(Buffer.alloc(20_000));
  await back;
  expect(performance.now() - start).toBeGreaterThanOrEqual(150);
  proxy.throttle(0);
  const rest = receive(socket, 1_000_000);
  socket.write(Buffer.alloc(1_000_000));
  expect((await rest).length).toBe(1_000_000);
});

test('refuse: connections are closed at once, until it ends', async () => {
  const { proxy, dial } = await echo();
  proxy.refuse();
  const refused = await dial();
  refused.on('error', () => undefined);
  await once(refused, 'close');
  expect([proxy.connections, proxy.accepted]).toEqual([0, 1]);
  proxy.refuse(false);
  expect(await roundTrip(await dial(), 'in')).toBe('in');
});
