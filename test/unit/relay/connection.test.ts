import { describe, expect, it } from 'vitest';
import { CLOSE_LIVENESS_FAILED } from '../../../src/protocol/frames';
import { PING_EARLY_MS } from '../../../src/relay/connection';
import { Client, dialDecision } from './support/client';

const HOST = 'relay.test';

function onlineClient(random?: () => number): Client {
  return new Client(random).start().goOnline();
}

/** A client whose first `count` attempts failed. */
function refused(count: number): Client {
  const client = new Client();
  client.dialling = 'refuse';
  client.start();
  while (client.of('ask_status').length < count) client.pass(1_000);
  return client;
}

describe('wire.md §2: connecting', () => {
  it('asks the router first and then dials with what it said', () => {
    const client = new Client().start();
    expect(client.log.map(({ kind }) => kind)).toEqual(['prepare', 'open', 'send_ready']);
    expect(client.of('open')[0]).toMatchObject({ endpoint: dialDecision().endpoint, token: 'abc123' });
  });

  it('asks anew before every dial', () => {
    const client = onlineClient().close(1006).pass(2_000);
    expect(client.log.map(({ kind }) => kind)).toEqual([
      ...['prepare', 'open', 'send_ready', 'lost'],
      ...['prepare', 'open', 'send_ready'],
    ]);
  });

  it('does not dial when the router says not to, and shows why', () => {
    const client = new Client();
    client.decision = { dial: false, because: { state: 'paused' } };
    client.start().pass(600_000);
    expect(client.of('open')).toEqual([]);
    expect(client.shown).toEqual({ state: 'paused' });
  });

  it('asks a router that does not answer again with growing delays, and shows nothing before it knows', () => {
    const client = new Client();
    client.decision = null;
    client.start().pass(8_000);
    expect(client.of('prepare').map(({ at }) => at)).toEqual([0, 1_000, 3_000, 7_000]);
    expect(client.shown).toBeNull();
    client.decision = dialDecision();
    client.pass(8_000);
    expect(client.of('open')).toHaveLength(1);
  });

  it('gives up on a question to the router that hangs, and ignores its late answer', () => {
    const client = new Client();
    client.dialling = 'hang';
    client.routerHangs = true;
    client.start().pass(30_000);
    expect(client.of('prepare')).toHaveLength(1);
    client.routerHangs = false;
    client.pass(1_000);
    expect(client.of('prepare').map(({ at }) => at)).toEqual([0, 31_000]);
    expect(client.of('open')).toHaveLength(1);
    const number = client.of('prepare')[0]?.number ?? Number.NaN;
    client.send({ kind: 'prepared', number, decision: { dial: false, because: { state: 'not_enrolled' } } });
    expect(client.shown).toEqual({ state: 'connecting', host: HOST });
  });

  it('closes and counts as failed what selected another protocol', () => {
    const client = new Client();
    client.dialling = 'hang';
    client.start().send({ kind: 'opened', socket: 1, protocol: 'endue-os.token.abc123' });
    expect(client.of('close')).toMatchObject([{ socket: 1, code: 1000, reason: 'wrong_protocol' }]);
    expect(client.of('send_ready')).toEqual([]);
    expect(client.shown).toMatchObject({ state: 'waiting' });
    client.pass(1_000);
    expect(client.socket).toBe(2);
  });

  it('abandons an opening that has not finished in 30 s, as a failed attempt', () => {
    const client = new Client();
    client.dialling = 'hang';
    client.start().pass(29_999);
    expect(client.of('close')).toEqual([]);
    client.pass(1);
    expect(client.of('close')).toMatchObject([{ socket: 1, reason: 'opening_deadline', at: 30_000 }]);
    client.dialling = 'accept';
    client.pass(1_500);
    expect(client.of('open').map(({ at }) => at)).toEqual([0, 31_000]);
    // The abandoned one opens after all, and then closes: it changes nothing.
    client.send({ kind: 'opened', socket: 1, protocol: 'endue-os.v1' }).close(1006, 1);
    expect(client.connection.phase).toMatchObject({ name: 'open', socket: 2 });
  });
});

