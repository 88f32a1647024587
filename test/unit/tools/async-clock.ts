/** Moves a false clock on in small steps and lets promises run in between, as in a real worker. */
import type { FakeClock } from '../router/fake-clock';

export async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

export async function pass(clock: FakeClock, ms: number, step_ms = 10): Promise<void> {
  await turn();
  for (let left = ms; left > 0; left -= step_ms) {
    clock.advance(Math.min(step_ms, left));
    await turn();
  }
}
