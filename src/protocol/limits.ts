/**
 * Every number the contract fixes, in one place. Pure.
 * Source: wire.md (sections in the comments), tools.md, os-interface.md.
 */

const KIB = 1024;
const MIB = 1024 * KIB;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** wire.md §5 rule 1: seconds between pings; also announced as the `ping_interval` capability. */
export const PING_INTERVAL_MS = 20_000;
/** wire.md §5 rule 1: silence after a ping for this long means the socket is half-open. */
export const LIVENESS_DEADLINE_MS = 2 * PING_INTERVAL_MS;
/** wire.md §2: an opening that has not finished by then is abandoned. */
export const OPENING_DEADLINE_MS = 30_000;

/** wire.md §5 rule 7: first and largest delay between attempts, before jitter. */
export const BACKOFF_FIRST_MS = 1_000;
export const BACKOFF_LARGEST_MS = 60_000;
/** wire.md §5 rule 7: each delay is lengthened by a random part of it, up to this. */
export const BACKOFF_JITTER = 0.5;
/** wire.md §5 rule 7: only a connection that stayed online this long lets the doubling start over. */
export const STABLE_ONLINE_MS = 60_000;
/** wire.md §5 rule 7 and §8: the wait after 1012, before jitter. */
export const REPLACED_WAIT_MS = 60_000;

/** wire.md §3: what this agent announces, and the defaults where `relay_config` says nothing. */
export const ANNOUNCED_CONCURRENCY = 4;
export const DEFAULT_MAX_INLINE_BYTES = 256 * KIB;
export const BLOB_UPLOAD_PATH = '/api/v1/relay/blobs';

/** wire.md §5: the deadline of a request that names none. */
export const DEFAULT_TIMEOUT_MS = 60_000;

/** wire.md §6: no outgoing frame is larger, in UTF-8 bytes. */
export const MAX_FRAME_BYTES = 8 * MIB;
/** wire.md §6: upload attempts on network errors, 429 and 5xx. */
export const BLOB_UPLOAD_ATTEMPTS = 3;

/** wire.md §4: `tool_progress` frames per id and second. */
export const PROGRESS_PER_SECOND = 2;

/** wire.md §5 rule 4: how long and how much the ledger keeps. */
export const ANSWERS_KEPT_MS = 24 * HOUR_MS;
export const ANSWERS_KEPT_BYTES = 64 * MIB;
export const IDS_KEPT_MS = 7 * 24 * HOUR_MS;

/** tools.md, screenshot: Chrome's own limit, and what is kept for `image_id`. */
export const CAPTURES_PER_SECOND = 2;
export const PICTURES_KEPT_MS = 5 * MINUTE_MS;
export const PICTURES_KEPT_BYTES = 32 * MIB;
export const DEFAULT_JPEG_QUALITY = 85;

/** tools.md, workspace_info: the serialized object's largest size in UTF-8 bytes. */
export const WORKSPACE_INFO_BYTES = 64 * KIB;

/** os-interface.md, Live output: what is kept of one tab's console, encoded; and one item of it. */
export const CONSOLE_KEPT_BYTES = 8 * MIB;
export const CONSOLE_ITEM_BYTES = 64 * KIB;
/** os-interface.md, Resumable reads: the events of one answer, encoded. */
export const CONSOLE_ANSWER_BYTES = 256 * KIB;
