import { describe, expect, it, vi } from 'vitest';
import type { RequestText, RouterMessages, StorageOverview } from '../../../src/platform/messages';
import { PING_FRAME } from '../../../src/protocol/frames';
import { isJsonObject } from '../../../src/protocol/json';
import { MAX_FRAME_BYTES } from '../../../src/protocol/limits';
import { dialDecision } from './support/client';
import { World } from './support/world';

const MIB = 1024 * 1024;
const last = <T>(list: T[]): T | undefined => list.at(-1);

describe('wire.md §2 and §3: connecting and handshake', () => {
  it('dials with the two protocols, says ready first of all, and is online after both tools', async () => {
    const world = await new World().start();
    const { endpoint, protocols, arrived } = world.socket;
    expect(endpoint).toBe(dialDecision().endpoint);
    expect(protocols).toEqual(['endue-os.v1', 'endue-os.token.abc123']);
    expect(arrived[0]?.frame).toEqual(dialDecision().ready);
    expect(world.states.map(({ state }) => state)).toEqual(['connecting', 'handshaking', 'online']);
    expect(last(world.router.of('connection.changed'))?.input).toMatchObject({
      connection: { state: 'online' },
    });
  });

  it('asks the router before every dial, and for the status after a failed one', async () => {
    const world = new World();
    world.dialling = 'refuse';
    await world.start();
    await world.clock.pass(1_000);
    const kinds = world.router.asked.map(({ type }) => type).filter((type) => type.startsWith('dial.'));
    expect(kinds).toEqual(['dial.prepare', 'dial.handshake_status', 'dial.prepare', 'dial.handshake_status']);
    world.router.status = 401;
    await world.clock.pass(600_000);
    expect(world.sockets).toHaveLength(3);
    expect(last(world.states)).toEqual({ state: 'token_stopped', host: 'relay.test' });
    expect(world.router.of('dial.token_stopped')[0]?.input).toEqual({ enrollment_id: 'enrollment-1' });
  });

  it('a token the constructor refuses is a failed attempt, and stands nowhere', async () => {
    const world = new World();
    world.dialling = 'throw';
    await world.start();
    expect(last(world.states)).toMatchObject({ state: 'waiting' });
    expect(JSON.stringify([world.states, world.router.asked, world.host.diagnostics()])).not.toContain(
      'abc123',
    );
    world.dialling = 'accept';
    await world.clock.pass(1_500);
    expect(last(world.states)).toMatchObject({ state: 'online' });
  });

  it('the router may be dead at the start: it is asked again until it answers', async () => {
    const world = new World();
    world.router.dead = true;
    await world.start();
    await world.clock.pass(20_000);
    expect(world.states).toEqual([]);
    world.router.dead = false;
    await world.clock.pass(20_000);
    expect(await world.host.connection()).toMatchObject({ state: 'online' });
  });

  it('the stop is told to a dead router as soon as it lives', async () => {
    const world = await new World().start();
    world.router.dead = true;
    world.socket.end(4001);
    await world.clock.pass(60_000);
    world.router.dead = false;
    const before = world.router.of('dial.token_stopped').length;
    await world.clock.pass(2_000);
    expect(world.router.of('dial.token_stopped').length).toBe(before + 1);
    await world.clock.pass(60_000);
    expect(world.router.of('dial.token_stopped').length).toBe(before + 1);
  });

  it('a change of state reaches a router that died meanwhile, the newest first', async () => {
    const world = await new World().start();
    world.router.dead = true;
    world.socket.end(1012);
    await world.clock.pass(50);
    world.router.dead = false;
    await world.clock.pass(3_000);
    expect(last(world.router.of('connection.changed'))?.input).toMatchObject({
      connection: { state: 'replaced' },
    });
  });

  it('another enrollment gets its own socket after the first has closed, and none of the old answers', async () => {
    const world = await new World().start();
    world.request('long', { ms: 5_000 });
    world.request('kept', { output: { secret: 'of the first platform' } });
    world.request('picture', { image: MIB });
    world.socket.end(1006);
    await world.clock.pass(10);
    world.router.decision = dialDecision({
      enrollment_id: 'enrollment-2',
      token: 'second',
      endpoint: 'wss://other.test/',
    });
    world.host.reconfigure();
    await world.clock.pass(60_000);
    expect(world.socket.protocols[1]).toBe('endue-os.token.second');
    for (const id of ['kept', 'picture', 'long']) expect(world.answers(id)).toEqual([]);
    expect(world.puts).toEqual([]);
    expect(world.router.of('request.cancel').map(({ input }) => input)).toEqual([{ id: '"long"' }]);
  });
});

