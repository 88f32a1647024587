/** Whatever happens in whatever order, the machine never holds two sockets and never dials too soon. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { DialDecision } from '../../../src/platform/messages';
import { Client, dialDecision } from './support/client';
import { seeded } from './support/seeded';

type Act = (client: Client) => void;

const decisions: DialDecision[] = [
  dialDecision(),
  dialDecision({ enrollment_id: 'enrollment-2', token: 'second' }),
  { dial: false, because: { state: 'paused' } },
  { dial: false, because: { state: 'not_enrolled' } },
];

const code = fc.constantFrom(1000, 1006, 1012, 4001, 4008);

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.nat({ max: 70_000 }).map(
    (ms): Act =>
      (client) =>
        client.pass(ms),
  ),
  fc.nat({ max: 900_000 }).map(
    (ms): Act =>
      (client) =>
        client.sleep(ms),
  ),
  code.map(
    (closed): Act =>
      (client) =>
        client.close(closed),
  ),
  // A late close of a former socket.
  fc.tuple(code, fc.integer({ min: 1, max: 3 })).map(
    ([closed, ago]): Act =>
      (client) =>
        client.close(closed, client.socket - ago),
  ),
  fc.constant<Act>((client) => client.goOnline()),
  fc.constant<Act>((client) => client.send({ kind: 'retry_now' })),
  fc.boolean().map(
    (online): Act =>
      (client) =>
        client.send({ kind: 'network', online }),
  ),
  fc.constantFrom(...decisions).map(
    (decision): Act =>
      (client) => {
        client.decision = decision;
        client.start();
      },
  ),
  fc.constantFrom<Client['dialling']>('accept', 'refuse', 'hang').map(
    (dialling): Act =>
      (client) => {
        client.dialling = dialling;
      },
  ),
  fc.constant<Act>((client) => client.silent.add(client.socket)),
  fc.constant<Act>((client) =>
    client.send({ kind: 'opened', socket: client.socket, protocol: 'endue-os.v1' }),
  ),
);

function lived(acts: Act[], seed: number): Client {
  const client = new Client(seeded(seed)).start();
  for (const step of acts) step(client);
  return client;
}

it('wire.md §5: one socket at a time, ever', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), fc.nat(), (acts, seed) => {
      const client = new Client(seeded(seed));
      // Sockets that were opened and neither closed nor were told to.
      const alive = new Set<number>();
      const original = client.send.bind(client);
      let seen = 0;
      client.send = (event) => {
        if (event.kind === 'closed') alive.delete(event.socket);
        original(event);
        for (const effect of client.log.slice(seen)) {
          // A refused dial ends by itself, without an event of the test.
          if (effect.kind === 'ask_status' || effect.kind === 'close') alive.delete(effect.socket);
          if (effect.kind === 'open') alive.add(effect.socket);
          expect(alive.size).toBeLessThanOrEqual(1);
        }
        seen = client.log.length;
        return client;
      };
      client.start();
      for (const step of acts) step(client);
    }),
    { numRuns: 300 },
  );
});

it('wire.md §5 rule 6: a token that was refused is never dialled again before another one ruled', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), fc.nat(), (acts, seed) => {
      const { log } = lived(acts, seed);
      let stopped: string | null = null;
      for (const effect of log) {
        if (effect.kind === 'token_stopped') stopped = effect.enrollment_id;
        if (effect.kind === 'open') {
          const enrollment: string = effect.token === 'second' ? 'enrollment-2' : 'enrollment-1';
          expect(enrollment).not.toBe(stopped);
          stopped = null;
        }
      }
    }),
    { numRuns: 300 },
  );
});

it('wire.md §5 rule 1: pings of one socket are never more than 21 s apart while it is awake and open', () => {
  const quiet = fc.array(fc.oneof(fc.nat({ max: 50_000 }), fc.constant(-1)), { maxLength: 40 });
  fc.assert(
    fc.property(quiet, (steps) => {
      const client = new Client().start().goOnline();
      for (const step of steps) {
        if (step < 0) client.send({ kind: 'big_frame_next' });
        else client.pass(step);
      }
      const times = [0, ...client.of('ping').map(({ at }) => at), client.now];
      times.slice(1).forEach((at, index) => {
        const gap = at - (times[index] ?? 0);
        expect(gap).toBeLessThanOrEqual(21_000);
        if (index < times.length - 2) expect(gap).toBeGreaterThanOrEqual(19_000);
      });
    }),
  );
});
