import { describe, expect, test } from 'vitest';
import { fitsPattern } from '../../../src/tools/page-wait';

describe('page_wait: address patterns, * for any characters', () => {
  test.each([
    ['https://a.test/', 'https://a.test/', true],
    ['https://a.test/x', 'https://a.test/', false],
    ['https://a.test/x', 'https://a.test/*', true],
    ['https://a.test/orders/7?x=1', '*/orders/*', true],
    ['https://a.test/order', '*/orders/*', false],
    ['https://a.test/', '*', true],
    ['https://a.test/a/b', 'https://*.test/*/b', true],
    ['https://a.test/ab', '*ab*b', false],
    ['https://a.test/(.+)', '*(.+)', true],
    ['https://a.test/x', '*(.+)', false],
  ])('%s, %s: %s', (url, pattern, fits) => {
    expect(fitsPattern(url, pattern)).toBe(fits);
  });
});
