import { describe, expect, it } from 'vitest';
import { createTakeUpdate, UPDATE_PATIENCE_MS } from '../../../src/router/take-update';

function rig() {
  const stored: Record<string, unknown> = {};
  const state = { now: 1_000, busy: false, reloads: 0 };
  const session = {
    get: async () => ({ ...stored }),
    set: async (values: Record<string, unknown>) => void Object.assign(stored, values),
  };
  /** Another instance of the worker, as after its sleep. */
  const wake = () =>
    createTakeUpdate({
      session,
      now: () => state.now,
      isBusy: async () => state.busy,
      reload: () => {
        state.reloads += 1;
      },
    });
  return { state, wake };
}

describe('a new version takes over', () => {
  it('at once when nothing is at work', async () => {
    const { state, wake } = rig();
    await wake().ready();
    expect(state.reloads).toBe(1);
  });

  it('never without one', async () => {
    const { state, wake } = rig();
    await wake().look();
    expect(state.reloads).toBe(0);
  });

  it('after the requests at work, by whichever instance of the worker looks next', async () => {
    const { state, wake } = rig();
    state.busy = true;
    await wake().ready();
    await wake().look();
    expect(state.reloads).toBe(0);
    state.busy = false;
    await wake().look();
    expect(state.reloads).toBe(1);
  });

  it('after half an hour also in the midst of work, counted from when the first was ready', async () => {
    const { state, wake } = rig();
    state.busy = true;
    await wake().ready();
    state.now += UPDATE_PATIENCE_MS - 1;
    await wake().ready();
    expect(state.reloads).toBe(0);
    state.now += 1;
    await wake().look();
    expect(state.reloads).toBe(1);
  });
});
