/** `screenshot` (tools.md, case 7) where it needs a real Chrome: what is captured, and when nothing is. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/protocol/json';
import { jpegTables, pictureBytes, pictureFacts, pngColour } from './harness/picture';
import { call, inServiceWorker, listTabs, openTab, refusal, serveAlert } from './harness/tool-calls';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

const RED = '#ff0000';
const BLUE = '#0000ff';

let world: World;

beforeAll(async () => {
  world = await createWorld();
  for (const [path, colour] of Object.entries({ '/red': RED, '/blue': BLUE })) {
    world.site.serve(path, `<!doctype html><title>${path}</title><style>html{background:${colour}}</style>`);
  }
  // A tab that nobody touches, so that the tests may close theirs.
  await openTab(world, '/welcome');
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

afterEach(() => {
  expect(world.relay.violations).toEqual([]);
});

const DELIVERED = { deliver_image: true };
const PNG = { deliver_image: true, format: 'png' };

function shoot(input: JsonObject = {}, id?: string): Promise<JsonObject> {
  return call(world, 'screenshot', input, id === undefined ? {} : { id });
}

function tabOf(output: JsonObject): { tab_id: number; window_id: number } {
  return output.tab as { tab_id: number; window_id: number };
}

function colourOf(output: JsonObject): string {
  return pngColour(pictureBytes(world, output));
}

/** The bytes are what the output says they are. */
function expectTruth(output: JsonObject): void {
  const { mime_type, width, height } = output;
  expect(pictureFacts(pictureBytes(world, output))).toEqual({ mime_type, width, height });
}

/** The size of what the tab shows, in device pixels. */
async function viewport(): Promise<{ width: number; height: number }> {
  const { width, height } = await shoot({ format: 'png' });
  return { width: width as number, height: height as number };
}

describe('the picture', () => {
  beforeAll(async () => {
    await openTab(world, '/welcome', { active: true });
  });

  it('is a jpeg of quality 85 unless told otherwise, with its true size', async () => {
    const output = await shoot(DELIVERED);
    expectTruth(output);
    expect(output.mime_type).toBe('image/jpeg');
    expect(output.width).toBeGreaterThan(1_000);
    expect(output.height).toBeGreaterThan(500);
    expect(new Date(String(output.captured_at)).toISOString()).toBe(output.captured_at);
    const tables = async (quality: number) =>
      jpegTables(pictureBytes(world, await shoot({ ...DELIVERED, quality })));
    expect(jpegTables(pictureBytes(world, output))).toEqual(await tables(85));
    expect(await tables(40)).not.toEqual(await tables(85));
  });

  it.each(['jpeg', 'png', 'webp'])('comes as %s when asked for', async (format) => {
    const output = await shoot({ ...DELIVERED, format });
    expectTruth(output);
    expect(output.mime_type).toBe(`image/${format}`);
    expect({ width: output.width, height: output.height }).toEqual(await viewport());
  });

  it.each(['jpeg', 'png', 'webp'])(
    'as %s is scaled down to max_width and max_height, never up',
    async (format) => {
      const { width, height } = await viewport();
      const narrow = await shoot({ ...DELIVERED, format, max_width: 320 });
      expectTruth(narrow);
      expect(narrow).toMatchObject({ width: 320, height: Math.round((height * 320) / width) });
      const low = await shoot({ ...DELIVERED, format, max_width: 100_000, max_height: 90 });
      expectTruth(low);
      expect(low).toMatchObject({ width: Math.round((width * 90) / height), height: 90 });
      const same = await shoot({ ...DELIVERED, format, max_width: 100_000, max_height: 100_000 });
      expectTruth(same);
      expect(same).toMatchObject({ width, height });
    },
  );

  it('quality of webp makes a difference, and png refuses it', async () => {
    const [low, high] = [
      await shoot({ ...DELIVERED, format: 'webp', quality: 5 }),
      await shoot({ ...DELIVERED, format: 'webp', quality: 100 }),
    ];
    expect(pictureBytes(world, low).length).toBeLessThan(pictureBytes(world, high).length);
    expect(await refusal(world, 'screenshot', { format: 'png', quality: 50 })).toMatchObject({
      error_code: 'invalid_input',
      error: expect.stringContaining('quality'),
    });
  });

  it('without deliver_image is an id and the facts, and image_id fetches the same picture', async () => {
    const facts = await shoot({ format: 'png', max_width: 400 });
    expect(Object.keys(facts).sort()).toEqual(
      ['captured_at', 'height', 'image_id', 'mime_type', 'tab', 'width'].sort(),
    );
    const fetched = await shoot({ image_id: facts.image_id as string, deliver_image: true });
    expect(fetched).toMatchObject(facts);
    expectTruth(fetched);
    const again = await shoot({ image_id: facts.image_id as string, deliver_image: true });
    expect(again).toEqual(fetched);
  });

  it('image_id outlives the service worker', async () => {
    const facts = await shoot({ format: 'png', max_width: 400 });
    const page = await world.browser.extensionPage();
    await world.browser.killServiceWorker(page);
    await page.close();
    const fetched = await shoot({ image_id: facts.image_id as string, deliver_image: true });
    expect(fetched).toMatchObject(facts);
    expectTruth(fetched);
  });

  it('an unknown image_id is image_unknown; image_id goes with nothing else', async () => {
    expect(await refusal(world, 'screenshot', { image_id: 'nobody', ...DELIVERED })).toMatchObject({
      error_code: 'image_unknown',
    });
    expect(await refusal(world, 'screenshot', { image_id: 'nobody', format: 'png' })).toMatchObject({
      error_code: 'invalid_input',
      error: expect.stringContaining('image_id'),
    });
  });

  it('max_age_ms takes an earlier picture of the same tab, address and form', async () => {
    const first = await shoot({ max_width: 300 });
    const young = { max_width: 300, max_age_ms: 240_000 };
    expect((await shoot(young)).image_id).toBe(first.image_id);
    expect((await shoot({ ...young, max_width: 301 })).image_id).not.toBe(first.image_id);
    expect((await shoot({ max_width: 300 })).image_id).not.toBe(first.image_id);
    const [newest, zero] = [await shoot(young), await shoot({ max_width: 300, max_age_ms: 0 })];
    expect(zero.image_id).not.toBe(newest.image_id);
    await call(world, 'tab_navigate', { url: world.site.url('/red') });
    expect((await shoot(young)).image_id).not.toBe(zero.image_id);
  });
});

