/** Requests that would not fit into a message between the extension's contexts. */
import { describe, expect, test } from 'vitest';
import { contentOf } from '../../../src/protocol/request-names';
import { isTooLarge, standIn } from '../../../src/relay/request-size';

const MIB = 1024 * 1024;
const write = (text: string): string => contentOf('file_write', { path: 'x', text });

describe('a request too large to be handed on', () => {
  test.each([
    ['what fits', 'y', 62, false],
    ['what does not', 'y', 64, true],
    ['quotes, which are escaped twice', '"', 20, true],
    ['a few quotes', '"', 12, false],
    ['characters of three bytes', '한', 20, false],
    ['too many of them', '한', 22, true],
  ])('%s', (_what, text, mib, tooLarge) => {
    expect(isTooLarge(write(text.repeat(mib * MIB)))).toBe(tooLarge);
  });

  test('what stands for it is short, the same for the same, and another for another', () => {
    const [one, other] = [write('y'.repeat(MIB)), write(`${'y'.repeat(MIB - 1)}z`)];
    expect(standIn('file_write', one)).toBe(standIn('file_write', one));
    expect(standIn('file_write', one)).not.toBe(standIn('file_write', other));
    expect(standIn('file_write', one).length).toBeLessThan(200);
    expect(standIn('x'.repeat(MIB), one).length).toBeLessThan(200);
    expect(() => JSON.parse(`{${standIn('file_write', one)}}`)).not.toThrow();
  });
});