describe('storage.md: a token is sent only to the origin of the socket by which it came', () => {
  it('the address is told for the platform of the present enrollment only', async () => {
    const world = await new World().start();
    expect(world.host.endpointOf('wss://relay.test')).toBe(dialDecision().endpoint);
    const endpoint = 'wss://other.test/';
    world.router.decision = dialDecision({ enrollment_id: 'enrollment-2', token: 'second', endpoint });
    world.host.reconfigure();
    await world.clock.pass(60_000);
    expect(world.host.endpointOf('wss://relay.test')).toBeNull();
    expect(world.host.endpointOf('wss://other.test')).toBe(endpoint);
  });
});

describe('what is attached goes with the request, so that the router asks nobody', () => {
  const told = (world: World, id: string) =>
    world.router
      .of('request.run')
      .map(({ input }) => input as RouterMessages['request.run']['in'])
      .find(({ request }) => (JSON.parse(request) as RequestText).id === id)?.storages;

  it('nothing attached: every request says so, and nobody is asked', async () => {
    const facts = vi.fn(async () => []);
    const world = await new World({ storages: { isEmpty: true, facts } }).start();
    world.request('a', {}, { command: 'workspace_info' });
    world.request('b', {});
    await world.clock.pass(100);
    expect([told(world, 'a'), told(world, 'b')]).toEqual([[], []]);
    expect(facts).not.toHaveBeenCalled();
  });

  it('otherwise it goes with workspace_info only', async () => {
    const attached = [{ storage_id: 's1' }] as StorageOverview[];
    const world = await new World({ storages: { isEmpty: false, facts: async () => attached } }).start();
    world.request('a', {}, { command: 'workspace_info' });
    await world.clock.pass(100);
    world.request('b', {});
    await world.clock.pass(100);
    expect([told(world, 'a'), told(world, 'b')]).toEqual([attached, null]);
    expect(world.answers('a')).toHaveLength(1);
  });
});

