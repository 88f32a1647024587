import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/protocol/json';
import type { FakeRelay } from '../../fake-relay/fake-relay';
import { agentFor, online, relayWith } from './helpers';

/** A PNG of 1×1 pixels. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const PICTURE: JsonObject = {
  image_id: 'img_1',
  mime_type: 'image/png',
  width: 1,
  height: 1,
  captured_at: '2026-01-01T00:00:00.000Z',
  image_base64: PNG,
};

async function call(
  relay: FakeRelay,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: JsonObject }> {
  const answer = await fetch(`${relay.origin}${path}`, {
    method,
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as JsonObject };
}

describe('the routes a user of the platform knows', () => {
  test('a device is created with an enrollment that works, and shows its state', async () => {
    const relay = await relayWith();
    const created = await call(relay, 'POST', '/api/v1/stations/stn_1/devices', {
      type: 'actual',
      kind: 'chrome',
      name: 'my browser',
    });
    expect(created.status).toBe(201);
    const data = created.body.data as JsonObject;
    const enrollment = data.enrollment as { endpoint: string; token: string };
    expect(data).toMatchObject({ station_id: 'stn_1', kind: 'chrome', name: 'my browser', online: false });
    expect(enrollment.endpoint).toBe(`ws://127.0.0.1:${relay.port}/api/v1/relay/socket`);
    expect(enrollment.token).toMatch(/^osat_[A-Za-z0-9_-]{32}$/);

    agentFor(enrollment);
    await relay.waitForConnection(1);
    await relay.until(() => relay.devices[0]?.online, 'online');
    const shown = await call(relay, 'GET', `/api/v1/resources/${data.id}`);
    expect(shown.body.data).toMatchObject({ online: true, agent: { version: '1.0.0' } });
    expect(JSON.stringify(shown.body)).not.toContain(enrollment.token);
  });

  test('a command is sent, and its result read later or waited for', async () => {
    const { relay, device } = await online();
    const path = `/api/v1/resources/${device.id}/commands`;
    const sent = await call(relay, 'POST', path, { command: 'greet', input: { name: 'you' } });
    expect(sent.status).toBe(202);
    const { id } = sent.body.data as { id: string };
    await device.commands.get(id)?.finished;
    expect((await call(relay, 'GET', `${path}/${id}`)).body.data).toMatchObject({
      id,
      status: 'done',
      outcome: { status: 'ok', output: { greeting: 'hello you' }, error: null, error_code: null },
    });
    const waited = await call(relay, 'POST', path, { command: 'nothing', wait: true });
    expect(waited.status).toBe(200);
    expect(waited.body.data).toMatchObject({ status: 'done', outcome: { error_code: 'unknown_tool' } });
  });

  test('a device that is away keeps no caller waiting; its command ends with the platform’s own code', async () => {
    const relay = await relayWith({ queue_deadline_ms: 10 });
    const device = relay.createDevice();
    const commands = `/api/v1/resources/${device.id}/commands`;
    const { status, body } = await call(relay, 'POST', commands, { command: 'greet', wait: true });
    expect(status).toBe(202);
    const { id } = body.data as unknown as { id: string };
    await device.commands.get(id)?.finished.catch(() => undefined);
    const later = await call(relay, 'GET', `${commands}/${id}`);
    expect(later.body.data).toMatchObject({
      status: 'done',
      outcome: { status: 'error', error_code: 'not_sent' },
    });
  });

  test('a command is cancelled', async () => {
    const { relay, device, agent } = await online({}, { tools: { greet: () => null } });
    const command = relay.startCommand(device, { command: 'greet' });
    const path = `/api/v1/resources/${device.id}/commands/${command.id}/cancel`;
    expect((await call(relay, 'POST', path)).status).toBe(202);
    expect(await agent.frame('cancel_request')).toMatchObject({ id: command.id });
  });

  test('a token is rotated and revoked', async () => {
    const { relay, device, agent } = await online();
    const rotated = await call(relay, 'POST', `/api/v1/resources/${device.id}/token/rotate`);
    expect(await agent.closed).toBe(4001);
    const { enrollment } = rotated.body.data as unknown as {
      enrollment: { endpoint: string; token: string };
    };
    const next = agentFor(enrollment);
    await relay.waitForOnline(device, { after: 1 });
    await call(relay, 'DELETE', `/api/v1/resources/${device.id}/token`);
    expect(await next.closed).toBe(4001);
    expect(await agentFor(enrollment).refused).toBe(401);
  });

  test.each<[string, string, unknown, number, string]>([
    ['GET', '/nothing', undefined, 404, 'not_found'],
    ['GET', '/api/v1/resources/nobody', undefined, 404, 'resource_not_found'],
    ['DELETE', '/api/v1/resources/nobody', undefined, 405, 'method_not_allowed'],
    ['GET', '/api/v1/relay/socket', undefined, 426, 'upgrade_required'],
    ['POST', '/api/v1/stations/s/devices', '{', 400, 'invalid_json'],
    ['POST', '/api/v1/stations/s/devices', [], 400, 'invalid_body'],
    ['POST', '/api/v1/stations/s/devices', { name: 7 }, 400, 'invalid_body'],
    ['POST', '/api/v1/resources/DEVICE/commands', {}, 400, 'invalid_body'],
    ['POST', '/api/v1/resources/DEVICE/commands', { command: 'x', input: [] }, 400, 'invalid_body'],
    ['POST', '/api/v1/resources/DEVICE/commands', { command: 'x', timeout_ms: -1 }, 400, 'invalid_body'],
    ['GET', '/api/v1/resources/DEVICE/commands/none', undefined, 404, 'command_not_found'],
    ['GET', '/api/v1/resources/DEVICE/screen?max_age_ms=x', undefined, 400, 'invalid_query'],
    ['GET', '/api/v1/resources/DEVICE/screen', undefined, 409, 'device_offline'],
  ])('%s %s is an error in JSON', async (method, path, body, status, error_code) => {
    const relay = await relayWith();
    const device = relay.createDevice();
    const answer = await call(relay, method, path.replace('DEVICE', device.id), body);
    expect(answer).toMatchObject({ status, body: { error_code } });
    expect(answer.body.error).toMatch(/\.$/);
  });

  test('web pages and other host names are kept out', async () => {
    const relay = await relayWith();
    const status = (headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        request(`${relay.origin}/__faults`, { headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end();
      });
    expect(await status({})).toBe(200);
    expect(await status({ Origin: 'chrome-extension://abc' })).toBe(200);
    expect(await status({ Origin: 'https://evil.test' })).toBe(403);
    expect(await status({ Host: 'evil.test' })).toBe(403);
  });
});

describe('tools.md, screenshot: the screen of a device', () => {
  const screen = (relay: FakeRelay, id: string, query = ''): Promise<Response> =>
    fetch(`${relay.origin}/api/v1/resources/${id}/screen${query}`);
  const calls = (relay: FakeRelay): number =>
    relay.sent.filter(({ text }) => text?.includes('"screenshot"')).length;

  test('is the picture with its type; one within max_age_ms is used again', async () => {
    const { relay, device } = await online({}, { tools: { screenshot: () => PICTURE } });
    const first = await screen(relay, device.id);
    expect(first.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await first.arrayBuffer()).toString('base64')).toBe(PNG);
    await screen(relay, device.id, '?max_age_ms=60000');
    expect(calls(relay)).toBe(1);
    expect(relay.sent.at(-1)?.json).toMatchObject({ command: 'screenshot', input: { deliver_image: true } });
    expect(relay.violations).toEqual([]);
  });

  test('at most 2 calls a second, however many ask', async () => {
    const { relay, device } = await online({}, { tools: { screenshot: () => PICTURE } });
    const answers = await Promise.all(Array.from({ length: 10 }, () => screen(relay, device.id)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    const times = relay.sent.filter(({ text }) => text?.includes('"screenshot"')).map(({ at }) => at);
    expect(times.length).toBeLessThan(10);
    for (const [n, time] of times.entries()) {
      expect(time - (times[n - 1] ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(495);
    }
  });

  test('comes from a blob too', async () => {
    const { relay, device } = await online(
      {},
      {
        tools: {
          screenshot: async ({ id }) => {
            const answer = await fetch(`${relay.origin}/api/v1/relay/blobs/${id}/image`, {
              method: 'PUT',
              body: new Uint8Array(Buffer.from(PNG, 'base64')),
              headers: { Authorization: `Bearer ${device.enrollment.token}`, 'Content-Type': 'image/png' },
            });
            const { image_base64: _inline, ...facts } = PICTURE;
            return { ...facts, image_blob: (await answer.json()) as JsonObject };
          },
        },
      },
    );
    const answer = await screen(relay, device.id);
    expect(Buffer.from(await answer.arrayBuffer()).toString('base64')).toBe(PNG);
    expect(relay.violations).toEqual([]);
  });

  test('an error of the tool comes with its code', async () => {
    const { relay, device } = await online();
    const answer = await screen(relay, device.id);
    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject({ error_code: 'unknown_tool' });
  });

  test.each<[string, JsonObject, string]>([
    ['a type that is not true', { mime_type: 'image/jpeg' }, 'says image/jpeg but is png'],
    ['a type that is not allowed', { mime_type: 'image/gif' }, 'mime_type "image/gif"'],
    ['a size that is not true', { width: 2 }, 'says 2×1 but is 1×1'],
    ['bytes that are no picture', { image_base64: 'aGVsbG8gd29ybGQh' }, 'not a picture'],
    ['text that is not base64', { image_base64: '*' }, 'not base64'],
  ])('%s is a violation', async (_name, wrong, sentence) => {
    const { relay, device } = await online({}, { tools: { screenshot: () => ({ ...PICTURE, ...wrong }) } });
    await relay.command(device, { command: 'screenshot', input: { deliver_image: true } });
    expect(relay.violations.join()).toContain(sentence);
  });
});