describe('wire.md §3: online', () => {
  it('is shown after both tools were answered on this connection', () => {
    const client = new Client().start();
    expect(client.shown).toEqual({ state: 'handshaking', host: HOST });
    client.send({ kind: 'answered', socket: 1, tool: 'workspace_info' });
    client.send({ kind: 'answered', socket: 1, tool: 'workspace_info' });
    expect(client.shown).toEqual({ state: 'handshaking', host: HOST });
    client.pass(5_000).send({ kind: 'answered', socket: 1, tool: 'describe_tools' });
    expect(client.shown).toEqual({ state: 'online', host: HOST, since: 1_700_000_005_000 });
    client.close(1006).pass(1_000);
    expect(client.shown).toEqual({ state: 'handshaking', host: HOST });
  });
});

describe('wire.md §5 rule 1: pings', () => {
  it('go every 20 s as long as the socket is open', () => {
    const client = onlineClient().pass(100_000);
    expect(client.of('ping').map(({ at }) => at)).toEqual([20_000, 40_000, 60_000, 80_000, 100_000]);
    client.close(1006).pass(500);
    expect(client.of('ping')).toHaveLength(5);
  });

  it('nothing at all for two intervals after a ping means half-open: closed and replaced', () => {
    const client = onlineClient();
    client.silent.add(client.socket);
    client.pass(59_999);
    expect(client.of('close')).toEqual([]);
    client.pass(1);
    expect(client.of('close')).toMatchObject([
      { socket: 1, code: CLOSE_LIVENESS_FAILED, reason: 'half_open', at: 60_000 },
    ]);
    expect(client.of('lost')).toHaveLength(1);
    client.pass(2_000);
    expect(client.of('open').map(({ socket }) => socket)).toEqual([1, 2]);
  });

  it('whatever arrives counts as life', () => {
    const client = onlineClient();
    client.silent.add(client.socket);
    for (let minute = 0; minute < 5; minute += 1) client.pass(39_000).send({ kind: 'received', socket: 1 });
    expect(client.of('close')).toEqual([]);
    client.send({ kind: 'received', socket: 7 }).pass(61_000);
    expect(client.of('close')).toHaveLength(1);
  });

  it('a big answer that the relay still reads is life, one that is stuck is not', () => {
    const client = onlineClient();
    client.silent.add(client.socket);
    for (let left = 8 << 20; left > 0; left -= 512 << 10) {
      client.buffered = left;
      client.pass(10_000);
    }
    expect(client.of('close')).toEqual([]);
    client.pass(60_000);
    expect(client.of('close')).toMatchObject([{ reason: 'half_open' }]);
  });

  it('goes a little early rather than behind a big frame', () => {
    const client = onlineClient().pass(20_000 - PING_EARLY_MS - 1);
    client.send({ kind: 'big_frame_next' });
    expect(client.of('ping')).toEqual([]);
    client.pass(1).send({ kind: 'big_frame_next' }).send({ kind: 'big_frame_next' }).pass(20_000);
    expect(client.of('ping').map(({ at }) => at)).toEqual([19_500, 39_500]);
  });
});

describe('case 2: sleep, half-open, late close', () => {
  it('a connection that survived ten minutes of sleep is pinged at once and kept', () => {
    const client = onlineClient().pass(30_000).sleep(600_000);
    expect(client.of('ping').at(-1)?.at).toBe(630_000);
    client.pass(300_000);
    expect(client.of('open')).toHaveLength(1);
    expect(client.of('close')).toEqual([]);
  });

  it('a ping that was under way when the machine fell asleep does not kill it on waking', () => {
    const client = onlineClient();
    client.silent.add(1);
    client.pass(20_000);
    client.silent.clear();
    client.sleep(600_000).pass(60_000);
    expect(client.of('close')).toEqual([]);
  });

  it('a dead one is replaced exactly once within two ping periods, and its late close changes nothing', () => {
    const client = onlineClient().pass(30_000);
    client.silent.add(client.socket);
    client.sleep(600_000);
    // Waking is noticed up to 5 s late.
    const noticed = client.now;
    client.pass(25_000);
    expect(client.of('close')).toMatchObject([{ socket: 1, reason: 'half_open' }]);
    client.pass(1_000);
    expect(client.of('open')).toHaveLength(2);
    expect(client.of('open')[1]?.at ?? Number.NaN).toBeLessThanOrEqual(noticed + 35_000);
    const before = client.connection;
    client.close(1006, 1);
    expect(client.connection).toEqual(before);
    client.pass(600_000);
    expect(client.of('open')).toHaveLength(2);
  });

  it('one that turns out closed after waking is replaced at once, however far the doubling got', () => {
    const client = refused(8);
    client.dialling = 'accept';
    client.pass(90_000).sleep(600_000);
    client.silent.add(client.socket);
    client.sleep(600_000).close(1006);
    expect(client.of('open').at(-1)?.at).toBe(client.now);
  });

  it('waking and `online` end a wait at once', () => {
    const slept = refused(8);
    const dials = slept.of('open').length;
    slept.sleep(20_000);
    expect(slept.of('open')).toHaveLength(dials + 1);

    const back = refused(8);
    back.send({ kind: 'network', online: false });
    expect(back.of('open')).toHaveLength(dials);
    back.send({ kind: 'network', online: true });
    expect(back.of('open')).toHaveLength(dials + 1);
  });

  it('an attempt under way when the machine wakes is followed by another at once', () => {
    const client = new Client();
    client.dialling = 'hang';
    client.start().sleep(600_000);
    expect(client.of('close')).toMatchObject([{ reason: 'opening_deadline' }]);
    client.pass(1_000);
    expect(client.of('open')).toHaveLength(2);
  });
});

