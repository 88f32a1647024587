/**
 * What a person does in the popup (ui.md, Popup; issue items: paste, pause, forget, activity, badge), by
 * mouse and by keys, against the built extension. Truthful also when a part of the extension dies.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUTTON_ICONS } from '../../src/platform/button-icons';
import type { ConnectionState } from '../../src/platform/messages';
import type { Device } from '../fake-relay/devices';
import { EXTENSION_ORIGIN } from './harness/agent-browser';
import type { CdpSession } from './harness/cdp';
import { ACTIVITY_PAGE, Person, POPUP } from './harness/person';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

const ONLINE = /^Online · /;
const NOT_ENROLLED = /^Not connected/;
const BOX = 'Paste the enrollment from your platform';

let world: World;

beforeAll(async () => {
  world = await createWorld({ enrolled: false });
});

afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

/** A device of the test's own, online. */
async function online(): Promise<Device> {
  const { relay, browser } = world;
  relay.clearFaults();
  const device = relay.createDevice();
  await browser.enroll(device.enrollment);
  await browser.message('pause.set', { paused: false });
  await relay.waitForOnline(device);
  return device;
}

async function notEnrolled(): Promise<void> {
  world.relay.clearFaults();
  await world.browser.message('enrollment.forget', {});
}

async function openPopup(sentence: RegExp): Promise<Person> {
  const person = await Person.open(world.browser);
  await person.sentenceIs(sentence);
  return person;
}

/** Everything the extension keeps in its storage areas. */
function stored({ page }: Person): Promise<string> {
  return page.evaluate(
    `Promise.all(['local', 'session', 'sync'].map((area) => chrome.storage[area].get(null))).then(JSON.stringify)`,
  );
}

function lastHandshake(): string | undefined {
  return world.relay.handshakes.at(-1)?.headers['sec-websocket-protocol'] as string | undefined;
}

describe('ui.md, Popup 4: activity', () => {
  it('says that nothing was asked for, until something was', async () => {
    const { relay, browser } = world;
    relay.fault({ fault: 'no_handshake_calls' });
    const device = relay.createDevice();
    await browser.enroll(device.enrollment);
    const person = await openPopup(/^Connecting/);
    await person.sees('The platform has not asked for anything yet');
    relay.clearFaults();
    relay.disconnect(device, 1001);
    await relay.waitForOnline(device);
    await person.sees(/List the tools Done \d+(ms|\.\ds)/);
    expect(await person.text()).not.toContain('The platform has not asked for anything yet');
    await person.leave();
  });

  it('shows time, tool in words, outcome and duration, newest first, while the popup is open', async () => {
    const device = await online();
    const person = await openPopup(ONLINE);
    await world.relay.command(device, { command: 'tab_list' });
    await world.relay.command(device, { command: 'tab_close', input: { tab_id: 987_654 } });
    await world.relay.command(device, { command: 'make_coffee' });
    await person.sees(
      /Activity All activity (\d+:\d\d [AP]M) make_coffee Unknown tool \S+ \1 Close a tab Tab not found \S+ \1 List tabs Done \d\S*s /,
    );
    await person.leave();
  });

  it('shows the last picture that was sent, and enlarges it', async () => {
    const device = await online();
    const tab = await world.browser.openPage(world.site.url('/welcome'));
    await tab.send('Page.bringToFront');
    await until('the page is there', () =>
      tab.evaluate(`document.readyState === 'complete' && !!document.querySelector('h1')`),
    );
    await world.relay.screen(device);
    const person = await openPopup(ONLINE);
    await person.sees(/Last picture sent \d+:\d\d [AP]M/);
    const height = () =>
      person.page.evaluate<number>(
        `(({ complete, naturalWidth, clientHeight }) => complete && naturalWidth > 0 ? clientHeight : 0)(document.querySelector('img'))`,
      );
    const small = await until('the picture is there', async () => (await height()) || null);
    await person.click('Show larger');
    await until('the picture is larger', async () => (await height()) > small);
    await person.click('Show smaller');
    await until('the picture is small again', async () => (await height()) === small);
    expect(await person.barriers()).toEqual([]);
    await tab.close();
    await person.leave();
  });

  it('All activity opens a page with everything, for everybody to use', async () => {
    const { browser, relay } = world;
    const device = await online();
    await relay.command(device, { command: 'tab_close', input: { tab_id: 987_654 } });
    const person = await openPopup(ONLINE);
    await person.click('All activity');
    const url = `${EXTENSION_ORIGIN}/${ACTIVITY_PAGE}`;
    const target = await until('the page opens', async () =>
      (await browser.targets()).find((target) => target.type === 'page' && target.url === url),
    );
    const reader = await Person.at(browser, await browser.connection.attach(target.targetId));
    await reader.sees(/Time What Outcome Duration/);
    await reader.sees(/ \d+:\d\d:\d\d [AP]M Close a tab Tab not found \d\S*s /);
    expect(await reader.barriers()).toEqual([]);
    await reader.resize({ width: 400, height: 600 });
    expect(await reader.isTooWide()).toBe(false);
    await reader.resize({ width: 320, height: 600 });
    expect(await reader.isTooWide()).toBe(false);
    const { nodes } = await reader.page.send('Accessibility.getFullAXTree');
    const roles = (nodes as { ignored: boolean; role?: { value: string } }[])
      .filter(({ ignored }) => !ignored)
      .map(({ role }) => role?.value);
    expect(roles.filter((role) => role === 'columnheader')).toHaveLength(4);
    expect(roles).toEqual(expect.arrayContaining(['table', 'row', 'cell']));
    expect(await reader.barriers()).toEqual([]);
    await reader.page.send('Emulation.setEmulatedMedia', {
      features: [{ name: 'forced-colors', value: 'active' }],
    });
    const lines = await reader.page.evaluate<string[]>(
      `[...document.querySelectorAll('.pages a')].map((part) => getComputedStyle(part).borderBottomColor)`,
    );
    expect(new Set(lines).size).toBe(2);
    await reader.leave();
    await person.leave();
  });

  it('in forced colours the line under a page of the menu still says which one is open', async () => {
    const person = await Person.open(world.browser, ACTIVITY_PAGE);
    await person.sees('Storages');
    const features = [{ name: 'forced-colors', value: 'active' }];
    await person.page.send('Emulation.setEmulatedMedia', { features });
    const lined = await person.page.evaluate<string[]>(`(() => {
      const background = getComputedStyle(document.documentElement).backgroundColor;
      return [...document.querySelectorAll('nav a')]
        .filter((link) => getComputedStyle(link).borderBottomColor !== background)
        .map((link) => link.innerText);
    })()`);
    expect(lined).toEqual(['Activity']);
    await person.leave();
  });
});

