/**
 * What each tool returns, as JSON Schema 2020-12 (os-interface.md, `result_schema`). Apart from the tools, and
 * read by the generators alone: the service worker is loaded for almost every request and has no use for it.
 * Fields may be added to a result; a caller ignores what it does not know.
 */
import type { JsonObject } from '../protocol/json';

const TEXT: JsonObject = { type: 'string' };
const COUNT: JsonObject = { type: 'integer', minimum: 0 };
const WHOLE: JsonObject = { type: 'integer' };
const YES_OR_NO: JsonObject = { type: 'boolean' };
const MOMENT: JsonObject = { type: 'string', format: 'date-time' };
const orNull = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] });

/** All fields are there unless they are named in `optional`. */
function object(
  properties: Record<string, JsonObject>,
  optional: Record<string, JsonObject> = {},
): JsonObject {
  return {
    type: 'object',
    required: Object.keys(properties),
    properties: { ...properties, ...optional },
  };
}

function list(items: JsonObject): JsonObject {
  return { type: 'array', items };
}

/** Binary comes inline or, when it is large, as a reference to an upload (wire.md §6). */
const BLOB: JsonObject = object({ name: TEXT, mime_type: TEXT, size: COUNT, sha256: TEXT });
const HTTP_STATUS: JsonObject = orNull({ type: 'integer', minimum: 100, maximum: 599 });

const HASH: JsonObject = { type: 'string', pattern: '^[0-9a-f]{64}$' };

/** What an act on a page came to (page-act.ts): each change only when it happened. */
function acted(also: Record<string, JsonObject> = {}): JsonObject {
  return object(
    { tab_id: COUNT, url: orNull(TEXT), changes: CHANGES, settled: YES_OR_NO },
    { ref: TEXT, element: TEXT, ...also },
  );
}

const CHANGES: JsonObject = object(
  {},
  {
    url: TEXT,
    title: TEXT,
    navigated: { const: true },
    restricted: { const: true },
    tab_closed: { const: true },
    load_failed: TEXT,
    content: { const: true },
    focus: orNull(object({ ref: TEXT, element: TEXT })),
    messages: list(object({ role: TEXT, ref: TEXT, text: TEXT })),
    dialog: object({ open: { const: true }, note: TEXT }),
    dialogs: list(
      object(
        { type: { enum: ['alert', 'confirm', 'prompt'] }, message: TEXT, accepted: YES_OR_NO },
        { text: TEXT },
      ),
    ),
    new_tabs: list(object({ tab_id: COUNT }, { url: TEXT, title: TEXT, restricted: { const: true } })),
  },
);

/** A page that was read, with what it read under `field`. */
function readPage(field: string): JsonObject {
  return object({
    tab_id: COUNT,
    url: TEXT,
    title: TEXT,
    [field]: TEXT,
    next: orNull(object({ text_id: TEXT, tab_id: COUNT, document_id: TEXT, offset: COUNT })),
  });
}

const FILE_OR_DIRECTORY: JsonObject = { enum: ['file', 'directory'] };
const PATH_ALONE: JsonObject = object({ path: TEXT });
/** As the storage service gave it. */
const REVISION: JsonObject = { type: ['string', 'number'] };

const STORAGE: JsonObject = object(
  {
    storage_id: TEXT,
    name: TEXT,
    backing: { enum: ['folder', 'browser'] },
    permission: { enum: ['kept', 'this_session', 'lost'] },
    revision: orNull(REVISION),
    sealed_paths: list(TEXT),
    links: list(object({ link_id: TEXT, path: TEXT, broken: YES_OR_NO })),
  },
  { sealed_paths_left_out: COUNT, links_left_out: COUNT },
);

const CONSOLE: JsonObject = object({
  tab_id: COUNT,
  items: list({
    oneOf: [
      object({
        type: { const: 'events' },
        seq: COUNT,
        events: list(
          object(
            {
              seq: COUNT,
              at: COUNT,
              kind: {
                enum: ['console', 'error', 'rejection', 'csp', 'resource', 'navigation', 'capture'],
              },
              level: { enum: ['debug', 'log', 'info', 'warn', 'error'] },
              text: TEXT,
              url: TEXT,
              frame_id: COUNT,
            },
            { source: TEXT, truncated: { const: true } },
          ),
        ),
      }),
      object({ type: { const: 'closed' }, seq: COUNT }),
    ],
  }),
  after: COUNT,
  more: YES_OR_NO,
  dropped: COUNT,
  withheld: COUNT,
});

const DOWNLOAD: JsonObject = object({
  download_id: COUNT,
  state: { enum: ['in_progress', 'complete', 'interrupted'] },
  filename: TEXT,
  url: TEXT,
  mime_type: TEXT,
  bytes_received: COUNT,
  total_bytes: orNull(COUNT),
  started_at: MOMENT,
  ended_at: orNull(MOMENT),
  paused: YES_OR_NO,
  exists: YES_OR_NO,
  reason: orNull(TEXT),
  danger: TEXT,
});

