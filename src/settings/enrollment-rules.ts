/**
 * What an endpoint and a token must be, however they arrived: pasted, by policy or from storage
 * (wire.md §1). Pure; knows nothing of where they come from. Problems never quote what was given.
 */

export interface Enrollment {
  /** The address as the URL parser writes it, without a `token` parameter. */
  endpoint: string;
  token: string;
}

/** Why something is not an enrollment; each is a message key `enrollment_problem_<problem>` of `_locales`. */
export type EnrollmentProblem =
  | 'empty'
  | 'too_long'
  | 'endpoint_missing'
  | 'token_missing'
  | 'endpoint_not_a_url'
  | 'endpoint_not_secure'
  | 'endpoint_wrong_scheme'
  | 'endpoint_user_info'
  | 'endpoint_fragment'
  | 'token_not_sendable'
  | 'ambiguous'
  | 'not_allowed'
  | 'revoked'
  | 'not_saved';

export type EndpointCheck =
  | { ok: true; endpoint: string /** From the query string, or null. */; query_token: string | null }
  | { ok: false; problem: EnrollmentProblem };

export type EnrollmentCheck =
  | { ok: true; enrollment: Enrollment }
  | { ok: false; problem: EnrollmentProblem };

/** RFC 9110 `token`: what may stand in `Sec-WebSocket-Protocol`. */
const SENDABLE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Checks both parts; a null or blank token means none was given, and then the query's is used. */
export function checkEnrollment(endpoint: string, token: string | null): EnrollmentCheck {
  const checked = checkEndpoint(endpoint);
  if (!checked.ok) return checked;
  const given = token?.trim() || checked.query_token;
  if (!given) return { ok: false, problem: 'token_missing' };
  if (!isSendableToken(given)) return { ok: false, problem: 'token_not_sendable' };
  return { ok: true, enrollment: { endpoint: checked.endpoint, token: given } };
}

/** True when the token can travel in `Sec-WebSocket-Protocol`. */
export function isSendableToken(token: string): boolean {
  return SENDABLE.test(token);
}

/** Checks an endpoint by wire.md §1 and takes `token` out of its query string. */
export function checkEndpoint(text: string): EndpointCheck {
  const given = text.trim();
  if (!isWebSocketAddress(given)) {
    const problem = /^[a-z][a-z0-9+.-]*:/i.test(given) ? 'endpoint_wrong_scheme' : 'endpoint_not_a_url';
    return { ok: false, problem };
  }
  // The URL parser would repair these silently; what the person sees must be what is dialled.
  if (!/^wss?:\/\/[^/\\?#\s]/i.test(given) || /[\s\\]/.test(given)) return notAUrl();
  if (!isPlain(pathOf(given))) return notAUrl();
  if (given.includes('#')) return { ok: false, problem: 'endpoint_fragment' };
  let url: URL;
  try {
    url = new URL(given);
  } catch {
    return notAUrl();
  }
  if (authorityOf(given).includes('@')) return { ok: false, problem: 'endpoint_user_info' };
  if (url.protocol !== 'wss:' && !isLoopback(url.hostname)) {
    return { ok: false, problem: 'endpoint_not_secure' };
  }
  const query_token = takeTokenOut(url);
  if (query_token === undefined) return { ok: false, problem: 'ambiguous' };
  return { ok: true, endpoint: url.href, query_token };
}

/** True for text that begins like an address of a WebSocket. */
export function isWebSocketAddress(text: string): boolean {
  return /^wss?:/i.test(text.trim());
}

/** The host to show for an endpoint, with its port unless it is the scheme's own; '' when there is none. */
export function enrollmentHost(endpoint: string): string {
  try {
    return new URL(endpoint).host;
  } catch {
    return '';
  }
}

function notAUrl(): EndpointCheck {
  return { ok: false, problem: 'endpoint_not_a_url' };
}

function authorityOf(address: string): string {
  return address.replace(/^\w+:\/\//, '').split(/[/?]/, 1)[0] ?? '';
}

function pathOf(address: string): string {
  return address.slice(address.indexOf('//') + 2 + authorityOf(address).length).split(/[?#]/, 1)[0] ?? '';
}

/** A sign that a path cannot hold (RFC 3987) is something that stood beside the address: a quote, a table's line. */
function isPlain(path: string): boolean {
  return /^[!#-;=?-[\]_a-z~\u0080-\u{10FFFF}]*$/u.test(path);
}

/** The URL parser has already written every spelling of an IPv4 address in four decimal parts. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/**
 * Removes every `token` parameter and leaves the rest of the query as it was written. Null when there was
 * none, undefined when there were different ones.
 */
function takeTokenOut(url: URL): string | null | undefined {
  const parts = url.search
    .slice(1)
    .split('&')
    .map((text) => {
      const [name = '', ...value] = text.split('=');
      return { text, isToken: decode(name) === 'token', value: decode(value.join('=')) };
    });
  if (!parts.some((part) => part.isToken)) return null;
  url.search = parts
    .filter((part) => !part.isToken)
    .map((part) => part.text)
    .join('&');
  const tokens = new Set(parts.filter((part) => part.isToken && part.value !== '').map((part) => part.value));
  if (tokens.size > 1) return undefined;
  return [...tokens][0] ?? null;
}

/** `+` stays: in a token it is itself (it was percent-encoded as a whole, not as a form). */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