describe('case 1: the paste box', () => {
  const TOKEN = 'abc123';
  const PASTES: [string, (endpoint: string) => string][] = [
    ['two lines with blanks around', (endpoint) => ` ${endpoint} \n${TOKEN}\r\n`],
    ['JSON behind a BOM', (endpoint) => `\uFEFF{"endpoint":"${endpoint}","token":"${TOKEN}"}\r\n`],
    [
      'JSON behind a command line',
      (endpoint) => `$ curl -s -X POST https://r.test/devices\n{"endpoint":"${endpoint}","token":"${TOKEN}"}`,
    ],
  ];

  it.each(PASTES)('%s: dials with exactly the token', async (_name, paste) => {
    await notEnrolled();
    const device = world.relay.createDevice();
    device.token = TOKEN;
    const person = await openPopup(NOT_ENROLLED);
    await person.page.send('Log.enable');
    await person.page.send('Runtime.enable');
    const messages: unknown[] = [];
    const stops = ['Log.entryAdded', 'Runtime.consoleAPICalled', 'Runtime.exceptionThrown'].map((event) =>
      world.browser.connection.on(event, (params) => messages.push(params)),
    );
    await person.paste(paste(device.enrollment.endpoint));
    await person.sees(`Relay: ${new URL(device.enrollment.endpoint).host}`);
    expect(await person.markup()).not.toContain(TOKEN);
    await person.click('Connect');
    await world.relay.waitForOnline(device);
    await person.sentenceIs(ONLINE);
    expect(lastHandshake()).toBe(`endue-os.v1, endue-os.token.${TOKEN}`);
    expect(await person.markup()).not.toContain(TOKEN);
    expect(await person.page.evaluate('location.href')).toBe(`${EXTENSION_ORIGIN}/${POPUP}`);
    expect(JSON.stringify(messages)).not.toContain(TOKEN);
    for (const stop of stops) stop();
    // The next one comes with the same token.
    await notEnrolled();
    device.token = null;
    await person.leave();
  });

  const PROBLEMS: [string, string][] = [
    ['{"token":"SECRET9"}', 'The endpoint is missing: an address that begins with wss://'],
    ['wss://r.test/d', 'The token is missing. Paste it below the endpoint'],
    [' \n ', 'Paste the enrollment first'],
    ['http://r.test/d SECRET9', 'The endpoint must begin with wss://'],
    ['ws://r.test/d SECRET9', 'The endpoint must begin with wss://. ws:// is only for this computer itself'],
    ['wss://me:SECRET9@r.test/d SECRET9', 'The endpoint must not hold a user name or password'],
    ['wss://r.test/d#part SECRET9', 'The endpoint must not hold a #'],
    ['{"endpoint":"wss://","token":"SECRET9"}', 'The endpoint is not a complete address'],
    [
      '{"endpoint":"wss://r.test/d","token":"SECRET9/="}',
      'The token holds characters that a token cannot have',
    ],
    ['wss://r.test/d wss://s.test/d SECRET9', 'There is more than one endpoint or token here'],
  ];

  it('says precisely what is missing or wrong beside the box, stores nothing, shows no token', async () => {
    await notEnrolled();
    const before = world.relay.handshakes.length;
    const person = await openPopup(NOT_ENROLLED);
    for (const [text, problem] of PROBLEMS) {
      await person.paste(text);
      await person.click('Connect');
      await until(`the note says “${problem}”`, async () =>
        (await person.read('#paste-note')).includes(problem),
      );
      const box = await person.page.evaluate<Record<string, string | null>>(
        `Object.fromEntries(['aria-describedby', 'aria-invalid'].map((name) => [name, document.querySelector('textarea').getAttribute(name)]))`,
      );
      expect(box, text).toEqual({ 'aria-describedby': 'paste-note', 'aria-invalid': 'true' });
      expect(await person.focus(), text).toBe('paste-box');
      expect(await person.markup(), text).not.toContain('SECRET9');
      expect(await stored(person), text).not.toContain('SECRET9');
    }
    expect(await person.barriers()).toEqual([]);
    expect(world.relay.handshakes).toHaveLength(before);
    await person.leave();
  });

  it('names what is missing while one is still at it, without calling it wrong', async () => {
    await notEnrolled();
    const person = await openPopup(NOT_ENROLLED);
    await person.paste('wss://os.example.com/socket');
    await person.sees('Relay: os.example.com The token is missing');
    expect(await person.page.evaluate(`document.querySelector('textarea').ariaInvalid`)).toBe('false');
    await person.leave();
  });
});

