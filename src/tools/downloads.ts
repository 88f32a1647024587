/** `download_start` and `download_list` (tools.md, Catalogue), through Chrome's own downloads. */
import type { Browser, Downloads } from 'webextension-polyfill';
import { AgentError } from '../protocol/errors';
import type { JsonObject } from '../protocol/json';
import { UNKNOWN_MAKER } from '../settings/url-rules';
import { baseName, checkDownloadName, readDownloadAddress } from './download-names';
import { defineTool, type ToolContext } from './tool';

type Item = Downloads.DownloadItem;

const WHAT_A_DOWNLOAD_IS =
  'A download has download_id, state (in_progress, complete, or interrupted), filename (its name without the folder), url, mime_type, ' +
  'bytes_received, total_bytes (null while unknown), started_at, ended_at, paused, exists (false once the file was removed), ' +
  'reason (why it was interrupted, such as NETWORK_FAILED, SERVER_BAD_CONTENT or USER_CANCELED) and ' +
  'danger (safe, or why Chrome waits for the person to keep the file).';

interface DownloadStartInput {
  url: string;
  filename?: string;
  conflict?: 'uniquify' | 'overwrite';
  wait?: boolean;
}

export const downloadStart = defineTool<DownloadStartInput>({
  name: 'download_start',
  description:
    "Downloads an address into the Downloads folder of the person, with the person's cookies of that site. " +
    'Use it to fetch a file, or to save text you have as a data: address. Without wait it returns as soon as the download has begun; ' +
    'with wait: true when it has ended, telling its progress, and it is called off with the request. ' +
    'Returns the download. ' +
    WHAT_A_DOWNLOAD_IS,
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['url'],
    properties: {
      url: {
        type: 'string',
        minLength: 1,
        description: 'An http:, https: or data: address.',
      },
      filename: {
        type: 'string',
        minLength: 1,
        description:
          'Where to put it below the Downloads folder, such as report.pdf or reports/2026/may.pdf. Default: the name the server gives.',
      },
      conflict: {
        enum: ['uniquify', 'overwrite'],
        default: 'uniquify',
        description: 'When there is such a file: uniquify adds a number to the name, overwrite replaces it.',
      },
      wait: {
        type: 'boolean',
        default: false,
        description: 'true: answer when the download has ended.',
      },
    },
  },
  class: 'powerful',
  read_only: false,
  os_action: 'download.start',
  requires_confirmation: true,
  async run({ url: given, filename, conflict, wait }, context) {
    const { browser, urls } = context;
    const { url, kind } = readDownloadAddress(given);
    const name = filename === undefined ? undefined : checkDownloadName(filename);
    if (kind === 'web' && !urls.mayEnter(url)) throw new AgentError('page_restricted');
    const id = await begin(browser, {
      url,
      conflictAction: conflict ?? 'uniquify',
      saveAs: false,
      ...(name === undefined ? {} : { filename: name }),
    });
    const item = wait ? await ended(id, context) : await named(id, context);
    return { output: shown(item) };
  },
});

async function begin(browser: Browser, options: Downloads.DownloadOptionsType): Promise<number> {
  try {
    return await browser.downloads.download(options);
  } catch {
    throw new AgentError('invalid_input', 'Chrome refused to begin this download: look at url and filename.');
  }
}

const LOOK_EVERY_MS = 250;
/** A name is known once the server has answered; a slow one is not waited for. */
const NAMED_MS = 2_000;

async function named(id: number, context: ToolContext): Promise<Item> {
  const until = context.now() + NAMED_MS;
  return follow(id, context, (item) => item.filename !== '' || context.now() >= until);
}

async function ended(id: number, context: ToolContext): Promise<Item> {
  return follow(id, context, (item) => {
    context.progress({
      completed: item.bytesReceived,
      total: item.totalBytes > 0 ? item.totalBytes : null,
      unit: 'bytes',
    });
    // It goes on when the person keeps the file, which may be never.
    return isWaitingForPerson(item);
  });
}

