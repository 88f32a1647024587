import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFrame } from '../../../src/protocol/read-frame';

/** Frames that are almost right: the fields of the contract with any value, or left out. */
const field = fc.oneof(
  fc.constantFrom<unknown>('tool_request', 'cancel_request', 'relay_config', 'r1', '', 30_000, 0, -1, null),
  fc.jsonValue({ maxDepth: 2 }),
);
const almost = fc
  .record(
    {
      type: fc.oneof(fc.constantFrom<unknown>('tool_request', 'cancel_request', 'relay_config'), field),
      id: field,
      command: field,
      input: field,
      timeout_ms: field,
      max_inline_bytes: field,
      blob_upload_url: field,
      max_concurrency: field,
    },
    { requiredKeys: [] },
  )
  .map((frame) => JSON.stringify(frame));
const damaged = fc
  .tuple(almost, fc.nat(), fc.string({ maxLength: 3 }))
  .map(([text, at, piece]) => `${text.slice(0, at % (text.length + 1))}${piece}`);

describe('wire.md §5 rule 2: readFrame', () => {
  test('never throws, whatever text comes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), almost, damaged, fc.json()), (text) => {
        expect(readFrame(text).kind).toMatch(
          /^(dropped|relay_config|tool_request|malformed_request|cancel_request)$/,
        );
      }),
      { numRuns: 2_000 },
    );
  });

  test('never throws on anything else that a socket could hand over', () => {
    fc.assert(
      fc.property(fc.anything(), (data) => {
        fc.pre(typeof data !== 'string');
        expect(readFrame(data)).toEqual({ kind: 'dropped', reason: 'binary' });
      }),
    );
  });

  test('every tool_request with a non-empty string as id is a request or malformed, under that id', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, unit: 'binary' }),
        fc.dictionary(fc.string(), field),
        (id, extra) => {
          const read = readFrame(JSON.stringify({ ...extra, type: 'tool_request', id }));
          expect(read.kind).toMatch(/^(tool_request|malformed_request)$/);
          expect(read.kind === 'tool_request' ? read.request.id : (read as { id: string }).id).toBe(id);
        },
      ),
    );
  });

  test('a good request comes through unchanged', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }),
        fc.string({ minLength: 1 }),
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })),
        fc.oneof(
          fc.integer({ min: 1 }),
          fc.double({ min: Number.MIN_VALUE, noNaN: true, noDefaultInfinity: true }),
        ),
        (id, command, input, timeout_ms) => {
          const text = JSON.stringify({ type: 'tool_request', id, command, input, timeout_ms });
          expect(readFrame(text)).toEqual({
            kind: 'tool_request',
            request: { id, command, input: JSON.parse(JSON.stringify(input)), timeout_ms },
          });
        },
      ),
    );
  });

  test.each([
    ['"input":{}', 'command'],
    ['"command":7', 'command'],
    ['"command":"x","input":null', 'input'],
    ['"command":"x","input":[]', 'input'],
    ['"command":"x","input":{"a":1e400}', 'input'],
    ['"command":"x","timeout_ms":null', 'timeout_ms'],
    ['"command":"x","timeout_ms":0', 'timeout_ms'],
    ['"command":"x","timeout_ms":1e400', 'timeout_ms'],
    ['"command":"x","timeout_ms":"5"', 'timeout_ms'],
  ])('the sentence of invalid_request names the field: %s', (rest, name) => {
    const read = readFrame(`{"type":"tool_request","id":"r1",${rest}}`);
    expect(read.kind).toBe('malformed_request');
    expect((read as { sentence: string }).sentence).toContain(name);
  });

  test('wire.md §8: a malformed request keeps what was asked, so that a repeat can be told from another', () => {
    expect(
      readFrame('{"type":"tool_request","id":"r1","command":"x","input":[1],"timeout_ms":5}'),
    ).toMatchObject({
      command: 'x',
      input: [1],
    });
    expect(readFrame('{"type":"tool_request","id":"r1","command":7,"timeout_ms":5}')).toMatchObject({
      command: null,
      input: {},
    });
  });
});
