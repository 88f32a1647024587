/** A new version comes while a save is under way. The extension is installed by policy, so that updates reach it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../fake-relay/devices';
import { type FakeRelay, startFakeRelay } from '../fake-relay/fake-relay';
import { AgentBrowser } from './harness/agent-browser';
import { PolicyFolder } from './harness/policy-folder';
import { until } from './harness/until';
import { startUpdateServer, type UpdateServer } from './harness/update-server';

const PATIENT = { timeout_ms: 150_000 };
const STORAGE = 'managed-1';

describe.runIf(PolicyFolder.isPossible())('a new version while a save is under way', () => {
  let updates: UpdateServer;
  let relay: FakeRelay;
  let directory: string;
  let policies: PolicyFolder;
  let browser: AgentBrowser;
  let device: Device;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'endue-storage-'));
    updates = await startUpdateServer('0.1.0.1');
    relay = await startFakeRelay({ storage_directory: directory });
    await relay.storage.createStorage(STORAGE);
    device = relay.createDevice();
    policies = new PolicyFolder(updates.extension_id);
    const { endpoint, token } = device.enrollment;
    policies.set(
      {
        endpoint,
        enrollment_token: token,
        storages: [{ storage_id: STORAGE, name: 'Work', backing: 'browser' }],
      },
      {
        // Installed so, a test may look into it.
        ExtensionSettings: {
          [updates.extension_id]: {
            installation_mode: 'normal_installed',
            update_url: updates.update_url,
          },
        },
      },
    );
    browser = await AgentBrowser.launch({ extension: null, policies });
    await relay.waitForOnline(device, PATIENT);
    await until('the Storage is there', async () => (await write('first', '1')).status === 'ok');
  });

  afterAll(async () => {
    await browser?.close();
    policies?.remove();
    await Promise.all([updates?.close(), relay?.close()]);
    rmSync(directory, { recursive: true, force: true });
  });

  const call = (command: string, input: Record<string, string>, timeout_ms = 120_000) =>
    relay.command(device, { command, input, timeout_ms });
  const write = (path: string, text: string) => call('file_write', { storage_id: STORAGE, path, text });
  const save = () =>
    call('workspace_storage_path', {
      mode: 'save_path',
      storage_id: STORAGE,
      path: '',
      token: relay.storage.issueToken({ storage_id: STORAGE }),
    });

  /** A save that has come as far as the commit, which waits until it is let go. */
  async function heldSave() {
    let letGo = (): void => {};
    const released = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const commits = () => relay.storage.requests.filter(({ route }) => route === 'commit').length;
    const before = commits();
    relay.storage.fault({ do: 'wait', route: 'commit', times: 1, until: released });
    const answer = save();
    await until('the save has come to its commit', () => commits() > before);
    return { answer, letGo };
  }

  it('found in the background: the save ends first, then the new version takes over', async () => {
    const before = device.connections.length;
    const { answer, letGo } = await heldSave();
    updates.publish('0.1.0.2');
    const popup = await browser.openPage(
      `chrome-extension://${updates.extension_id}/src/ui/popup/popup.html`,
    );
    await until('the page is there', () =>
      popup
        .evaluate<boolean>(`document.readyState === 'complete' && !!chrome.runtime?.id`)
        .catch(() => false),
    );
    const status = await popup.evaluate('chrome.runtime.requestUpdateCheck().then(({ status }) => status)');
    expect(status).toBe('update_available');
    await until('the new version is ready', () =>
      popup.evaluate<boolean>(`chrome.storage.session.get().then((all) => 'update_ready_since' in all)`),
    );
    expect(device.connections).toHaveLength(before);
    letGo();
    expect(await answer).toMatchObject({ status: 'ok' });
    expect(device.ready?.version).toBe('0.1.0.1');
    await relay.waitForOnline(device, { ...PATIENT, after: before });
    expect(device.ready?.version).toBe('0.1.0.2');
    expect(await relay.storage.texts(STORAGE)).toEqual({ first: '1' });
    expect(relay.violations).toEqual([]);
  });

  it('forced by a person: the save is cut off and answered once, and the next one finds all files', async () => {
    const before = device.connections.length;
    expect(await write('second', '2')).toMatchObject({ status: 'ok' });
    const { answer, letGo } = await heldSave();
    updates.publish('0.1.0.3');
    const extensions = await browser.openPage('chrome://extensions');
    await extensions.evaluate('chrome.developerPrivate.autoUpdate()');
    await relay.waitForOnline(device, { ...PATIENT, after: before });
    expect(device.ready?.version).toBe('0.1.0.3');
    letGo();
    expect(await answer).toMatchObject({ status: 'error', error_code: 'outcome_unknown' });
    expect(await save()).toMatchObject({ status: 'ok' });
    expect(await relay.storage.texts(STORAGE)).toEqual({ first: '1', second: '2' });
    expect(relay.violations).toEqual([]);
  });
});
