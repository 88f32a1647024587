import 'fake-indexeddb/auto';
import { IDBFactory } from 'fake-indexeddb';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { CAPTURES_PER_SECOND, PICTURES_KEPT_MS } from '../../../src/protocol/limits';
import { CAPTURE_DEADLINE_MS, CAPTURE_WINDOW_MS } from '../../../src/tools/capture-queue';
import { pass } from './async-clock';
import { Rig } from './context';
import type { FakeTab } from './fake-chrome';
import { bytesOf, JPEG } from './pictures';

const JPEG_URL = `data:image/jpeg;base64,${JPEG}`;

let rig: Rig;

beforeEach(() => {
  vi.stubGlobal('indexedDB', new IDBFactory());
  rig = new Rig();
});

/** A window with these addresses; the first tab is active. */
function openWindow(...urls: string[]): { window_id: number; tabs: FakeTab[] } {
  const { id } = rig.chrome.openWindow(urls);
  return { window_id: id, tabs: rig.chrome.tabs.filter(({ windowId }) => windowId === id) };
}

function tabAt(tabs: FakeTab[], index: number): FakeTab {
  const tab = tabs[index];
  if (!tab) throw new Error('no such tab');
  return tab;
}

const captureCalls = () => rig.chrome.calls.filter((call) => call.startsWith('captureVisibleTab'));

describe('tools.md, screenshot: what is captured', () => {
  test('the active tab of the last focused normal window', async () => {
    openWindow('https://older.test/');
    const { window_id, tabs } = openWindow('https://a.test/', 'https://b.test/');
    rig.chrome.openWindow(['https://popup.test/'], 'popup');
    const { output } = await rig.call('screenshot');
    expect(output.tab).toEqual({ tab_id: tabAt(tabs, 0).id, window_id });
  });

  test('tab_id of the active tab of another window', async () => {
    const { window_id, tabs } = openWindow('https://a.test/');
    openWindow('https://focused.test/');
    const tab_id = tabAt(tabs, 0).id;
    expect((await rig.call('screenshot', { tab_id })).output.tab).toEqual({ tab_id, window_id });
    expect(captureCalls()).toEqual([`captureVisibleTab(${window_id}, {"format":"jpeg","quality":85})`]);
  });

  test('tab_id of a tab that is not active: screen_unavailable that names tab_activate; no silent switching', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    const { code, message } = await rig.fail('screenshot', { tab_id: tabAt(tabs, 1).id });
    expect(code).toBe('screen_unavailable');
    expect(message).toContain('tab_activate');
    expect(rig.chrome.calls).toEqual([]);
    await rig.call('tab_activate', { tab_id: tabAt(tabs, 1).id });
    await rig.call('screenshot', { tab_id: tabAt(tabs, 1).id });
  });

  test('wire.md §8: a tab_id that does not exist is tab_not_found', async () => {
    openWindow('https://a.test/');
    expect(await rig.fail('screenshot', { tab_id: 9_999 })).toMatchObject({ code: 'tab_not_found' });
  });
});