describe('which tab', () => {
  it('by default is the active tab of the last focused window', async () => {
    const tab_id = await openTab(world, '/red', { active: true });
    await openTab(world, '/blue');
    const output = await shoot(PNG);
    expect(tabOf(output).tab_id).toBe(tab_id);
    expect(colourOf(output)).toBe(RED);
    expect(tabOf(await shoot({ tab_id })).tab_id).toBe(tab_id);
  });

  it('by tab_id is also the active one of another window', async () => {
    const here = await openTab(world, '/red', { active: true });
    const page = await world.browser.openPage(world.site.url('/blue'), { newWindow: true });
    const other = await until('the other window is there', async () =>
      (await listTabs(world)).find(({ url, active }) => active && url === world.site.url('/blue')),
    );
    await call(world, 'tab_activate', { tab_id: here });
    const output = await shoot({ ...PNG, tab_id: other.tab_id });
    expect(tabOf(output)).toEqual({ tab_id: other.tab_id, window_id: other.window_id });
    expect(colourOf(output)).toBe(BLUE);
    const shown = await shoot(PNG);
    expect([tabOf(shown).tab_id, colourOf(shown)]).toEqual([here, RED]);
    await page.close();
  });

  it('that is not active is screen_unavailable, not existing tab_not_found, and nothing is switched', async () => {
    const active = await openTab(world, '/red', { active: true });
    const hidden = await openTab(world, '/blue');
    expect(await refusal(world, 'screenshot', { tab_id: hidden })).toMatchObject({
      error_code: 'screen_unavailable',
      error: expect.stringContaining('tab_activate'),
    });
    expect(await refusal(world, 'screenshot', { tab_id: 987_654_321 })).toMatchObject({
      error_code: 'tab_not_found',
    });
    expect(tabOf(await shoot()).tab_id).toBe(active);
    await call(world, 'tab_activate', { tab_id: hidden });
    const output = await shoot({ ...PNG, tab_id: hidden });
    expect(colourOf(output)).toBe(BLUE);
  });

  it.each(['chrome://version/', 'about:blank'])(
    '%s is capture_restricted, and the next page is captured',
    async (url) => {
      const page = await world.browser.openPage(url);
      await until(`${url} is shown`, async () =>
        (await listTabs(world)).some((tab) => tab.active && tab.url === url && tab.status === 'complete'),
      );
      expect(await refusal(world, 'screenshot')).toMatchObject({ error_code: 'capture_restricted' });
      await page.close();
      await openTab(world, '/red', { active: true });
      expect(colourOf(await shoot(PNG))).toBe(RED);
    },
  );
});

