/**
 * ui.md, States: each state of the connection as a person sees it in the popup, in both languages, light and
 * dark. The faults are the relay's, the network's and the administrator's; nothing in the extension is faked.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../fake-relay/devices';
import { EXTENSION_ID } from './harness/agent-browser';
import { Person, POPUP_SIZE } from './harness/person';
import { PolicyFolder } from './harness/policy-folder';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

interface Language {
  language: string;
  not_enrolled: RegExp;
  connecting: RegExp;
  online: RegExp;
  waiting: RegExp;
  no_network: RegExp;
  replaced: RegExp;
  token_stopped: RegExp;
  paused: RegExp;
  blocked_by_policy: RegExp;
  box: string;
  retry: string;
  pause: string;
  resume: string;
}

const LANGUAGES: Language[] = [
  {
    language: 'en-US',
    not_enrolled: /^Not connected to a platform$/,
    connecting: /^Connecting to 127\.0\.0\.1:\d+$/,
    online: /^Online · 127\.0\.0\.1:\d+ · since \d+:\d\d [AP]M$/,
    waiting: /^No connection\. Trying again in (\d+) s$/,
    no_network: /^This computer is offline$/,
    replaced: /^Another browser is using this enrollment\. Trying again in (\d+) s$/,
    token_stopped: /^This enrollment was revoked\. Paste a new one$/,
    paused: /^Paused\. Nothing can reach this browser$/,
    blocked_by_policy: /^Your organisation's policy is incomplete: enrollment_token$/,
    box: 'Paste the enrollment from your platform',
    retry: 'Retry now',
    pause: 'Pause',
    resume: 'Resume',
  },
  {
    language: 'ko',
    not_enrolled: /^아직 플랫폼에 연결되지 않았어요$/,
    connecting: /^127\.0\.0\.1:\d+에 연결하는 중이에요$/,
    online: /^온라인 · 127\.0\.0\.1:\d+ · 오[전후] \d+:\d\d부터$/,
    waiting: /^연결이 끊겼어요\. (\d+)초 뒤에 다시 시도해요$/,
    no_network: /^이 컴퓨터가 오프라인이에요$/,
    replaced: /^다른 브라우저가 이 등록을 쓰고 있어요\. (\d+)초 뒤에 다시 시도해요$/,
    token_stopped: /^이 등록은 폐기되었어요\. 새 등록을 붙여넣으세요$/,
    paused: /^일시 중지됨\. 아무도 이 브라우저에 닿을 수 없어요$/,
    blocked_by_policy: /^조직 정책이 올바르지 않아요: enrollment_token$/,
    box: '플랫폼에서 받은 등록을 붙여넣으세요',
    retry: '지금 다시 시도',
    pause: '일시 중지',
    resume: '다시 시작',
  },
];

/** A host that is not this computer, so that the state of the network counts; it leads to the stand-in. */
const FAR_HOST = 'relay.example.test';
const RESOLVE_FAR_HOST = `--host-resolver-rules=MAP ${FAR_HOST} 127.0.0.1`;
const CAN_MANAGE = PolicyFolder.isPossible();