describe('what a person can do about it', () => {
  it('the second click of a double click on Connect does not hit what comes in its place', async () => {
    await notEnrolled();
    const device = world.relay.createDevice();
    const person = await openPopup(NOT_ENROLLED);
    await person.paste(JSON.stringify(device.enrollment));
    await person.page.evaluate(`new MutationObserver(() => {
      const [pause] = __named('Pause');
      if (!pause || globalThis.__clicked) return;
      globalThis.__clicked = true;
      pause.dispatchEvent(new MouseEvent('click', { bubbles: true, detail: 2 }));
    }).observe(document.body, { childList: true, subtree: true })`);
    await person.click('Connect');
    await until('Pause was clicked as it came', () =>
      person.page.evaluate<boolean>('globalThis.__clicked === true'),
    );
    await world.relay.waitForOnline(device);
    await person.sentenceIs(ONLINE);
    // It is there for a click that is meant for it, a moment later.
    await until('it is paused', async () => {
      if (await person.offers('Pause')) await person.click('Pause');
      return (await person.sentence()).startsWith('Paused');
    });
    expect(device.connections).toHaveLength(1);
    await person.click('Resume');
    await person.sentenceIs(ONLINE);
    await person.leave();
  });

  it('Use another enrollment: keeps the old one until the new one is there, then replaces it', async () => {
    const { relay } = world;
    const [first, second] = [await online(), relay.createDevice()];
    const person = await openPopup(ONLINE);
    await person.click('Use another enrollment');
    await person.sees('It takes the place of the current enrollment.');
    await person.click('Cancel');
    await until('the box is gone', async () => !(await person.text()).includes(BOX));
    expect(first.online).toBe(true);

    await person.click('Use another enrollment');
    await person.sees(BOX);
    await person.paste(JSON.stringify({ data: { enrollment: second.enrollment } }));
    await person.click('Connect');
    await relay.waitForOnline(second);
    await relay.until(() => !first.connection, 'the end of the first connection');
    await person.sentenceIs(ONLINE);
    expect(await stored(person)).not.toContain(first.enrollment.token);
    await person.leave();
  });

  it('Forget asks first; then the token is gone from storage and the socket is closed', async () => {
    const { relay } = world;
    const device = await online();
    const { token } = device.enrollment;
    const person = await openPopup(ONLINE);
    expect(await stored(person)).toContain(token);
    await person.click('Forget');
    await person.sees('Forget this enrollment?');
    expect(await person.barriers()).toEqual([]);
    await person.click('Cancel');
    await until('the question is gone', async () => !(await person.text()).includes('Forget this'));
    expect(device.online).toBe(true);

    await person.click('Forget');
    await person.sees('Forget this enrollment?');
    await person.click('Forget');
    await person.sentenceIs(NOT_ENROLLED);
    await person.sees(BOX);
    await relay.until(() => !device.connection, 'the end of the connection');
    expect(await stored(person)).not.toContain(token);
    expect(await person.markup()).not.toContain(token);
    await person.leave();
  });

  it('another enrollment comes from elsewhere: no question and no box of the one before come back', async () => {
    const { browser, relay } = world;
    for (const [button, shown] of [
      ['Forget', 'Forget this enrollment?'],
      ['Use another enrollment', BOX],
    ] as const) {
      await online();
      const person = await openPopup(ONLINE);
      await person.click(button);
      await person.sees(shown);
      await browser.message('enrollment.forget', {});
      await person.sentenceIs(NOT_ENROLLED);
      await person.sees(BOX);
      const device = relay.createDevice();
      await browser.enroll(device.enrollment);
      await relay.waitForOnline(device);
      await person.sentenceIs(ONLINE);
      await until('there is Pause', () => person.offers('Pause'));
      expect(await person.text()).not.toContain(shown);
      expect(await person.offers('Forget')).toBe(true);
      expect(await person.offers('Use another enrollment')).toBe(true);
      await person.leave();
    }
  });

  it('forgotten elsewhere: the popup never says, even for a moment, that it connects to what was forgotten', async () => {
    await online();
    const person = await openPopup(ONLINE);
    await until('there is Forget', () => person.offers('Forget'));
    const said = await person.page.evaluate<string[]>(`new Promise((resolve) => {
      const said = [];
      new MutationObserver(() => {
        const { innerText } = document.querySelector('h1');
        if (said.at(-1) !== innerText) said.push(innerText);
        if (document.querySelector('#paste-box')) resolve(said);
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
      void chrome.runtime.sendMessage({ type: 'enrollment.forget', input: {} });
    })`);
    expect(said).toEqual([expect.stringMatching(NOT_ENROLLED)]);
    await person.leave();
  });

  it('with the keyboard alone: paste, connect, pause, resume, forget', async () => {
    await notEnrolled();
    const device = world.relay.createDevice();
    const person = await openPopup(NOT_ENROLLED);
    const isVisible = async (): Promise<void> => expect(await person.focusIsVisible()).toBe(true);
    const tabTo = async (...names: string[]): Promise<void> => {
      for (const name of names) {
        await person.press('Tab');
        expect(await person.focus()).toBe(name);
        await isVisible();
      }
    };

    await until('the box has the focus', async () => (await person.focus()) === 'paste-box');
    await isVisible();
    await person.paste(JSON.stringify(device.enrollment));
    await tabTo('Connect');
    await person.press('Enter');
    await world.relay.waitForOnline(device);
    await person.sees('All activity');
    await until('the foot is there', () => person.offers('Forget'));

    // The box went with the focus in it: the focus starts at the top of the popup, not in nowhere.
    await until('the focus is in the popup', async () => (await person.focus()) === 'main');
    await until('the Storages are there', () => person.offers('Manage'));
    const picture = (await person.offers('Show larger')) ? ['Show larger'] : [];
    const rest = ['Manage', 'All activity', 'Pause', 'Use another enrollment', 'Forget'];
    await tabTo(...picture.map(() => ''), ...rest);
    await person.press('Enter');
    await until('the harmless answer has the focus', async () => (await person.focus()) === 'Cancel');
    await isVisible();
    await person.press('Escape');
    await until('the focus is back where it was', async () => (await person.focus()) === 'Forget');
    expect(await person.text()).not.toContain('Forget this enrollment?');
    expect(device.online).toBe(true);

    await person.press('Tab', { shift: true });
    await person.press('Tab', { shift: true });
    expect(await person.focus()).toBe('Pause');
    await person.press('Enter');
    await person.sentenceIs(/^Paused/);
    await until('the focus is in the popup', async () => (await person.focus()) === 'main');
    await until('Pause is gone', async () => !(await person.offers('Pause')));
    await tabTo('Resume');
    await person.press('Enter');
    await world.relay.waitForOnline(device, { after: 1 });
    await until('Pause is back', () => person.offers('Pause'));

    await tabTo(...picture.map(() => ''), ...rest);
    await person.press('Enter');
    await until('the question is there', async () => (await person.focus()) === 'Cancel');
    await person.press('Tab', { shift: true });
    expect(await person.focus()).toBe('Forget');
    await person.press('Enter');
    await person.sentenceIs(NOT_ENROLLED);
    await until('the box has the focus', async () => (await person.focus()) === 'paste-box');
    await person.leave();
  });

  it('in the popup of the toolbar: as wide as it should be, and Escape answers the question only', async () => {
    const { browser } = world;
    await online();
    const onlooker = await openOnlooker();
    const page = await browser.openPage(world.site.url('/welcome'), { newWindow: true });
    await onlooker.evaluate('chrome.action.openPopup()');
    const target = await until('the popup is open', async () =>
      (await browser.targets()).find(
        ({ type, url }) => type === 'page' && url === `${EXTENSION_ORIGIN}/${POPUP}`,
      ),
    );
    const person = await Person.at(browser, await browser.connection.attach(target.targetId));
    await person.sentenceIs(ONLINE);
    expect(await person.page.evaluate('document.body.offsetWidth')).toBe(360);
    expect(await person.isTooWide()).toBe(false);
    await until('there is Forget', () => person.offers('Forget'));
    await person.click('Forget');
    await person.sees('Forget this enrollment?');
    await person.press('Escape');
    await until('the question is gone', async () => !(await person.text()).includes('Forget this'));
    await person.leave();
    await page.close();
    await onlooker.close();
  });
});

