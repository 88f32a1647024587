/**
 * What each tool returns, as JSON Schema 2020-12 (os-interface.md, `result_schema`). Apart from the tools, and
 * read by the generators alone: the service worker is loaded for almost every request and has no use for it.
 * Fields may be added to a result; a caller ignores what it does not know.
 */
import type { JsonObject } from '../protocol/json';

const TEXT: JsonObject = { type: 'string' };
const COUNT: JsonObject = { type: 'integer', minimum: 0 };
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
    storages: list({ type: 'object' }),
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
  console_read: CONSOLE,
  console_watch: CONSOLE,
  download_start: DOWNLOAD,
  download_list: object({ downloads: list(DOWNLOAD) }),
  clipboard_write: object({ bytes: COUNT }),
  notify: object({ notification_id: TEXT, shown: YES_OR_NO }),
};