describe.each(LANGUAGES)('ui.md, States in $language', (words) => {
  let world: World;
  let person: Person;
  const policies = CAN_MANAGE ? new PolicyFolder(EXTENSION_ID) : undefined;

  beforeAll(async () => {
    world = await createWorld({
      enrolled: false,
      browser: { language: words.language, flags: [RESOLVE_FAR_HOST], ...(policies ? { policies } : {}) },
    });
    person = await Person.open(world.browser);
  });

  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    policies?.remove();
  });

  /** A device of the test's own: no test feels the one before. */
  async function enroll(): Promise<Device> {
    const device = world.relay.createDevice();
    await world.browser.enroll(device.enrollment);
    return device;
  }

  async function enrollAndSeeOnline(): Promise<Device> {
    world.relay.clearFaults();
    const device = await enroll();
    await world.relay.waitForOnline(device);
    await person.sentenceIs(words.online);
    return device;
  }

  async function isForEverybody(): Promise<void> {
    expect(await person.barriers()).toEqual([]);
    expect(await person.isTooWide()).toBe(false);
  }

  /** How many separators of the sentence are seen without something before them on their line. */
  function danglingSeparators(): Promise<number> {
    return person.page.evaluate(`(() => {
      const { left } = document.querySelector('h1').getBoundingClientRect();
      const boxes = [...document.querySelectorAll('.part')].map((part) => part.getBoundingClientRect());
      return [...document.querySelectorAll('.separator')].filter((separator, index) => {
        const box = separator.getBoundingClientRect();
        const isSeen = box.right > left + 1;
        const before = boxes[index];
        return isSeen && !(before.bottom > box.top && before.right <= box.left + 1);
      }).length;
    })()`);
  }

  /** The seconds in a sentence that counts down. */
  async function seconds(sentence: RegExp): Promise<number> {
    return Number(sentence.exec(await person.sentenceIs(sentence))?.[1]);
  }

  async function countsDown(sentence: RegExp): Promise<void> {
    const first = await seconds(sentence);
    await until('the popup counts down', async () => (await seconds(sentence)) < first);
  }

  /** Clicks Retry now and waits for a handshake that only the click can have made so soon. */
  async function retryNow(sentence: RegExp): Promise<void> {
    const { relay } = world;
    const before = relay.handshakes.length;
    const clicked_at = relay.now();
    const left = await seconds(sentence);
    await person.click(words.retry);
    const handshake = await relay.until(() => relay.handshakes[before], 'a handshake');
    expect(handshake.at - clicked_at).toBeLessThan((left - 1) * 1000);
  }

  it('not enrolled: asks for an enrollment', async () => {
    await person.sentenceIs(words.not_enrolled);
    await person.sees(words.box);
    expect(await person.offers(words.pause)).toBe(false);
    await isForEverybody();
  });

  it('connecting: names the host', async () => {
    world.relay.fault({ fault: 'stall_handshake' });
    await enroll();
    await person.sentenceIs(words.connecting);
    await isForEverybody();
  });

  it('handshaking is connecting still', async () => {
    world.relay.clearFaults();
    world.relay.fault({ fault: 'no_handshake_calls' });
    const device = await enroll();
    await world.relay.waitForConnection(1, { device });
    await person.sentenceIs(words.connecting);
  });

  it('online: where, and since when', async () => {
    const device = await enrollAndSeeOnline();
    expect(await person.sentence()).toContain(new URL(device.enrollment.endpoint).host);
    expect(await person.read('body')).not.toContain(words.box);
    await isForEverybody();
    for (const width of [360, 280, 200]) {
      await person.resize({ width, height: 600 });
      expect(await danglingSeparators(), `${width} px`).toBe(0);
    }
    await person.resize(POPUP_SIZE);
  });

  it('waiting: counts down to the next attempt, and Retry now makes it at once', async () => {
    const { relay } = world;
    relay.clearFaults();
    relay.fault({ fault: 'refuse_handshake', status: 503 });
    const device = await enroll();
    // Each failed attempt doubles the wait; a person who retries does not.
    await until('the wait is long enough to be watched', async () => (await seconds(words.waiting)) >= 8);
    await countsDown(words.waiting);
    await isForEverybody();
    relay.clearFaults();
    await retryNow(words.waiting);
    await relay.waitForOnline(device);
    await person.sentenceIs(words.online);
  });

  it('no network: says so instead of counting', async () => {
    const { browser, relay } = world;
    // No TLS there: every attempt fails.
    await browser.enroll({ endpoint: `wss://${FAR_HOST}:${relay.port}/`, token: 'unused' });
    await person.sentenceIs(words.waiting);
    const offscreen = await browser.offscreen();
    const network = (offline: boolean) =>
      offscreen.send('Network.emulateNetworkConditions', {
        offline,
        latency: 0,
        downloadThroughput: -1,
        uploadThroughput: -1,
      });
    await network(true);
    await person.sentenceIs(words.no_network);
    await isForEverybody();
    await network(false);
    await person.sentenceIs(words.waiting);
    await offscreen.detach();
  });

  it('replaced: counts down the long wait, and Retry now ends it', async () => {
    const device = await enrollAndSeeOnline();
    world.relay.disconnect(device, 1012);
    await countsDown(words.replaced);
    await isForEverybody();
    await retryNow(words.replaced);
    await world.relay.waitForOnline(device, { after: 1 });
    await person.sentenceIs(words.online);
  });

  it('token stopped: asks for a new enrollment, and takes it', async () => {
    const device = await enrollAndSeeOnline();
    world.relay.revoke(device);
    await person.sentenceIs(words.token_stopped);
    await person.sees(words.box);
    await isForEverybody();
    await enrollAndSeeOnline();
  });

  it('paused: says that nothing gets through, and Resume ends it', async () => {
    const device = await enrollAndSeeOnline();
    await person.click(words.pause);
    await person.sentenceIs(words.paused);
    await world.relay.until(() => !device.connection, 'the end of the connection');
    await isForEverybody();
    await person.click(words.resume);
    await world.relay.waitForOnline(device, { after: 1 });
    await person.sentenceIs(words.online);
  });

  it.runIf(CAN_MANAGE)('blocked by policy: names the key that is missing', async () => {
    policies?.set({ endpoint: `wss://${FAR_HOST}/` });
    await person.sentenceIs(words.blocked_by_policy);
    expect(await person.text()).not.toContain(words.box);
    await isForEverybody();
  });

  it('nothing of it broke the contract', () => {
    expect(world.relay.violations).toEqual([]);
  });
});