describe('truthful while parts of the extension die', () => {
  /** What the state line said, in order, from now on, noted in the page itself. */
  async function noteStates({ page }: Person): Promise<() => Promise<string[]>> {
    await page.evaluate(`(() => {
      const main = document.querySelector('main');
      globalThis.__states = [main.dataset.state];
      new MutationObserver(() => __states.push(main.dataset.state))
        .observe(main, { attributes: true, attributeFilter: ['data-state'] });
    })()`);
    return () => page.evaluate<string[]>('__states');
  }

  it('the service worker killed again and again: the popup follows the connection all the same', async () => {
    const { browser, relay } = world;
    const device = await online();
    const person = await openPopup(ONLINE);
    await browser.killServiceWorker(person.page);
    relay.disconnect(device, 1012);
    await until('the popup shows the loss', async () => {
      await person.page.send('ServiceWorker.stopAllWorkers');
      return (await person.sentence()).startsWith('Another browser is using this enrollment');
    });
    await person.click('Retry now');
    await relay.waitForOnline(device, { after: 1 });
    await person.sentenceIs(ONLINE);
    await person.leave();
  });

  it('a popup opened with a dead service worker tells the state', async () => {
    const { browser, relay } = world;
    const device = await online();
    const onlooker = await openOnlooker();
    await browser.killServiceWorker(onlooker);
    relay.revoke(device);
    const person = await openPopup(/^This enrollment was revoked/);
    await person.leave();
    await onlooker.close();
  });

  it('the offscreen document gone: never online while there is none, and online again by itself', async () => {
    const { relay } = world;
    const device = await online();
    const person = await openPopup(ONLINE);
    const states = await noteStates(person);
    await person.page.evaluate('chrome.offscreen.closeDocument()');
    await relay.waitForOnline(device, { after: 1 });
    await until(
      'the popup saw it all',
      async () => (await states()).length > 1 && (await states()).at(-1) === 'online',
    );
    // `unknown`: nobody there to tell.
    expect((await states()).slice(0, 2)).toEqual(['online', 'unknown']);
    await person.leave();
  });
});

