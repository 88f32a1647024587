/**
 * Follows `storage.managed`, which may answer late, may answer `{}` first and bring the policy as a change
 * (case 9), and changes while running. Knows the storage it is given, and nothing of what the policy is for.
 */
import type { Storage } from 'webextension-polyfill';
import { isLogged } from './log-level';
import { type PolicyReading, readManagedPolicy } from './managed-policy';

/** A policy that has not been read by then is taken for absent, for as long as it stays unknown. */
export const POLICY_PATIENCE_MS = 10_000;
/** The same for somebody who looks at it, and for a browser that has nothing else to connect by. */
export const POLICY_GLANCE_MS = 200;
/** A policy that changes arrives in pieces. */
export const POLICY_SETTLES_MS = 300;
/** How long a changed policy is asked for before what the change itself said is taken. */
const POLICY_READ_MS = 1_000;

export interface PolicyWatch {
  /** Null while the policy is not known. */
  reading(): PolicyReading | null;
  /** When the policy is known, or `POLICY_PATIENCE_MS` after the start. */
  known(): Promise<void>;
  /** When the policy is known, or `POLICY_GLANCE_MS` after the start. */
  glanced(): Promise<void>;
}

type Values = Record<string, unknown>;

/**
 * Watches from now on. `changed` is called when another policy holds than somebody was told; so a policy
 * that is there from the start is not a change.
 */
export function watchPolicy(storage: Storage.Static, changed: () => void): PolicyWatch {
  let values: Values = {};
  let reading: PolicyReading | null = null;
  let told = false;
  /**
   * What changes said since the storage was last read: newer than any answer still under way. A removed key
   * is there with undefined.
   */
  let news: Values = {};
  let generation = 0;
  let settling: ReturnType<typeof setTimeout> | undefined;
  let arrived = (): void => {};
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const patience = Promise.race([arrival, wait(POLICY_PATIENCE_MS)]);
  const glance = Promise.race([arrival, wait(POLICY_GLANCE_MS)]);

  function adopt(adopted: Values): void {
    values = Object.fromEntries(Object.entries(adopted).filter(([, value]) => value !== undefined));
    const before = reading ?? readManagedPolicy({});
    reading = readManagedPolicy(values);
    if (!isSame(before.problems, reading.problems)) logProblems(reading);
    arrived();
    if (told && !isSame(before, reading)) changed();
  }

  async function read(): Promise<Values> {
    try {
      return await storage.managed.get();
    } catch {
      return {};
    }
  }

  /** Adopts what the storage answers, unless news overtake the answer. */
  async function load(): Promise<void> {
    const started = generation;
    const answer = await read();
    if (started !== generation) return;
    const adopted = { ...answer, ...news };
    news = {};
    adopt(adopted);
  }

  async function followNews(): Promise<void> {
    const started = generation;
    const loaded = load().then(() => true);
    const isAnswered = await Promise.race([loaded, wait(POLICY_READ_MS).then(() => false)]);
    if (!isAnswered && started === generation) adopt({ ...values, ...news });
  }

  storage.onChanged.addListener((changes, area) => {
    if (area !== 'managed') return;
    generation += 1;
    for (const [key, { newValue }] of Object.entries(changes)) news[key] = newValue;
    // The worker may have been woken by this very change: an earlier one was told of the policy before it.
    told = true;
    clearTimeout(settling);
    settling = setTimeout(followNews, POLICY_SETTLES_MS);
  });
  void load();

  return {
    reading() {
      told = true;
      return reading;
    },
    known: () => patience,
    glanced: () => glance,
  };
}

/** Readings are made of JSON values and one Map. */
function isSame(one: unknown, other: unknown): boolean {
  const text = (value: unknown): string =>
    JSON.stringify(value, (_key, part: unknown) => (part instanceof Map ? [...part] : part));
  return text(one) === text(other);
}

/** The keys and reasons only: a value may be a secret. */
function logProblems({ problems, policy }: PolicyReading): void {
  if (!isLogged('warn', policy.log_level)) return;
  for (const { key, reason } of problems) console.warn('managed policy ignored:', key, reason);
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
