import { describe, expect, test } from 'vitest';
import { readAddress } from '../../../src/tools/addresses';

function failure(url: string): { code?: string; message?: string } {
  try {
    return { message: readAddress(url) };
  } catch (thrown) {
    return thrown as Error;
  }
}

describe('which addresses the agent opens', () => {
  test.each([
    ['https://example.com', 'https://example.com/'],
    ['  https://example.com/a b ', 'https://example.com/a%20b'],
    ['HTTP://EXAMPLE.com:80/#x', 'http://example.com/#x'],
    ['http://[::1]:3000/x?y=z', 'http://[::1]:3000/x?y=z'],
    ['https://예시.한국/', 'https://xn--vv4b11d.xn--3e0b707e/'],
    ['about:blank', 'about:blank'],
  ])('%s', (url, normal) => {
    expect(readAddress(url)).toBe(normal);
  });

  test.each([
    ['javascript:alert(1)'],
    [' JaVaScRiPt:alert(1)'],
    ['java\nscript:alert(1)'],
    ['data:text/html,<p>x'],
    ['file:///etc/passwd'],
    ['chrome://settings/'],
    ['chrome-extension://abcdefghijklmnop/popup.html'],
    ['view-source:https://example.com/'],
    ['blob:https://example.com/1-2'],
    ['filesystem:https://example.com/temporary/x'],
    ['devtools://devtools/bundled/inspector.html'],
    ['about:blank#x'],
    ['about:srcdoc'],
    ['about:version'],
    ['ftp://example.com/'],
    ['ws://example.com/'],
    ['mailto:a@example.com'],
    ['intent://x#Intent;end'],
  ])('%s is page_restricted', (url) => {
    expect(failure(url)).toMatchObject({ code: 'page_restricted' });
  });

  test.each(['javascript:alert(1)', 'javascript:1', ' JaVaScRiPt:0'])(
    '%s says what is opened instead, and what runs scripts',
    (url) => {
      expect(failure(url)).toMatchObject({
        code: 'page_restricted',
        message:
          'Only http:, https: and about:blank addresses are opened, not javascript:. page_evaluate runs a script in a page.',
      });
    },
  );

  test('file: says where local files are served from', () => {
    expect(failure('file:///x').message).toContain('Storages');
  });

  test('a scheme is named, but no long text', () => {
    expect(failure('chrome://settings').message).toContain('chrome:');
    expect(failure(`${'x'.repeat(5_000)}:y`).message?.length).toBeLessThan(200);
  });

  test.each([
    [''],
    ['example.com'],
    ['/path'],
    ['//example.com/'],
    ['localhost:3000'],
    ['my-host.test:80/x'],
    ['http://'],
    ['https://a b/'],
  ])('%s is invalid_input that names url', (url) => {
    expect(failure(url)).toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('input.url'),
    });
  });
});
