import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type LoadEnd,
  type LoadEvent,
  LoadProgress,
  type LoadStart,
  SETTLED_MS,
  SILENCE_MS,
} from '../../../src/tools/load-progress';

const FROM = 'https://a.test/';
const TO = 'https://b.test/';

const address = (to_url: string, from_url = FROM): LoadStart => ({ kind: 'address', from_url, to_url });
const HISTORY: LoadStart = { kind: 'history', from_url: FROM, to_url: null };
const RELOAD: LoadStart = { kind: 'reload', from_url: FROM, to_url: null };
const OPEN: LoadStart = { kind: 'open', from_url: '', to_url: TO };

const request = (request_id = '1'): LoadEvent => ({ type: 'request', request_id });
const response = (http_status = 200, request_id = '1'): LoadEvent => ({
  type: 'response',
  request_id,
  http_status,
});
const failed = (error: string, request_id = '1'): LoadEvent => ({
  type: 'request_failed',
  request_id,
  error,
});
const loading = (url = TO): LoadEvent => ({ type: 'loading', url });
const complete: LoadEvent = { type: 'complete' };
const removed: LoadEvent = { type: 'removed' };
const look = (more: Partial<Extract<LoadEvent, { type: 'look' }>> = {}): LoadEvent => ({
  type: 'look',
  url: FROM,
  loading: false,
  pending_url: false,
  ...more,
});

/** The end and the number of events it took; each event comes 1 ms after the last. */
function play(start: LoadStart, events: LoadEvent[]): { end: LoadEnd | null; after: number } {
  const progress = new LoadProgress(start);
  for (const [index, event] of events.entries()) {
    const end = progress.step(event, index);
    if (end) return { end, after: index + 1 };
  }
  return { end: null, after: events.length };
}

/** Looks at a tab that stays as it is, every 200 ms: the end, and after how long. */
function watch(start: LoadStart, events: LoadEvent[], seen: LoadEvent): { end: LoadEnd | null; ms: number } {
  const progress = new LoadProgress(start);
  for (const event of events) progress.step(event, 0);
  for (let ms = 0; ms <= 10_000; ms += 200) {
    const end = progress.step(seen, ms);
    if (end) return { end, ms };
  }
  return { end: null, ms: Number.POSITIVE_INFINITY };
}

const loaded = (http_status: number | null): LoadEnd => ({ end: 'loaded', http_status });

