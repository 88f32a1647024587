import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { utf8Length } from '../../../src/protocol/json';
import { pieceEnd } from '../../../src/tools/resumable-text';

const anyText = fc.string({ unit: 'binary', maxLength: 400 });

describe('os-interface.md, Resumable reads: pieces', () => {
  test('any split gives the same whole, each piece is small enough and well-formed', () => {
    fc.assert(
      fc.property(anyText, fc.array(fc.integer({ min: 4, max: 60 }), { minLength: 1 }), (text, sizes) => {
        let whole = '';
        for (let round = 0; whole.length < text.length; round += 1) {
          const size = sizes[round % sizes.length] as number;
          const piece = text.slice(whole.length, pieceEnd(text, whole.length, size));
          expect(piece).not.toMatch(/\p{Cs}/u);
          expect(utf8Length(piece)).toBeLessThanOrEqual(size);
          expect(piece.length).toBeGreaterThan(0);
          whole += piece;
        }
        expect(whole).toBe(text);
      }),
    );
  });

  test('a line that ends near is not cut', () => {
    const text = `${'a'.repeat(90)}\n${'b'.repeat(90)}`;
    expect(pieceEnd(text, 0, 100)).toBe(91);
    expect(pieceEnd(text, 91, 100)).toBe(text.length);
    expect(pieceEnd('x'.repeat(300), 0, 100)).toBe(100);
  });

  test('one character that is larger than allowed still goes on', () => {
    expect(pieceEnd('😀😀', 0, 1)).toBe(2);
  });
});