describe('wire.md §5 rule 1: pings', () => {
  it('are the exact bytes, 20 s apart', async () => {
    const world = await new World().start();
    await world.clock.pass(120_000);
    const pings = world.socket.arrived.filter(({ text }) => text === PING_FRAME);
    expect(pings).toHaveLength(6);
    expect(world.socket.of('ping')).toHaveLength(6);
    pings.forEach(({ at }, index) => {
      expect(at - (pings[index - 1]?.at ?? 0)).toBeGreaterThanOrEqual(19_000);
      expect(at - (pings[index - 1]?.at ?? 0)).toBeLessThanOrEqual(21_000);
    });
  });

  it('keep their distance while 8 MiB answers are being sent', async () => {
    const world = await new World().start();
    // 8 MiB in 0.9 s: what stands in front of a ping delays it by that much at most.
    world.socket.rate = MAX_FRAME_BYTES / 900;
    for (const period of [1, 2, 3]) {
      await world.clock.pass(period * 20_000 - 2_500 - world.clock.passed);
      for (const number of [1, 2, 3, 4, 5]) {
        world.request(`big${period}.${number}`, { text: MAX_FRAME_BYTES - 1_000 });
      }
    }
    await world.clock.pass(10_000);
    expect(world.socket.of('tool_response')).toHaveLength(2 + 15);
    const times = [0, ...world.socket.of('ping').map(({ at }) => at)];
    expect(times).toHaveLength(4);
    times.slice(1).forEach((at, index) => {
      expect(at - (times[index] ?? 0)).toBeGreaterThanOrEqual(19_000);
      expect(at - (times[index] ?? 0)).toBeLessThanOrEqual(21_000);
    });
    expect(world.sockets).toHaveLength(1);
  });

  it('goes before a big answer that would be in its way', async () => {
    const world = await new World().start();
    world.request('big', { ms: 19_700, text: 4 * MIB });
    await world.clock.pass(1_000);
    // The answer takes 3 s.
    world.socket.rate = (4 * MIB) / 3_000;
    await world.clock.pass(25_000);
    expect(world.answers('big')).toHaveLength(1);
    expect(world.socket.of('ping')[0]?.at).toBeLessThan(20_000);
  });

  it('case 2: a relay that went silent is replaced within two periods of waking; the late close is nothing', async () => {
    const world = await new World().start();
    await world.clock.pass(70_000);
    const [first] = world.sockets;
    if (!first) throw new Error('no socket');
    first.stalled = true;
    world.clock.sleep(600_000);
    const woke = world.clock.passed;
    await world.clock.until(() => world.sockets.length === 2);
    expect(world.clock.passed - woke).toBeLessThanOrEqual(40_000);
    await world.clock.pass(100);
    expect(last(world.states)).toMatchObject({ state: 'online' });
    const states = world.states.length;
    first.end(1006);
    await world.clock.pass(300_000);
    expect(world.states).toHaveLength(states);
    expect(world.sockets).toHaveLength(2);
  });

  it('case 2: a connection that lives is kept over ten minutes of sleep', async () => {
    const world = await new World().start();
    world.clock.sleep(600_000);
    await world.clock.pass(300_000);
    expect(world.sockets).toHaveLength(1);
  });
});

describe('wire.md §5 rule 2: tolerance', () => {
  it('drops and counts what it does not understand; the socket stays', async () => {
    const world = await new World().start();
    const odd = ['{"type":"nope"}', '{', '[]', new ArrayBuffer(3), '{"type":"tool_request","id":""}'];
    for (const one of odd) world.socket.say(one);
    world.request('after');
    await world.clock.pass(10);
    expect(world.answers('after')).toHaveLength(1);
    expect(world.host.diagnostics()).toMatchObject({
      // The relay's greeting was echoed pings: none yet.
      dropped_frames: { unknown_type: 1, not_json: 1, not_an_object: 1, binary: 1, unusable_id: 1 },
      dials: 1,
    });
  });

  it('case 5: malformed requests with a usable id are acked, answered invalid_request and used up', async () => {
    const world = await new World().start();
    for (const timeout_ms of [-1, 0, '5', null]) {
      const id = `bad ${String(timeout_ms)}`;
      world.request(id, {}, { timeout_ms });
      await world.clock.pass(10);
      expect(world.answers(id)).toMatchObject([{ status: 'error', error_code: 'invalid_request' }]);
    }
    expect(
      world.socket.of('tool_ack').filter(({ frame }) => String(frame.id).startsWith('bad')),
    ).toHaveLength(4);
    expect([...world.router.runs.keys()]).not.toContain('bad 0');
    // Not held up by what runs.
    for (let number = 0; number < 5; number += 1) world.request(`slow${number}`, { ms: 30_000 });
    world.request('bad too', {}, { timeout_ms: 0 });
    await world.clock.pass(10);
    expect(world.answers('bad too')).toHaveLength(1);
  });

  it('the input is judged once, as it comes, and the router is told with run and settle alike', async () => {
    const judged: [string, unknown][] = [];
    const world = await new World({
      complain: (command, input) => {
        if (command === 'work') judged.push([command, input]);
        return isJsonObject(input) && input.bad ? 'input has an unknown field "bad".' : null;
      },
    }).start();
    const toldOf = (type: 'request.run' | 'request.settle', id: string) =>
      world.router
        .of(type)
        .map(({ input }) => JSON.parse((input as { request: string }).request) as RequestText)
        .filter((told) => told.id === id)
        .map(({ invalid }) => invalid);
    world.request('odd', {}, { timeout_ms: 0 });
    world.request('fits');
    world.request('bad', { bad: 1, ms: 30_000 });
    world.request('slow 1', { ms: 30_000 });
    world.request('slow 2', { ms: 30_000 });
    world.request('slow 3', { ms: 30_000 });
    world.request('queued', { bad: 2 });
    expect(judged.map(([, input]) => input)).toEqual([
      {},
      { bad: 1, ms: 30_000 },
      ...Array(3).fill({ ms: 30_000 }),
      { bad: 2 },
    ]);
    world.socket.say({ type: 'cancel_request', id: 'queued' });
    // Asked again and again while it runs.
    await world.clock.pass(25_000);
    expect(toldOf('request.run', 'odd')).toEqual([null]);
    expect(toldOf('request.run', 'fits')).toEqual([null]);
    expect(new Set(toldOf('request.run', 'bad'))).toEqual(new Set(['input has an unknown field "bad".']));
    expect(toldOf('request.run', 'bad').length).toBeGreaterThan(1);
    expect(toldOf('request.settle', 'queued')).toEqual(['input has an unknown field "bad".']);
    expect(judged).toHaveLength(6);
  });

  it('an id that no frame could hold is dropped: no answer could leave', async () => {
    const world = await new World().start();
    world.request('x'.repeat(2 * MIB));
    expect(world.host.diagnostics().dropped_frames).toEqual({ unusable_id: 1 });
  });
});

