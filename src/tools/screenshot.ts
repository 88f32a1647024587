/** `screenshot`: a picture of what a window shows (tools.md, screenshot). */
import type { Browser, Tabs } from 'webextension-polyfill';
import { asBlob, type Content, contentSize } from '../protocol/content';
import { AgentError } from '../protocol/errors';
import { DEFAULT_JPEG_QUALITY } from '../protocol/limits';
import type { Capture, CaptureRequest } from './capture-queue';
import { activeTabOf, addressOf, findTab, lastFocusedWindow } from './find-tabs';
import { blobFacts, type ImageFacts } from './image-facts';
import { assertOpenTab, type ShownTab } from './open-tab';
import type { Picture } from './picture-store';
import { fitWithin } from './re-encode';
import { defineTool, type ToolContext, type ToolResult } from './tool';

interface ScreenshotInput {
  deliver_image?: boolean;
  format?: 'jpeg' | 'png' | 'webp';
  quality?: number;
  max_width?: number;
  max_height?: number;
  tab_id?: number;
  image_id?: string;
  max_age_ms?: number;
}

/** What the picture is to be, with the defaults put in. */
interface Wish {
  format: 'jpeg' | 'png' | 'webp';
  quality: number | null;
  max_width?: number;
  max_height?: number;
}

export const screenshot = defineTool<ScreenshotInput, Shown | undefined>({
  name: 'screenshot',
  description:
    'Takes a picture of the visible part of a page: of the active tab in the browser window that was last used, or of tab_id. ' +
    'Use it to see what a person at the device would see. Set deliver_image to true to get the picture itself ' +
    '(image_base64, or image_blob when it is large); without it only an image_id comes back, with which the picture can be fetched for 5 minutes. ' +
    'Returns image_id, mime_type, width and height in pixels, captured_at (UTC) and tab {tab_id, window_id}: the tab the picture shows. ' +
    'The browser allows 2 captures a second; more calls wait their turn. Only the visible tab of a window can be captured: ' +
    "for another tab call tab_activate first. The browser's own pages and some protected pages cannot be captured.",
  input_schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      deliver_image: {
        type: 'boolean',
        default: false,
        description: 'true: the answer holds the picture. false: only its image_id and facts.',
      },
      format: {
        enum: ['jpeg', 'png', 'webp'],
        default: 'jpeg',
        description: 'jpeg is the fastest and small, png is exact, webp is the smallest and slower to make.',
      },
      quality: {
        type: 'integer',
        minimum: 1,
        maximum: 100,
        default: DEFAULT_JPEG_QUALITY,
        description: 'For jpeg and webp: from 1 (small) to 100 (best).',
      },
      max_width: {
        type: 'integer',
        minimum: 1,
        description:
          'The picture is scaled down to this width in pixels, keeping its proportions. It is never enlarged.',
      },
      max_height: {
        type: 'integer',
        minimum: 1,
        description:
          'The picture is scaled down to this height in pixels, keeping its proportions. It is never enlarged.',
      },
      tab_id: {
        type: 'integer',
        minimum: 0,
        description:
          'Capture this tab. It must be the active tab of its window. Default: the active tab of the window that was last focused.',
      },
      image_id: {
        type: 'string',
        minLength: 1,
        description:
          'Instead of capturing, give this earlier picture again. Goes together with deliver_image only.',
      },
      max_age_ms: {
        type: 'integer',
        minimum: 0,
        description:
          'An earlier picture of the same tab, address and format that is at most this many milliseconds old will do.',
      },
    },
  },
  class: 'observe',
  read_only: true,
  os_action: 'screen.capture',
  requires_confirmation: false,
  look: async (input, browser) => (input.image_id === undefined ? lookAt(input, browser) : undefined),
  async run(input, context, looked) {
    refuseMixtures(input);
    const deliver = input.deliver_image ?? false;
    if (input.image_id !== undefined)
      return answer(await keptPicture(input.image_id, context), deliver, context);
    const wish = wishOf(input);
    const { window_id, tab } = (await looked) ?? (await lookAt(input, context.browser));
    if (tab) await assertOpen(tab, context);
    const young =
      input.max_age_ms === undefined ? null : await youngPicture(window_id, input.max_age_ms, wish, context);
    if (young) return answer(young, deliver, context);
    const capture = await captureTab(window_id, input.tab_id, wish, context);
    return answer(await keep(capture, window_id, wish, deliver, context), deliver, context);
  },
});

