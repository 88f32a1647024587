/**
 * Which pages tools may touch (policy.md, `url_allowlist` and `url_blocklist`; tools.md, Permission classes).
 * Pure. Block wins; without an allowlist everything else is open.
 */
import type { ManagedPolicy } from './managed-policy';
import { readMatchPattern } from './match-patterns';

export interface UrlRules {
  /**
   * Whether tools may touch a page or frame at this address: its real one, asked at the moment of the act.
   * A document without an address of its own (`about:blank`, `about:srcdoc`, `data:`) has the content of who
   * made it: ask for the maker's address, or for `originAddress` when only the maker's origin is known.
   */
  mayEnter(url: string): boolean;
}

/**
 * Stands for whatever some page of `origin` made: open only where every address of the origin is. For `null`, the
 * origin of nobody known, open only where no rule closes anything.
 */
export function originAddress(origin: string): string {
  return `blob:${origin}/`;
}

/** What a page of nobody known made. */
export const UNKNOWN_MAKER = originAddress('null');

/** False for documents that show what some other document made, or that was given with the address. */
export function hasOwnAddress(url: string): boolean {
  return !/^(?:about|data|blob|filesystem|javascript):/i.test(url);
}

/** The address that counts is inside. */
const VIEW_SOURCE = /^view-source:/i;
/** Of what is in them only the origin is told: any page of it may have made them. */
const MADE_BY_ORIGIN = /^(?:blob|filesystem):/i;

/**
 * `own_origin`: that of the extension's pages, which no tool touches: there the person is asked, and sets
 * what tools may do.
 */
export function urlRules(
  { url_allowlist, url_blocklist }: Pick<ManagedPolicy, 'url_allowlist' | 'url_blocklist'>,
  own_origin: string,
): UrlRules {
  const allowed = url_allowlist && patternsOf(url_allowlist);
  const blocked = patternsOf(url_blocklist);
  return {
    mayEnter(url) {
      const address = url.replace(VIEW_SOURCE, '');
      const isMade = MADE_BY_ORIGIN.test(address);
      const parsed = parse(address.replace(MADE_BY_ORIGIN, ''));
      if (parsed && `${parsed.protocol}//${parsed.host}` === own_origin) return false;
      if (!allowed && blocked.length === 0) return true;
      if (!parsed) return false;
      if (isMade) {
        if (blocked.some((pattern) => pattern.touchesOrigin(parsed))) return false;
        return !allowed || allowed.some((pattern) => pattern.coversOrigin(parsed));
      }
      if (blocked.some((pattern) => pattern.matches(parsed))) return false;
      return !allowed || allowed.some((pattern) => pattern.matches(parsed));
    },
  };
}

/** The pages that show nothing of anybody: to list them, or to go on from them, touches no page. */
export function isEmptyPage(url: string): boolean {
  return url === '' || /^(?:about:blank|chrome:\/\/(?:newtab|new-tab-page)\/?)$/.test(url);
}

function patternsOf(texts: readonly string[]) {
  return texts.flatMap((text) => readMatchPattern(text) ?? []);
}

function parse(url: string): URL | null {
  try {
    return new URL(url);
  } catch {
    return null;
  }
}
