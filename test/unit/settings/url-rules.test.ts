import { describe, expect, test } from 'vitest';
import { readManagedPolicy } from '../../../src/settings/managed-policy';
import { isEmptyPage, originAddress, UNKNOWN_MAKER, urlRules } from '../../../src/settings/url-rules';

const OWN = 'chrome-extension://hjebokbchlgkmmecblopnocjmdjldmhd';

const mayEnter = (policy: { url_allowlist?: string[]; url_blocklist?: string[] }, url: string) =>
  urlRules(readManagedPolicy(policy).policy, OWN).mayEnter(url);

describe('policy.md: url_allowlist and url_blocklist', () => {
  test('without lists, and with an empty allowlist, every page is open', () => {
    for (const policy of [{}, { url_allowlist: [], url_blocklist: [] }]) {
      for (const url of [
        'https://a.test/',
        'about:blank',
        'chrome://settings/',
        'file:///x',
        'no address',
        '',
      ]) {
        expect(mayEnter(policy, url), url).toBe(true);
      }
    }
  });

  test('an allowlist opens what it names and nothing else', () => {
    const policy = { url_allowlist: ['https://*.a.test/*', 'https://b.test/x/*'] };
    expect(mayEnter(policy, 'https://www.a.test/y')).toBe(true);
    expect(mayEnter(policy, 'https://b.test/x/y')).toBe(true);
    for (const url of [
      'https://b.test/',
      'http://a.test/',
      'about:blank',
      'chrome://settings/',
      'data:text/html,x',
      '',
      'x',
    ]) {
      expect(mayEnter(policy, url), url).toBe(false);
    }
  });

  test('block wins', () => {
    const policy = { url_allowlist: ['<all_urls>'], url_blocklist: ['*://*.bank.test/*'] };
    expect(mayEnter(policy, 'https://a.test/')).toBe(true);
    expect(mayEnter(policy, 'https://www.bank.test/')).toBe(false);
    expect(mayEnter({ url_blocklist: policy.url_blocklist }, 'https://www.bank.test:8443/')).toBe(false);
  });

  test('an address inside another one counts', () => {
    const policy = { url_blocklist: ['*://bank.test/*'] };
    for (const url of [
      'blob:https://bank.test/0f8f',
      'view-source:https://bank.test/',
      'filesystem:https://bank.test/temporary/x',
      'view-source:blob:https://bank.test/1',
    ]) {
      expect(mayEnter(policy, url), url).toBe(false);
      expect(mayEnter(policy, url.replace('bank', 'a')), url).toBe(true);
    }
  });

  test('what some page of an origin made is open where all of the origin is', () => {
    const part = { url_blocklist: ['https://bank.test/private/*'] };
    expect(mayEnter(part, 'https://bank.test/')).toBe(true);
    expect(mayEnter(part, originAddress('https://bank.test'))).toBe(false);
    expect(mayEnter(part, 'blob:https://bank.test/0f8f')).toBe(false);
    expect(mayEnter(part, originAddress('https://bank.test:8443'))).toBe(false);
    expect(mayEnter(part, originAddress('https://a.test'))).toBe(true);
    const only = { url_allowlist: ['https://a.test/*', 'https://b.test/x/*'] };
    expect(mayEnter(only, originAddress('https://a.test'))).toBe(true);
    expect(mayEnter(only, originAddress('https://b.test'))).toBe(false);
    expect(mayEnter({ url_allowlist: ['<all_urls>'] }, originAddress('https://b.test'))).toBe(true);
  });

  test('what nobody known made is open where nothing is closed', () => {
    expect(mayEnter({}, UNKNOWN_MAKER)).toBe(true);
    expect(mayEnter({ url_blocklist: ['https://bank.test/*'] }, UNKNOWN_MAKER)).toBe(false);
    expect(mayEnter({ url_allowlist: ['<all_urls>'] }, UNKNOWN_MAKER)).toBe(false);
  });

  test('a list in which nothing is right allows nothing; a wrong entry is told by its place', () => {
    const { policy, problems } = readManagedPolicy({
      url_allowlist: ['example.com'],
      url_blocklist: ['https://bank.test/*', 'bank.test'],
    });
    expect(problems).toEqual([
      { key: 'url_allowlist[0]', reason: 'policy_reason_not_a_pattern' },
      { key: 'url_blocklist[1]', reason: 'policy_reason_not_a_pattern' },
    ]);
    expect(policy.url_blocklist).toEqual(['https://bank.test/*']);
    expect(urlRules(policy, OWN).mayEnter('https://example.com/')).toBe(false);
  });

  test('the extension’s own pages are closed whatever the lists say: there the person answers', () => {
    for (const policy of [{}, { url_allowlist: ['<all_urls>'] }]) {
      expect(mayEnter(policy, `${OWN}/src/ui/popup/popup.html`)).toBe(false);
      expect(mayEnter(policy, `blob:${OWN}/x`)).toBe(false);
      expect(mayEnter(policy, `view-source:${OWN}/src/ui/settings/settings.html`)).toBe(false);
    }
    expect(mayEnter({}, 'chrome-extension://another/page.html')).toBe(true);
  });
});

test('pages that show nothing of anybody', () => {
  for (const url of ['', 'about:blank', 'chrome://newtab/', 'chrome://new-tab-page/'])
    expect(isEmptyPage(url)).toBe(true);
  for (const url of ['about:srcdoc', 'chrome://settings/', 'https://about:blank/', 'chrome://newtab/x']) {
    expect(isEmptyPage(url), url).toBe(false);
  }
});
