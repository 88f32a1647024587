/** wire.md §5: whatever happens to the router and the connection, every acked request is answered once. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { World } from './support/world';

type Act =
  | { act: 'request'; id: number; ms: number; timeout_ms: number; variant: number; image: boolean }
  | { act: 'resend'; id: number }
  | { act: 'cancel'; id: number }
  | { act: 'pass'; ms: number }
  | { act: 'end'; code: number }
  | { act: 'slow'; rate: number }
  | { act: 'dialling'; dialling: World['dialling'] }
  | { act: 'stall' | 'kill' | 'hang' | 'die' | 'recover' | 'reconfigure' | 'retry' };

const id = fc.nat({ max: 7 });

const calm: fc.Arbitrary<Act>[] = [
  fc.record({
    act: fc.constant('request' as const),
    id,
    ms: fc.constantFrom(0, 5, 400, 3_000, 90_000),
    timeout_ms: fc.constantFrom(50, 2_000, 60_000),
    variant: fc.constantFrom(0, 0, 0, 1),
    image: fc.boolean(),
  }),
  fc.record({ act: fc.constant('resend' as const), id }),
  fc.record({ act: fc.constant('cancel' as const), id }),
  fc.record({ act: fc.constant('pass' as const), ms: fc.constantFrom(0, 1, 30, 500, 2_500, 30_000) }),
  fc.record({ act: fc.constant('end' as const), code: fc.constantFrom(1000, 1006, 1006, 1012, 4008) }),
  fc.record({ act: fc.constant('slow' as const), rate: fc.constantFrom(0.5, 20, Number.POSITIVE_INFINITY) }),
  fc.record({
    act: fc.constant('dialling' as const),
    dialling: fc.constantFrom<World['dialling']>('accept', 'refuse', 'hang', 'throw'),
  }),
  fc.record({
    act: fc.constantFrom('stall' as const, 'kill' as const, 'reconfigure' as const, 'retry' as const),
  }),
];
const silent = fc.record({ act: fc.constantFrom('hang' as const, 'die' as const, 'recover' as const) });

class Life {
  readonly world = new World();
  /** The frames of each id that reached the agent, as texts. */
  readonly received = new Map<string, string[]>();
  readonly #last = new Map<string, Record<string, unknown>>();

  async live(acts: Act[]): Promise<void> {
    this.world.greets = false;
    this.world.putStatus = 503;
    await this.world.start();
    for (const act of acts) {
      this.#do(act);
      if (act.act === 'pass') await this.world.clock.pass(act.ms);
    }
    await this.#heal();
  }

  #do(act: Act): void {
    const { world } = this;
    switch (act.act) {
      case 'request': {
        const { ms, timeout_ms, variant, image } = act;
        const input = { ms, variant, image: image ? 300_000 : 0 };
        this.#say(`r${act.id}`, {
          type: 'tool_request',
          id: `r${act.id}`,
          command: 'work',
          input,
          timeout_ms,
        });
        break;
      }
      case 'resend':
        this.#say(`r${act.id}`, this.#last.get(`r${act.id}`));
        break;
      case 'cancel':
        world.socket.say({ type: 'cancel_request', id: `r${act.id}` });
        break;
      case 'end':
        world.socket.end(act.code);
        break;
      case 'slow':
        world.socket.rate = act.rate;
        break;
      case 'stall':
        world.socket.stalled = true;
        break;
      case 'dialling':
        world.dialling = act.dialling;
        break;
      case 'kill':
        world.router.kill();
        break;
      case 'hang':
        world.router.hangs = true;
        break;
      case 'die':
        world.router.dead = true;
        break;
      case 'recover':
        this.#recover();
        break;
      case 'reconfigure':
        world.host.reconfigure();
        break;
      case 'retry':
        world.host.retryNow();
        break;
      default:
        break;
    }
  }

  #say(requestId: string, frame: Record<string, unknown> | undefined): void {
    const { socket } = this.world;
    if (!frame) return;
    this.#last.set(requestId, frame);
    if (socket.stalled || socket.state !== 'open') return;
    const { command, input } = frame;
    this.received.set(requestId, [
      ...(this.received.get(requestId) ?? []),
      JSON.stringify({ command, input }),
    ]);
    socket.say(frame);
  }

  #recover(): void {
    const { router } = this.world;
    if (router.hangs) router.kill();
    router.hangs = false;
    router.dead = false;
  }

  /** Everything works again, for long enough. */
  async #heal(): Promise<void> {
    const { world } = this;
    this.#recover();
    world.dialling = 'accept';
    world.onSocket = (socket) => {
      socket.rate = Number.POSITIVE_INFINITY;
    };
    if (world.socket.state === 'open') world.socket.rate = Number.POSITIVE_INFINITY;
    await world.clock.pass(250_000);
  }
}

