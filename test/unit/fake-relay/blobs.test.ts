import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { FakeRelay } from '../../fake-relay/fake-relay';
import type { BlobAnswer } from '../../fake-relay/faults';
import { online } from './helpers';

const BYTES = Buffer.from('the bytes of a picture');

interface Upload {
  id: string;
  name?: string;
  token?: string | null;
  headers?: Record<string, string>;
  mime_type?: string | null;
}

function put(
  relay: FakeRelay,
  { id, name = 'image', token = null, headers = {}, mime_type = 'image/png' }: Upload,
): Promise<Response> {
  return fetch(`${relay.origin}/api/v1/relay/blobs/${encodeURIComponent(id)}/${name}`, {
    method: 'PUT',
    body: new Uint8Array(BYTES),
    redirect: 'manual',
    headers: {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(mime_type === null ? {} : { 'Content-Type': mime_type }),
      ...headers,
    },
  });
}

/** An agent that has acked `greet` under the id and leaves the answer to the test. */
async function asked(id = 'r/1'): Promise<Awaited<ReturnType<typeof online>> & { token: string }> {
  const started = await online({}, { tools: { greet: () => null } });
  const command = started.relay.startCommand(started.device, { command: 'greet', id });
  await started.relay.until(() => command.status === 'running', 'the ack');
  return { ...started, token: started.device.enrollment.token };
}

describe('wire.md §6: blob uploads', () => {
  test('are stored, answered with their facts, and may be referred to', async () => {
    const { relay, device, agent, token } = await asked();
    const answer = await put(relay, { id: 'r/1', token });
    expect(answer.status).toBe(200);
    const facts = (await answer.json()) as Record<string, string>;
    const sha256 = createHash('sha256').update(BYTES).digest('hex');
    expect(facts).toEqual({ name: 'image', mime_type: 'image/png', size: BYTES.length, sha256 });
    expect(relay.blobs[0]).toMatchObject({ request_id: 'r/1', sha256, bytes: BYTES });
    agent.answer('r/1', { image_blob: facts });
    await device.commands.get('r/1')?.finished;
    expect(relay.violations).toEqual([]);
  });

  test.each<[string, Partial<Upload>, number, string]>([
    ['no token', { token: null }, 401, 'no valid connection token'],
    ['a wrong token', { token: 'osat_wrong' }, 401, 'no valid connection token'],
    ['a cookie', { headers: { Cookie: 'a=b' } }, 200, 'a cookie was sent'],
    ['no Content-Type', { mime_type: null }, 415, 'no Content-Type'],
    ['an id that was never asked', { id: 'other' }, 404, 'never asked'],
    ['a name that is not UTF-8', { name: '%ff' }, 400, 'percent-encoded'],
  ])('with %s is a violation', async (_name, wrong, status, sentence) => {
    const { relay, token } = await asked();
    expect((await put(relay, { id: 'r/1', token, ...wrong })).status).toBe(status);
    expect(relay.violations).toHaveLength(1);
    expect(relay.violations[0]).toContain(sentence);
    expect(relay.violations[0]).not.toContain(token);
  });

  test('after the response, and more than 3 attempts, are violations', async () => {
    const { relay, device, agent, token } = await asked();
    relay.fault({ fault: 'blob', answer: { status: 503 } });
    for (let attempt = 0; attempt < 3; attempt += 1) await put(relay, { id: 'r/1', token });
    expect(relay.violations).toEqual([]);
    await put(relay, { id: 'r/1', token });
    expect(relay.violations.at(-1)).toContain('more than 3 attempts');
    agent.answer('r/1', {});
    await device.commands.get('r/1')?.finished;
    await put(relay, { id: 'r/1', token, name: 'late' });
    expect(relay.violations.at(-1)).toContain('after its response');
    expect(relay.blobAttempts.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
  });

  test('a reference to something that was not uploaded is a violation', async () => {
    const { relay, device, agent } = await asked();
    agent.answer('r/1', { image_blob: { name: 'image', mime_type: 'image/png', size: 1, sha256: '00' } });
    await device.commands.get('r/1')?.finished;
    expect(relay.violations.join()).toContain('image_blob of "r/1"');
  });

  test('bytes over max_inline_bytes go inline only after an upload was tried', async () => {
    for (const tried of [false, true]) {
      const { relay, device, agent, token } = await asked();
      relay.fault({ fault: 'blob', answer: { status: 404 } });
      if (tried) await put(relay, { id: 'r/1', token });
      agent.answer('r/1', { image_base64: Buffer.alloc(262_145).toString('base64') });
      await device.commands.get('r/1')?.finished;
      expect(relay.violations).toHaveLength(tried ? 0 : 1);
    }
  });

  test('the id .. never reaches a URL, so its bytes may go inline', async () => {
    const { relay, device, agent } = await asked('..');
    agent.answer('..', { image_base64: Buffer.alloc(262_145).toString('base64') });
    await device.commands.get('..')?.finished;
    expect(relay.violations).toEqual([]);
  });

  test('a token in a URL is a violation', async () => {
    const { relay, token } = await asked();
    await fetch(`${relay.origin}/api/v1/anything?token=${token}`);
    expect(relay.violations).toEqual(['a token stands in a URL']);
  });

  test('a blob_upload_url of another path is served too', async () => {
    const { relay, token } = await asked();
    relay.settings.relay_config = { blob_upload_url: `${relay.origin}/elsewhere/` };
    const answer = await fetch(`${relay.origin}/elsewhere/r%2F1/image`, {
      method: 'PUT',
      body: 'x',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'text/plain' },
    });
    expect(answer.status).toBe(200);
  });
});

