/** What a content script may tell: its own tab's console, checked and bounded. */
import { describe, expect, test } from 'vitest';
import {
  CONSOLE_BATCH_EVENTS,
  CONSOLE_BATCH_TEXT,
  CONSOLE_MESSAGE,
  LONGEST_CONSOLE_TEXT,
  LONGEST_CONSOLE_URL,
  readConsoleBatch,
} from '../../../src/protocol/console-events';

const NOW = 1_800_000_000_000;
const EVENT = { at: NOW - 5, kind: 'console', level: 'log', text: 'hello' };
const batch = (more: object = {}) => ({
  type: CONSOLE_MESSAGE,
  first: 0,
  lost: 0,
  url: 'https://a.test/',
  events: [EVENT],
  ...more,
});

describe('readConsoleBatch', () => {
  test('a well-formed batch, without whatever else stands in it', () => {
    const read = readConsoleBatch(
      batch({
        tab_id: 9,
        events: [{ ...EVENT, source: 'a:1:2', truncated: true, url: 'https://bank.test/', seq: 1 }],
      }),
      NOW,
    );
    expect(read).toEqual(batch({ events: [{ ...EVENT, source: 'a:1:2', truncated: true }] }));
  });

  test.each([
    ['another message', { type: 'pause.set' }],
    ['no number', { first: '0' }],
    ['a negative number', { first: -1 }],
    ['half a number', { first: 0.5 }],
    ['a number beyond the safe ones', { first: 2 ** 60 }],
    ['more given up than there were', { first: 1, lost: 2 }],
    ['no address', { url: undefined }],
    ['too long an address', { url: 'x'.repeat(LONGEST_CONSOLE_URL + 1) }],
    ['no events', { events: [] }],
    ['no list', { events: { length: 1, 0: EVENT } }],
    ['too many events', { events: Array.from({ length: CONSOLE_BATCH_EVENTS + 1 }, () => EVENT) }],
    ['too long a text', { events: [{ ...EVENT, text: 'x'.repeat(LONGEST_CONSOLE_TEXT + 1) }] }],
    [
      'too much text in all',
      {
        events: Array.from({ length: 1 + CONSOLE_BATCH_TEXT / LONGEST_CONSOLE_TEXT }, () => ({
          ...EVENT,
          text: 'x'.repeat(LONGEST_CONSOLE_TEXT),
        })),
      },
    ],
    ['no text', { events: [{ ...EVENT, text: { toString: 'x' } }] }],
    ['an unknown kind', { events: [{ ...EVENT, kind: 'constructor' }] }],
    ['an unknown level', { events: [{ ...EVENT, level: '__proto__' }] }],
    ["the agent's own words", { events: [{ ...EVENT, kind: 'capture' }] }],
    ['too long a source', { events: [{ ...EVENT, source: 'x'.repeat(501) }] }],
    ['one bad event among good ones', { events: [EVENT, null] }],
  ])('%s is refused as a whole', (_what, more) => {
    expect(readConsoleBatch(batch(more), NOW)).toBeNull();
  });

  test.each([null, 7, 'console.events', [batch()]])('%j is no batch', (message) => {
    expect(readConsoleBatch(message, NOW)).toBeNull();
  });

  test.each([[NOW + 1], [0], [Number.NaN], ['now'], [undefined]])('a time of %s is not believed', (at) => {
    expect(readConsoleBatch(batch({ events: [{ ...EVENT, at }] }), NOW)?.events[0]?.at).toBe(NOW);
  });
});
