/** `download_list` and the URL rules (policy.md, `url_blocklist`). */

import { expect, test } from 'vitest';
import type { Browser } from 'webextension-polyfill';
import { urlRules } from '../../../src/settings/url-rules';
import { downloadList } from '../../../src/tools/downloads';
import type { ToolContext } from '../../../src/tools/tool';

const item = (id: number, url: string, referrer = '', more: object = {}) => ({
  id,
  url,
  referrer,
  ...more,
  state: 'complete',
  filename: `/home/person/${id}.pdf`,
  bytesReceived: 1,
  totalBytes: 1,
  startTime: '2026-11-30T00:00:00.000Z',
  paused: false,
  exists: true,
  danger: 'safe',
});

test('a download of a closed page is not listed, whatever kind of address holds its content', async () => {
  const items = [
    item(1, 'https://closed.test/a.pdf'),
    item(2, 'blob:https://closed.test/1-2-3'),
    item(3, 'data:text/plain,secret', 'https://closed.test/page'),
    item(4, 'blob:https://open.test/1-2-3'),
    item(5, 'data:text/plain,own', '', { byExtensionId: 'own' }),
    item(6, 'data:text/plain,open', 'https://open.test/page'),
    item(7, 'data:text/plain,of nobody known'),
    item(8, 'https://open.test/a.pdf', 'https://closed.test/page'),
    item(9, 'https://closed.test/a', '', { finalUrl: 'https://open.test/a.pdf' }),
    item(10, 'https://open.test/a', '', { finalUrl: 'https://closed.test/a.pdf' }),
    item(11, 'data:text/plain,another', '', { byExtensionId: 'another' }),
  ];
  const browser = {
    downloads: { search: async () => items },
    runtime: { id: 'own' },
  } as unknown as Browser;
  const rules = { url_allowlist: null, url_blocklist: ['https://closed.test/*'] };
  const context = { browser, urls: urlRules(rules, 'chrome-extension://own') } as unknown as ToolContext;
  const { output } = await downloadList.run({}, context, Promise.resolve(undefined));
  const listed = output.downloads as { download_id: number }[];
  expect(listed.map(({ download_id }) => download_id)).toEqual([4, 5, 6]);
});
