/**
 * Which pages tools may touch (policy.md, `url_allowlist` and `url_blocklist`; tools.md, Permission classes).
 * Pure. Block wins; without an allowlist everything else is open.
 */
import type { ManagedPolicy } from './managed-policy';
import { readMatchPattern } from './match-patterns';

export interface UrlRules {
  /**
   * Whether tools may touch a page or frame at this address: its real one, asked at the moment of the act.
   * A frame without an address of its own (`about:blank`, `about:srcdoc`, `data:`) has its parent's content:
   * ask for the parent's.
   */
  mayEnter(url: string): boolean;
}

/** Schemes that wrap the address that counts. */
const WRAPPERS = /^(?:blob|filesystem|view-source):/i;

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
      const parsed = parse(url);
      if (parsed && `${parsed.protocol}//${parsed.host}` === own_origin) return false;
      if (!allowed && blocked.length === 0) return true;
      if (!parsed) return false;
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
  let address = url;
  while (WRAPPERS.test(address)) address = address.replace(WRAPPERS, '');
  try {
    return new URL(address);
  } catch {
    return null;
  }
}
