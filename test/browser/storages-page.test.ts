/**
 * The Storages page and its row in the popup (storage.md, Attaching a Storage; ui.md, Popup 3), by keyboard and by a real
 * folder that is dropped, against the built extension.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentBrowser, EXTENSION_ID, newProfile, removeProfile } from './harness/agent-browser';
import { Person } from './harness/person';
import { PolicyFolder } from './harness/policy-folder';
import { grantFolders, RealFolder } from './harness/real-folder';
import { until } from './harness/until';

const STORAGES_PAGE = 'src/ui/storages/storages.html';
const SIZE = { width: 900, height: 1000 };

let browser: AgentBrowser;
const profile = newProfile();
const work = new RealFolder();
const other = new RealFolder();

beforeAll(async () => {
  grantFolders(profile, [work, other], { kept: true });
  browser = await AgentBrowser.launch({ profile });
});

afterAll(async () => {
  await browser?.close();
  removeProfile(profile);
  work.remove();
  other.remove();
});

async function openPage(in_browser = browser, path = STORAGES_PAGE): Promise<Person> {
  const person = await Person.open(in_browser, path, SIZE);
  await person.sees('Attach a Storage');
  return person;
}

/** Writes into the field of that id. */
async function fill(person: Person, id: string, text: string): Promise<void> {
  await person.page.evaluate(`document.getElementById(${JSON.stringify(id)}).focus()`);
  await person.paste(text);
}

/** The card of that name, once the page knows of it. */
const card = (person: Person, name: string): Promise<string> =>
  until(`the page shows “${name}”`, async () => (await cardNow(person, name)) || null);

const cardNow = (person: Person, name: string): Promise<string> =>
  person.page.evaluate(
    `([...document.querySelectorAll('.card')].find((one) => one.querySelector('h2').innerText === ${JSON.stringify(name)})?.innerText ?? '').replace(/\\s+/g, ' ')`,
  );

/** The offscreen document answers once it is there. */
const storages = async (of = browser) =>
  (await until('the Storages are told', () => of.message('storages.list', {}).catch(() => null))).storages ??
  [];

it('the form is there once the list above it is, which would move it from under the pointer', async () => {
  const { page } = await openPage();
  await page.send('Page.enable');
  await page.send('Page.addScriptToEvaluateOnNewDocument', {
    source: `new MutationObserver(() => {
      const list = document.querySelector('.none, .cards');
      if (document.querySelector('form')) globalThis.__order ??= list ? 'list first' : 'form first';
    }).observe(document, { childList: true, subtree: true });`,
  });
  await page.send('Page.reload');
  const order = await until('both are there', () =>
    page.evaluate<string | null>(`document.querySelector('.none') && globalThis.__order`).catch(() => null),
  );
  expect(order).toBe('list first');
  await page.close();
});

it('the pages lead to each other, by the keyboard, and each says which it is', async () => {
  const person = await openPage();
  for (const [next, path] of [
    ['Activity', 'activity/activity.html'],
    ['Settings', 'settings/settings.html'],
    ['Storages', 'storages/storages.html'],
  ] as const) {
    await until(`the focus is on ${next}`, async () => {
      await person.press('Tab');
      return (await person.focus()) === next;
    });
    expect(await person.focusIsVisible()).toBe(true);
    await person.press('Enter');
    await until(`${next} is there`, () =>
      person.page
        .evaluate<boolean>(
          `location.pathname.endsWith(${JSON.stringify(path)}) && document.querySelector('h1')?.innerText === ${JSON.stringify(next)}`,
        )
        .catch(() => false),
    );
    expect(await person.page.evaluate(`document.querySelector('nav [aria-current="page"]').innerText`)).toBe(
      next,
    );
    expect(await person.barriers()).toEqual([]);
  }
  await person.leave();
});