function refuseMixtures(input: ScreenshotInput): void {
  const { image_id, deliver_image: _deliver, ...rest } = input;
  const [other] = Object.keys(rest);
  if (image_id !== undefined && other !== undefined) {
    throw new AgentError(
      'invalid_input',
      `input.image_id names a picture that is already there and goes together with deliver_image only, not with "${other}".`,
    );
  }
  if (input.quality !== undefined && input.format === 'png') {
    throw new AgentError(
      'invalid_input',
      'input.quality goes together with jpeg and webp only: png has none.',
    );
  }
}

function wishOf({ format = 'jpeg', quality = DEFAULT_JPEG_QUALITY, ...input }: ScreenshotInput): Wish {
  const wish: Wish = { format, quality: format === 'png' ? null : quality };
  if (input.max_width !== undefined) wish.max_width = input.max_width;
  if (input.max_height !== undefined) wish.max_height = input.max_height;
  return wish;
}

/** A page in a frame of the tab's page is part of its picture: what counts is the tab's own address. */
async function assertOpen(tab: ShownTab, context: ToolContext): Promise<void> {
  if (!context.urls.mayEnter(addressOf(tab))) throw new AgentError('page_restricted');
  await assertOpenTab(context, tab);
}

async function keptPicture(image_id: string, context: ToolContext): Promise<Picture> {
  const picture = await context.pictures.get(image_id);
  if (!picture) throw new AgentError('image_unknown');
  // The rules may have changed since it was taken; of a window without an address only the window itself can tell.
  const { tab_id: id, url } = picture;
  await assertOpen({ id, url }, context);
  return picture;
}

/** The window to capture, and the tab it shows. Throws as `visibleWindow`. */
interface Shown {
  window_id: number;
  tab: Tabs.Tab | null;
}

async function lookAt({ tab_id }: ScreenshotInput, browser: Browser): Promise<Shown> {
  const window_id = await visibleWindow(browser, tab_id);
  return { window_id, tab: await activeTabOf(browser, window_id) };
}

/** The window to capture. Throws `tab_not_found`, or `screen_unavailable` saying what would help. */
async function visibleWindow(browser: Browser, tab_id: number | undefined): Promise<number> {
  if (tab_id !== undefined) return visibleWindowOf(browser, tab_id);
  const window = await lastFocusedWindow(browser);
  if (!window) {
    throw new AgentError('screen_unavailable', 'No browser window is open. tab_open opens one.');
  }
  if (window.state === 'minimized') throw minimized();
  return window.id;
}

async function visibleWindowOf(browser: Browser, tab_id: number): Promise<number> {
  const tab = await findTab(browser, tab_id);
  if (!tab.active || tab.windowId === undefined) throw notActive();
  const window = await browser.windows.get(tab.windowId).catch(() => null);
  if (window?.state === 'minimized') throw minimized();
  return tab.windowId;
}

function notActive(): AgentError {
  return new AgentError(
    'screen_unavailable',
    'This tab is not the active tab of its window and cannot be captured. Call tab_activate first.',
  );
}

function minimized(): AgentError {
  return new AgentError(
    'screen_unavailable',
    'The browser window is minimized. tab_activate brings it back, with the tab it is given.',
  );
}

async function youngPicture(
  window_id: number,
  max_age_ms: number,
  wish: Wish,
  { browser, pictures, now }: ToolContext,
): Promise<Picture | null> {
  const tab = await activeTabOf(browser, window_id);
  if (tab?.id === undefined) return null;
  const like = { tab_id: tab.id, url: addressOf(tab), wish: JSON.stringify(wish) };
  return pictures.find(like, now() - max_age_ms);
}

