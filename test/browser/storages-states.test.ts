/**
 * What a Storage on a real folder can come to (storage.md, Attaching a Storage), as the platform is told by `workspace_info`
 * and a person by the badge, the popup and the Storages page: for this session only, busy, gone, lost. Chrome's own questions
 * cannot be answered here: where one would come, the answer is in the profile.
 */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/protocol/json';
import type { Device } from '../fake-relay/devices';
import { type FakeRelay, startFakeRelay } from '../fake-relay/fake-relay';
import { AgentBrowser, newProfile, removeProfile } from './harness/agent-browser';
import { Person, POPUP } from './harness/person';
import { grantFolders, RealFolder } from './harness/real-folder';
import { attachFolderStorage, holdDroppedFolder } from './harness/storages';
import { until } from './harness/until';

const STORAGES_PAGE = 'src/ui/storages/storages.html';
const SIZE = { width: 900, height: 1000 };
const storage_id = 'st_states';

const profile = newProfile();
const folder = new RealFolder();
const directory = mkdtempSync(join(tmpdir(), 'endue-storage-'));
let browser: AgentBrowser;
let relay: FakeRelay;
let device: Device;
let token: string;

beforeAll(async () => {
  grantFolders(profile, [folder], { kept: true });
  relay = await startFakeRelay({ storage_directory: directory });
  await relay.storage.createStorage(storage_id);
  token = relay.storage.issueToken({ storage_id });
  device = relay.createDevice();
  browser = await AgentBrowser.launch({ profile });
  await browser.enroll(device.enrollment);
  await relay.waitForOnline(device);
});

afterAll(async () => {
  const violations = [...(relay?.violations ?? [])];
  await browser?.close();
  removeProfile(profile);
  await relay?.close();
  folder.remove();
  rmSync(directory, { recursive: true, force: true });
  expect(violations).toEqual([]);
});

/** What the platform is told of the Storage. */
async function told(): Promise<unknown> {
  const { output } = await relay.command(device, { command: 'workspace_info', input: {} });
  const rows = (output?.storages ?? []) as JsonObject[];
  return rows.find((row) => row.storage_id === storage_id)?.permission;
}

const isTold = (permission: string): Promise<unknown> =>
  until(`the platform is told ${permission}`, async () => (await told()) === permission);

const save = (path = ''): Promise<{ status: string; error_code?: string | undefined }> =>
  relay.command(device, {
    command: 'workspace_storage_path',
    input: { mode: 'save_path', storage_id, path, token },
    timeout_ms: 60_000,
  });

const openStorages = (): Promise<Person> => Person.open(browser, STORAGES_PAGE, SIZE);

/** Whether the badge asks for a repair of the Storage. `look` false: by itself, before its next look of each minute. */
async function badgeSays(repair: boolean, { look = true } = {}): Promise<void> {
  const page = await browser.extensionPage();
  try {
    await until(`the badge ${repair ? 'asks for a repair' : 'is quiet'}`, async () => {
      const title = await page.evaluate<string>('chrome.action.getTitle({})');
      const text = await page.evaluate<string>('chrome.action.getBadgeText({})');
      const asks = title.includes(`Needs a repair: ${storage_id}`) && text === '!';
      if (asks !== repair && look)
        await page.evaluate(`chrome.runtime.sendMessage({ type: 'grants.look', input: {} })`);
      return asks === repair;
    });
  } finally {
    await page.close();
  }
}

