/** The title of a page that was just loaded, while Chrome still shows its address in its place. */

import { describe, expect, test } from 'vitest';
import type { Browser, Scripting, Tabs } from 'webextension-polyfill';
import { titleOf } from '../../../src/tools/page-title';

const url = 'http://a.test/one/%ED%95%9C';

function contextOf(execute: () => Promise<unknown>) {
  const asked: Scripting.ScriptInjection[] = [];
  const scripting = {
    executeScript: (injection: Scripting.ScriptInjection) => {
      asked.push(injection);
      return execute();
    },
  };
  const context = {
    browser: { scripting } as unknown as Browser,
    // Whoever waits has waited long enough at once.
    setTimer: (callback: () => void) => {
      queueMicrotask(callback);
      return () => undefined;
    },
    signal: new AbortController().signal,
  };
  return { context, asked };
}

const tab = (title: string, at = url) => ({ id: 7, url: at, title }) as Tabs.Tab;
const told = (href: string, title: unknown) => async () => [{ frameId: 0, result: [href, title] }];

describe('the title after a load', () => {
  test.each(['a.test/one/한', 'a.test/one/%ED%95%9C', url, ''])(
    '“%s” is none: the page is asked',
    async (shown) => {
      expect(await titleOf(contextOf(told(url, 'One')).context, tab(shown))).toBe('One');
    },
  );

  test('any other is the one there is', async () => {
    const { context, asked } = contextOf(told(url, 'Two'));
    expect(await titleOf(context, tab('One'))).toBe('One');
    expect(await titleOf(context, tab('', 'about:blank'))).toBe('');
    expect(asked).toEqual([]);
  });

  test.each([
    ['another page is there by then', told('http://closed.test/', 'Secret')],
    ['it has no title', told(url, '')],
    ['it says something odd', told(url, 3)],
    ['it says nothing', async () => []],
    ['it may not be asked', () => Promise.reject(new Error('no'))],
    ['it does not answer', () => new Promise(() => undefined)],
  ])('%s: what Chrome shows', async (_what, execute) => {
    expect(await titleOf(contextOf(execute).context, tab('a.test/one/한'))).toBe('a.test/one/한');
  });
});
