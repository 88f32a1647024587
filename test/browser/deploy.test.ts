/**
 * As an organisation deploys it: a policy file installs the signed package from an update server and enrolls
 * it, without a person. Nobody can attach to such an extension, so all of it is seen from the platform and the
 * update server.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../fake-relay/devices';
import { type FakeRelay, startFakeRelay } from '../fake-relay/fake-relay';
import { AgentBrowser } from './harness/agent-browser';
import type { CdpSession } from './harness/cdp';
import { PolicyFolder } from './harness/policy-folder';
import { type Site, startSite } from './harness/site';
import { until } from './harness/until';
import { startUpdateServer, type UpdateServer } from './harness/update-server';

const PATIENT = { timeout_ms: 60_000 };

describe.runIf(PolicyFolder.isPossible())('a browser deployed by policy alone', () => {
  let updates: UpdateServer;
  let relay: FakeRelay;
  let site: Site;
  let policies: PolicyFolder;
  let browser: AgentBrowser;
  let device: Device;
  /** `chrome://extensions`. */
  let extensions: CdpSession;

  beforeAll(async () => {
    updates = await startUpdateServer('0.1.0.1');
    relay = await startFakeRelay();
    site = await startSite();
    device = relay.createDevice();
    policies = new PolicyFolder(updates.extension_id);
    policies.set(enrollment(), installed('force_installed'));
    browser = await AgentBrowser.launch({ extension: null, policies });
    extensions = await browser.openPage('chrome://extensions');
  });

  afterAll(async () => {
    await browser?.close();
    policies?.remove();
    await Promise.all([updates?.close(), relay?.close(), site?.close()]);
  });

  afterEach(() => expect(relay.violations).toEqual([]));

  const enrollment = () => ({
    endpoint: device.enrollment.endpoint,
    enrollment_token: device.enrollment.token,
  });

  /** How a policy brings the extension. */
  const installed = (installation_mode: 'force_installed' | 'normal_installed') => ({
    ExtensionSettings: {
      [updates.extension_id]: { installation_mode, update_url: updates.update_url },
    },
  });

  const forced = installed.bind(null, 'force_installed');
  const call = (command: string, input = {}) => relay.command(device, { command, input });

  it('is installed, enrolled and online, and answers a screenshot', async () => {
    await relay.waitForOnline(device, PATIENT);
    expect(device.ready?.version).toBe('0.1.0.1');
    expect(await call('tab_open', { url: site.url('/welcome'), active: true })).toMatchObject({
      status: 'ok',
    });
    expect(await call('screenshot')).toMatchObject({ status: 'ok' });
    expect(updates.visits).toEqual(['/updates.xml', '/endue-chrome-agent-0.1.0.1.crx']);
  });

  it('nobody can remove it or turn it off', async () => {
    const info = await extensions.evaluate(
      `chrome.developerPrivate.getExtensionInfo('${updates.extension_id}')
        .then(({ state, userMayModify }) => ({ state, userMayModify }))`,
    );
    expect(info).toEqual({ state: 'ENABLED', userMayModify: false });
  });

  it('takes a new version of the update server, and comes back online', async () => {
    const before = device.connections.length;
    updates.publish('0.1.0.2');
    // What the button "Update" of this page does. By itself Chrome looks every few hours.
    await extensions.evaluate('chrome.developerPrivate.autoUpdate()');
    await relay.waitForOnline(device, { ...PATIENT, after: before });
    expect(device.ready?.version).toBe('0.1.0.2');
    expect(await call('workspace_info')).toMatchObject({ status: 'ok' });
  });

  it('a rotated token: connects anew with the one that policy brings', async () => {
    relay.rotate(device);
    await relay.until(() => !device.connection, 'the end of the connection');
    const before = device.connections.length;
    policies.set(enrollment(), forced());
    await relay.waitForOnline(device, { ...PATIENT, after: before });
    expect(relay.handshakes.at(-1)?.headers['sec-websocket-protocol']).toContain(device.enrollment.token);
  });

  it('a denied tool is refused from then on; the others are answered', async () => {
    expect(await call('tab_list')).toMatchObject({ status: 'ok' });
    policies.set({ ...enrollment(), tool_permissions: { tab_list: 'deny' } }, forced());
    await until('the tool is denied', async () => {
      const answer = await call('tab_list');
      return answer.status === 'error' && answer.error_code === 'capability_denied';
    });
    expect(await call('screenshot')).toMatchObject({ status: 'ok' });
  });

  it('policy without a token: disconnected, and it does not come back', async () => {
    const { length } = relay.handshakes;
    policies.set({}, forced());
    await relay.until(() => !device.connection, 'the end of the connection', PATIENT);
    expect(relay.handshakes).toHaveLength(length);
  });

  it('the whole policy removed: the extension goes, and nothing of it dials again', async () => {
    const before = device.connections.length;
    policies.set(enrollment(), forced());
    await relay.waitForOnline(device, { ...PATIENT, after: before });
    const { length } = relay.handshakes;
    policies.clear();
    await relay.until(() => !device.connection, 'the end of the connection', PATIENT);
    const names = 'chrome.developerPrivate.getExtensionsInfo().then((all) => all.map(({ id }) => id))';
    await until('the extension is gone', async () => {
      const ids = await extensions.evaluate<string[]>(names);
      return !ids.includes(updates.extension_id);
    });
    expect(relay.handshakes).toHaveLength(length);
  });

  it('an update found in the background is taken by itself, although the connection never rests', async () => {
    // Installed so, a test may look into it.
    const before = device.connections.length;
    policies.set(enrollment(), installed('normal_installed'));
    await relay.waitForOnline(device, { ...PATIENT, after: before });
    expect(device.ready?.version).toBe('0.1.0.2');
    updates.publish('0.1.0.3');
    const popup = await browser.openPage(
      `chrome-extension://${updates.extension_id}/src/ui/popup/popup.html`,
    );
    const found = await until('the page is there', () =>
      popup
        .evaluate<string>('chrome.runtime.requestUpdateCheck().then(({ status }) => status)')
        .catch(() => null),
    );
    expect(found).toBe('update_available');
    await relay.waitForOnline(device, { ...PATIENT, after: before + 1 });
    expect(device.ready?.version).toBe('0.1.0.3');
  });
});