describe('faults of blob uploads', () => {
  test.each<[BlobAnswer, (answer: Response) => unknown, unknown]>([
    [
      { status: 429, retry_after: '1' },
      ({ status, headers }) => [status, headers.get('retry-after')],
      [429, '1'],
    ],
    [{ status: 500 }, ({ status }) => status, 500],
    ['redirect', ({ status, headers }) => [status, headers.get('location')], [307, '/__redirected']],
    ['wrong_size', async (answer) => ((await answer.json()) as { size: number }).size, BYTES.length + 1],
    ['wrong_sha256', async (answer) => ((await answer.json()) as { sha256: string }).sha256, '0'.repeat(64)],
    ['wrong_name', async (answer) => ((await answer.json()) as { name: string }).name, 'imagex'],
    [
      'wrong_mime_type',
      async (answer) => ((await answer.json()) as { mime_type: string }).mime_type,
      'text/html',
    ],
    ['not_json', (answer) => answer.text(), '<!doctype html><p>OK'],
  ])('%j, once', async (answer, look, expected) => {
    const { relay, token } = await asked();
    relay.fault({ fault: 'blob', answer, times: 1 });
    expect(await look(await put(relay, { id: 'r/1', token }))).toEqual(expected);
    expect(relay.blobs).toEqual([]);
    expect((await put(relay, { id: 'r/1', token })).status).toBe(200);
    expect(relay.violations).toEqual([]);
  });

  test('cut breaks the connection, hang never answers', async () => {
    const { relay, token } = await asked();
    relay.fault({ fault: 'blob', answer: 'cut', times: 1 });
    await expect(put(relay, { id: 'r/1', token })).rejects.toThrow();
    relay.fault({ fault: 'blob', answer: 'hang', times: 1 });
    const hanging = put(relay, { id: 'r/1', token }).catch(() => 'ended with the relay');
    await relay.until(() => relay.blobAttempts.length === 2, 'the attempt');
    expect(relay.blobAttempts[1]?.answered_at).toBeNull();
    await relay.close();
    expect(await hanging).toBe('ended with the relay');
  });

  test('following the redirect is a violation', async () => {
    const { relay, token } = await asked();
    relay.fault({ fault: 'blob', answer: 'redirect' });
    const { headers } = await put(relay, { id: 'r/1', token });
    await fetch(new URL(headers.get('location') ?? '', relay.origin), { method: 'PUT', body: 'x' });
    expect(relay.violations.join()).toContain('a redirect was followed');
  });
});
