import type { VNode } from 'preact';
import { describe, expect, it, vi } from 'vitest';
import type { ConnectionState } from '../../../src/platform/messages';
import { RecentActivity } from '../../../src/ui/popup/recent-activity';
import { StateLine } from '../../../src/ui/popup/state-line';
import { texts } from './texts';
import { type Shown, shownBy, textOf } from './vnode-text';

const en = texts('en', 'en-US');
const now = new Date(2026, 4, 3, 14, 7).getTime();
const find = (shown: Shown[], match: (element: Shown) => boolean): Shown => shown.find(match) as Shown;

function stateLine(connection: ConnectionState | null, action: 'retry' | 'resume' | null = null): VNode {
  return (
    <StateLine
      connection={connection}
      now={now}
      texts={en}
      hint={null}
      action={action}
      busy={false}
      onAction={onAction}
    />
  );
}
const onAction = vi.fn();

describe('the state line', () => {
  it('shows the countdown, and reads it aloud without the count', () => {
    const shown = shownBy(stateLine({ state: 'waiting', host: 'r.test', until: now + 9_000 }, 'retry'));
    expect(find(shown, ({ type }) => type === 'h1').text).toBe('No connection. Trying again in 9 s');
    expect(find(shown, ({ props }) => props.role === 'status').text).toBe('No connection. Trying again soon');
  });

  it('has the one action as a button', () => {
    const button = find(shownBy(stateLine({ state: 'paused' }, 'resume')), ({ type }) => type === 'button');
    expect(button.text).toBe('Resume');
    (button.props.onClick as () => void)();
    expect(onAction).toHaveBeenCalledTimes(1);
  });

  it('a separator belongs to the part behind it: where that begins a line, it is not seen', () => {
    const shown = shownBy(stateLine({ state: 'online', host: 'r.test', since: now }));
    const parts = shown.filter(({ props }) => props.class === 'part').map(({ text }) => text);
    expect(parts.map((part) => part.replace(/\s/g, ' '))).toEqual([
      'Online',
      ' · r.test',
      ' · since 2:07 PM',
    ]);
    expect(find(shown, ({ type }) => type === 'h1').text.replace(/\s/g, ' ')).toBe(
      'Online · r.test · since 2:07 PM',
    );
  });

  it('says that it does not know when it does not know', () => {
    expect(find(shownBy(stateLine(null)), ({ type }) => type === 'h1').text).toBe('Checking the connection');
  });

  it('keeps the whole of a long host within reach', () => {
    const host = `${'a'.repeat(60)}.example.com`;
    const sentence = find(shownBy(stateLine({ state: 'connecting', host })), ({ type }) => type === 'h1');
    expect(sentence.text).not.toContain(host);
    expect(sentence.props.title).toBe(host);
  });
});

describe('the activity in the popup', () => {
  const activity = Array.from({ length: 8 }, (_, index) => ({
    at: now - index * 60_000,
    tool: index === 1 ? '<img src=x onerror=alert(1)>' : 'tab_list',
    outcome: index === 1 ? ('unknown_tool' as const) : ('ok' as const),
    duration_ms: 21,
  }));

  it('shows the last five, in words, and the way to all', () => {
    const shown = shownBy(<RecentActivity activity={activity} now={now} texts={en} />);
    const rows = shown.filter(({ type }) => type === 'li').map(({ text }) => text.replace(/\s/g, ' '));
    expect(rows).toHaveLength(5);
    expect(rows[0]).toBe('2:07 PMList tabsDone21ms');
    expect(rows[1]).toBe('2:06 PM<img src=x onerror=alert(1)>Unknown tool21ms');
    expect(find(shown, ({ type }) => type === 'a').props).toMatchObject({
      href: '../activity/activity.html',
    });
  });

  it('says so when there is none', () => {
    expect(textOf(<RecentActivity activity={[]} now={now} texts={en} />)).toBe(
      'ActivityThe platform has not asked for anything yet',
    );
  });
});
