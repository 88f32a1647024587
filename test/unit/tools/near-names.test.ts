import { describe, expect, test } from 'vitest';
import { nearNames } from '../../../src/tools/near-names';

const KNOWN = [
  'screen.capture',
  'tab.list',
  'tab.open',
  'tab.close',
  'page.text',
  'file.list',
  'download.list',
];

describe('os-interface.md: an unknown type lists near names', () => {
  test.each([
    ['tab.opn', ['tab.open', 'tab.list', 'tab.close']],
    ['tabs.open', ['tab.open']],
    ['TAB.OPEN', ['tab.open', 'tab.list', 'tab.close']],
    ['tab_list', ['tab.list', 'tab.close', 'tab.open', 'file.list', 'download.list']],
    ['browser.list', ['file.list', 'tab.list', 'download.list']],
    ['window.minimise', []],
    ['', []],
    [`${'x'.repeat(1e6)}`, []],
  ])('%s', (wanted, near) => {
    expect(nearNames(wanted, KNOWN)).toEqual(near);
  });
});