describe('wire.md §5: ack, pairing, concurrency', () => {
  it('acks at once, also what must wait', async () => {
    const world = await new World().start();
    for (let number = 0; number < 10; number += 1) world.request(`r${number}`, { ms: 1_000 });
    await world.clock.pass(1);
    expect(world.socket.of('tool_ack').filter(({ frame }) => String(frame.id).startsWith('r'))).toHaveLength(
      10,
    );
    expect(world.host.diagnostics()).toMatchObject({ running: 4, queued: 6 });
  });

  it('runs at most max_concurrency, in order', async () => {
    const world = await new World().start();
    world.socket.say({ type: 'relay_config', max_concurrency: 2 });
    for (let number = 0; number < 5; number += 1) world.request(`r${number}`, { ms: 1_000 });
    await world.clock.pass(1_500);
    expect(['r0', 'r1', 'r2', 'r3', 'r4'].map((id) => world.router.runs.has(id))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    world.socket.say({ type: 'relay_config', max_concurrency: 0 });
    await world.clock.pass(10_000);
    expect(world.answers('r4')).toHaveLength(1);
  });

  it('answers leave in whatever order work ends', async () => {
    const world = await new World().start();
    world.request('slow', { ms: 2_000 });
    world.request('quick', { ms: 10 });
    await world.clock.pass(3_000);
    const order = world.socket.of('tool_response').map(({ frame }) => frame.id);
    expect(order.slice(-2)).toEqual(['quick', 'slow']);
  });

  it('case 5: odd ids are answered under themselves', async () => {
    const world = await new World().start();
    const ids = ['__proto__', 'constructor', 'y'.repeat(100_000), '\ud83d'];
    for (const id of ids) world.request(id, { output: { mine: id.length } });
    await world.clock.pass(100);
    for (const id of ids) {
      expect(world.answers(id)).toMatchObject([{ status: 'ok', output: { mine: id.length } }]);
      expect(world.router.runs.get(id)).toBe(1);
    }
  });
});

describe('wire.md §5 rule 4: once', () => {
  it('a resend while it runs is acked again, and the one running answers once', async () => {
    const world = await new World().start();
    world.request('r1', { ms: 1_000, a: 1 });
    await world.clock.pass(100);
    world.socket.say({
      type: 'tool_request',
      id: 'r1',
      command: 'work',
      input: { a: 1, ms: 1_000 },
      timeout_ms: 7,
    });
    await world.clock.pass(5_000);
    expect(world.socket.of('tool_ack').filter(({ frame }) => frame.id === 'r1')).toHaveLength(2);
    expect(world.answers('r1')).toHaveLength(1);
    expect(world.router.runs.get('r1')).toBe(1);
  });

  it('another input under its id is a conflict at once, and does not disturb it', async () => {
    const world = await new World().start();
    world.request('r1', { ms: 1_000 });
    world.request('r1', { ms: 2_000 });
    await world.clock.pass(10);
    expect(world.answers('r1')).toMatchObject([{ error_code: 'request_id_conflict' }]);
    await world.clock.pass(5_000);
    expect(world.answers('r1')).toMatchObject([{ error_code: 'request_id_conflict' }, { status: 'ok' }]);
  });

  it('a resend of what was answered gets that answer, also while a conflict with it is under way', async () => {
    const world = await new World().start();
    world.request('r1', { a: 1 });
    await world.clock.pass(10);
    world.request('r1', { a: 2 });
    world.request('r1', { a: 1 });
    await world.clock.pass(10);
    expect(world.answers('r1').map(({ status }) => status)).toEqual(['ok', 'error', 'ok']);
  });

  it('other input under an id that waits is a conflict at once', async () => {
    const world = await new World().start();
    for (let number = 0; number < 5; number += 1) world.request(`r${number}`, { ms: 1_000 });
    world.request('r4', { ms: 2_000 });
    await world.clock.pass(10);
    expect(world.answers('r4')).toMatchObject([{ error_code: 'request_id_conflict' }]);
    await world.clock.pass(5_000);
    expect(world.answers('r4')).toMatchObject([{ error_code: 'request_id_conflict' }, { status: 'ok' }]);
  });

  it('a resend after the answer is answered from the ledger', async () => {
    const world = await new World().start();
    world.request('r1');
    await world.clock.pass(10);
    world.request('r1');
    await world.clock.pass(10);
    const [first, second] = world.answers('r1');
    expect(second).toEqual(first);
    expect(world.router.runs.get('r1')).toBe(1);
  });

  it('a router that dies while it runs is asked again at once', async () => {
    const world = await new World().start();
    world.request('r1', { ms: 10_000 });
    await world.clock.pass(100);
    world.router.kill();
    await world.clock.pass(10);
    expect(world.answers('r1')).toMatchObject([{ error_code: 'outcome_unknown' }]);
    expect(
      world.router.of('request.run').filter(({ input }) => JSON.stringify(input).includes('r1')),
    ).toHaveLength(2);
  });

  it('a run longer than the router holds a message is asked for again', async () => {
    const world = await new World().start();
    world.request('r1', { ms: 100_000 }, { timeout_ms: 200_000 });
    await world.clock.pass(101_000);
    expect(world.answers('r1')).toMatchObject([{ status: 'ok' }]);
    const asked = world.router.of('request.run').filter(({ input }) => JSON.stringify(input).includes('r1'));
    expect(asked).toHaveLength(5);
    expect(last(asked)?.input).toHaveProperty('remaining_ms', expect.closeTo(120_000, -2));
  });
});

describe('wire.md §5 rule 5: cancel', () => {
  it('a queued one is settled with the router and answered cancelled', async () => {
    const world = await new World().start();
    for (let number = 0; number < 5; number += 1) world.request(`r${number}`, { ms: 10_000 });
    world.socket.say({ type: 'cancel_request', id: 'r4' });
    world.socket.say({ type: 'cancel_request', id: 'r4' });
    world.socket.say({ type: 'cancel_request', id: 'unknown' });
    await world.clock.pass(10);
    expect(world.answers('r4')).toMatchObject([{ error_code: 'cancelled' }]);
    expect(world.router.of('request.settle').map(({ input }) => input)).toMatchObject([
      { code: 'cancelled' },
    ]);
    await world.clock.pass(30_000);
    expect(world.router.runs.has('r4')).toBe(false);
    // And it stays so.
    world.request('r4', { ms: 10_000 });
    await world.clock.pass(10);
    expect(world.answers('r4')).toMatchObject([{ error_code: 'cancelled' }, { error_code: 'cancelled' }]);
  });

  it('a running one is told to the router, again if it died, and its run answers', async () => {
    const world = await new World().start();
    world.request('r1', { ms: 30_000 });
    await world.clock.pass(10);
    world.socket.say({ type: 'cancel_request', id: 'r1' });
    await world.clock.pass(10);
    expect(world.answers('r1')).toMatchObject([{ error_code: 'cancelled' }]);
    expect(world.router.of('request.cancel').map(({ input }) => input)).toEqual([{ id: '"r1"' }]);
  });

  it('the asking itself tells it, too: a router that has just woken knows of no run that it could stop', async () => {
    const world = await new World().start();
    world.request('r1', { ms: 60_000 });
    await world.clock.pass(25_000);
    const cancelled = () =>
      world.router
        .of('request.run')
        .filter(({ input }) => JSON.stringify(input).includes('r1'))
        .map(({ input }) => (input as { cancelled?: boolean }).cancelled);
    expect(cancelled()).toEqual([false, false]);
    world.router.dead = true;
    world.router.kill();
    world.socket.say({ type: 'cancel_request', id: 'r1' });
    await world.clock.pass(5_000);
    expect(new Set(cancelled().slice(2))).toEqual(new Set([true]));
  });
});

describe('wire.md §5: deadline', () => {
  it('is answered timeout, also for one that never started', async () => {
    const world = await new World().start();
    for (let number = 0; number < 5; number += 1)
      world.request(`r${number}`, { ms: 60_000 }, { timeout_ms: 3_000 });
    await world.clock.pass(2_900);
    expect(world.answers('r4')).toEqual([]);
    await world.clock.pass(200);
    for (let number = 0; number < 5; number += 1) {
      expect(world.answers(`r${number}`)).toMatchObject([{ error_code: 'timeout' }]);
    }
    expect(world.router.runs.has('r4')).toBe(false);
  });

  it('case 5: huge timeouts do not fire at once', async () => {
    const world = await new World().start();
    for (const timeout of [2_147_483_648, 1e300])
      world.request(`t${timeout}`, { ms: 60_000 }, { timeout_ms: timeout });
    await world.clock.pass(61_000);
    for (const timeout of [2_147_483_648, 1e300])
      expect(world.answers(`t${timeout}`)).toMatchObject([{ status: 'ok' }]);
  });

  it('counts the time the machine slept', async () => {
    const world = await new World().start();
    world.request('r1', { ms: 3_600_000 }, { timeout_ms: 120_000 });
    world.clock.sleep(600_000);
    await world.clock.pass(6_000);
    expect(world.answers('r1')).toMatchObject([{ error_code: 'timeout' }]);
  });

  it('is kept by the host itself when the router answers nothing; a resend gets the same, and nothing runs', async () => {
    const world = await new World().start();
    world.router.hangs = true;
    world.request('r1', {}, { timeout_ms: 5_000 });
    await world.clock.pass(6_900);
    expect(world.answers('r1')).toEqual([]);
    await world.clock.pass(200);
    expect(world.answers('r1')).toMatchObject([{ error_code: 'timeout', duration_ms: expect.any(Number) }]);
    world.request('r1', {}, { timeout_ms: 5_000 });
    await world.clock.pass(10);
    expect(world.answers('r1')).toHaveLength(2);
    world.router.hangs = false;
    world.router.kill();
    await world.clock.pass(3_000);
    world.request('r1', {}, { timeout_ms: 5_000 });
    await world.clock.pass(10);
    expect(world.answers('r1').map(({ error_code }) => error_code)).toEqual([
      'timeout',
      'timeout',
      'timeout',
    ]);
    expect(world.router.runs.has('r1')).toBe(false);
  });
});

describe('wire.md §5: an answer that could not be sent is kept', () => {
  it('and sent after ready of the next connection in the same epoch', async () => {
    const world = await new World().start();
    world.request('r1', { ms: 500 });
    await world.clock.pass(10);
    world.dialling = 'hang';
    world.socket.end(1006);
    await world.clock.pass(5_000);
    expect(world.host.diagnostics()).toMatchObject({ kept_answers: 1, running: 0 });
    world.socket.accept();
    await world.clock.pass(10);
    expect(world.socket.arrived.map(({ frame }) => frame.type).slice(0, 2)).toEqual([
      'ready',
      'tool_response',
    ]);
    expect(world.answers('r1')).toHaveLength(1);
    expect(world.host.diagnostics().kept_answers).toBe(0);
  });

  it('a resend that finds it kept is acked and gets that one answer', async () => {
    const world = await new World().start();
    world.request('r1', { ms: 500, output: { text: 'x'.repeat(MIB) } });
    world.request('r2', { ms: 500 });
    await world.clock.pass(10);
    world.dialling = 'hang';
    world.socket.end(1006);
    await world.clock.pass(5_000);
    // So slow that r1 is still on its way, and r2 waits behind it, when the relay resends both.
    world.socket.rate = 500;
    world.socket.accept();
    world.request('r2', { ms: 500 });
    world.request('r2', { ms: 501 });
    await world.clock.pass(10_000);
    expect(world.socket.answers('r2').map(({ status }) => status)).toEqual(['ok', 'error']);
    expect(world.socket.of('tool_ack').filter(({ frame }) => frame.id === 'r2')).toHaveLength(2);
  });

  it('comes back when the socket closed before it had left', async () => {
    const world = await new World().start();
    world.socket.rate = 10;
    world.request('r1', { output: { text: 'x'.repeat(MIB) } });
    await world.clock.pass(1_000);
    world.socket.end(1006);
    await world.clock.pass(10_000);
    expect(world.sockets[0]?.answers('r1')).toEqual([]);
    expect(world.socket.answers('r1')).toHaveLength(1);
  });

  it('pause keeps them too, and starts nothing that waits', async () => {
    const world = await new World().start();
    for (let number = 0; number < 5; number += 1) world.request(`r${number}`, { ms: 100 });
    world.router.decision = { dial: false, because: { state: 'paused' } };
    world.host.reconfigure();
    await world.clock.pass(10_000);
    expect(last(world.states)).toEqual({ state: 'paused' });
    expect(world.router.runs.has('r4')).toBe(false);
    world.router.decision = dialDecision();
    world.host.reconfigure();
    await world.clock.pass(1_000);
    for (let number = 0; number < 5; number += 1) expect(world.answers(`r${number}`)).toHaveLength(1);
  });
});

describe('wire.md §6: binary', () => {
  it('is uploaded with the token of the connection, and only then the response leaves', async () => {
    const world = await new World().start();
    world.request('r1', { image: MIB });
    await world.clock.pass(100);
    expect(world.puts).toMatchObject([
      { url: 'https://relay.test/api/v1/relay/blobs/r1/image', bytes: MIB, authorization: 'Bearer abc123' },
    ]);
    expect(world.answers('r1')).toMatchObject([
      { status: 'ok', output: { image_blob: { name: 'image', size: MIB } } },
    ]);
  });

  it('follows relay_config', async () => {
    const world = await new World().start();
    world.socket.say({
      type: 'relay_config',
      max_inline_bytes: 10,
      blob_upload_url: 'https://relay.test/up',
    });
    world.request('r1', { image: 11 });
    world.request('r2', { image: 10 });
    await world.clock.pass(100);
    expect(world.puts.map(({ url }) => url)).toEqual(['https://relay.test/up/r1/image']);
    expect(world.answers('r2')).toMatchObject([{ output: { image_base64: expect.any(String) } }]);
  });

  it('§8: goes inline under the ids . and ..', async () => {
    const world = await new World().start();
    for (const id of ['.', '..']) world.request(id, { image: MIB });
    await world.clock.pass(1_000);
    expect(world.puts).toEqual([]);
    for (const id of ['.', '..'])
      expect(world.answers(id)).toMatchObject([{ output: { image_base64: expect.any(String) } }]);
  });

  it('an upload that hangs leaves time for the answer before the deadline', async () => {
    const world = await new World().start();
    world.putStatus = null;
    world.request('r1', { image: MIB }, { timeout_ms: 10_000 });
    await world.clock.pass(9_000);
    expect(world.answers('r1')).toMatchObject([
      { status: 'ok', output: { image_base64: expect.any(String) } },
    ]);
  });

  it('of an answer made without a connection is uploaded after the reconnection', async () => {
    const world = await new World().start();
    world.request('r1', { ms: 500, image: MIB });
    await world.clock.pass(10);
    world.dialling = 'hang';
    world.socket.end(1006);
    await world.clock.pass(5_000);
    expect(world.puts).toEqual([]);
    expect(world.host.diagnostics().kept_answers).toBe(1);
    world.socket.accept();
    await world.clock.pass(100);
    expect(world.puts).toHaveLength(1);
    expect(world.answers('r1')).toHaveLength(1);
  });

  it('is not tried again with a token that was forgotten or replaced meanwhile', async () => {
    for (const decision of [
      { dial: false, because: { state: 'not_enrolled' } } as const,
      dialDecision({ enrollment_id: 'enrollment-2', token: 'second', endpoint: 'wss://other.test/' }),
    ]) {
      const world = await new World().start();
      world.putStatus = 503;
      world.request('r1', { image: MIB });
      await world.clock.pass(50);
      expect(world.puts).toHaveLength(1);
      world.router.decision = decision;
      world.host.reconfigure();
      await world.clock.pass(60_000);
      expect(world.puts).toHaveLength(1);
    }
  });

  it('that is under way is broken off when the enrollment is forgotten', async () => {
    const signals: (AbortSignal | null | undefined)[] = [];
    const world = await new World({
      fetch: (_url, init) => {
        signals.push(init?.signal);
        return new Promise(() => {});
      },
    }).start();
    world.request('r1', { image: MIB });
    await world.clock.pass(50);
    world.router.decision = { dial: false, because: { state: 'not_enrolled' } };
    world.host.reconfigure();
    await world.clock.pass(50);
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
  });

  it('a small answer does not wait for the upload of another', async () => {
    const world = await new World().start();
    world.putStatus = null;
    world.request('r1', { image: MIB });
    world.request('r2');
    await world.clock.pass(100);
    expect(world.answers('r2')).toHaveLength(1);
  });
});

describe('wire.md §4: progress', () => {
  it('goes for what runs, never after the answer', async () => {
    const world = await new World().start();
    world.request('r1', { ms: 1_200 });
    await world.clock.pass(10);
    for (let completed = 0; completed < 20; completed += 1) {
      world.host.progress('r1', { completed, total: 20, unit: 'steps' });
      await world.clock.pass(100);
    }
    world.host.progress('never', { completed: 1, total: null, unit: 'steps' });
    await world.clock.pass(1_000);
    const types = world.socket.arrived
      .filter(({ frame }) => frame.id === 'r1')
      .map(({ frame }) => frame.type);
    expect(types).toEqual(['tool_ack', 'tool_progress', 'tool_progress', 'tool_progress', 'tool_response']);
    expect(world.socket.of('tool_progress')).toHaveLength(3);
  });
});