/** A page of the extension that does nothing by itself, to ask from with the popup closed. */
async function openOnlooker(): Promise<CdpSession> {
  return world.browser.extensionPage('manifest.json');
}

describe('ui.md, States: badge and tooltip with the popup closed', () => {
  interface Button {
    badge: string;
    tooltip: string;
  }

  let onlooker: CdpSession;

  beforeAll(async () => {
    onlooker = await openOnlooker();
  });

  async function buttonIs(badge: string, tooltip: RegExp): Promise<void> {
    let last: Button | undefined;
    await until('', async () => {
      last = await onlooker.evaluate<Button>(
        `Promise.all([chrome.action.getBadgeText({}), chrome.action.getTitle({})]).then(([badge, tooltip]) => ({ badge, tooltip: tooltip.replace(/\\s/g, ' ') }))`,
      );
      return last.badge === badge && tooltip.test(last.tooltip);
    }).catch(() => {
      throw new Error(`the button says ${JSON.stringify(last)}, and not ${badge} ${tooltip}`);
    });
  }

  const STATES: [ConnectionState['state'], string, RegExp, () => Promise<unknown>][] = [
    ['online', '', /^Online · 127\.0\.0\.1:\d+ · since /, online],
    [
      'connecting',
      '…',
      /^Connecting to 127\.0\.0\.1:\d+$/,
      async () => {
        world.relay.fault({ fault: 'stall_handshake' });
        await world.browser.enroll(world.relay.createDevice().enrollment);
      },
    ],
    [
      'token_stopped',
      '!',
      /^This enrollment was revoked\. Paste a new one$/,
      async () => world.relay.revoke(await online()),
    ],
    [
      'paused',
      '‖',
      /^Paused\. Nothing can reach this browser$/,
      async () => {
        await online();
        await world.browser.message('pause.set', { paused: true });
      },
    ],
    [
      'not_enrolled',
      '!',
      /^Not connected to a platform$/,
      async () => {
        await world.browser.message('pause.set', { paused: false });
        await notEnrolled();
      },
    ],
  ];

  it.each(STATES)('%s', async (_state, badge, tooltip, reach) => {
    await reach();
    await buttonIs(badge, tooltip);
  });

  it('the pictures are told apart without colour, on light and on dark toolbars', async () => {
    // Loaded by the browser from the built extension; luminance of each pixel over the toolbar.
    const looks = await onlooker.evaluate<Record<string, number[]>>(`(async () => {
      const looks = {};
      for (const toolbar of ['#ffffff', '#dee1e6', '#35363a', '#000000']) {
        for (const icon of ${JSON.stringify(BUTTON_ICONS)}) {
          const blob = await (await fetch('/icons/button-' + icon + '-16.png')).blob();
          const context = new OffscreenCanvas(16, 16).getContext('2d');
          context.fillStyle = toolbar;
          context.fillRect(0, 0, 16, 16);
          context.drawImage(await createImageBitmap(blob), 0, 0);
          const { data } = context.getImageData(0, 0, 16, 16);
          looks[toolbar + ' ' + icon] = Array.from({ length: 256 }, (_, i) =>
            0.2126 * data[4 * i] + 0.7152 * data[4 * i + 1] + 0.0722 * data[4 * i + 2]);
        }
      }
      return looks;
    })()`);
    const CLEAR = 70;
    const pixels = (one: number[], other: number[]): number =>
      one.filter((value, i) => Math.abs(value - (other[i] ?? 0)) > CLEAR).length;
    for (const [one, of_one] of Object.entries(looks)) {
      // It stands out from the toolbar, whose colour the corner has.
      const toolbar = of_one.map(() => of_one[0] ?? 0);
      expect(pixels(of_one, toolbar), one).toBeGreaterThan(25);
      for (const [other, of_other] of Object.entries(looks)) {
        if (one >= other || one.split(' ')[0] !== other.split(' ')[0]) continue;
        expect(pixels(of_one, of_other), `${one} and ${other}`).toBeGreaterThan(25);
      }
    }
  });

  it('follow the connection after the service worker was killed', async () => {
    const { browser, relay } = world;
    const device = await online();
    await buttonIs('', ONLINE);
    await browser.killServiceWorker(onlooker);
    relay.revoke(device);
    await buttonIs('!', /^This enrollment was revoked/);
  });

  it('stay true when the offscreen document was replaced', async () => {
    const { relay } = world;
    const device = await online();
    await buttonIs('', ONLINE);
    relay.fault({ fault: 'stall_handshake' });
    await onlooker.evaluate('chrome.offscreen.closeDocument()');
    await relay.until(() => !device.connection, 'the end of the connection');
    await onlooker.evaluate(`chrome.runtime.sendMessage({ type: 'offscreen.ensure', input: {} })`);
    await buttonIs('…', /^Connecting/);
  });
});

describe('the popup as a whole', () => {
  it('made the agent break no rule', () => {
    expect(world.relay.violations).toEqual([]);
  });
});
