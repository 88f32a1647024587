/**
 * The page a call is about, for the person who is asked whether it may run (tools.md, Permission classes).
 * Host and title come from outside: they are cut, and cleaned of what could pass for something else.
 */
import type { Browser } from 'webextension-polyfill';
import type { JsonObject, JsonValue } from '../protocol/json';
import { addressOf, meantTab } from './find-tabs';
import type { Tool } from './tool';

export interface CallPage {
  host: string;
  title: string;
  /** Equal as long as it is the same tab with a page of the same origin, and the same address to go to. */
  place: string;
}

const LONGEST_HOST = 253;
const LONGEST_TITLE = 100;

/** Null for a call that touches no page. `secret` is shown to nobody: a page may know it by accident. */
export async function callPage(
  { input_schema }: Pick<Tool, 'input_schema'>,
  input: JsonObject,
  browser: Browser,
  secret: string | null = null,
): Promise<CallPage | null> {
  const show = (text: string, longest: number): string =>
    cleanText(secret ? text.replaceAll(secret, '…') : text, longest);
  const fields = fieldsOf(input_schema);
  const target = fields.includes('url') && typeof input.url === 'string' ? parse(input.url) : null;
  const ofTab = fields.includes('tab_id') && input.image_id === undefined;
  const tab = ofTab ? await tabOf(browser, input.tab_id) : null;
  if (!target && !tab) return null;
  const here = tab && parse(addressOf(tab));
  const place = JSON.stringify([
    tab?.id ?? null,
    here?.origin ?? null,
    here?.protocol ?? null,
    target?.href ?? null,
  ]);
  if (target) return { host: show(hostOf(target), LONGEST_HOST), title: '', place };
  return { host: show(hostOf(here), LONGEST_HOST), title: show(tab?.title ?? '', LONGEST_TITLE), place };
}

/** One line without control characters and marks of writing direction, at most `longest` characters. */
export function cleanText(text: string, longest: number): string {
  const line = text
    .slice(0, longest * 8)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/[\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu, '')
    .trim();
  const characters = [...line];
  return characters.length > longest ? `${characters.slice(0, longest - 1).join('')}…` : line;
}

function fieldsOf({ properties }: JsonObject): string[] {
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
}

async function tabOf(browser: Browser, tab_id: JsonValue | undefined) {
  // A tab that is not there is for the tool to complain about.
  return meantTab(browser, typeof tab_id === 'number' ? tab_id : undefined).catch(() => null);
}

/** What tells people where they are: the host, or for other addresses their scheme. */
function hostOf(url: URL | null): string {
  return url ? url.host || url.protocol : '';
}

function parse(url: string): URL | null {
  try {
    return new URL(url);
  } catch {
    return null;
  }
}
