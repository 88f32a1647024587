import { describe, expect, test } from 'vitest';
import { EffectLog } from '../../../src/tools/effect-watch';

describe('what an act sets in motion, added up', () => {
  test('a load of the main frame: navigating until it is complete', () => {
    const log = new EffectLog();
    log.begin(0, 'https://a.test/');
    expect([log.isNavigating, log.isBusy, log.navigated]).toEqual([true, true, false]);
    log.commit(0);
    log.complete(0);
    expect([log.isNavigating, log.isBusy, log.navigated, log.failed]).toEqual([false, false, true, null]);
  });

  test('a load that a newer one replaced is no end', () => {
    const log = new EffectLog();
    log.begin(0, 'https://a.test/');
    log.begin(0, 'https://b.test/');
    log.fail(0, 'https://a.test/', 'net::ERR_ABORTED');
    expect([log.isNavigating, log.failed]).toEqual([true, null]);
    log.fail(0, 'https://b.test/', 'net::ERR_CONNECTION_REFUSED');
    expect([log.isNavigating, log.failed]).toEqual([false, 'net::ERR_CONNECTION_REFUSED']);
  });

  test('a new document ends what the old one waited for', () => {
    const log = new EffectLog();
    log.request('1');
    log.begin(7, 'https://frame.test/');
    log.begin(0, 'https://a.test/');
    log.commit(0);
    log.complete(0);
    expect(log.isBusy).toBe(false);
  });

  test('a frame that loads is busy, and is no navigation of the page', () => {
    const log = new EffectLog();
    log.begin(7, 'https://frame.test/');
    expect([log.isNavigating, log.isBusy]).toEqual([false, true]);
    log.commit(7);
    log.fail(7, 'https://frame.test/', 'net::ERR_FAILED');
    expect([log.isBusy, log.navigated, log.failed]).toEqual([false, false, null]);
  });

  test('requests count until they are answered; those from before are not known and change nothing', () => {
    const log = new EffectLog();
    log.answered('before');
    expect(log.events).toBe(0);
    log.request('1');
    expect(log.isBusy).toBe(true);
    log.answered('1');
    expect([log.isBusy, log.events]).toEqual([false, 2]);
  });
});