describe('the end of a navigation, from what Chrome was seen to do', () => {
  test('a page over http: after its commit and complete, with its status', () => {
    const events = [request(), response(), loading(), complete];
    expect(play(address(TO), events)).toEqual({ end: loaded(200), after: 4 });
  });

  test.each([[404], [500], [401]])('a server error is a loaded page: %i', (status) => {
    expect(play(address(TO), [request(), response(status), loading(), complete]).end).toEqual(loaded(status));
  });

  test('redirects: the status of the last response', () => {
    const events = [request(), request(), request(), response(200), loading(), complete];
    expect(play(address(TO), events).end).toEqual(loaded(200));
  });

  test('about:blank: no request, no status', () => {
    expect(play(address('about:blank'), [loading('about:blank'), complete]).end).toEqual(loaded(null));
  });

  test('a page restored from memory: no request, no status', () => {
    expect(play(HISTORY, [loading(TO), complete])).toEqual({ end: loaded(null), after: 2 });
  });

  test('reload, also of the same address', () => {
    expect(play(RELOAD, [request(), response(), loading(FROM), complete])).toEqual({
      end: loaded(200),
      after: 4,
    });
    expect(play(RELOAD, [loading(FROM), complete])).toEqual({ end: loaded(null), after: 2 });
  });

  test('to a fragment of the same document: ends at once, even while the page loads for ever', () => {
    expect(play(address(`${FROM}#x`), [loading(`${FROM}#x`)])).toEqual({ end: loaded(null), after: 1 });
    expect(play(address(`${FROM}#x`, `${FROM}#x`), [loading(`${FROM}#x`)])).toEqual({
      end: loaded(null),
      after: 1,
    });
    expect(play(HISTORY, [loading(`${FROM}#x`)])).toEqual({ end: loaded(null), after: 1 });
  });

  test('to the same address without a fragment: a real load', () => {
    const events = [request(), response(), loading(FROM), complete];
    expect(play(address(FROM, `${FROM}#x`), events)).toEqual({ end: loaded(200), after: 4 });
  });

  test('the complete of the old page does not end the new load', () => {
    const events = [complete, request(), complete, response(), loading(), complete];
    expect(play(address(TO), events)).toEqual({ end: loaded(200), after: 6 });
  });

  test('the old page changes its own address meanwhile: not taken for the new page', () => {
    const events = [request(), loading(`${FROM}pushed`), complete, response(404), loading(), complete];
    expect(play(address(TO), events)).toEqual({ end: loaded(404), after: 6 });
  });

  test('the page sends the tab on while it loads: the page it ends with', () => {
    const events = [
      request('1'),
      response(200, '1'),
      loading(),
      request('2'),
      response(410, '2'),
      loading(),
      complete,
    ];
    expect(play(address(TO), events).end).toEqual(loaded(410));
  });

  test('the page changes its own address while it loads: the status stays', () => {
    expect(play(address(TO), [request(), response(203), loading(), loading(`${TO}2`), complete]).end).toEqual(
      loaded(203),
    );
  });

  test('superseded by another navigation: that one is followed', () => {
    const events = [
      request('1'),
      failed('net::ERR_ABORTED'),
      request('2'),
      response(200, '2'),
      loading(),
      complete,
    ];
    expect(play(address(TO), events).end).toEqual(loaded(200));
  });

  test('what belongs to a request from before is not ours', () => {
    const events = [
      failed('net::ERR_FAILED', '0'),
      request('1'),
      response(500, '0'),
      response(200, '1'),
      failed('net::ERR_ABORTED', '0'),
      loading(),
      complete,
    ];
    expect(play(address(TO), events).end).toEqual(loaded(200));
  });

  test('a net error ends when the error page is there', () => {
    const events = [request(), failed('net::ERR_NAME_NOT_RESOLVED'), loading(), complete];
    expect(play(address(TO), events)).toEqual({
      end: { end: 'net_error', error: 'net::ERR_NAME_NOT_RESOLVED' },
      after: 3,
    });
  });

  test('a net error of which no error page comes', () => {
    const { end } = watch(address(TO), [request(), failed('net::ERR_BLOCKED_BY_CLIENT')], look());
    expect(end).toEqual({ end: 'net_error', error: 'net::ERR_BLOCKED_BY_CLIENT' });
  });

  test.each([[204], [205]])('%i: no content is an answer, at once', (status) => {
    expect(play(address(TO), [request(), response(status)])).toEqual({ end: loaded(status), after: 2 });
  });

  test('a download: the tab is at rest without a new page', () => {
    const { end, ms } = watch(address(TO), [request(), response()], look());
    expect(end).toEqual({ end: 'download' });
    expect(ms).toBeLessThan(1_000);
  });

  test('a download while the old page is itself loading for ever', () => {
    expect(watch(address(TO), [request(), response()], look({ loading: true })).end).toEqual({
      end: 'download',
    });
  });

  test('a download in a new tab: Chrome closes it', () => {
    expect(play(OPEN, [request(), response(), removed]).end).toEqual({ end: 'download' });
  });

  test('a tab that is closed before or after its page came is removed', () => {
    expect(play(OPEN, [request(), removed]).end).toEqual({ end: 'removed' });
    expect(play(OPEN, [request(), response(), loading(), removed]).end).toEqual({ end: 'removed' });
    expect(play(address(TO), [request(), response(), removed]).end).toEqual({ end: 'removed' });
  });

  test('stopped by the person, or sent on to another program', () => {
    expect(watch(address(TO), [request(), failed('net::ERR_ABORTED')], look()).end).toEqual({
      end: 'stopped',
    });
    expect(watch(address(TO), [request()], look()).end).toEqual({ end: 'stopped' });
    expect(watch(address(TO), [request(), response(), failed('net::ERR_ABORTED')], look()).end).toEqual({
      end: 'stopped',
    });
  });

  test('history: nothing there, after a longer silence', () => {
    const { end, ms } = watch(HISTORY, [], look());
    expect(end).toEqual({ end: 'nothing_there' });
    expect(ms).toBeGreaterThanOrEqual(SILENCE_MS);
  });

  test('a navigation that takes its time is waited for', () => {
    const pending = look({ loading: true, pending_url: true });
    expect(watch(address(TO), [request()], pending).end).toBeNull();
    expect(watch(HISTORY, [], look({ loading: true })).end).toBeNull();
    expect(
      watch(address(TO), [request(), response(), loading()], look({ url: TO, loading: true })).end,
    ).toBeNull();
  });

  test('one idle look is not enough: the event may be on its way', () => {
    const progress = new LoadProgress(address(TO));
    progress.step(request(), 0);
    progress.step(response(), 1);
    expect(progress.step(look(), 100)).toBeNull();
    expect(progress.step(look(), 100 + SETTLED_MS - 1)).toBeNull();
    expect(progress.step(loading(), 300)).toBeNull();
    expect(progress.step(complete, 310)).toEqual(loaded(200));
  });

  test('a lost complete: the tab is at rest on the new page', () => {
    expect(watch(address(TO), [request(), response(201), loading()], look({ url: TO })).end).toEqual(
      loaded(201),
    );
  });

  test('a page of which Chrome hides the requests: the address tells', () => {
    expect(watch(address(TO), [request(), loading(TO), complete], look({ url: TO })).end).toEqual(
      loaded(null),
    );
  });
});

describe('properties', () => {
  const event: fc.Arbitrary<LoadEvent> = fc.oneof(
    fc.constantFrom(request('1'), request('2'), complete, loading(FROM), loading(TO), loading(`${FROM}#x`)),
    fc.constantFrom(
      response(200, '1'),
      response(404, '2'),
      failed('net::ERR_ABORTED', '1'),
      failed('net::ERR_FAILED', '2'),
    ),
    fc.record({
      type: fc.constant('look' as const),
      url: fc.constantFrom(FROM, TO),
      loading: fc.boolean(),
      pending_url: fc.boolean(),
    }),
  );
  const start = fc.constantFrom(address(TO), address(`${FROM}#x`), HISTORY, RELOAD, OPEN);

  test('whatever came before: a tab that comes to rest ends the wait, and so does one that is closed', () => {
    fc.assert(
      fc.property(start, fc.array(event, { maxLength: 12 }), (plan, events) => {
        for (const last of [[removed], Array.from({ length: 12 }, () => look())]) {
          const progress = new LoadProgress(plan);
          let at = 0;
          const ends = [...events, ...last].map((one) => {
            at += 200;
            return progress.step(one, at);
          });
          expect(ends.some((end) => end !== null)).toBe(true);
        }
      }),
    );
  });

  test('no page without a commit, a "no content" or a changed address', () => {
    fc.assert(
      fc.property(start, fc.array(event, { maxLength: 12 }), (plan, events) => {
        const quiet = events.filter(({ type }) => type !== 'loading');
        const seen = quiet.map((one) => (one.type === 'look' ? { ...one, url: plan.from_url } : one));
        expect(play(plan, seen).end?.end).not.toBe('loaded');
      }),
    );
  });
});
