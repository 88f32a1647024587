import { describe, expect, test } from 'vitest';
import { netFailure, noPage } from '../../../src/tools/navigation-errors';

describe('wire.md §7, navigation_failed: a plain sentence for every net error', () => {
  test.each([
    ['net::ERR_NAME_NOT_RESOLVED', 'host name'],
    ['net::ERR_DNS_TIMED_OUT', 'host name'],
    ['net::ERR_CONNECTION_REFUSED', 'refused'],
    ['net::ERR_INTERNET_DISCONNECTED', 'no network'],
    ['net::ERR_CONNECTION_TIMED_OUT', 'in time'],
    ['net::ERR_TIMED_OUT', 'in time'],
    ['net::ERR_CERT_AUTHORITY_INVALID', 'certificate'],
    ['net::ERR_SSL_PROTOCOL_ERROR', 'certificate'],
    ['net::ERR_BLOCKED_BY_CLIENT', 'blocked'],
    ['net::ERR_BLOCKED_BY_ADMINISTRATOR', 'blocked'],
    ['net::ERR_UNSAFE_PORT', 'does not open'],
    ['net::ERR_TOO_MANY_REDIRECTS', 'circle'],
    ['net::ERR_PROXY_CONNECTION_FAILED', 'proxy'],
    ['net::ERR_TUNNEL_CONNECTION_FAILED', 'proxy'],
    ['net::ERR_ADDRESS_UNREACHABLE', 'cannot be reached'],
    ['net::ERR_EMPTY_RESPONSE', 'closed the connection'],
    ['net::ERR_CONNECTION_RESET', 'closed the connection'],
    ['net::ERR_INVALID_HTTP_RESPONSE', 'could not use'],
    ['net::ERR_SOMETHING_NEW', 'could not be loaded'],
  ])('%s', (error, words) => {
    const { code, message } = netFailure(error);
    expect(code).toBe('navigation_failed');
    expect(message).toContain(words);
    expect(message).toContain(error.slice('net::'.length));
  });

  test('foreign text is not passed on', () => {
    expect(netFailure('net::ERR_X https://secret.test/?token=1').message).not.toContain('secret');
  });

  test('every end without a page has its own sentence', () => {
    const ends = ['download', 'stopped', 'nothing_there', 'no_way_back'] as const;
    expect(new Set(ends.map((end) => noPage(end).message)).size).toBe(ends.length);
  });
});