describe('this session only', () => {
  let person: Person;

  beforeAll(async () => {
    const page = await browser.extensionPage('src/ui/activity/activity.html');
    await holdDroppedFolder(page, folder);
    await attachFolderStorage(page, storage_id);
    person = await openStorages();
    await page.close();
  });

  it('shows on the page and is told to the platform, which may use it meanwhile', async () => {
    await person.sees(/This session only Folder of this computer/);
    await person.sees('only while a page of this extension is open');
    expect(await person.barriers()).toEqual([]);
    await isTold('this_session');
    expect(await save()).toMatchObject({ status: 'ok' });
    const popup = await Person.open(browser);
    await popup.sees(new RegExp(`${storage_id} This session only`));
    await popup.leave();
  });

  it('a busy Storage: the page does not leave, says so, and the job is not disturbed', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const commits = () => relay.storage.requests.filter(({ route }) => route === 'commit').length;
    const before = commits();
    relay.storage.fault({ do: 'wait', until: held, route: 'commit', id: storage_id, times: 1 });
    writeFileSync(join(folder.path, 'busy.txt'), 'busy');
    const saving = save();
    try {
      await until('the commit is asked for', () => commits() > before);
      await person.click('Allow on every visit');
      await person.sees('A job is using a folder just now. Try again when it is done.');
      expect(await person.page.evaluate('location.pathname')).toContain('storages.html');
      expect(await person.barriers()).toEqual([]);
    } finally {
      release();
    }
    expect(await saving).toMatchObject({ status: 'ok' });
    expect((await relay.storage.texts(storage_id))['busy.txt']).toBe('busy');
  });

  it('one button keeps it: the page leaves, comes back, and says so', async () => {
    await person.click('Allow on every visit');
    await until('the page was away and is back', () =>
      person.page
        .evaluate<boolean>(`!globalThis.__named && !!document.querySelector('main')`)
        .catch(() => false),
    );
    const back = await Person.at(browser, person.page);
    await back.sees(`Chrome allows “${storage_id}” on every visit.`);
    await back.leave();
    await isTold('kept');
    expect(await save()).toMatchObject({ status: 'ok' });
  });
});

describe('a folder that is renamed away', () => {
  const elsewhere = `${folder.path}-elsewhere`;

  beforeAll(() => renameSync(folder.path, elsewhere));
  afterAll(() => rmSync(elsewhere, { recursive: true, force: true }));

  it.each([
    ['popup', POPUP],
    ['Storages page', STORAGES_PAGE],
  ])('opening the %s tells it at once, and so does the badge', async (_name, path) => {
    const person = await Person.open(browser, path, SIZE);
    await person.sees('Access lost');
    await badgeSays(true, { look: false });
    await person.leave();
    renameSync(elsewhere, folder.path);
    await isTold('kept');
    await badgeSays(false);
    renameSync(folder.path, elsewhere);
  });

  it('is told to the platform and on the badge, and no job reads it as deleted', async () => {
    expect(await save()).toMatchObject({ status: 'error', error_code: 'storage_unavailable' });
    await isTold('lost');
    await badgeSays(true);
    expect((await relay.storage.texts(storage_id))['busy.txt']).toBe('busy');
  });

  it('shows on the page with one button to choose it again, to which the popup leads', async () => {
    const popup = await Person.open(browser);
    await popup.sees(new RegExp(`${storage_id} Access lost Repair`));
    expect(await popup.barriers()).toEqual([]);
    await popup.leave();
    const person = await Person.open(browser, `${STORAGES_PAGE}#repair=${storage_id}`, SIZE);
    await person.sees('The folder is not where it was');
    await until('its button has the focus', async () => (await person.focus()) === 'Choose the folder again');
    expect(await person.offers(`Repair ${storage_id}`)).toBe(false);
    expect(await person.barriers()).toEqual([]);
    await person.leave();
  });

  it('is whole again once it is back, with nothing else to do', async () => {
    renameSync(elsewhere, folder.path);
    await isTold('kept');
    await badgeSays(false);
    const person = await openStorages();
    await person.sees(/Access kept Folder of this computer/);
    await person.leave();
    expect(await save()).toMatchObject({ status: 'ok' });
  });
});

describe('a permission that is lost', () => {
  /** What a person does under Site settings, as it is found at the next start. */
  async function restart(allowed: readonly RealFolder[]): Promise<void> {
    await browser.close();
    grantFolders(profile, allowed, { kept: allowed.length > 0 });
    browser = await AgentBrowser.launch({ profile });
    await relay.waitForOnline(device);
  }

  it('is told to the platform and on the badge', async () => {
    await restart([]);
    await isTold('lost');
    await badgeSays(true);
    expect(await save()).toMatchObject({ status: 'error', error_code: 'storage_unavailable' });
  });

  it('shows on the page with the one button that repairs it', async () => {
    const person = await openStorages();
    await person.sees('Chrome no longer lets the extension use this folder.');
    expect(await person.offers('Repair')).toBe(true);
    await person.leave();
  });

  it('granted again, everything is as before', async () => {
    await restart([folder]);
    await isTold('kept');
    await badgeSays(false);
    expect(await save()).toMatchObject({ status: 'ok' });
  });
});
