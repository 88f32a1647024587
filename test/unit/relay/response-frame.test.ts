import validators from 'virtual:agent-frame-validators';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/protocol/json';
import { MAX_FRAME_BYTES } from '../../../src/protocol/limits';
import {
  errorOutcome,
  inlineRoom,
  isAnswerable,
  readOutcome,
  responseFrame,
  withInline,
} from '../../../src/relay/response-frame';

const ok = (output: JsonObject | null) => ({ status: 'ok' as const, output, error: null });
const bytesOf = (text: string): number => Buffer.byteLength(text, 'utf8');

describe('wire.md §4: tool_response', () => {
  it('has the fields of its kind and no others', () => {
    expect(JSON.parse(responseFrame('r1', ok({ a: 1 }), 3).text)).toEqual({
      type: 'tool_response',
      id: 'r1',
      status: 'ok',
      output: { a: 1 },
      error: null,
      duration_ms: 3,
    });
    const failed = responseFrame('r1', errorOutcome('tab_not_found', 'There is no tab 7.'), 0);
    expect(failed.status).toBe('error');
    expect(JSON.parse(failed.text)).toEqual({
      type: 'tool_response',
      id: 'r1',
      status: 'error',
      output: null,
      error: 'There is no tab 7.',
      error_code: 'tab_not_found',
      duration_ms: 0,
    });
  });

  it('is valid by its schema, well-formed and of the bytes it says, whatever the id and the output', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 1 }),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (id, output) => {
          const { text, bytes } = responseFrame(id, ok(output as JsonObject), 1);
          const frame = JSON.parse(text) as { id: string };
          expect(validators.tool_response?.(frame)).toBe(true);
          expect(frame.id).toBe(id);
          expect(bytes).toBe(bytesOf(text));
          expect(text).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/);
        },
      ),
    );
  });

  it('an outcome that is none becomes internal_error', () => {
    for (const text of ['', 'null', '[]', '{"status":"maybe"}']) {
      expect(readOutcome(text)).toMatchObject({ status: 'error', error_code: 'internal_error' });
    }
    expect(readOutcome(JSON.stringify(ok(null)))).toEqual(ok(null));
  });
});

describe('wire.md §6: no outgoing frame exceeds 8 MiB, in UTF-8 bytes', () => {
  it('counts bytes, not characters, up to the last one', () => {
    const rest = responseFrame('r1', ok({ text: '' }), 1).bytes;
    const room = MAX_FRAME_BYTES - rest;
    const full = 'é'.repeat(Math.floor(room / 2)) + 'x'.repeat(room % 2);
    expect(responseFrame('r1', ok({ text: full }), 1).bytes).toBe(MAX_FRAME_BYTES);
    const over = responseFrame('r1', ok({ text: `${full}x` }), 1);
    expect(JSON.parse(over.text)).toMatchObject({
      status: 'error',
      output: null,
      error_code: 'output_too_large',
    });
    expect(over.bytes).toBeLessThan(1_000);
  });

  it('says how much binary has room inline, up to the last byte', () => {
    const output = { note: 'ü' };
    const room = inlineRoom('r1', output, { field: 'image' }, 5);
    const frame = (size: number) =>
      responseFrame(
        'r1',
        ok(withInline(output, { field: 'image' }, Buffer.alloc(size).toString('base64'))),
        5,
      );
    expect(frame(room).status).toBe('ok');
    expect(frame(room + 1).status).toBe('error');
  });

  it('an id that no frame could hold has no answer', () => {
    expect(isAnswerable('x'.repeat(100_000))).toBe(true);
    const longest = '\ud83d'.repeat(MAX_FRAME_BYTES / 8);
    expect(isAnswerable(longest)).toBe(true);
    expect(responseFrame(longest, errorOutcome('output_too_large'), 1).bytes).toBeLessThan(MAX_FRAME_BYTES);
    expect(isAnswerable(`${longest}x`)).toBe(false);
  });
});