describe('a Storage inside the browser', () => {
  it('is attached with the keyboard alone', async () => {
    const person = await openPage();
    await person.sees('No Storage is attached to this browser');
    await person.page.evaluate(`document.getElementById('storage-id').focus()`);
    await person.paste('st_notes');
    await person.press('Tab');
    await person.paste('Notes');
    await person.press('Tab');
    // Radio buttons of one name are one stop; the arrow chooses.
    await person.page.send('Input.dispatchKeyEvent', {
      type: 'keyDown',
      key: 'ArrowDown',
      code: 'ArrowDown',
      windowsVirtualKeyCode: 40,
    });
    await person.page.send('Input.dispatchKeyEvent', {
      type: 'keyUp',
      key: 'ArrowDown',
      code: 'ArrowDown',
      windowsVirtualKeyCode: 40,
    });
    await person.press('Tab');
    expect(await person.focus()).toBe('Attach');
    expect(await person.focusIsVisible()).toBe(true);
    await person.press('Enter');
    await person.sees('“Notes” is attached.');
    expect(await card(person, 'Notes')).toMatch(
      /^Notes Inside the browser Storage id st_notes Last save Not saved yet Detach$/,
    );
    expect(await storages()).toMatchObject([
      { storage_id: 'st_notes', name: 'Notes', backing: 'browser', permission: 'kept', managed: false },
    ]);
    await person.leave();
  });

  it('has its row in the popup', async () => {
    const popup = await Person.open(browser);
    await popup.sees(/Storages Manage Notes Inside the browser Not saved yet/i);
    expect(await popup.barriers()).toEqual([]);
    await popup.leave();
  });

  it('what is wrong stands beside its field, and nothing is attached', async () => {
    const person = await openPage();
    await person.sees('st_notes');
    await person.click('Attach');
    await person.sees('Enter the storage id');
    expect(await person.text()).toContain('Choose a folder first');
    expect(await person.focus()).toBe('storage-id');
    for (const [id, problem] of [
      ['st_notes', 'A Storage with this id is attached already'],
      ['x'.repeat(200), 'The storage id is too long'],
      ['a\u0007b', 'The storage id holds characters that cannot be shown'],
    ] as const) {
      await fill(person, 'storage-id', id);
      expect(await person.read('#storage-id-note')).toBe('The platform shows it beside the Storage.');
      // Said as soon as the cursor goes elsewhere.
      await person.press('Tab');
      await until(`the page says ${problem}`, async () =>
        (await person.read('#storage-id-note')).startsWith(problem),
      );
      expect(await person.page.evaluate(`document.getElementById('storage-id').ariaInvalid`)).toBe('true');
    }
    await fill(person, 'storage-name', 'n'.repeat(101));
    await person.click('Attach');
    await until('the name is too long', async () =>
      (await person.read('#storage-name-note')).startsWith('The name is too long'),
    );
    expect(await storages()).toHaveLength(1);
    expect(await person.barriers()).toEqual([]);
    await person.leave();
  });

  it('is detached after a question, which Escape answers with no', async () => {
    const person = await openPage();
    await person.sees('st_notes');
    await person.click('Detach');
    await person.sees('Detach “Notes”?');
    expect(await person.focus()).toBe('Cancel');
    expect(await person.barriers()).toEqual([]);
    await person.press('Escape');
    expect(await person.focus()).toBe('Detach');
    await person.press('Enter');
    await person.press('Tab', { shift: true });
    expect(await person.focus()).toBe('Detach');
    await person.press('Enter');
    await person.sees('“Notes” is detached. Its files are where they were.');
    await person.sees('No Storage is attached to this browser');
    expect(await storages()).toEqual([]);
    await person.leave();
  });
});

describe('a folder of this computer', () => {
  it('is attached by dropping it; the page leaves, comes back, and says that it is kept', async () => {
    const person = await openPage();
    await work.dropOn(person.page);
    await person.sees(`Folder: ${work.name}`);
    await fill(person, 'storage-id', 'st_work');
    await fill(person, 'storage-name', 'Work');
    await person.click('Attach');
    const back = await backAgain(person);
    await back.sees('Chrome allows “Work” on every visit.');
    expect(await card(back, 'Work')).toContain('Work Access kept Folder of this computer');
    expect(await back.page.evaluate('location.hash')).toBe('');
    expect(await storages()).toMatchObject([
      { storage_id: 'st_work', permission: 'kept', backing: 'folder' },
    ]);
    await back.leave();
  });

  it('works with no page open', async () => {
    const [storage] = await storages();
    expect(storage?.permission).toBe('kept');
  });

  it('a folder that is attached, or lies in one that is, is not attached twice', async () => {
    const person = await openPage();
    await work.dropOn(person.page);
    await person.sees(`Folder: ${work.name}`);
    await fill(person, 'storage-id', 'st_again');
    await person.click('Attach');
    await person.sees('This folder is, holds or lies in the folder of “Work”');
    expect(await storages()).toHaveLength(1);
    await person.leave();
  });

  it('a file is not a folder', async () => {
    const person = await openPage();
    const file = join(other.path, 'a.txt');
    writeFileSync(file, 'a');
    await other.dropOn(person.page, file);
    await person.sees('That is not a folder');
    await person.leave();
  });

  it('detaching deletes no file', async () => {
    const file = join(work.path, 'mine.txt');
    writeFileSync(file, 'mine');
    const person = await openPage();
    await person.sees('st_work');
    await person.click('Detach');
    await person.sees('No file is deleted.');
    await person.press('Tab', { shift: true });
    await person.press('Enter');
    await person.sees('“Work” is detached.');
    expect(existsSync(file)).toBe(true);
    await person.leave();
  });

  it('detached, because the id was wrong perhaps, it can be attached under another one', async () => {
    const marker = () => readFileSync(join(work.path, '.endue-storage-id'), 'utf8');
    await until('the folder was the other one', () => marker().includes('st_work'));
    const person = await openPage();
    await work.dropOn(person.page);
    await person.sees(`Folder: ${work.name}`);
    await fill(person, 'storage-id', 'st_right');
    await fill(person, 'storage-name', 'Right');
    await person.click('Attach');
    const back = await backAgain(person);
    await back.sees('Chrome allows “Right” on every visit.');
    expect(await card(back, 'Right')).toContain('Right Access kept Folder of this computer');
    await until('the folder is this one', () => marker().includes('st_right'));
    expect(await storages()).toMatchObject([{ storage_id: 'st_right', gone: false }]);
    await back.leave();
  });
});

