/** Why a page did not load, in plain sentences (`navigation_failed`, wire.md §7). Pure. */
import { AgentError } from '../protocol/errors';

/** First match wins; matched against Chrome's name of the error without `net::ERR_`. */
const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/^(?:NAME_|DNS_|ICANN_)/, 'The host name of the address was not found.'],
  [/^CONNECTION_REFUSED/, 'The server refused the connection: nothing listens at this address and port.'],
  [/^(?:INTERNET_DISCONNECTED|NETWORK_)/, 'This device has no network connection.'],
  [/TIMED_OUT/, 'The server did not answer in time.'],
  [
    /^(?:CERT_|SSL_|BAD_SSL|CERTIFICATE_)/,
    'No secure connection: the certificate of the server is not valid.',
  ],
  [/^(?:BLOCKED_|BLOCKED$)/, 'The page was blocked, by the policy of this browser or by another extension.'],
  [
    /^(?:UNSAFE_PORT|UNKNOWN_URL_SCHEME|DISALLOWED_URL_SCHEME|INVALID_URL|UNSAFE_REDIRECT)/,
    'Chrome does not open this address.',
  ],
  [/^TOO_MANY_REDIRECTS/, 'The server redirects in a circle.'],
  [/^(?:PROXY_|TUNNEL_|SOCKS_|MANDATORY_PROXY)/, 'The proxy of this device could not be used.'],
  [/^ADDRESS_/, 'The server cannot be reached from this device.'],
  [/^(?:EMPTY_RESPONSE|CONNECTION_|SOCKET_)/, 'The server closed the connection without an answer.'],
  [
    /^(?:INVALID_|HTTP|QUIC_|RESPONSE_|CONTENT_|INCOMPLETE_)/,
    'The server gave an answer that Chrome could not use.',
  ],
];

/** `error` is what webRequest calls it, such as `net::ERR_NAME_NOT_RESOLVED`. */
export function netFailure(error: string): AgentError {
  const name = /^net::ERR_([A-Z0-9_]+)$/.exec(error)?.[1];
  if (!name) return new AgentError('navigation_failed');
  const sentence = SENTENCES.find(([pattern]) => pattern.test(name))?.[1] ?? 'The page could not be loaded.';
  return new AgentError('navigation_failed', `${sentence} (ERR_${name})`);
}

/** The ways a navigation ends without a page and without a net error. */
export type NoPage = 'download' | 'stopped' | 'nothing_there' | 'no_way_back';

const NO_PAGE: Record<NoPage, string> = {
  download: 'The address led to a download, not to a page.',
  stopped:
    'The load was stopped before there was a page: by the person, by another navigation, or because the address belongs to another program.',
  nothing_there: 'Nothing happened: the history of this tab has no page in that direction.',
  no_way_back: 'Chrome does not step through the history from this page. Go to the address itself.',
};

export function noPage(why: NoPage): AgentError {
  return new AgentError('navigation_failed', NO_PAGE[why]);
}