describe('tools.md, screenshot: the picture', () => {
  test('default jpeg, quality 85: one capture, no re-encoding; the facts are those of the bytes', async () => {
    const { window_id } = openWindow('https://a.test/');
    const before = rig.clock.time;
    const { output, attachments } = await rig.call('screenshot', { deliver_image: true });
    expect(captureCalls()).toEqual([`captureVisibleTab(${window_id}, {"format":"jpeg","quality":85})`]);
    expect(rig.reencoded).toEqual([]);
    expect(output).toMatchObject({ mime_type: 'image/jpeg', width: 3, height: 2 });
    expect(output.captured_at).toBe(new Date(before).toISOString());
    expect(attachments).toHaveLength(1);
    expect(attachments?.[0]).toMatchObject({ field: 'image', mime_type: 'image/jpeg' });
    expect(attachments?.[0]?.content).toEqual(bytesOf(JPEG));
  });

  test('mime_type tells the truth even when the browser gave something else', async () => {
    openWindow('https://a.test/');
    rig.chrome.capture = async () => JPEG_URL.replace('image/jpeg', 'image/png');
    const { output, attachments } = await rig.call('screenshot', { format: 'png', deliver_image: true });
    expect(output.mime_type).toBe('image/jpeg');
    expect(attachments?.[0]).toMatchObject({ mime_type: 'image/jpeg' });
  });

  test('png is captured as png, without a quality and without re-encoding', async () => {
    const { window_id } = openWindow('https://a.test/');
    expect((await rig.call('screenshot', { format: 'png' })).output.mime_type).toBe('image/png');
    expect(captureCalls()).toEqual([`captureVisibleTab(${window_id}, {"format":"png"})`]);
    expect(rig.reencoded).toEqual([]);
  });

  test('webp is made from an exact capture', async () => {
    const { window_id } = openWindow('https://a.test/');
    const { output } = await rig.call('screenshot', { format: 'webp', quality: 40 });
    expect(output.mime_type).toBe('image/webp');
    expect(captureCalls()).toEqual([`captureVisibleTab(${window_id}, {"format":"png"})`]);
    expect(rig.reencoded).toEqual([{ mime_type: 'image/webp', quality: 40, width: 3, height: 2 }]);
  });

  test('max_width scales down, and not when the picture is small enough', async () => {
    openWindow('https://a.test/');
    await rig.call('screenshot', { max_width: 3, max_height: 50 });
    expect(rig.reencoded).toEqual([]);
    await rig.call('screenshot', { max_height: 1 });
    expect(rig.reencoded).toEqual([{ mime_type: 'image/jpeg', quality: 85, width: 2, height: 1 }]);
  });

  test('quality with png is invalid_input that names it', async () => {
    const { code, message } = await rig.fail('screenshot', { format: 'png', quality: 5 });
    expect(code).toBe('invalid_input');
    expect(message).toContain('input.quality');
  });
});

describe('tools.md, screenshot: image_id', () => {
  test('without deliver_image only the id and the facts; image_id and deliver_image fetch the picture', async () => {
    openWindow('https://a.test/');
    const { output, attachments } = await rig.call('screenshot');
    expect(attachments).toBeUndefined();
    expect(Object.keys(output).sort()).toEqual(
      ['captured_at', 'height', 'image_id', 'mime_type', 'tab', 'width'].sort(),
    );
    const fetched = await rig.call('screenshot', { image_id: output.image_id, deliver_image: true });
    expect(fetched.output).toEqual(output);
    expect(fetched.attachments?.[0]?.field).toBe('image');
    expect(captureCalls()).toHaveLength(1);
  });

  test('wire.md §8: unknown or expired is image_unknown', async () => {
    openWindow('https://a.test/');
    expect(await rig.fail('screenshot', { image_id: 'no such' })).toMatchObject({ code: 'image_unknown' });
    const { output } = await rig.call('screenshot');
    rig.clock.advance(PICTURES_KEPT_MS);
    expect(await rig.fail('screenshot', { image_id: output.image_id })).toMatchObject({
      code: 'image_unknown',
    });
  });

  test('image_id together with something about a new capture is invalid_input that names it', async () => {
    const { code, message } = await rig.fail('screenshot', { image_id: 'x', max_width: 5 });
    expect(code).toBe('invalid_input');
    expect(message).toContain('"max_width"');
  });

  test('what is delivered becomes the last picture sent, what is not does not', async () => {
    openWindow('https://a.test/');
    await rig.call('screenshot');
    expect(await rig.context.pictures.last()).toBeNull();
    const { output } = await rig.call('screenshot', { deliver_image: true });
    await rig.call('screenshot');
    expect(await rig.context.pictures.last()).toMatchObject({ image_id: output.image_id });
  });
});

describe('tools.md, screenshot: max_age_ms', () => {
  test('a picture of the same tab, address and form that is young enough will do', async () => {
    openWindow('https://a.test/');
    const first = await rig.call('screenshot');
    const second = await rig.call('screenshot', { max_age_ms: 10_000, deliver_image: true });
    expect(second.output).toEqual(first.output);
    expect(second.attachments).toHaveLength(1);
    expect(captureCalls()).toHaveLength(1);
  });

  test.each([
    ['it is too old', () => rig.clock.advance(10_001), {}],
    ['the address changed', () => rig.chrome.commit(tabAt(rig.chrome.tabs, 0), 'https://b.test/'), {}],
    ['another tab is active', () => rig.chrome.activate(tabAt(rig.chrome.tabs, 1).id), {}],
    ['the form is another', () => {}, { quality: 84 }],
    ['the size is another', () => {}, { max_width: 2 }],
  ])('captures anew when %s', async (_name, change, more) => {
    openWindow('https://a.test/', 'https://a.test/');
    const first = await rig.call('screenshot');
    change();
    const second = await rig.call('screenshot', { max_age_ms: 10_000, ...more });
    expect(second.output.image_id).not.toBe(first.output.image_id);
  });
});