describe('wire.md §5 rule 6: stop', () => {
  it('after 4001 it never dials with this token again, whatever wakes it', () => {
    const client = onlineClient().close(4001);
    expect(client.of('token_stopped')).toMatchObject([{ enrollment_id: 'enrollment-1' }]);
    expect(client.shown).toEqual({ state: 'token_stopped', host: HOST });
    client.pass(600_000).sleep(600_000).send({ kind: 'retry_now' }).send({ kind: 'network', online: true });
    client.start().pass(600_000);
    expect(client.of('open')).toHaveLength(1);
    expect(client.shown).toEqual({ state: 'token_stopped', host: HOST });
    // The router was told again, for it had not heard.
    expect(client.of('token_stopped')).toHaveLength(2);
  });

  it('401 at the handshake stops too; other failures are tried again', () => {
    const client = new Client();
    client.dialling = 'refuse';
    client.status = 403;
    client.start().pass(1_000);
    expect(client.of('open')).toHaveLength(2);
    client.status = 401;
    client.pass(600_000);
    expect(client.of('open')).toHaveLength(3);
    expect(client.shown).toEqual({ state: 'token_stopped', host: HOST });
  });

  it('another token starts again by itself', () => {
    const client = onlineClient().close(4001);
    client.decision = dialDecision({ enrollment_id: 'enrollment-2', token: 'new' });
    client.start();
    expect(client.of('open')[1]).toMatchObject({ token: 'new' });
    expect(client.connection.stopped).toBeNull();
  });
});

