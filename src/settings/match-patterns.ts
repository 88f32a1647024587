/**
 * Chrome's match patterns (`https://*.example.com/*`): what they are and which addresses they match. Pure.
 * A pattern without a port matches every port; `<all_urls>` matches web pages and files, not the browser's
 * own pages.
 */

export interface MatchPattern {
  /** `url` as the URL parser gives it; its fragment does not count. */
  matches(url: URL): boolean;
  /** Whether it matches some address of the origin of `url`. */
  touchesOrigin(url: URL): boolean;
  /** Whether it matches every address of the origin of `url`. */
  coversOrigin(url: URL): boolean;
}

/** What `<all_urls>` stands for. */
const ALL_SCHEMES: readonly string[] = ['http', 'https', 'file', 'ftp', 'ws', 'wss'];
/** What `*` stands for in place of a scheme. */
const WEB_SCHEMES: readonly string[] = ['http', 'https'];
const DEFAULT_PORTS: Readonly<Record<string, string>> = {
  http: '80',
  https: '443',
  ftp: '21',
  ws: '80',
  wss: '443',
};

/** The pattern in `text`, or null when it is none. */
export function readMatchPattern(text: string): MatchPattern | null {
  if (text === '<all_urls>') {
    const matches = ({ protocol }: URL): boolean => ALL_SCHEMES.includes(schemeOf(protocol));
    return { matches, touchesOrigin: matches, coversOrigin: matches };
  }
  const parts = /^(\*|[a-z]+):\/\/([^/]*)(\/.*)$/is.exec(text);
  if (!parts) return null;
  const [, scheme = '', authority = '', path = ''] = parts;
  const schemes = scheme === '*' ? WEB_SCHEMES : [scheme.toLowerCase()];
  if (!schemes.every((one) => ALL_SCHEMES.includes(one))) return null;
  // Chrome takes a host for a file, and never compares it.
  const host = schemes[0] === 'file' ? ANY_PLACE : readPlace(authority);
  // Nor a port without a scheme that has one.
  if (!host || (scheme === '*' && /:\d+$/.test(authority))) return null;
  const touchesOrigin = (url: URL): boolean =>
    schemes.includes(schemeOf(url.protocol)) &&
    host.matchesHost(withoutLastDot(url.hostname)) &&
    host.matchesPort(url.port || (DEFAULT_PORTS[schemeOf(url.protocol)] ?? ''));
  return {
    matches: (url) => touchesOrigin(url) && matchesPath(path, url.pathname + url.search),
    touchesOrigin,
    coversOrigin: (url) => /^\/\*+$/.test(path) && touchesOrigin(url),
  };
}

interface Place {
  matchesHost(hostname: string): boolean;
  matchesPort(port: string): boolean;
}

const ANY_PLACE: Place = { matchesHost: () => true, matchesPort: () => true };

/** `host`, `*.host` or `*`, each with or without a port. */
function readPlace(authority: string): Place | null {
  const parts = /^(\*|(?:\*\.)?(?:\[[^\]]*\]|[^:[\]]+))(?::(\*|\d{1,5}))?$/.exec(authority);
  if (!parts) return null;
  const [, host = '', port = '*'] = parts;
  if (port !== '*' && Number(port) > 65_535) return null;
  const matchesPort = (given: string): boolean =>
    port === '*' || Number(given || Number.NaN) === Number(port);
  if (host === '*') return { matchesHost: () => true, matchesPort };
  const withSubdomains = host.startsWith('*.');
  const name = readHostname(withSubdomains ? host.slice(2) : host);
  if (name === null) return null;
  const matchesHost = (hostname: string): boolean =>
    hostname === name || (withSubdomains && !isAddress(name) && hostname.endsWith(`.${name}`));
  return { matchesHost, matchesPort };
}

/** The host as the URL parser writes it, so that `EXAMPLE.com` and `é.com` match what they name. */
function readHostname(host: string): string | null {
  if (/[*@%\\?#\s]/.test(host)) return null;
  try {
    return withoutLastDot(new URL(`http://${host}/`).hostname) || null;
  } catch {
    return null;
  }
}

function isAddress(hostname: string): boolean {
  return hostname.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(hostname);
}

function withoutLastDot(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

function schemeOf(protocol: string): string {
  return protocol.slice(0, -1);
}

/** `*` stands for anything, everything else for itself. `/a/*` matches `/a` too, as it does in Chrome. */
function matchesPath(pattern: string, path: string): boolean {
  if (pattern.endsWith('/*') && pattern.slice(0, -2) === path) return true;
  const [head = '', ...rest] = pattern.split('*');
  if (!path.startsWith(head)) return false;
  const tail = rest.pop();
  if (tail === undefined) return path === head;
  let at = head.length;
  for (const part of rest) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return path.length - tail.length >= at && path.endsWith(tail);
}