/** After the page was away: the same tab, another document. */
async function backAgain(before: Person): Promise<Person> {
  await until('the page was away and is back', async () => {
    const ready = `!globalThis.__named && location.href.includes('storages.html') && !!document.querySelector('main')`;
    return before.page.evaluate<boolean>(ready).catch(() => false);
  }).catch(async (error: unknown) => {
    throw new Error(`${String(error)}; it shows “${await before.text().catch(() => 'nothing')}”`);
  });
  return Person.at(before.browser, before.page);
}

describe('a folder whose permission is lost', () => {
  let lone: AgentBrowser;
  const lone_profile = newProfile();

  beforeAll(async () => {
    await browser.close();
    grantFolders(lone_profile, [other], { kept: true });
    lone = await AgentBrowser.launch({ profile: lone_profile });
    const person = await openPage(lone);
    await other.dropOn(person.page);
    await person.sees(`Folder: ${other.name}`);
    await fill(person, 'storage-id', 'st_other');
    await fill(person, 'storage-name', 'Other');
    await person.click('Attach');
    const back = await backAgain(person);
    await back.sees('Chrome allows “Other” on every visit.');
    await back.leave();
    await takeBack();
  });

  afterAll(async () => {
    await lone?.close();
    removeProfile(lone_profile);
  });

  /** What a person does under Site settings: the grant is no longer there at the next start. */
  async function takeBack(): Promise<void> {
    await lone.close();
    grantFolders(lone_profile, [], { kept: false });
    lone = await AgentBrowser.launch({ profile: lone_profile });
  }

  it('shows on the badge and in the popup, whose Repair opens its place on the page', async () => {
    const popup = await Person.open(lone);
    await popup.sees(/Other Access lost Repair/);
    expect(await popup.barriers()).toEqual([]);
    await until('the badge says so', async () => {
      const text = await popup.page.evaluate('chrome.action.getBadgeText({})');
      const title = await popup.page.evaluate<string>('chrome.action.getTitle({})');
      return text === '!' && title.includes('Needs a repair: Other');
    });
    const href = await popup.page.evaluate<string>(
      `document.querySelector('.storage-rows a').getAttribute('href')`,
    );
    expect(href).toBe('../storages/storages.html#repair=st_other');
    await popup.leave();
  });

  it('shows on the page with what to choose, and one button that repairs it', async () => {
    const person = await openPage(lone, `${STORAGES_PAGE}#repair=st_other`);
    await person.sees('Chrome no longer lets the extension use this folder.');
    expect(await card(person, 'Other')).toMatch(/^Other Access lost Folder of this computer/);
    await until('Repair has the focus', async () => (await person.focus()) === 'Repair');
    expect(await person.barriers()).toEqual([]);
    await person.leave();
  });
});

describe.skipIf(!PolicyFolder.isPossible())('policy.md: storages, allow_local_folders', () => {
  it('a declared Storage exists without a person, and folders are hidden', async () => {
    const policies = new PolicyFolder(EXTENSION_ID);
    policies.set({
      storages: [{ storage_id: 'st_policy', name: 'Company', backing: 'browser' }],
      allow_local_folders: false,
    });
    const managed = await AgentBrowser.launch({ policies });
    try {
      await until('the Storage is there', async () => (await storages(managed)).length === 1);
      const person = await openPage(managed);
      await person.sees('Your organisation allows only Storages inside the browser.');
      expect(await card(person, 'Company')).toContain('Set by your organisation');
      expect(await person.offers('Detach')).toBe(false);
      expect(await person.offers('Choose a folder…')).toBe(false);
      expect(await person.barriers()).toEqual([]);
      await fill(person, 'storage-id', 'st_mine');
      await person.click('Attach');
      await person.sees('“st_mine” is attached.');
      expect((await storages(managed)).map(({ storage_id }) => storage_id)).toEqual(['st_policy', 'st_mine']);
    } finally {
      await managed.close();
      policies.remove();
    }
  });
});