/** The download once it has ended or `enough` says so. Called off with the request, or when it was led astray. */
async function follow(id: number, context: ToolContext, enough: (item: Item) => boolean): Promise<Item> {
  const { browser, urls, signal } = context;
  for (;;) {
    const item = await find(browser, id);
    if (!item)
      throw new AgentError('unavailable', 'The download is gone: the person removed it from the list.');
    if (/^https?:/.test(finalUrl(item)) && !urls.mayEnter(finalUrl(item))) {
      await callOff(browser, id);
      throw new AgentError(
        'page_restricted',
        'The download was led to an address that is closed to the agent.',
      );
    }
    if (item.state !== 'in_progress' || enough(item)) return item;
    await context.wait(LOOK_EVERY_MS);
    if (signal.aborted) {
      await callOff(browser, id);
      signal.throwIfAborted();
    }
  }
}

async function find(browser: Browser, id: number): Promise<Item | undefined> {
  return (await browser.downloads.search({ id }))[0];
}

/** Nothing of it stays, neither the file nor its place in the list. */
async function callOff(browser: Browser, id: number): Promise<void> {
  await browser.downloads.cancel(id).catch(() => undefined);
  await browser.downloads.removeFile(id).catch(() => undefined);
  await browser.downloads.erase({ id }).catch(() => undefined);
}

interface DownloadListInput {
  download_id?: number;
  state?: 'in_progress' | 'complete' | 'interrupted';
  limit?: number;
}

export const downloadList = defineTool<DownloadListInput>({
  name: 'download_list',
  description:
    'Lists the downloads of this browser, those of the person too, the newest first; or looks at one by its download_id. ' +
    'Use it to follow a download that was started without waiting. Returns downloads. ' +
    WHAT_A_DOWNLOAD_IS,
  input_schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      download_id: { type: 'integer', minimum: 0, description: 'Only this one.' },
      state: {
        enum: ['in_progress', 'complete', 'interrupted'],
        description: 'Only those in this state.',
      },
      limit: { type: 'integer', minimum: 1, maximum: 200, default: 20, description: 'So many at most.' },
    },
  },
  class: 'powerful',
  read_only: true,
  os_action: 'download.list',
  requires_confirmation: true,
  async run({ download_id, state, limit = 20 }, { browser, urls }) {
    const found = await browser.downloads.search({
      orderBy: ['-startTime'],
      ...(download_id === undefined ? {} : { id: download_id }),
      ...(state === undefined ? {} : { state }),
    });
    const mayShow = (item: Item): boolean =>
      sourcesOf(item, browser.runtime.id).every((url) => urls.mayEnter(url));
    return { output: { downloads: found.filter(mayShow).slice(0, limit).map(shown) } };
  },
});

/** Chrome's own, unknown to the polyfill's types. */
function finalUrl(item: Item): string {
  return (item as Item & { finalUrl?: string }).finalUrl || item.url;
}

/** Where it comes from, for the rules, which must open all of it: its addresses, and the page that offered it. */
function sourcesOf(item: Item, own_id: string): string[] {
  const pages = item.referrer ? [item.referrer] : [];
  const urls = [item.url, finalUrl(item)].filter((url) => !/^data:/i.test(url));
  if (urls.length > 0) return [...urls, ...pages];
  // Content that stands in the address: of the platform, or of the page that offered it.
  if (item.byExtensionId === own_id) return [];
  return pages.length > 0 ? pages : [UNKNOWN_MAKER];
}

const NO_DANGER = ['safe', 'accepted'];

function isWaitingForPerson({ danger }: Item): boolean {
  return !NO_DANGER.includes(danger);
}

/** The address may hold the whole content. */
const LONGEST_ADDRESS = 2_048;

function shown(item: Item): JsonObject {
  const url = finalUrl(item);
  return {
    download_id: item.id,
    state: item.state,
    filename: baseName(item.filename),
    url: url.length > LONGEST_ADDRESS ? `${url.slice(0, LONGEST_ADDRESS)}…` : url,
    mime_type: item.mime ?? '',
    bytes_received: item.bytesReceived,
    total_bytes: item.totalBytes > 0 ? item.totalBytes : null,
    started_at: item.startTime,
    ended_at: item.endTime ?? null,
    paused: item.paused,
    exists: item.exists,
    reason: item.error ?? null,
    danger: isWaitingForPerson(item) ? item.danger : 'safe',
  };
}
