/**
 * Takes the pictures for the Chrome Web Store, in each language, from the real extension with the stand-in
 * as its platform: `npm run build && npx tsx scripts/store-pictures.ts`. Needs openssl. A popup over a page is
 * put together from two pictures, since Chrome pictures no popup over a page.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as forward } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../src/protocol/json';
import { AgentBrowser, newProfile, removeProfile } from '../test/browser/harness/agent-browser';
import type { CdpSession } from '../test/browser/harness/cdp';
import { Person, POPUP, POPUP_SIZE } from '../test/browser/harness/person';
import { type Site, startSite } from '../test/browser/harness/site';
import { until } from '../test/browser/harness/until';
import type { Device } from '../test/fake-relay/devices';
import { type FakeRelay, startFakeRelay } from '../test/fake-relay/fake-relay';

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
/** What the store wants. */
const SCREENSHOT = { width: 1280, height: 800 };
/** The extension's own pages, drawn a quarter larger: they fill the picture and can be read. */
const PAGE = { width: 1024, height: 640, scale: 1.25 };
const TILE = { width: 440, height: 280 };
/** A popup can be read in the store's small view too. */
const POPUP_SCALE = 1.2;
/** Names that nobody can own (RFC 2606), so that no port of this machine is in the pictures. */
const PLATFORM = 'os.example.com';
const SITE = 'www.example.com';

const STORAGES_PAGE = 'src/ui/storages/storages.html';
const STORAGE_IDS = ['st_reports', 'st_drafts'];

interface Words {
  language: string;
  storages: [string, string];
  /** What the popup shows once all is done. */
  question: RegExp;
  title: string;
  page: string;
  sentence: string;
}

const WORDS: Record<string, Words> = {
  en: {
    language: 'en-US',
    storages: ['Reports', 'Drafts'],
    question: /Waiting for your answer/,
    title: 'Orders this week',
    page: page('en', 'Orders this week', ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'], ' orders'),
    sentence: 'Your browser as a device<br>of your platform',
  },
  ko: {
    language: 'ko',
    storages: ['보고서', '초안'],
    question: /응답을 기다리고 있어요/,
    title: '이번 주 주문',
    page: page('ko', '이번 주 주문', ['월요일', '화요일', '수요일', '목요일', '금요일'], '건'),
    sentence: '내 브라우저가<br>플랫폼의 기기가 돼요',
  },
};

/** Flat colours make a small file. */
function page(language: string, title: string, days: string[], unit: string): string {
  const rows = days.map((day, index) => {
    const count = [42, 57, 38, 64, 71][index] ?? 0;
    return `<tr><th>${day}<td><i style="width:${count * 4}px"></i><td>${count}${unit}`;
  });
  return `<!doctype html><html lang="${language}"><title>${title}</title><style>
    body { font: 22px system-ui, sans-serif; margin: 0; background: #eef2f7; color: #1f2933 }
    header { background: #1f2933; color: #fff; padding: 20px 56px; font-weight: 600 }
    main { background: #fff; margin: 48px 56px; padding: 32px 40px; border-radius: 12px; width: 640px }
    h1 { font-size: 32px; margin: 0 0 24px }
    th { text-align: left; font-weight: 400; width: 132px; height: 56px }
    td:last-child { white-space: nowrap; padding-left: 16px }
    i { display: block; height: 20px; border-radius: 4px; background: #3a9188 }
  </style><header>${SITE}</header><main><h1>${title}</h1><table>${rows.join('')}</table></main></html>`;
}

async function main(): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'endue-store-'));
  try {
    const certificate = selfSigned(scratch);
    for (const [language, words] of Object.entries(WORDS)) {
      await takeAll(join(at('docs/store/images'), language), words, certificate);
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

interface Certificate {
  key: string;
  cert: string;
}

function selfSigned(directory: string): Certificate {
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=example.com'],
      ...['-keyout', key, '-out', cert],
    ],
    { stdio: 'ignore' },
  );
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
}

/**
 * A server with encryption in front of the one at the port, as a platform has: an endpoint on another machine
 * must be encrypted. It names the host behind it, since the stand-in answers to no other name.
 */
