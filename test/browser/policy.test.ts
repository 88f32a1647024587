/**
 * Managed policy (policy.md, case 9) in a real Chromium: the file an administrator would write, and what the
 * browser makes of it while it runs. Each change takes Chromium about 5 s to notice.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../fake-relay/devices';
import { type FakeRelay, startFakeRelay } from '../fake-relay/fake-relay';
import { EXTENSION_ID } from './harness/agent-browser';
import { Person } from './harness/person';
import { PolicyFolder } from './harness/policy-folder';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

const BOX = 'Paste the enrollment from your platform';
const MANAGED = 'Managed by your organisation';
const ONLINE = /^Online · /;
const NOT_ENROLLED = /^Not connected/;

function enrollmentOf({ enrollment }: Device): Record<string, string> {
  return { endpoint: enrollment.endpoint, enrollment_token: enrollment.token };
}

/** Never two sockets at once: each was closed before the next was opened. */
function neverTwoSockets(...relays: FakeRelay[]): boolean {
  const all = relays.flatMap(({ connections }) => connections).sort((a, b) => a.opened_at - b.opened_at);
  return all.every(({ closed }, index) => {
    const next = all[index + 1];
    return !next || (closed !== null && closed.at <= next.opened_at);
  });
}

describe.runIf(PolicyFolder.isPossible())('policy.md: managed policy', () => {
  let policies: PolicyFolder;
  let world: World;
  /** The administrator's; the person's own is the world's. */
  let organisation: FakeRelay;
  let person: Person;

  beforeAll(async () => {
    policies = new PolicyFolder(EXTENSION_ID);
    organisation = await startFakeRelay();
    world = await createWorld({ enrolled: false, browser: { policies } });
    person = await Person.open(world.browser);
  });

  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await organisation.close();
    policies.remove();
  });

  afterEach(() => {
    expect(organisation.violations).toEqual([]);
    expect(world.relay.violations).toEqual([]);
  });

  /** Everything the extension keeps by itself. */
  const stored = (): Promise<string> =>
    person.page.evaluate(
      `Promise.all(['local', 'session', 'sync'].map((area) => chrome.storage[area].get(null))).then(JSON.stringify)`,
    );

  it('case 9: no policy yet: the popup is usable at once; a late policy applies without a restart, one socket, to its endpoint', async () => {
    const { relay, device } = world;
    await person.sentenceIs(NOT_ENROLLED);
    await person.paste(JSON.stringify(device.enrollment));
    await person.click('Connect');
    await relay.waitForOnline(device);
    await person.sentenceIs(ONLINE);

    const managed = organisation.createDevice();
    policies.set(enrollmentOf(managed));
    await organisation.waitForOnline(managed);
    expect(device.connection).toBeNull();
    expect(neverTwoSockets(relay, organisation)).toBe(true);
    await person.sentenceIs(ONLINE);
    expect(await person.sentence()).toContain(`:${organisation.port} `);
    await person.sees(MANAGED);
    expect(await person.offers('Forget')).toBe(false);
    expect(await person.offers('Use another enrollment')).toBe(false);
    expect(await person.text()).not.toContain(BOX);
    expect(await person.barriers()).toEqual([]);
  });

  it('a pasted enrollment is kept, unused, while policy enrolls, and comes back when the policy goes', async () => {
    const { relay, device } = world;
    const handshakes = relay.handshakes.length;
    expect(await stored()).toContain(device.enrollment.token);
    policies.clear();
    await relay.waitForOnline(device, { after: 1 });
    expect(relay.handshakes).toHaveLength(handshakes + 1);
    expect(neverTwoSockets(relay, organisation)).toBe(true);
    await person.sentenceIs(ONLINE);
    await until('nobody manages it', async () => !(await person.text()).includes(MANAGED));
  });

  it('allow_user_enrollment false: ends a pasted enrollment and hides the box', async () => {
    const { relay, device } = world;
    policies.set({ allow_user_enrollment: false });
    await relay.until(() => !device.connection, 'the end of the connection');
    await person.sentenceIs(NOT_ENROLLED);
    await person.sees('Your organisation enrolls this browser. There is nothing to do here.');
    expect(await person.text()).not.toContain(BOX);
    const reply = await world.browser.message('enrollment.save', { text: JSON.stringify(device.enrollment) });
    expect(reply).toEqual({ saved: false, problem: 'not_allowed' });
  });

  it('an endpoint without a token blocks, and the missing key is named; the token unblocks', async () => {
    const managed = organisation.createDevice();
    const { endpoint, enrollment_token } = enrollmentOf(managed);
    policies.set({ endpoint });
    await person.sentenceIs(/^Your organisation's policy is incomplete: enrollment_token$/);
    await person.sees('Only your administrator can complete it.');
    expect(await person.text()).not.toContain(BOX);
    policies.set({ endpoint, enrollment_token });
    await organisation.waitForOnline(managed);
    await person.sentenceIs(ONLINE);
  });

  it('a changed token reconnects with the new one, without a restart', async () => {
    const [old, managed] = [organisation.devices.at(-1), organisation.createDevice()];
    policies.set(enrollmentOf(managed));
    await organisation.waitForOnline(managed);
    expect(old?.connection).toBeNull();
    expect(organisation.handshakes.at(-1)?.headers['sec-websocket-protocol']).toBe(
      `endue-os.v1, endue-os.token.${managed.enrollment.token}`,
    );
    expect(neverTwoSockets(world.relay, organisation)).toBe(true);
  });

  it('wrong values are ignored one by one, with the reason in the popup; the others hold', async () => {
    const managed = organisation.devices.at(-1) as Device;
    policies.set({
      ...enrollmentOf(managed),
      // Of the wrong type: Chrome itself withholds these.
      allow_pause: 'no',
      url_blocklist: 'https://example.com/*',
      log_level: 'loud',
      tool_permissions: { observe: 'sometimes', powerful: 'deny' },
    });
    await person.sees('Ignored policy settings: 2');
    await person.click('Ignored policy settings: 2');
    await person.sees('log_level must be error, warn, info or debug');
    await person.sees('tool_permissions.observe must be allow, ask or deny');
    expect(await person.barriers()).toEqual([]);
    expect(managed.online).toBe(true);
    expect(managed.connections).toHaveLength(1);
    expect(await person.offers('Pause')).toBe(true);
  });

  it('allow_pause false: a pause that was on ends, and Pause is gone', async () => {
    const managed = organisation.devices.at(-1) as Device;
    await person.click('Pause');
    await person.sentenceIs(/^Paused/);
    policies.set({ ...enrollmentOf(managed), allow_pause: false });
    await organisation.waitForOnline(managed, { after: 1 });
    await person.sentenceIs(ONLINE);
    await until('there is no Pause', async () => !(await person.offers('Pause')));
    await world.browser.message('pause.set', { paused: false });
  });

  it('there from the start: the browser enrolls without a person', async () => {
    const managed = organisation.devices.at(-1) as Device;
    const before = managed.connections.length;
    await world.browser.kill();
    await world.relaunch();
    await organisation.waitForOnline(managed, { after: before });
    expect(world.relay.devices.every(({ connection }) => connection === null)).toBe(true);
    person = await Person.open(world.browser);
    await person.sentenceIs(ONLINE);
    await person.sees(MANAGED);
  });

  it('revoked: the popup sends the person to the administrator, and a new token starts again by itself', async () => {
    const old = organisation.devices.at(-1) as Device;
    organisation.revoke(old);
    await person.sentenceIs(/^This enrollment was revoked/);
    await person.sees('Ask your administrator for a new enrollment.');
    expect(await person.text()).not.toContain(BOX);
    const managed = organisation.createDevice();
    policies.set(enrollmentOf(managed));
    await organisation.waitForOnline(managed);
    await person.sentenceIs(ONLINE);
  });

  it('a removed token disconnects and is forgotten', async () => {
    const managed = organisation.devices.at(-1) as Device;
    const { token } = managed.enrollment;
    // With nothing pasted to fall back to.
    await world.browser.message('enrollment.forget', {});
    policies.clear();
    await organisation.until(() => !managed.connection, 'the end of the connection');
    await person.sentenceIs(NOT_ENROLLED);
    await person.sees(BOX);
    expect(await stored()).not.toContain(token);
    expect(await person.page.evaluate(`chrome.storage.managed.get(null).then(JSON.stringify)`)).toBe('{}');
  });
});