function conflictsOf(answers: Record<string, unknown>[]): Record<string, unknown>[] {
  return answers.filter(({ error_code }) => error_code === 'request_id_conflict');
}

async function check(acts: Act[], consistent: boolean): Promise<void> {
  const life = new Life();
  await life.live(acts);
  const { world } = life;
  expect(world.violations).toEqual([]);
  for (const [requestId, frames] of life.received) {
    const answers = world.answers(requestId);
    expect(answers.length, `answers of ${requestId}`).toBeGreaterThanOrEqual(1);
    expect(answers.length, `answers of ${requestId}`).toBeLessThanOrEqual(frames.length);
    expect(world.router.runs.get(requestId) ?? 0).toBeLessThanOrEqual(1);
    // The first frame of an id is never the one that conflicts; each other content conflicts each time.
    const others = frames.filter((frame) => frame !== frames[0]).length;
    const conflicts = conflictsOf(answers);
    expect(conflicts.length).toBeLessThanOrEqual(others);
    expect(answers.length - conflicts.length).toBeGreaterThanOrEqual(1);
    if (!consistent) continue;
    const real = answers.filter(({ error_code }) => error_code !== 'request_id_conflict');
    const shown = new Set(real.map(({ status, error_code }) => JSON.stringify([status, error_code])));
    expect([...shown], `the answers of ${requestId} are the same`).toHaveLength(1);
  }
  for (const socket of world.sockets) {
    for (const { frame } of socket.arrived.filter((arrived) => arrived.frame.type === 'ready')) {
      expect(socket.arrived[0]?.frame).toBe(frame);
    }
    const owed = new Map<string, number>();
    for (const { frame } of socket.of('tool_ack'))
      owed.set(String(frame.id), (owed.get(String(frame.id)) ?? 0) + 1);
    const sent = new Map<string, number>();
    for (const { frame } of socket.of('tool_response'))
      sent.set(String(frame.id), (sent.get(String(frame.id)) ?? 0) + 1);
    for (const [requestId, count] of sent) {
      // What was asked by an earlier socket may be answered here: each content once, each conflict.
      const frames = life.received.get(requestId) ?? [];
      const isOwedHere = frames.length === (owed.get(requestId) ?? 0);
      const kept = isOwedHere ? 0 : new Set(frames).size + conflictsOf(socket.answers(requestId)).length;
      expect(count).toBeLessThanOrEqual((owed.get(requestId) ?? 0) + kept);
    }
  }
  expect(world.host.diagnostics()).toMatchObject({ queued: 0, running: 0, kept_answers: 0 });
}

it('exactly once: resends, cancels, closes, stalls, router deaths in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(...calm), { maxLength: 60, size: 'max' }), (acts) =>
      check(acts, true),
    ),
    { numRuns: 150 },
  );
}, 120_000);

it('exactly once, also with a router that is silent or does not start', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(...calm, silent), { maxLength: 60, size: 'max' }), (acts) =>
      check(acts, false),
    ),
    { numRuns: 150 },
  );
}, 120_000);