async function encrypted(port: number, certificate: Certificate): Promise<Server> {
  const host = `127.0.0.1:${port}`;
  const server = createServer(certificate, (request, response) => {
    const { method, url: path, headers } = request;
    const behind = forward({ port, method, path, headers: { ...headers, host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    behind.on('error', () => response.destroy());
    request.pipe(behind);
  });
  server.on('upgrade', (request, socket: Socket) => {
    const behind = connect(port, '127.0.0.1');
    for (const end of [socket, behind]) {
      end.on('error', () => undefined);
      end.on('close', () => [socket, behind].map((one) => one.destroy()));
    }
    const headers = Object.entries({ ...request.headers, host }).map(([name, value]) => `${name}: ${value}`);
    behind.write([`GET ${request.url} HTTP/1.1`, ...headers, '', ''].join('\r\n'));
    socket.pipe(behind).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function takeAll(directory: string, words: Words, certificate: Certificate): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const storage_directory = mkdtempSync(join(tmpdir(), 'endue-store-'));
  const profile = newProfile();
  const relay = await startFakeRelay({ storage_directory });
  const site = await startSite();
  const fronts = [await encrypted(relay.port, certificate), await encrypted(site.port, certificate)];
  const [platform = 0, web = 0] = fronts.map(portOf);
  const browser = await AgentBrowser.launch({
    profile,
    language: words.language,
    flags: [
      `--host-resolver-rules=MAP ${PLATFORM}:443 127.0.0.1:${platform},MAP ${SITE}:443 127.0.0.1:${web}`,
      '--ignore-certificate-errors',
      '--hide-scrollbars',
    ],
  });
  try {
    await takeFrom({ browser, relay, site, words, directory });
  } finally {
    await browser.close();
    for (const front of fronts) front.close();
    await site.close();
    await relay.close();
    removeProfile(profile);
    rmSync(storage_directory, { recursive: true, force: true });
  }
}

interface Stage {
  browser: AgentBrowser;
  relay: FakeRelay;
  site: Site;
  words: Words;
  directory: string;
}

async function takeFrom({ browser, relay, site, words, directory }: Stage): Promise<void> {
  const device = relay.createDevice();
  const { token } = device.enrollment;
  const { pathname } = new URL(device.enrollment.endpoint);
  await browser.enroll({ endpoint: `wss://${PLATFORM}${pathname}`, token });
  await relay.waitForOnline(device);

  site.serve('/orders', words.page);
  const tab = await browser.openPage(`https://${SITE}/orders`);
  await lookAt(tab, SCREENSHOT);
  await until('the page is there', () =>
    tab.evaluate<boolean>(`document.title === ${JSON.stringify(words.title)}`),
  );
  await tab.send('Page.bringToFront');
  await relay.screen(device);
  const { output } = await relay.command(device, { command: 'tab_list' });
  const tab_id = tabOf(output, SITE);
  await relay.command(device, { command: 'page_text', input: { tab_id } });
  const page_picture = await picture(tab);

  const take = (name: string, content: Buffer): void => {
    writeFileSync(join(directory, name), content);
    console.log(`${directory.slice(-2)}/${name}: ${content.length} bytes`);
  };
  const over = async (popup: Person): Promise<Buffer> =>
    compose(browser, overPage(page_picture, await popupPicture(popup)), SCREENSHOT);

  const popup = await Person.open(browser, POPUP, { ...POPUP_SIZE, scale: POPUP_SCALE });
  await popup.prefer('light');
  const asked = relay.startCommand(device, {
    command: 'page_evaluate',
    input: { tab_id, expression: "document.querySelectorAll('tr').length" },
    timeout_ms: 600_000,
  });
  await popup.sees(words.question);
  // Nobody can answer by a click that was meant for something else: the buttons come to life a little later.
  await until('the question can be answered', () =>
    popup.page.evaluate<boolean>(`!document.querySelector('button:disabled')`),
  );
  take('2-question.png', await over(popup));
  const [question] = (await browser.message('overview.get', {})).questions;
  await browser.message('question.answer', { question_id: question?.question_id ?? '', allow: true });
  await asked.finished;

  await attachStorages(browser, relay, device, words);
  await popup.page.send('Page.bringToFront');
  await popup.sees(words.storages[1]);
  await until('the picture is there', () =>
    popup.page.evaluate<boolean>(`!!document.querySelector('img')?.naturalWidth`),
  );
  take('1-online.png', await over(popup));
  await popup.leave();

  for (const [name, path] of [
    ['3-storages.png', 'src/ui/storages/storages.html'],
    ['4-settings.png', 'src/ui/settings/settings.html'],
    ['5-activity.png', 'src/ui/activity/activity.html'],
  ] as const) {
    const person = await Person.open(browser, path, PAGE);
    await person.prefer('light');
    await until('the page has all', async () => (await person.text()).length > 200);
    take(name, await picture(person.page));
    await person.leave();
  }
  take('tile.png', await compose(browser, tile(words), TILE));
}

/** The id of the tab that shows a page of this host. */
function tabOf(output: JsonObject | null | undefined, host: string): number {
  const tabs = output?.tabs as { tab_id: number; url: string }[];
  return tabs.find(({ url }) => url.includes(host))?.tab_id ?? 0;
}

/** Two Storages inside the browser, attached as a person does, one of them with a saved version. */
async function attachStorages(
  browser: AgentBrowser,
  relay: FakeRelay,
  device: Device,
  { storages }: Words,
): Promise<void> {
  const person = await Person.open(browser, STORAGES_PAGE, PAGE);
  for (const [index, name] of storages.entries()) {
    for (const [id, text] of [
      ['storage-id', STORAGE_IDS[index] ?? ''],
      ['storage-name', name],
    ]) {
      await until('there is a field', () =>
        person.page.evaluate<boolean>(`!!document.getElementById('${id}')`),
      );
      await person.page.evaluate(`document.getElementById('${id}').focus()`);
      await person.paste(text ?? '');
    }
    await person.page.evaluate(`[...document.querySelectorAll('input[type=radio]')].at(-1).click()`);
    await person.page.evaluate(`document.querySelector('form button[type=submit]').click()`);
    await until('it is attached', () =>
      person.page.evaluate<boolean>(
        `[...document.querySelectorAll('.card h2')].some((one) => one.innerText === ${JSON.stringify(name)})`,
      ),
    );
  }
  await person.leave();
  const [storage_id = ''] = STORAGE_IDS;
  await relay.storage.createStorage(storage_id);
  const token = relay.storage.issueToken({ storage_id });
  for (const [path, text] of [
    ['week-18.md', '# 18\n'],
    ['week-19.md', '# 19\n'],
  ]) {
    await relay.command(device, {
      command: 'file_write',
      input: { storage_id, path: path ?? '', text: text ?? '' },
    });
  }
  const save = { storage_id, mode: 'save_path', path: '', token };
  const { status, error } = await relay.command(device, { command: 'workspace_storage_path', input: save });
  if (status !== 'ok') throw new Error(`the Storage was not saved: ${JSON.stringify(error)}`);
}

function lookAt(tab: CdpSession, { width, height }: typeof SCREENSHOT, scale = 1): Promise<unknown> {
  return tab.send('Emulation.setDeviceMetricsOverride', {
    width,
    height,
    deviceScaleFactor: scale,
    mobile: false,
  });
}

async function picture(tab: CdpSession): Promise<Buffer> {
  await tab.send('Page.bringToFront');
  const { data } = await tab.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: false });
  return Buffer.from(data as string, 'base64');
}

/** As long as it is by itself, and without the cursor's place in it. */
async function popupPicture(popup: Person): Promise<Buffer> {
  await popup.page.evaluate('document.activeElement?.blur()');
  const height = await popup.page.evaluate<number>(`document.querySelector('main').offsetHeight`);
  await popup.resize({
    width: POPUP_SIZE.width,
    height: Math.min(height, POPUP_SIZE.height),
    scale: POPUP_SCALE,
  });
  return picture(popup.page);
}

const source = (png: Buffer): string => `data:image/png;base64,${png.toString('base64')}`;

function overPage(page_picture: Buffer, popup_picture: Buffer): string {
  return `<style>
    body { margin: 0; background: url(${source(page_picture)}) }
    img { position: fixed; top: 16px; right: 24px; border-radius: 10px; box-shadow: 0 6px 28px #0006 }
  </style><img src="${source(popup_picture)}">`;
}

function tile({ sentence }: Words): string {
  const icon = source(readFileSync(at('public/icons/icon-128.png')));
  return `<style>
    body { margin: 0; height: 280px; display: grid; place-content: center; justify-items: center; gap: 12px;
      background: #eaf0fc; color: #1b2a4e; font: 600 24px/1.35 system-ui, sans-serif; text-align: center }
    img { width: 128px }
  </style><img src="${icon}"><div>${sentence}</div>`;
}

/** What a page of this content looks like. */
async function compose(browser: AgentBrowser, content: string, size: typeof SCREENSHOT): Promise<Buffer> {
  const tab = await browser.openPage('about:blank');
  try {
    await lookAt(tab, size);
    await tab.evaluate(`document.body.outerHTML = ${JSON.stringify(`<body>${content}</body>`)}`);
    await tab.evaluate(`Promise.all([...document.images].map((image) => image.decode()))`);
    return await picture(tab);
  } finally {
    await tab.close();
  }
}

await main();
process.exit(0);