describe('tools.md, screenshot: one queue, 2 captures a second', () => {
  test('20 at once are all answered', async () => {
    openWindow('https://a.test/');
    const answers = Promise.all(Array.from({ length: 20 }, () => rig.call('screenshot')));
    expect(await answers).toHaveLength(20);
    expect(captureCalls().length).toBeLessThanOrEqual(CAPTURES_PER_SECOND + 1);
  });

  test("a quota error of Chrome's is retried in the next slot", async () => {
    openWindow('https://a.test/');
    let calls = 0;
    rig.chrome.capture = async () => {
      calls += 1;
      if (calls > 1) return JPEG_URL;
      throw new Error('This request exceeds the MAX_CAPTURE_VISIBLE_TAB_CALLS_PER_SECOND quota.');
    };
    const before = rig.clock.time;
    await rig.call('screenshot');
    expect(calls).toBe(2);
    expect(rig.clock.time - before).toBeGreaterThanOrEqual(CAPTURE_WINDOW_MS);
  });

  test('a caller whose deadline passes ends with the reason of its signal', async () => {
    openWindow('https://a.test/');
    rig.chrome.capture = () => new Promise(() => {});
    const running = rig.fail('screenshot');
    await pass(rig.clock, 100);
    rig.abort.abort(Object.assign(new Error('deadline'), { code: 'timeout' }));
    expect(await running).toMatchObject({ code: 'timeout' });
  });
});

describe('tools.md, screenshot: after the capture, the tab and its URL are checked again', () => {
  /** What happens in the browser while each capture is under way. */
  function during(...happenings: (() => void)[]): void {
    rig.chrome.capture = async () => {
      await Promise.resolve();
      happenings.shift()?.();
      return JPEG_URL;
    };
  }

  test('case 7: tab A while B comes to the front: a clear error, never B under the name of A', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    during(() => rig.chrome.activate(tabAt(tabs, 1).id));
    const { code, message } = await rig.fail('screenshot', { tab_id: tabAt(tabs, 0).id });
    expect(code).toBe('screen_unavailable');
    expect(message).toContain('tab_activate');
  });

  test('case 7: B came to the front and went again within the capture: captured once more', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    during(() => {
      rig.chrome.activate(tabAt(tabs, 1).id);
      rig.chrome.activate(tabAt(tabs, 0).id);
    });
    const { output } = await rig.call('screenshot', { tab_id: tabAt(tabs, 0).id });
    expect(output.tab).toMatchObject({ tab_id: tabAt(tabs, 0).id });
    expect(captureCalls()).toHaveLength(2);
  });

  test('case 7: B is in front before the turn comes', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    await Promise.all([rig.call('screenshot'), rig.call('screenshot', { quality: 1 })]);
    const running = rig.fail('screenshot', { tab_id: tabAt(tabs, 0).id });
    rig.chrome.activate(tabAt(tabs, 1).id);
    expect(await running).toMatchObject({ code: 'screen_unavailable' });
    expect(captureCalls()).toHaveLength(3);
  });

  test('case 7: the tab is closed meanwhile', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    during(() => {
      rig.chrome.activate(tabAt(tabs, 1).id);
      rig.chrome.remove(tabAt(tabs, 0).id);
    });
    expect(await rig.fail('screenshot', { tab_id: tabAt(tabs, 0).id })).toMatchObject({
      code: 'tab_not_found',
    });
  });

  test('case 7: a refusal that is about the other tab is not told of this one', async () => {
    const { tabs } = openWindow('https://a.test/', 'chrome://settings/');
    rig.chrome.capture = async () => {
      rig.chrome.activate(tabAt(tabs, 1).id);
      throw new Error("The 'activeTab' permission is not in effect");
    };
    expect(await rig.fail('screenshot', { tab_id: tabAt(tabs, 0).id })).toMatchObject({
      code: 'screen_unavailable',
    });
  });

  test('without tab_id: captured once more, then what was captured is reported', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    during(() => rig.chrome.activate(tabAt(tabs, 1).id));
    const { output } = await rig.call('screenshot');
    expect(captureCalls()).toHaveLength(2);
    expect(output.tab).toMatchObject({ tab_id: tabAt(tabs, 1).id });
  });

  test('without tab_id: the tab changes again and again: an error, not a guess', async () => {
    const { tabs } = openWindow('https://a.test/', 'https://b.test/');
    during(
      () => rig.chrome.activate(tabAt(tabs, 1).id),
      () => rig.chrome.activate(tabAt(tabs, 0).id),
    );
    expect(await rig.fail('screenshot')).toMatchObject({ code: 'screen_unavailable' });
    expect(captureCalls()).toHaveLength(2);
  });

  test('the address changes: captured once more; when it changes again, reported all the same', async () => {
    const { tabs } = openWindow('https://a.test/');
    const tab = tabAt(tabs, 0);
    during(
      () => rig.chrome.commit(tab, 'https://a.test/2'),
      () => rig.chrome.commit(tab, 'https://a.test/3'),
    );
    const { output } = await rig.call('screenshot', { tab_id: tab.id });
    expect(captureCalls()).toHaveLength(2);
    expect(output.tab).toMatchObject({ tab_id: tab.id });
  });
});