describe('wire.md §5 rule 7: reconnect', () => {
  it('doubles the delay over failed attempts', () => {
    const times = refused(6).of('open');
    const delays = times.slice(1).map(({ at }, index) => at - (times[index]?.at ?? 0));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
  });

  it('starts the doubling over only after a connection that stayed online 60 s', () => {
    const client = refused(4);
    client.dialling = 'accept';
    client.pass(16_000);
    client.goOnline().pass(59_000).close(1006);
    const short = client.now;
    client.pass(32_000);
    expect(client.of('open').at(-1)?.at).toBe(short + 16_000);
    // Open for long, yet never online: not stable either.
    client.pass(200_000).close(1006);
    const silent = client.now;
    client.pass(40_000);
    expect(client.of('open').at(-1)?.at).toBe(silent + 32_000);
    client.goOnline().pass(60_000).close(1006);
    const stable = client.now;
    client.pass(1_000);
    expect(client.of('open').at(-1)?.at).toBe(stable + 1_000);
  });

  it('starts the doubling over with a new enrollment, and dials it at once', () => {
    const client = refused(6);
    client.decision = dialDecision({ enrollment_id: 'enrollment-2' });
    client.start();
    expect(client.of('open').at(-1)?.at).toBe(client.now);
    expect(client.connection.attempt).toBe(1);
  });

  it('shows how long it waits, and a person can retry now', () => {
    const client = onlineClient().close(4008);
    expect(client.shown).toEqual({ state: 'waiting', host: HOST, until: 1_700_000_001_000 });
    client.send({ kind: 'retry_now' });
    expect(client.of('open').map(({ at }) => at)).toEqual([0, 0]);
  });

  it('a person who retries again and again does not make the wait longer', () => {
    const client = refused(5);
    const wait = (): number => {
      const { shown } = client;
      return shown?.state === 'waiting' ? shown.until : 0;
    };
    const first = wait();
    for (let round = 0; round < 4; round++) client.send({ kind: 'retry_now' });
    expect(client.of('ask_status')).toHaveLength(9);
    expect(wait()).toBe(first);
  });

  it('1012: waits over 60 s; waking, `online` and new settings do not shorten it, a person does', () => {
    const client = onlineClient(() => 0.001)
      .pass(5_000)
      .close(1012);
    expect(client.shown).toEqual({ state: 'replaced', host: HOST, until: 1_700_000_005_000 + 60_031 });
    client.pass(5_000).send({ kind: 'woke' }).send({ kind: 'network', online: true }).start().pass(54_000);
    expect(client.of('open')).toHaveLength(1);
    const patient = { ...client.connection };
    client.send({ kind: 'retry_now' });
    expect(client.of('open')).toHaveLength(2);
    expect(patient.phase.name).toBe('waiting');

    const waiting = onlineClient(() => 0.001)
      .close(1012)
      .pass(60_031);
    expect(waiting.of('open').map(({ at }) => at)).toEqual([0, 60_031]);
  });

  it('a wait says that the computer is offline, but not for a relay on this computer', () => {
    const client = onlineClient().close(1006).send({ kind: 'network', online: false });
    expect(client.shown).toEqual({ state: 'no_network', host: HOST });
    // The computer may be wrong about that: attempts go on.
    client.pass(2_000);
    expect(client.of('open')).toHaveLength(2);

    const local = new Client();
    local.decision = dialDecision({ endpoint: 'ws://127.0.0.1:8123/socket' });
    local.start().close(1006).send({ kind: 'network', online: false });
    expect(local.shown).toMatchObject({ state: 'waiting', host: '127.0.0.1:8123' });
  });
});

describe('wire.md §5: one socket at a time, ever', () => {
  it('an enrollment that did not change keeps the socket; the next `ready` is the new one', () => {
    const client = onlineClient();
    const ready = { ...dialDecision().ready, tools: ['describe_tools', 'screenshot'] };
    client.decision = dialDecision({ ready });
    client.start();
    expect(client.of('open')).toHaveLength(1);
    expect(client.shown).toMatchObject({ state: 'online' });
    client.close(1006).pass(1_000);
    expect(client.of('send_ready')[1]?.ready).toEqual(ready);
  });

  it('another enrollment closes the socket, forgets its requests, and dials when the close is done', () => {
    const client = onlineClient();
    client.decision = dialDecision({ enrollment_id: 'enrollment-2', token: 'new' });
    client.start();
    expect(client.of('close')).toMatchObject([{ socket: 1, code: 1000, reason: 'not_wanted' }]);
    expect(client.of('forget_requests')).toHaveLength(1);
    expect(client.of('open')).toHaveLength(1);
    client.close(1000, 1);
    expect(client.of('open').map(({ token }) => token)).toEqual(['abc123', 'new']);
  });

  it('a socket that does not close holds the next one up for a second only', () => {
    const client = onlineClient();
    client.decision = dialDecision({ enrollment_id: 'enrollment-2' });
    client.start().pass(999);
    expect(client.of('open')).toHaveLength(1);
    client.pass(1);
    expect(client.of('open')).toHaveLength(2);
  });

  it('pause closes the socket and keeps the requests; resuming dials', () => {
    const client = onlineClient();
    client.decision = { dial: false, because: { state: 'paused' } };
    client.start();
    expect(client.of('close')).toMatchObject([{ code: 1000, reason: 'not_wanted' }]);
    expect(client.of('forget_requests')).toEqual([]);
    client.close(1000, 1).pass(600_000);
    client.decision = dialDecision();
    client.start();
    expect(client.of('open')).toHaveLength(2);
  });

  it('forgetting the enrollment closes the socket and forgets the requests', () => {
    const client = onlineClient();
    client.decision = { dial: false, because: { state: 'not_enrolled' } };
    client.start();
    expect(client.of('forget_requests')).toHaveLength(1);
    expect(client.shown).toEqual({ state: 'not_enrolled' });
  });
});
