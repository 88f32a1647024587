import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readMatchPattern } from '../../../src/settings/match-patterns';

function matches(pattern: string, url: string): boolean {
  const read = readMatchPattern(pattern);
  if (!read) throw new Error(`no pattern: ${pattern}`);
  return read.matches(new URL(url));
}

describe('policy.md, url_allowlist and url_blocklist: match patterns as Chrome reads them', () => {
  test.each([
    [
      '<all_urls>',
      ['http://a.test/', 'https://a.test:8443/x?y', 'file:///etc/hosts'],
      ['chrome://settings/', 'about:blank', 'data:text/html,x'],
    ],
    ['*://*/*', ['http://a.test/', 'https://a.test/x'], ['file:///x', 'ftp://a.test/']],
    [
      'https://example.com/*',
      ['https://example.com/', 'https://example.com:8443/x?y#z', 'https://EXAMPLE.com./x'],
      [
        'http://example.com/',
        'https://www.example.com/',
        'https://example.com.evil.test/',
        'https://evilexample.com/',
      ],
    ],
    [
      'https://*.example.com/*',
      ['https://example.com/', 'https://a.b.example.com/x'],
      ['https://evilexample.com/', 'https://example.com.evil.test/', 'https://evil.test/example.com/'],
    ],
    [
      'http://localhost:8080/*',
      ['http://localhost:8080/x'],
      ['http://localhost/x', 'http://localhost:80800/'.replace('80800', '8081')],
    ],
    ['http://a.test:80/*', ['http://a.test/', 'http://a.test:80/x'], ['http://a.test:8080/']],
    ['http://a.test:*/*', ['http://a.test/', 'http://a.test:8080/'], []],
    ['https://*:8443/*', ['https://a.test:8443/'], ['https://a.test/']],
    ['http://[::1]:9000/*', ['http://[::1]:9000/'], ['http://[::1]/', 'http://[::2]:9000/']],
    ['http://127.0.0.1/*', ['http://127.0.0.1:1234/', 'http://0x7f.1/'], ['http://127.0.0.2/']],
    [
      'https://a.test/x',
      ['https://a.test/x', 'https://a.test/x#y'],
      ['https://a.test/x/', 'https://a.test/x?y'],
    ],
    [
      'https://a.test/x*',
      ['https://a.test/x', 'https://a.test/xy?z'],
      ['https://a.test/y', 'https://a.test/X'],
    ],
    [
      'https://a.test/x/*',
      ['https://a.test/x/', 'https://a.test/x', 'https://a.test/x/y'],
      ['https://a.test/xy'],
    ],
    [
      'https://a.test/*/b/*/c',
      ['https://a.test/1/b/2/c', 'https://a.test/b/b/b/b/c'],
      ['https://a.test/b/c', 'https://a.test/1/b/2/c/d'],
    ],
    ['https://a.test/*?q=*', ['https://a.test/s?q=1'], ['https://a.test/s?p=1']],
    ['https://bücher.test/*', ['https://xn--bcher-kva.test/'], ['https://bucher.test/']],
    ['file:///home/*', ['file:///home/x'], ['file:///etc/x']],
    ['file://host/home/*', ['file:///home/x'], []],
    ['HTTPS://A.test/*', ['https://a.test/'], []],
  ])('%s', (pattern, right, wrong) => {
    for (const url of right) expect(matches(pattern, url), url).toBe(true);
    for (const url of wrong) expect(matches(pattern, url), url).toBe(false);
  });

  test.each([
    '',
    '*',
    'example.com',
    '*.example.com',
    'https://example.com',
    'https:/example.com/*',
    'https://*foo/*',
    'https://foo.*.bar/*',
    'https://foo.*/*',
    'https:///*',
    'https://user@example.com/*',
    'https://a b.test/*',
    'https://a.test:99999/*',
    '*://a.test:8080/*',
    'https://a.test:/*',
    'https://a.test:8x/*',
    'https://[::1/*',
    'https://*.*.test/*',
    'chrome://settings/*',
    'javascript://x/*',
    'about:blank',
    '<all_url>',
    ' https://a.test/*',
  ])('no pattern: %j', (text) => {
    expect(readMatchPattern(text)).toBeNull();
  });

  // Two hyphens in a row could begin the name of another alphabet (xn--), of which not every one is a host.
  const label = fc.stringMatching(/^[a-z]([a-z0-9]{0,3}-?[a-z0-9]{1,3})?$/);
  const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => [...labels, 'test'].join('.'));
  const path = fc.webPath().map((text) => (text.startsWith('/') ? text : `/${text}`));

  test('a host pattern matches its host at every path and port, and a subdomain pattern all below it', () => {
    fc.assert(
      fc.property(host, label, path, fc.integer({ min: 1, max: 65_535 }), (name, sub, where, port) => {
        const url = `https://${name}:${port}${where}`;
        const below = `https://${sub}.${name}:${port}${where}`;
        expect(matches(`https://${name}/*`, url)).toBe(true);
        expect(matches(`https://${name}/*`, below)).toBe(false);
        expect(matches(`*://*.${name}/*`, url)).toBe(true);
        expect(matches(`*://*.${name}/*`, below)).toBe(true);
        expect(matches(`*://*.${name}/*`, `https://${sub}${name}:${port}${where}`)).toBe(false);
        expect(matches(`http://${name}/*`, url)).toBe(false);
      }),
    );
  });

  test('the star in a path is what it is in a regular expression', () => {
    const letters = fc.stringMatching(/^[ab/]{0,8}$/);
    const glob = fc.stringMatching(/^[ab/*]{0,8}$/);
    fc.assert(
      fc.property(glob, letters, (pattern, text) => {
        const expression = new RegExp(`^/${pattern.replaceAll('*', '.*')}$`);
        const expected = expression.test(`/${text}`) || `/${pattern}` === `/${text}/*`;
        expect(matches(`https://a.test/${pattern}`, `https://a.test/${text}`)).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  test('a hostile pattern costs no time', () => {
    const pattern = `https://a.test/${'*a'.repeat(2_000)}*b`;
    const started = performance.now();
    expect(matches(pattern, `https://a.test/${'a'.repeat(50_000)}`)).toBe(false);
    // Backtracking would take longer than anybody lives.
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test('any text is a pattern or none, without throwing', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((text) => `https://${text}/*`),
        ),
        fc.webUrl(),
        (text, url) => {
          readMatchPattern(text)?.matches(new URL(url));
        },
      ),
    );
  });
});
