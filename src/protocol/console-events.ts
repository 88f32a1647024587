/**
 * What the scripts that listen to a page's console tell the service worker: its shape, its bounds, and the
 * reading of it. Whatever a page can influence passes through here and is only ever data. Pure.
 */
import { isJsonObject } from './json';

/** The port on which a content script tells, and the one message it may send there. */
export const CONSOLE_PORT = 'console-of-page';
export const CONSOLE_MESSAGE = 'console.events';

export const CONSOLE_LEVELS = ['debug', 'log', 'info', 'warn', 'error'] as const;
export type ConsoleLevel = (typeof CONSOLE_LEVELS)[number];

/**
 * `console`: a call of a console method; `error`: an exception nobody caught; `rejection`: a rejected promise
 * nobody handled; `csp`: what a Content Security Policy blocked; `resource`: an element that could not load;
 * `navigation`: a new document of the tab; `capture`: the agent begins or ends to listen.
 */
export const CONSOLE_KINDS = [
  'console',
  'error',
  'rejection',
  'csp',
  'resource',
  'navigation',
  'capture',
] as const;
export type ConsoleKind = (typeof CONSOLE_KINDS)[number];

export interface ConsoleEvent {
  /** Epoch milliseconds. */
  at: number;
  kind: ConsoleKind;
  level: ConsoleLevel;
  text: string;
  /** Where in the page's scripts, as `address:line:column`. */
  source?: string;
  /** The text was longer. */
  truncated?: true;
}

export interface ConsoleBatch {
  type: typeof CONSOLE_MESSAGE;
  /** The number of the first event within its document, from 0. */
  first: number;
  /** How many right before it were given up, because they came faster than they could leave. */
  lost: number;
  /**
   * The address by which the rules judge the document, as it was when all of these were said: its own, or that of the
   * document which made it. '': nobody knows, or it is longer than LONGEST_CONSOLE_URL.
   */
  url: string;
  events: ConsoleEvent[];
}

/** What the content script is told: everything before the number `next` is kept; or that nobody listens. */
export type ConsoleReply = { watched: true; next: number } | { watched: false };

/** In UTF-16 code units, of which JSON makes at most six bytes each: an event always fits an item of 64 KiB. */
export const LONGEST_CONSOLE_TEXT = 10_000;
export const LONGEST_CONSOLE_SOURCE = 500;
export const LONGEST_CONSOLE_URL = 8_192;
export const CONSOLE_BATCH_EVENTS = 256;
/** UTF-16 code units of all texts of a batch. */
export const CONSOLE_BATCH_TEXT = 128 * 1024;

/** A page's clock may be wrong, or be made to lie: only so far back is believed. */
const OLDEST_MS = 24 * 60 * 60 * 1000;

/**
 * The batch in a message, or null when it is anything else than a well-formed one within its bounds. `now`
 * (epoch milliseconds) bounds the times it tells.
 */
export function readConsoleBatch(message: unknown, now: number): ConsoleBatch | null {
  if (!isJsonObject(message) || message.type !== CONSOLE_MESSAGE) return null;
  const { first, lost, url, events } = message;
  if (!isCount(first) || !isCount(lost) || lost > first) return null;
  if (typeof url !== 'string' || url.length > LONGEST_CONSOLE_URL) return null;
  if (!Array.isArray(events) || events.length === 0 || events.length > CONSOLE_BATCH_EVENTS) return null;
  const read = events.map((event) => readEvent(event, now));
  if (!read.every((event) => event !== null)) return null;
  if (read.reduce((sum, { text }) => sum + text.length, 0) > CONSOLE_BATCH_TEXT) return null;
  return { type: CONSOLE_MESSAGE, first, lost, url, events: read };
}

function readEvent(value: unknown, now: number): ConsoleEvent | null {
  if (!isJsonObject(value)) return null;
  const { at, kind, level, text, source, truncated } = value;
  if (typeof text !== 'string' || text.length > LONGEST_CONSOLE_TEXT) return null;
  if (!isOneOf(CONSOLE_KINDS, kind) || !isOneOf(CONSOLE_LEVELS, level)) return null;
  // The agent's own words are not for pages to say.
  if (kind === 'capture') return null;
  if (source !== undefined && (typeof source !== 'string' || source.length > LONGEST_CONSOLE_SOURCE))
    return null;
  const believed = typeof at === 'number' && at > now - OLDEST_MS && at <= now ? Math.floor(at) : now;
  return {
    at: believed,
    kind,
    level,
    text,
    ...(source === undefined ? {} : { source }),
    ...(truncated === true ? { truncated } : {}),
  };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isOneOf<T extends string>(allowed: readonly T[], value: unknown): value is T {
  return (allowed as readonly unknown[]).includes(value);
}