describe('tools.md, screenshot: no window, minimized, locked: screen_unavailable', () => {
  test('no window', async () => {
    expect(await rig.fail('screenshot')).toMatchObject({ code: 'screen_unavailable' });
  });

  test('no normal window', async () => {
    rig.chrome.openWindow(['https://popup.test/'], 'popup');
    expect(await rig.fail('screenshot')).toMatchObject({ code: 'screen_unavailable' });
  });

  test.each([['the last focused'], ['of tab_id']])('minimized: %s window', async (which) => {
    const { tabs } = openWindow('https://a.test/');
    for (const window of rig.chrome.windows) window.state = 'minimized';
    const input = which === 'of tab_id' ? { tab_id: tabAt(tabs, 0).id } : {};
    expect(await rig.fail('screenshot', input)).toMatchObject({
      code: 'screen_unavailable',
      message: expect.stringContaining('minimized'),
    });
    expect(captureCalls()).toEqual([]);
  });

  test('locked or minimized meanwhile: Chrome never answers', async () => {
    openWindow('https://a.test/');
    rig.chrome.capture = () => new Promise(() => {});
    const before = rig.clock.time;
    expect(await rig.fail('screenshot')).toMatchObject({ code: 'screen_unavailable' });
    expect(rig.clock.time - before).toBeGreaterThanOrEqual(CAPTURE_DEADLINE_MS);
  });

  test.each([
    ['No window with id: 7.'],
    ['Failed to capture tab: image readback failed'],
    ['Failed to capture tab: view is invisible'],
  ])('Chrome says: %s', async (text) => {
    openWindow('https://a.test/');
    rig.chrome.capture = async () => {
      throw new Error(text);
    };
    const { code, message } = await rig.fail('screenshot');
    expect(code).toBe('screen_unavailable');
    expect(message).not.toContain(text);
  });
});

describe('tools.md, screenshot: a page Chrome keeps extensions off: capture_restricted', () => {
  test.each([
    ["The 'activeTab' permission is not in effect because this extension has not been in invoked."],
    ["Either the '<all_urls>' or 'activeTab' permission is required."],
    ['Cannot access contents of url "". Extension manifest must request permission to access this host.'],
    ['Cannot access a chrome:// URL'],
    ['The extensions gallery cannot be scripted.'],
    ['This page cannot be scripted due to an ExtensionsSettings policy.'],
    ['Taking screenshots has been disabled'],
  ])('Chrome says: %s', async (text) => {
    openWindow('chrome://version/');
    rig.chrome.capture = async () => {
      throw new Error(text);
    };
    const { code, message } = await rig.fail('screenshot');
    expect(code).toBe('capture_restricted');
    expect(message).not.toContain(text);
  });
});
