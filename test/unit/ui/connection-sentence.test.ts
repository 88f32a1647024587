import { describe, expect, it } from 'vitest';
import type { ConnectionState } from '../../../src/platform/messages';
import {
  badgeFor,
  connectionAnnouncement,
  connectionSentence,
  iconFor,
  shortHost,
  toneOf,
} from '../../../src/ui/connection-sentence';
import { formatTime } from '../../../src/ui/format';
import { texts } from './texts';

const host = 'os.example.com';
const now = new Date(2026, 4, 3, 14, 7).getTime();
const since = new Date(2026, 4, 3, 9, 5).getTime();
const until = now + 11_200;

/** ui.md, States: both sentences, and the badge. */
const TABLE: [ConnectionState, string, string, string][] = [
  [{ state: 'not_enrolled' }, 'Not connected to a platform', '아직 플랫폼에 연결되지 않았어요', '!'],
  [{ state: 'connecting', host }, 'Connecting to os.example.com', 'os.example.com에 연결하는 중이에요', '…'],
  [{ state: 'handshaking', host }, 'Connecting to os.example.com', 'os.example.com에 연결하는 중이에요', '…'],
  [
    { state: 'online', host, since },
    'Online · os.example.com · since 9:05 AM',
    `온라인 · os.example.com · ${formatTime(since, now, 'ko')}부터`,
    '',
  ],
  [
    { state: 'waiting', host, until },
    'No connection. Trying again in 12 s',
    '연결이 끊겼어요. 12초 뒤에 다시 시도해요',
    '…',
  ],
  [{ state: 'no_network', host }, 'This computer is offline', '이 컴퓨터가 오프라인이에요', '…'],
  [
    { state: 'replaced', host, until },
    'Another browser is using this enrollment. Trying again in 12 s',
    '다른 브라우저가 이 등록을 쓰고 있어요. 12초 뒤에 다시 시도해요',
    '!',
  ],
  [
    { state: 'token_stopped', host },
    'This enrollment was revoked. Paste a new one',
    '이 등록은 폐기되었어요. 새 등록을 붙여넣으세요',
    '!',
  ],
  [
    { state: 'paused' },
    'Paused. Nothing can reach this browser',
    '일시 중지됨. 아무도 이 브라우저에 닿을 수 없어요',
    '‖',
  ],
  [
    { state: 'blocked_by_policy', key: 'endpoint' },
    "Your organisation's policy is incomplete: endpoint",
    '조직 정책이 올바르지 않아요: endpoint',
    '!',
  ],
];

const plain = (text: string): string => text.replace(/[\u00A0\u202F]/g, ' ');
const en = texts('en', 'en-US');
const ko = texts('ko');

describe('ui.md, States', () => {
  it.each(TABLE)('%j', (state, english, korean, badge) => {
    expect(plain(connectionSentence(state, now, en.t, en.locale))).toBe(english);
    expect(plain(connectionSentence(state, now, ko.t, ko.locale))).toBe(plain(korean));
    expect(badgeFor(state).text).toBe(badge);
    expect(badgeFor(state).needs_person).toBe(badge === '!');
    expect(['good', 'busy', 'attention', 'off']).toContain(toneOf(state));
  });

  it('the picture of the button says what the badge says, and tells not enrolled apart', () => {
    const BY_BADGE = { '': 'online', '…': 'connecting', '!': 'attention', '‖': 'paused' };
    for (const [state] of TABLE) {
      const expected = state.state === 'not_enrolled' ? 'not_enrolled' : BY_BADGE[badgeFor(state).text];
      expect(iconFor(state), state.state).toBe(expected);
    }
  });

  it('only online looks good', () => {
    expect(TABLE.filter(([state]) => toneOf(state) === 'good').map(([{ state }]) => state)).toEqual([
      'online',
    ]);
  });

  it('counts down to zero and no further', () => {
    const at = (moment: number): string =>
      connectionSentence({ state: 'waiting', host, until }, moment, en.t, 'en');
    expect(at(until - 1_001)).toContain(' 2 s');
    expect(at(until - 1_000)).toContain(' 1 s');
    expect(at(until)).toContain(' 0 s');
    expect(at(until + 60_000)).toContain(' 0 s');
  });

  it('is read aloud without the count, so that it is read once', () => {
    for (const [state] of TABLE) {
      const [first, later] = [now, now + 5_000].map((moment) =>
        connectionAnnouncement(state, moment, en.t, 'en'),
      );
      expect(first).toBe(later);
    }
  });

  it('since another day names the day', () => {
    const text = connectionSentence({ state: 'online', host, since }, now + 86_400_000, en.t, 'en-US');
    expect(plain(text)).toBe('Online · os.example.com · since May 3, 9:05 AM');
  });

  it('a long host is cut in the middle, a usual one is not', () => {
    expect(shortHost(host)).toBe(host);
    const long = `${'a'.repeat(60)}.example.com:8443`;
    expect(shortHost(long)).toMatch(/^a+….*\.example\.com:8443$/);
    expect(shortHost(long).length).toBeLessThanOrEqual(48);
  });
});