describe('case 7: wrong tab, quota', () => {
  let red: number;
  let blue: number;

  beforeEach(async () => {
    red = await openTab(world, '/red');
    blue = await openTab(world, '/blue');
  });

  const command = (name: string, input: JsonObject) =>
    world.relay.command(world.device, { command: name, input });

  it('B activated while A waits for its turn: A or a clear error, never B under the name of A', async () => {
    await call(world, 'tab_activate', { tab_id: red });
    const shots = [
      command('screenshot', { ...PNG, tab_id: red, max_width: 1_000 }),
      command('screenshot', { ...DELIVERED, tab_id: red, quality: 80 }),
      command('screenshot', { ...PNG, tab_id: red }),
    ];
    await shots[0];
    await call(world, 'tab_activate', { tab_id: blue });
    for (const answer of await Promise.all(shots)) {
      if (answer.status === 'error') {
        expect(answer.error_code).toBe('screen_unavailable');
      } else {
        expect(tabOf(answer.output ?? {}).tab_id).toBe(red);
        if (answer.output?.mime_type === 'image/png') expect(colourOf(answer.output)).toBe(RED);
      }
    }
  });

  it('B activated at any moment of the capture of A: what is named is what is shown', async () => {
    for (let round = 0; round < 8; round += 1) {
      await call(world, 'tab_activate', { tab_id: red });
      const input = round % 2 === 0 ? { ...PNG, tab_id: red } : PNG;
      const shot = command('screenshot', input);
      // A different part of the way each time, from before the capture to after it.
      for (let step = 0; step < 3 * round; step += 1) await call(world, 'tab_list');
      const [answer] = await Promise.all([shot, command('tab_activate', { tab_id: blue })]);
      if (answer.status === 'error') {
        expect(answer.error_code).toBe('screen_unavailable');
      } else {
        const { tab_id } = tabOf(answer.output ?? {});
        if ('tab_id' in input) expect(tab_id).toBe(red);
        expect(colourOf(answer.output ?? {})).toBe(tab_id === red ? RED : BLUE);
      }
    }
  });

  it('six screenshots within a second, the first one failing, are six answers', async () => {
    const page = await world.browser.openPage('chrome://version/');
    await until('the restricted page is shown', async () =>
      (await listTabs(world)).some(({ active, url }) => active && url === 'chrome://version/'),
    );
    const failing = command('screenshot', {});
    const first = await failing;
    expect(first).toMatchObject({ status: 'error', error_code: 'capture_restricted' });
    await call(world, 'tab_activate', { tab_id: red });
    // Unequal wishes: none can share the capture of another.
    const rest = await Promise.all(
      [31, 32, 33, 34, 35].map((quality) => command('screenshot', { quality, max_width: 64 })),
    );
    expect(rest.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
    await page.close();
  });

  it('twenty screenshots at once are all answered', async () => {
    await call(world, 'tab_activate', { tab_id: blue });
    const wishes = [PNG, DELIVERED, { ...DELIVERED, quality: 30 }, { ...PNG, max_width: 200 }];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => command('screenshot', wishes[n % wishes.length] as JsonObject)),
    );
    expect(answers.filter(({ status }) => status === 'ok')).toHaveLength(20);
    for (const { output } of answers) {
      expect(tabOf(output ?? {}).tab_id).toBe(blue);
      expectTruth(output ?? {});
      if (output?.mime_type === 'image/png') expect(colourOf(output)).toBe(BLUE);
    }
  });

  it('a caller whose deadline passes in the queue gets timeout; the others are not disturbed', async () => {
    await call(world, 'tab_activate', { tab_id: blue });
    const others = [51, 52, 53].map((quality) => command('screenshot', { quality }));
    const hasty = world.relay.command(world.device, {
      command: 'screenshot',
      input: { quality: 54 },
      timeout_ms: 400,
    });
    expect(await hasty).toMatchObject({ status: 'error', error_code: 'timeout' });
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual(['ok', 'ok', 'ok']);
  });
});

