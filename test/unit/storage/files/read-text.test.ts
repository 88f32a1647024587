import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readTextPiece, type TextPlace } from '../../../../src/storage/files/read-text';
import { codeOf } from '../world';

const file = (bytes: Uint8Array, lastModified = 5): File =>
  new File([bytes as Uint8Array<ArrayBuffer>], 'f', { lastModified });

type Encoding = 'utf-8' | 'utf-8 with BOM' | 'utf-16le' | 'utf-16be';

function encode(text: string, encoding: Encoding): Uint8Array {
  const utf8 = new TextEncoder().encode(text);
  if (encoding === 'utf-8') return utf8;
  if (encoding === 'utf-8 with BOM') return Uint8Array.from([0xef, 0xbb, 0xbf, ...utf8]);
  const bytes: number[] = [];
  for (const unit of ['\ufeff', ...text.split('')].map((character) => character.charCodeAt(0))) {
    const pair = [unit >> 8, unit & 0xff];
    bytes.push(...(encoding === 'utf-16be' ? pair : pair.reverse()));
  }
  return Uint8Array.from(bytes);
}

async function readAll(source: File, limits: readonly number[]): Promise<string[]> {
  const pieces: string[] = [];
  let place: TextPlace | null = null;
  for (let n = 0; n === 0 || place; n += 1) {
    const { text, next } = await readTextPiece(source, place, limits[n % limits.length]);
    pieces.push(text);
    // `next` is JSON on the wire.
    place = JSON.parse(JSON.stringify(next)) as TextPlace | null;
  }
  return pieces;
}

const character = fc.oneof(
  fc.constantFrom('a', '\n', '\0', 'é', '한', '😀', '\u{10ffff}', '\ufeff', '\u0301', '\uffff'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
);
const encodings = fc.constantFrom<Encoding>('utf-8', 'utf-8 with BOM', 'utf-16le', 'utf-16be');

test('os-interface.md, Resumable reads: any split gives the same whole, in whole characters within the limit', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(character, { maxLength: 60 }).map((all) => all.join('')),
      encodings,
      fc.array(fc.integer({ min: 4, max: 40 }), { minLength: 1, maxLength: 5 }),
      async (text, encoding, limits) => {
        // A file that begins with this character is one with a byte order mark.
        fc.pre(!(encoding === 'utf-8' && text.startsWith('\ufeff')));
        const pieces = await readAll(file(encode(text, encoding)), limits);
        expect(pieces.join('')).toBe(text);
        for (const piece of pieces) {
          expect(piece).not.toMatch(/\p{Surrogate}/u);
          expect(new TextEncoder().encode(piece).length).toBeLessThanOrEqual(Math.max(...limits, 6));
        }
        if (text !== '') expect(pieces.every((piece) => piece !== '')).toBe(true);
      },
    ),
    { numRuns: 300 },
  );
});

test('an answer holds at most 256 KiB of text, in either encoding', async () => {
  for (const encoding of ['utf-8', 'utf-16le'] as const) {
    const { text, next } = await readTextPiece(file(encode('한'.repeat(200_000), encoding)), null);
    const bytes = new TextEncoder().encode(text).length;
    expect(bytes).toBeLessThanOrEqual(256 * 1024);
    expect(bytes).toBeGreaterThan(255 * 1024);
    expect(next).not.toBeNull();
  }
});

test('an empty file, and one that is only a byte order mark, are empty texts', async () => {
  for (const encoding of ['utf-8', 'utf-8 with BOM', 'utf-16le', 'utf-16be'] as const) {
    expect(await readTextPiece(file(encode('', encoding)), null)).toMatchObject({ text: '', next: null });
  }
});

describe('not_a_text_file', () => {
  test.each([
    ['bytes that are no UTF-8', [0x61, 0xff, 0x62]],
    ['half a character at the end', [0x61, 0xe2, 0x82]],
    ['an overlong form', [0xc0, 0x80]],
    ['a surrogate in UTF-8', [0xed, 0xa0, 0x80]],
    ['UTF-16 of an odd number of bytes', [0xff, 0xfe, 0x61, 0x00, 0x62]],
    ['an unpaired surrogate', [0xff, 0xfe, 0x00, 0xd8, 0x61, 0x00]],
    ['a surrogate at the end', [0xfe, 0xff, 0xd8, 0x00]],
    ['a PNG', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
    ['continuation bytes alone', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]],
  ])('%s', async (_what, bytes) => {
    expect(await codeOf(readTextPiece(file(Uint8Array.from(bytes)), null))).toBe('not_a_text_file');
    expect(
      await codeOf(readAll(file(Uint8Array.from([...encode('x'.repeat(9), 'utf-8'), ...bytes])), [4])),
    ).toBe('not_a_text_file');
  });
});

describe('cursor_invalid', () => {
  const text = 'aé한😀'.repeat(3);
  const place = async (source: File): Promise<TextPlace> => {
    const { next } = await readTextPiece(source, null, 4);
    if (!next) throw new Error('there is no next');
    return next;
  };

  test('when the file changed: another size, or another time', async () => {
    const next = await place(file(encode(text, 'utf-8')));
    expect(await codeOf(readTextPiece(file(encode(`${text}!`, 'utf-8')), next))).toBe('cursor_invalid');
    expect(await codeOf(readTextPiece(file(encode(text, 'utf-8'), 6), next))).toBe('cursor_invalid');
  });

  test.each(['utf-8', 'utf-8 with BOM', 'utf-16le', 'utf-16be'] as const)(
    'for an offset that no answer gave never cuts a character (%s)',
    async (encoding) => {
      const source = file(encode(text, encoding));
      const next = await place(source);
      for (let offset = 0; offset <= source.size + 2; offset += 1) {
        const read = readTextPiece(source, { ...next, offset }).then(
          (piece) => piece.text,
          (thrown: { code: string }) => `code: ${thrown.code}`,
        );
        const found = await read;
        if (found.startsWith('code: ')) expect(found).toBe('code: cursor_invalid');
        else expect(text.endsWith(found)).toBe(true);
      }
    },
  );
});
