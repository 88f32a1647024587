import { describe, expect, test } from 'vitest';
import { createHandshakeStatus, type HandshakeEvent } from '../../../src/router/handshake-status';
import { FakeClock } from './fake-clock';

function watch(endpoint = 'wss://r.test/d?x=1') {
  const clock = new FakeClock();
  const status = createHandshakeStatus(clock.setTimer);
  status.follow(endpoint);
  const tell = (kind: HandshakeEvent['kind'], request_id: string, code?: number, url = 'wss://r.test/d') =>
    status.take({ kind, request_id, url, ...(code === undefined ? {} : { status: code }) });
  return { clock, status, tell };
}

describe('wire.md §2: the status of the handshake', () => {
  test('a refused one is known at once, though it fails afterwards', async () => {
    const { status, tell, clock } = watch();
    tell('begun', '1');
    tell('answered', '1', 401);
    tell('ended', '1');
    expect(await status.last(500)).toBe(401);
    expect(clock.pending).toBe(0);
  });

  test('an absent server has none, and nobody waits for it', async () => {
    const { status, tell } = watch();
    tell('begun', '1');
    tell('ended', '1');
    expect(await status.last(500)).toBeNull();
  });

  test('an event that comes a little later is waited for, and not longer than that', async () => {
    const { status, tell, clock } = watch();
    tell('begun', '1');
    const asked = status.last(500);
    clock.advance(499);
    tell('answered', '1', 401);
    expect(await asked).toBe(401);
    const again = status.last(500);
    clock.advance(500);
    expect(await again).toBeNull();
    expect(clock.pending).toBe(0);
  });

  test('the status of one dial is not taken for that of the next', async () => {
    const { status, tell } = watch();
    tell('begun', '1');
    tell('answered', '1', 401);
    tell('begun', '2');
    tell('ended', '2');
    expect(await status.last(500)).toBeNull();
  });

  test('is told once', async () => {
    const { status, tell, clock } = watch();
    tell('answered', '1', 401);
    expect(await status.last(500)).toBe(401);
    const again = status.last(500);
    clock.advance(500);
    expect(await again).toBeNull();
  });

  test('other origins do not count', async () => {
    const { status, tell, clock } = watch();
    for (const url of [
      'wss://evil.test/d',
      'ws://r.test/d',
      'wss://r.test:444/d',
      'wss://r.test.evil.test/d',
    ]) {
      tell('answered', '1', 401, url);
    }
    const asked = status.last(500);
    clock.advance(500);
    expect(await asked).toBeNull();
  });

  test('another relay starts afresh, the same one goes on', async () => {
    const { status, tell, clock } = watch();
    tell('answered', '1', 401);
    status.follow('wss://r.test/other-path');
    expect(await status.last(500)).toBe(401);
    tell('answered', '2', 401);
    status.follow('wss://other.test/d');
    const asked = status.last(500);
    clock.advance(500);
    expect(await asked).toBeNull();
  });
});