describe('the screen of a resource', () => {
  it('GET …/screen gives a picture, and one not older than max_age_ms again', async () => {
    await openTab(world, '/red', { active: true });
    const { relay, device } = world;
    const screen = async (max_age_ms: number) => {
      const reply = await fetch(
        `${relay.origin}/api/v1/resources/${device.id}/screen?max_age_ms=${max_age_ms}`,
      );
      return { reply, bytes: Buffer.from(await reply.arrayBuffer()) };
    };
    const first = await screen(0);
    expect(first.reply.status).toBe(200);
    expect(pictureFacts(first.bytes).mime_type).toBe('image/jpeg');
    expect(first.reply.headers.get('content-type')).toBe('image/jpeg');
    const calls = device.commands.size;
    expect((await screen(600_000)).bytes.equals(first.bytes)).toBe(true);
    expect(device.commands.size).toBe(calls);
    expect((await screen(0)).reply.status).toBe(200);
    expect(device.commands.size).toBe(calls + 1);
  });
});

describe('hard pages', () => {
  it('a page that shows an alert is captured', async () => {
    const alert = serveAlert(world, '/alert');
    const tab_id = await openTab(world, '/alert', { active: true });
    await alert.isOpen();
    const output = await shoot({ ...PNG, tab_id });
    expectTruth(output);
    expect(tabOf(output).tab_id).toBe(tab_id);
    expect(world.site.visits).not.toContain('/alert/gone');
    await call(world, 'tab_close', { tab_id });
  });

  it('a picture too big for a frame is scaled down until it fits when it cannot be uploaded', async () => {
    world.site.serve(
      '/noise',
      `<!doctype html><title>noise</title><style>body{margin:0}</style><canvas></canvas>
       <script>const c=document.querySelector('canvas');
       c.width=2400;c.height=1800;const x=c.getContext('2d'),d=x.createImageData(c.width,c.height);
       for(let i=0;i<d.data.length;i+=65536)crypto.getRandomValues(new Uint8Array(d.data.buffer,i,Math.min(65536,d.data.length-i)));
       for(let i=3;i<d.data.length;i+=4)d.data[i]=255;x.putImageData(d,0,0)</script>`,
    );
    const tab_id = await openTab(world, '/noise', { active: true });
    const target = (await world.browser.targets()).find(({ url }) => url.endsWith('/noise'));
    const { windowId, bounds } = await world.browser.connection.send('Browser.getWindowForTarget', {
      targetId: target?.targetId,
    });
    const resize = (width: unknown, height: unknown) =>
      world.browser.connection.send('Browser.setWindowBounds', { windowId, bounds: { width, height } });
    await resize(1_800, 1_450);
    const full = await until('the window is large', async () => {
      const output = await shoot(PNG);
      return Number(output.width) > 1_700 && Number(output.height) > 1_250 ? output : null;
    });
    expectTruth(full);
    // As base64 it would be over the 8 MiB of a frame.
    expect(pictureBytes(world, full).length).toBeGreaterThan(6 * 1024 * 1024);
    world.relay.fault({ fault: 'blob', answer: { status: 403 } });
    try {
      for (const output of [await shoot(PNG), await shoot({ ...PNG }, '..')]) {
        expect(output.image_blob).toBeUndefined();
        expectTruth(output);
        expect(output.width).toBeLessThan(full.width as number);
        const ratio = (size: JsonObject) => (size.width as number) / (size.height as number);
        expect(ratio(output)).toBeCloseTo(ratio(full), 1);
        // Scaled down until it fits, not to a thumbnail.
        expect(output.width).toBeGreaterThan((full.width as number) / 4);
      }
    } finally {
      world.relay.clearFaults('blob');
      const { width, height } = bounds as { width: number; height: number };
      await resize(width, height);
    }
    await call(world, 'tab_close', { tab_id });
  });
});

describe('no screen', () => {
  it('no browser window is screen_unavailable, and tab_open makes one again', async () => {
    // A window that is not a normal one keeps the browser alive.
    await inServiceWorker(
      world,
      `chrome.windows.create({ type: 'popup', url: '${world.site.url('/blue')}' })`,
    );
    const window_ids = await inServiceWorker<number[]>(
      world,
      `chrome.windows.getAll({ windowTypes: ['normal'] }).then((all) => all.map(({ id }) => id))`,
    );
    const tabs = (await listTabs(world)).filter(({ window_id }) => window_ids.includes(window_id));
    for (const { tab_id } of tabs) await call(world, 'tab_close', { tab_id });
    expect(await refusal(world, 'screenshot')).toMatchObject({
      error_code: 'screen_unavailable',
      error: expect.stringContaining('tab_open'),
    });
    const tab_id = await openTab(world, '/red');
    const output = await shoot(PNG);
    expect([tabOf(output).tab_id, colourOf(output)]).toEqual([tab_id, RED]);
  });
});
