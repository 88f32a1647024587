/** Case 3: many clients lose their connections in the same moment. Each is the pure core with a seed of its own. */
import { describe, expect, it } from 'vitest';
import { Client } from './support/client';
import { seeded } from './support/seeded';

const CLIENTS = 200;
const CLOSED_AT = 100_000;

function storm(code: number, afterwards: Client['dialling']): Client[] {
  return Array.from({ length: CLIENTS }, (_none, index) => {
    const client = new Client(seeded(index + 1)).start().goOnline().pass(CLOSED_AT);
    client.dialling = afterwards;
    return client.close(code).pass(120_000);
  });
}

/** The times of everybody's dial number `number` after the close, in milliseconds after it. */
function dialTimes(clients: Client[], number: number): number[] {
  return clients.map((client) => (client.of('open')[number]?.at ?? Number.NaN) - CLOSED_AT);
}

function fullestBucket(times: number[], bucketMs: number): number {
  const buckets = new Map<number, number>();
  for (const time of times) {
    const bucket = Math.floor(time / bucketMs);
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
  }
  return Math.max(...buckets.values());
}

describe('case 3: restart storm', () => {
  it('after 1012 nobody dials within 60 s, all do within 90 s, and no second holds over 10 %', () => {
    const times = dialTimes(storm(1012, 'accept'), 1);
    expect(Math.min(...times)).toBeGreaterThan(60_000);
    expect(Math.max(...times)).toBeLessThanOrEqual(90_000);
    expect(fullestBucket(times, 1_000)).toBeLessThanOrEqual(CLIENTS / 10);
  });

  it('after 1006 the first attempts come within 1.5 s, and the second ones are spread wider', () => {
    const clients = storm(1006, 'refuse');
    const [first, second] = [dialTimes(clients, 1), dialTimes(clients, 2)];
    expect(Math.min(...first)).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...first)).toBeLessThanOrEqual(1_500);
    expect(Math.min(...second)).toBeGreaterThanOrEqual(3_000);
    expect(Math.max(...second)).toBeLessThanOrEqual(4_500);
    expect(Math.max(...second) - Math.min(...second)).toBeGreaterThan(1_000);
    expect(fullestBucket(second, 100)).toBeLessThanOrEqual(CLIENTS / 5);
  });

  it('later attempts drift apart until no second holds over 10 %', () => {
    const fifth = dialTimes(storm(1006, 'refuse'), 5);
    expect(fullestBucket(fifth, 1_000)).toBeLessThanOrEqual(CLIENTS / 5);
    const sixth = dialTimes(storm(1006, 'refuse'), 6);
    expect(fullestBucket(sixth, 1_000)).toBeLessThanOrEqual(CLIENTS / 10);
  });
});
