/**
 * Tools that ask (tools.md, Permission classes and confirmation) in a real browser: the person answers in the
 * popup or by the notification, or not at all; the service worker dies meanwhile; the platform takes it back.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { PendingQuestion } from '../../src/platform/messages';
import type { Command } from '../fake-relay/commands';
import type { CdpSession } from './harness/cdp';
import { responses } from './harness/frames';
import { ACTIVITY_PAGE, Person } from './harness/person';
import { call, inServiceWorker, listTabs, openTab } from './harness/tool-calls';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

let world: World;
let person: Person;
/** A page of the extension to kill the service worker from. */
let page: CdpSession;
let paths = 0;

beforeAll(async () => {
  world = await createWorld({ browser: { language: 'en-US' } });
  page = await world.browser.extensionPage(ACTIVITY_PAGE);
  await world.browser.message('permissions.set', { name: 'tab_open', permission: 'ask' });
  person = await Person.open(world.browser);
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

afterEach(async () => {
  expect(world.relay.violations).toEqual([]);
  expect(await questions()).toEqual([]);
  await until('the badge is gone', async () => (await badge()) === '');
});

async function questions(): Promise<PendingQuestion[]> {
  return (await world.browser.message('overview.get', {})).questions;
}

function badge(): Promise<string> {
  return page.evaluate<string>('chrome.action.getBadgeText({})');
}

function isAsked(count = 1): Promise<PendingQuestion[]> {
  return until(`${count} questions wait`, async () => {
    const found = await questions();
    return found.length === count && found;
  });
}

/** A visit that the person must allow; the effect that counts is the visit. */
function ask(timeout_ms = 120_000): { command: Command; path: string; visits(): number } {
  paths += 1;
  const path = `/asked/${paths}`;
  const command = world.relay.startCommand(world.device, {
    command: 'tab_open',
    input: { url: world.site.url(path) },
    timeout_ms,
  });
  return { command, path, visits: () => world.site.visits.filter((visited) => visited === path).length };
}

async function codeOf({ finished }: Command): Promise<string> {
  const frame = await finished;
  return frame.status === 'ok' ? 'ok' : frame.error_code;
}

describe('tools.md: a tool that would be asked', () => {
  it('stays in the catalogue, with requires_confirmation', async () => {
    const { tools } = await call(world, 'describe_tools');
    const asks = (tools as { name: string; requires_confirmation: boolean }[])
      .filter(({ requires_confirmation }) => requires_confirmation)
      .map(({ name }) => name);
    expect(asks).toContain('tab_open');
    expect(asks).not.toContain('tab_close');
  });

  it('shows what, by which tool, where and for how long; Allow lets it run', async () => {
    const { command, visits } = ask(120_000);
    await person.sees(
      /Waiting for you .*Allow: Open a tab\? 127\.0\.0\.1:\d+ Address http:\/\/127\.0\.0\.1:\d+\/asked\/\d+ tab_open \d+m \d+s left Allow Decline/,
    );
    await until('the badge says so', async () => (await badge()) === '?');
    expect(await person.barriers()).toEqual([]);
    expect(visits()).toBe(0);
    await person.click('Allow');
    expect(await codeOf(command)).toBe('ok');
    expect(visits()).toBe(1);
    await person.sees(/Open a tab Done · you allowed it/);
  });

  it('Decline: user_declined, and nothing has run', async () => {
    const { command, visits } = ask();
    await person.sees('Allow: Open a tab?');
    await person.click('Decline');
    expect(await codeOf(command)).toBe('user_declined');
    expect(visits()).toBe(0);
    await person.sees(/Open a tab Declined/);
  });

  it('nobody answers by the deadline: user_declined', async () => {
    const { command, visits } = ask(3_000);
    expect(await codeOf(command)).toBe('user_declined');
    expect(visits()).toBe(0);
    await person.sees(/Open a tab Declined · no answer/);
  });

  it('by the keyboard: the question is reached by Tab and answered by Enter', async () => {
    const { command } = ask();
    await person.sees('Allow: Open a tab?');
    await until('Allow can be pressed', () =>
      person.page.evaluate(`__named('Allow').some((part) => !part.disabled)`),
    );
    await until('the focus is there', async () => {
      await person.press('Tab');
      return (await person.focus()) === 'Decline';
    });
    expect(await person.focusIsVisible()).toBe(true);
    await person.press('Enter');
    expect(await codeOf(command)).toBe('user_declined');
  });
});

describe('what the tool was given', () => {
  const decline = async (command: Command): Promise<void> => {
    await person.click('Decline');
    expect(await codeOf(command)).toBe('user_declined');
    await until('the question is gone', async () => (await person.read('.question-item')) === '');
  };

  it('page_evaluate: the script is there as text, to be scrolled by the keyboard; what is cut is told', async () => {
    const markup = '<img src=x onerror=alert(1)>';
    const expression = `"${markup}\u202E"\n${'nextLine();\n'.repeat(2_000)}`;
    const command = world.relay.startCommand(world.device, {
      command: 'page_evaluate',
      input: { expression },
    });
    await person.sees(/Script "<img src=x onerror=alert\(1\)>\\u\{202e\}" nextLine\(\);/);
    await person.sees('Not shown: 14,032 more characters');
    expect(await person.page.evaluate(`document.querySelectorAll('.questions img').length`)).toBe(0);
    const height = await person.page.evaluate<number>(`document.querySelector('.detail-text').offsetHeight`);
    expect(height).toBeLessThan(150);
    expect(await person.isTooWide()).toBe(false);
    expect(await person.barriers()).toEqual([]);
    await until('the script has the focus', async () => {
      await person.press('Tab');
      return person.page.evaluate<boolean>(`document.activeElement.matches('.detail-text')`);
    });
    expect(await person.focusIsVisible()).toBe(true);
    await decline(command);
  });

  it('page_fill: what may be a password is seen only by whom it is opened', async () => {
    await world.browser.message('permissions.set', { name: 'page_fill', permission: 'ask' });
    const command = world.relay.startCommand(world.device, {
      command: 'page_fill',
      input: { selector: '#password', value: 'hunter2' },
    });
    await person.sees(/Element #password Show: Text to type/);
    expect(await person.markup()).not.toContain('hunter2');
    await person.click('Show: Text to type');
    await person.sees('hunter2');
    expect(await person.barriers()).toEqual([]);
    await decline(command);
    await world.browser.message('permissions.set', { name: 'page_fill', permission: null });
  });
});

describe('the notification', () => {
  const notified = (): Promise<string[]> =>
    inServiceWorker(
      world,
      'new Promise((done) => chrome.notifications.getAll((all) => done(Object.keys(all))))',
    );
  /** What Chrome does when the person presses a button of it. */
  const press = (id: string, button: number): Promise<unknown> =>
    inServiceWorker(
      world,
      `void chrome.notifications.onButtonClicked.dispatch(${JSON.stringify(id)}, ${button})`,
    );

  it.each([
    ['its first button', 0, 'ok'],
    ['its second button', 1, 'user_declined'],
  ])('%s answers, and it goes', async (_what, button, code) => {
    const { command } = ask();
    await isAsked();
    const [id = ''] = await until('it is shown', async () => {
      const shown = await notified();
      return shown.length > 0 && shown;
    });
    await press(id, button);
    expect(await codeOf(command)).toBe(code);
    expect(await notified()).toEqual([]);
  });

  it('answered in the popup, it goes too; one that is pressed late counts for nothing', async () => {
    const { command, visits } = ask();
    await isAsked();
    const [id = ''] = await until('it is shown', async () => {
      const shown = await notified();
      return shown.length > 0 && shown;
    });
    await person.sees(/Waiting for you .*Allow: Open a tab\?/);
    await person.click('Decline');
    expect(await codeOf(command)).toBe('user_declined');
    const { activity } = await world.browser.message('overview.get', {});
    expect(activity.find(({ tool }) => tool === 'tab_open')?.asked).toBe('declined');
    expect(await notified()).toEqual([]);
    await press(id, 0);
    await call(world, 'workspace_info');
    expect(visits()).toBe(0);
    expect(responses(world, command.id)).toHaveLength(1);
  });
});

describe('while the person thinks', () => {
  it('the service worker is killed, again and again: the question stays, and Allow runs it once', async () => {
    const { command, visits } = ask();
    const [first] = await isAsked();
    for (let kill = 0; kill < 3; kill += 1) {
      await world.browser.killServiceWorker(page);
      const [question] = await isAsked();
      expect(question?.question_id).toBe(first?.question_id);
    }
    await person.click('Allow');
    expect(await codeOf(command)).toBe('ok');
    expect(visits()).toBe(1);
    expect(responses(world, command.id)).toHaveLength(1);
  });

  it('the service worker is killed and nobody answers: user_declined by the deadline', async () => {
    const { command, visits } = ask(5_000);
    await isAsked();
    await world.browser.killServiceWorker(page);
    expect(await codeOf(command)).toBe('user_declined');
    expect(visits()).toBe(0);
  });

  it('rule 5: a cancel takes the question back, also right after the worker died', async () => {
    for (const kill of [false, true]) {
      const { command, visits } = ask();
      await isAsked();
      if (kill) await world.browser.killServiceWorker(page);
      world.relay.cancel(world.device, command.id);
      expect(await codeOf(command)).toBe('cancelled');
      expect(await questions()).toEqual([]);
      expect(visits()).toBe(0);
    }
  });

  it('several at once, each with its own answer; what need not be asked goes on', async () => {
    const all = [ask(), ask(), ask()];
    const waiting = await isAsked(3);
    expect(new Set(waiting.map(({ question_id }) => question_id)).size).toBe(3);
    expect(await listTabs(world)).not.toEqual([]);
    for (const [index, { question_id }] of waiting.entries()) {
      await world.browser.message('question.answer', { question_id, allow: index === 1 });
    }
    const codes = await Promise.all(all.map(({ command }) => codeOf(command)));
    expect([...codes].sort()).toEqual(['ok', 'user_declined', 'user_declined']);
    for (const [index, { visits }] of all.entries()) expect(visits()).toBe(codes[index] === 'ok' ? 1 : 0);
  });

  it('the page goes elsewhere: what was allowed for one site is not done to another', async () => {
    await world.browser.message('permissions.set', { name: 'tab_open', permission: null });
    const tab_id = await openTab(world, '/welcome');
    await world.browser.message('permissions.set', { name: 'tab_close', permission: 'ask' });
    const command = world.relay.startCommand(world.device, { command: 'tab_close', input: { tab_id } });
    const [question] = await isAsked();
    expect(question?.page).toEqual({ host: `127.0.0.1:${world.site.port}`, title: 'Welcome' });
    await call(world, 'tab_navigate', { tab_id, url: `http://localhost:${world.site.port}/welcome` });
    await world.browser.message('question.answer', { question_id: question?.question_id ?? '', allow: true });
    expect(await codeOf(command)).toBe('page_restricted');
    expect((await listTabs(world)).some((tab) => tab.tab_id === tab_id)).toBe(true);
    await world.browser.message('permissions.set', { name: 'tab_close', permission: null });
  });

  it('what a page calls itself is text: cut, on one line, without marks that turn it around', async () => {
    const title = `<img src=x onerror=alert(1)>\u202EknaB\u2066\n${'x'.repeat(500)}`;
    world.site.serve(
      '/title',
      `<!doctype html><title></title><script>document.title = ${JSON.stringify(title).replaceAll('<', '\\u003c')}</script>`,
    );
    const tab_id = await openTab(world, '/title');
    await world.browser.message('permissions.set', { name: 'tab_activate', permission: 'ask' });
    const command = world.relay.startCommand(world.device, { command: 'tab_activate', input: { tab_id } });
    const [question] = await isAsked();
    expect(question?.page?.title).toMatch(/^<img src=x onerror=alert\(1\)>knaB x+…$/);
    expect([...(question?.page?.title ?? '')]).toHaveLength(100);
    await person.sees('<img src=x onerror=alert(1)>knaB');
    expect(await person.isTooWide()).toBe(false);
    expect(await person.page.evaluate(`document.querySelectorAll('.questions img').length`)).toBe(0);
    await person.click('Decline');
    expect(await codeOf(command)).toBe('user_declined');
    await world.browser.message('permissions.set', { name: 'tab_activate', permission: null });
  });
});