/** By tool name. */
export const RESULT_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  workspace_info: object({
    agent: object({ name: TEXT, version: TEXT }),
    browser: object({ name: TEXT, version: TEXT }),
    os: TEXT,
    arch: TEXT,
    locale: TEXT,
    time_zone: TEXT,
    screen: orNull(object({ width: COUNT, height: COUNT, scale: { type: 'number' } })),
    tabs: object({ windows: COUNT, tabs: COUNT }),
    storages: list(STORAGE),
    policy: object({ managed: YES_OR_NO, blocked_tools: list(TEXT) }),
    limits: { type: 'object' },
  }),
  screenshot: object(
    {
      image_id: TEXT,
      mime_type: { enum: ['image/jpeg', 'image/png', 'image/webp'] },
      width: COUNT,
      height: COUNT,
      captured_at: MOMENT,
      tab: object({ tab_id: COUNT, window_id: COUNT }),
    },
    { image_base64: TEXT, image_blob: BLOB },
  ),
  tab_list: object({
    tabs: list(
      object({
        tab_id: COUNT,
        window_id: orNull(COUNT),
        index: COUNT,
        active: YES_OR_NO,
        title: TEXT,
        url: TEXT,
        status: { enum: ['loading', 'complete', 'unloaded'] },
        discarded: YES_OR_NO,
        pinned: YES_OR_NO,
        audible: YES_OR_NO,
      }),
    ),
  }),
  tab_open: object({
    tab_id: COUNT,
    window_id: orNull(COUNT),
    url: TEXT,
    title: TEXT,
    http_status: HTTP_STATUS,
  }),
  tab_close: object({ tab_id: COUNT }),
  tab_activate: object({ tab_id: COUNT }),
  tab_navigate: object({ tab_id: COUNT, url: TEXT, title: TEXT, http_status: HTTP_STATUS }),
  page_snapshot: readPage('snapshot'),
  page_text: readPage('text'),
  page_click: acted(),
  page_fill: acted({ value: TEXT, checked: YES_OR_NO }),
  page_select: acted({ selected: list(object({ value: TEXT, label: TEXT, index: COUNT })) }),
  page_press: acted({ value: TEXT }),
  page_hover: acted(),
  page_scroll: acted({
    moved: YES_OR_NO,
    scroll: object({ x: WHOLE, y: WHOLE, max_x: COUNT, max_y: COUNT }),
  }),
  page_wait: object({ tab_id: COUNT, url: TEXT, title: TEXT, waited_ms: COUNT }),
  // `result` is any JSON; `type` says what the value was in the page.
  page_evaluate: object({ tab_id: COUNT, url: orNull(TEXT), type: TEXT, result: {} }),
  file_list: object({
    entries: list(
      object({
        path: TEXT,
        type: FILE_OR_DIRECTORY,
        size: orNull(COUNT),
        modified_at: orNull(MOMENT),
      }),
    ),
    next: orNull(object({ storage_id: TEXT, path: TEXT, recursive: YES_OR_NO, after: TEXT })),
  }),
  file_stat: object(
    {
      path: TEXT,
      type: FILE_OR_DIRECTORY,
      size: orNull(COUNT),
      modified_at: orNull(MOMENT),
      sealed: YES_OR_NO,
      unsaved: YES_OR_NO,
    },
    { sha256: HASH },
  ),
  file_read_text: object({
    path: TEXT,
    text: TEXT,
    encoding: { enum: ['utf-8', 'utf-16le', 'utf-16be'] },
    size: COUNT,
    modified_at: MOMENT,
    next: orNull(
      object({
        storage_id: TEXT,
        path: TEXT,
        offset: COUNT,
        size: COUNT,
        modified_at: { type: 'number' },
      }),
    ),
  }),
  file_read_image: object(
    {
      path: TEXT,
      mime_type: { enum: ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] },
      size: COUNT,
      modified_at: MOMENT,
    },
    { image_base64: TEXT, image_blob: BLOB },
  ),
  file_write: object({ path: TEXT, size: COUNT, sha256: HASH }),
  file_move: PATH_ALONE,
  file_remove: PATH_ALONE,
  // Which of them there are depends on the mode; unseal_path returns none.
  workspace_storage_path: object(
    {},
    {
      revision: REVISION,
      sealed: YES_OR_NO,
      hash: orNull(HASH),
      files: COUNT,
      bytes: COUNT,
      uploaded_bytes: COUNT,
      unstable: list(TEXT),
      kept: list(TEXT),
      deferred: list(TEXT),
      overwritten: list(TEXT),
      recovered: list(TEXT),
    },
  ),
  console_read: CONSOLE,
  console_watch: CONSOLE,
  download_start: DOWNLOAD,
  download_list: object({ downloads: list(DOWNLOAD) }),
  clipboard_write: object({ bytes: COUNT }),
  notify: object({ notification_id: TEXT, shown: YES_OR_NO }),
};