/** A capture and the tab it surely shows. */
interface CertainCapture extends Capture {
  after: NonNullable<Capture['after']>;
}

/** Captures, and once more when the tab or its address changed meanwhile. Never B under the name of A. */
async function captureTab(
  window_id: number,
  tab_id: number | undefined,
  wish: Wish,
  context: ToolContext,
): Promise<CertainCapture> {
  const { browser, captures, signal } = context;
  const request: CaptureRequest = {
    window_id,
    format: wish.format === 'jpeg' ? 'jpeg' : 'png',
    quality: wish.format === 'jpeg' ? wish.quality : null,
  };
  const capture = async (): Promise<Capture> => {
    try {
      const capture = await captures.capture(request, signal);
      for (const tab of [capture.before, capture.after])
        if (tab) await assertOpen({ id: tab.tab_id, url: tab.url }, context);
      return capture;
    } catch (thrown) {
      // The refusal may be about another tab that came to the front: then say that instead.
      if (tab_id !== undefined && !signal.aborted) await visibleWindowOf(browser, tab_id);
      throw thrown;
    }
  };
  const first = await capture();
  if (isCertain(first, tab_id) && first.before?.url === first.after.url) return first;
  if (tab_id !== undefined && first.after?.tab_id !== tab_id) await visibleWindowOf(browser, tab_id);
  const second = await capture();
  if (isCertain(second, tab_id)) return second;
  if (tab_id !== undefined) await visibleWindowOf(browser, tab_id);
  throw new AgentError(
    'screen_unavailable',
    'The active tab changed while the picture was taken, twice. Try again.',
  );
}

/** The same tab was active before and after without having been left, and it is the one that was meant. */
function isCertain(capture: Capture, tab_id: number | undefined): capture is CertainCapture {
  const { before, after } = capture;
  return (
    before !== null &&
    after !== null &&
    before.tab_id === after.tab_id &&
    before.activated_at === after.activated_at &&
    (tab_id === undefined || after.tab_id === tab_id)
  );
}

/** Brings the capture into the wanted form and keeps it. */
async function keep(
  capture: CertainCapture,
  window_id: number,
  wish: Wish,
  deliver: boolean,
  context: ToolContext,
): Promise<Picture> {
  const formed = await form(capture, wish, context);
  const facts = {
    ...formed,
    captured_at: capture.captured_at,
    tab_id: capture.after.tab_id,
    window_id,
    url: capture.after.url,
    wish: JSON.stringify(wish),
  };
  const { image_id, kept } = context.pictures.keep(facts, { sent: deliver });
  // A caller that gets only the id must be able to rely on it; one that gets the picture need not wait.
  if (!deliver && !(await kept)) {
    throw new AgentError(
      'output_too_large',
      'The picture is too large to be kept. Ask for jpeg, for max_width, or set deliver_image.',
    );
  }
  return { ...facts, image_id, size: contentSize(formed.content) };
}

async function form(
  { content, mime_type, width, height }: Capture,
  wish: Wish,
  { reencode }: ToolContext,
): Promise<ImageFacts & { content: Content }> {
  const size = fitWithin({ width, height }, wish);
  if (wish.format !== 'webp' && size.width === width && size.height === height) {
    return { content, mime_type, width, height };
  }
  const encoding = { mime_type: `image/${wish.format}`, quality: wish.quality, ...size };
  const formed = await reencode(asBlob(content, mime_type), encoding);
  return { ...(await blobFacts(formed)), content: formed };
}

function answer(picture: Picture, deliver: boolean, { pictures }: ToolContext): ToolResult {
  const { image_id, mime_type, width, height, captured_at, tab_id, window_id, content } = picture;
  const output = {
    image_id,
    mime_type,
    width,
    height,
    captured_at: new Date(captured_at).toISOString(),
    tab: { tab_id, window_id },
  };
  if (!deliver) return { output };
  pictures.markSent(image_id);
  return { output, attachments: [{ field: 'image', mime_type, content }] };
}
