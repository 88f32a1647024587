import { describe, expect, it, vi } from 'vitest';
import type { ClassPermissionState, PermissionSettings } from '../../../src/platform/messages';
import { PermissionClass } from '../../../src/ui/settings/permission-class';
import { UrlLists } from '../../../src/ui/settings/url-lists';
import { texts } from './texts';
import { type Shown, shownBy, textOf } from './vnode-text';

const en = texts('en');
const group: ClassPermissionState = {
  class: 'interact',
  permission: 'ask',
  managed: false,
  tools: [
    { name: 'tab_open', permission: 'ask', managed: false, own: null, inherited: 'ask' },
    { name: 'tab_close', permission: 'deny', managed: true, own: 'allow', inherited: 'ask' },
    { name: '<b>later</b>', permission: 'allow', managed: false, own: 'allow', inherited: 'ask' },
  ],
};

describe('the settings page: what the platform may do', () => {
  const onChange = vi.fn();
  const shown = shownBy(<PermissionClass group={group} texts={en} onChange={onChange} />);
  const choices = shown.filter(({ type }) => type === 'select');
  const choose = (index: number, value: string) => {
    const { onChange: change } = (choices[index] as Shown).props;
    (change as (event: object) => void)({ currentTarget: { value } });
  };

  it('a choice per class and per tool, named for screen readers, with what is chosen', () => {
    expect(choices.map(({ props }) => [props['aria-label'], props.value])).toEqual([
      ['Permission: Act in pages and tabs', 'ask'],
      ['Permission: Open a tab', ''],
      ['Permission: <b>later</b>', 'allow'],
    ]);
    expect(choices.map(({ text }) => text)).toEqual([
      "AllowAskDon't allow",
      "As the group (Ask)AllowAskDon't allow",
      "As the group (Ask)AllowAskDon't allow",
    ]);
  });

  it('what policy fixes is said, and is no choice', () => {
    const row = shown.find(({ type, text }) => type === 'li' && text.includes('tab_close'));
    expect(row?.text).toBe("Close a tab tab_closeDon't allowSet by your organisation");
  });

  it('a change names the class or the tool; the group’s own way is nothing of its own', () => {
    choose(0, 'deny');
    choose(1, 'allow');
    choose(2, '');
    expect(onChange.mock.calls).toEqual([
      ['interact', 'deny'],
      ['tab_open', 'allow'],
      ['<b>later</b>', null],
    ]);
  });

  it('a tool that asks by itself in a group that does not is said to do so', () => {
    const tool = {
      name: 'tab_open',
      permission: 'ask',
      managed: false,
      own: null,
      inherited: 'ask',
    } as const;
    const open = { ...group, permission: 'allow' as const, tools: [tool] };
    expect(textOf(<PermissionClass group={open} texts={en} onChange={onChange} />)).toContain(
      'As usual (Ask)',
    );
  });
});

describe('the settings page: URL rules', () => {
  const listed = (lists: Partial<PermissionSettings>): string =>
    textOf(
      UrlLists({
        permissions: { managed: true, classes: [], url_allowlist: null, url_blocklist: [], ...lists },
        texts: en,
      }),
    );

  it('shows the lists there are, and says when none is allowed', () => {
    expect(listed({})).toBe('');
    expect(listed({ url_blocklist: ['*://a.test/*'] })).toMatch(/Never these\*:\/\/a\.test\/\*$/);
    expect(listed({ url_allowlist: [] })).toMatch(/Only theseNone$/);
  });
});
