import { describe, expect, it } from 'vitest';
import type { AnswerMessage } from '../../../src/platform/messages';
import { asBlob } from '../../../src/protocol/content';
import type { Outcome } from '../../../src/protocol/frames';
import type { JsonObject } from '../../../src/protocol/json';
import { MAX_FRAME_BYTES } from '../../../src/protocol/limits';
import { type ComposeParts, composeAnswer } from '../../../src/relay/compose-answer';

const MIB = 1024 * 1024;
const INLINE = 256 * 1024;
const FACTS = { image_id: 'i1', mime_type: 'image/png', width: 4_000, height: 2_000 };

function answer(attachments: AnswerMessage['attachments'], output: JsonObject | null = FACTS): AnswerMessage {
  const outcome: Outcome = { status: 'ok', output, error: null };
  return {
    outcome: JSON.stringify(outcome),
    duration_ms: 7,
    attachments,
    body_key: attachments.length ? 'k1' : null,
  };
}

const image = (size: number) => ({ field: 'image', mime_type: 'image/png', size });

function bytes(size: number): Blob {
  return new Blob([new Uint8Array(size).fill(0xa7)], { type: 'image/png' });
}

interface Asked {
  uploads: { field: string; size: number }[];
  shrinks: number[];
}

function parts(blob: Blob | undefined, changes: Partial<ComposeParts> = {}): ComposeParts & { asked: Asked } {
  const asked: Asked = { uploads: [], shrinks: [] };
  return {
    asked,
    readBody: async (key, field) => (key === 'k1' && field !== 'gone' ? blob : undefined),
    upload: async ({ field, mime_type }, { size }) => {
      asked.uploads.push({ field, size });
      return { name: field, mime_type, size, sha256: 'ab' };
    },
    base64: async (content) => Buffer.from(await asBlob(content, '').arrayBuffer()).toString('base64'),
    shrink: async (_blob, maxBytes) => {
      asked.shrinks.push(maxBytes);
      return { blob: new Blob([new Uint8Array(maxBytes)], { type: 'image/jpeg' }), width: 400, height: 200 };
    },
    ...changes,
  };
}

const noUpload = { upload: async () => null };

async function composed(message: AnswerMessage, given: ComposeParts, maxInline = INLINE) {
  const { text, bytes: size, status } = await composeAnswer('r1', message, maxInline, given);
  const frame = JSON.parse(text) as {
    output: Record<string, unknown> | null;
    error_code?: string;
    duration_ms: number;
  };
  expect(size).toBe(Buffer.byteLength(text));
  expect(size).toBeLessThanOrEqual(MAX_FRAME_BYTES);
  return { ...frame, status };
}

describe('wire.md §6: sizes and blobs', () => {
  it('small binary goes inline', async () => {
    const given = parts(bytes(INLINE));
    const { output, duration_ms } = await composed(answer([image(INLINE)]), given);
    expect(duration_ms).toBe(7);
    expect(output).toEqual({ ...FACTS, image_base64: expect.any(String) });
    expect(
      Buffer.from(String(output?.image_base64), 'base64').equals(
        Buffer.from(await bytes(INLINE).arrayBuffer()),
      ),
    ).toBe(true);
    expect(given.asked.uploads).toEqual([]);
  });

  it('binary of more than max_inline_bytes is uploaded first and referred to', async () => {
    const given = parts(bytes(INLINE + 1));
    const { output } = await composed(answer([image(INLINE + 1)]), given);
    expect(output).toEqual({
      ...FACTS,
      image_blob: { name: 'image', mime_type: 'image/png', size: INLINE + 1, sha256: 'ab' },
    });
  });

  it('a large max_inline_bytes does not lift the limit of the frame', async () => {
    const given = parts(bytes(7 * MIB));
    const { output } = await composed(answer([image(7 * MIB)]), given, 100 * MIB);
    expect(output).toHaveProperty('image_blob');
  });

  it('what could not be uploaded goes inline if it fits', async () => {
    const { output } = await composed(answer([image(5 * MIB)]), parts(bytes(5 * MIB), noUpload));
    expect(String(output?.image_base64)).toHaveLength(4 * Math.ceil((5 * MIB) / 3));
    expect(output).toMatchObject(FACTS);
  });

  it('§8: else a picture is scaled down, and the output tells the truth about it', async () => {
    const given = parts(bytes(7 * MIB), noUpload);
    const { output } = await composed(answer([image(7 * MIB)]), given);
    expect(given.asked.shrinks).toHaveLength(1);
    expect(given.asked.shrinks[0]).toBeGreaterThan(5.9 * MIB);
    expect(output).toMatchObject({ image_id: 'i1', mime_type: 'image/jpeg', width: 400, height: 200 });
    expect(output).toHaveProperty('image_base64');
  });

  it('§8: facts the output did not state are not added', async () => {
    const { output } = await composed(answer([image(7 * MIB)], null), parts(bytes(7 * MIB), noUpload));
    expect(Object.keys(output ?? {})).toEqual(['image_base64']);
  });

  it('§8: other binary that does not fit is blob_upload_failed', async () => {
    const attachment = { field: 'content', mime_type: 'application/pdf', size: 7 * MIB };
    const { output, status, error_code } = await composed(
      answer([attachment]),
      parts(bytes(7 * MIB), noUpload),
    );
    expect({ output, status, error_code }).toEqual({
      output: null,
      status: 'error',
      error_code: 'blob_upload_failed',
    });
  });

  it('§8: a picture that cannot be made to fit is blob_upload_failed', async () => {
    const given = parts(bytes(7 * MIB), { ...noUpload, shrink: async () => null });
    expect(await composed(answer([image(7 * MIB)]), given)).toMatchObject({
      error_code: 'blob_upload_failed',
    });
  });

  it('§8: output_too_large is for text, and nothing is uploaded for it', async () => {
    const given = parts(bytes(10));
    const huge = answer([image(10)], { text: 'x'.repeat(MAX_FRAME_BYTES) });
    expect(await composed(huge, given)).toMatchObject({ output: null, error_code: 'output_too_large' });
    expect(given.asked.uploads).toEqual([]);
    expect(await composed(answer([], { text: 'x'.repeat(MAX_FRAME_BYTES) }), given)).toMatchObject({
      error_code: 'output_too_large',
    });
  });

  it('several attachments share the room of one frame', async () => {
    const two = answer([image(4 * MIB), { field: 'thumbnail', mime_type: 'image/png', size: 4 * MIB }]);
    const { output } = await composed(two, parts(bytes(4 * MIB), noUpload));
    expect(output).toHaveProperty('image_base64');
    expect(output).toHaveProperty('thumbnail_base64');
  });

  it('bytes that are no longer kept make the answer result_expired; reading that fails, internal_error', async () => {
    const gone = answer([{ field: 'gone', mime_type: 'image/png', size: 1 }]);
    expect(await composed(gone, parts(bytes(1)))).toMatchObject({ error_code: 'result_expired' });
    const broken = parts(undefined, { readBody: () => Promise.reject(new Error('token abc123')) });
    const { text } = await composeAnswer('r1', answer([image(1)]), INLINE, broken);
    expect(JSON.parse(text)).toMatchObject({ error_code: 'internal_error' });
    expect(text).not.toContain('abc123');
  });

  it('os-interface.md: what belongs to the result of a type stands inside of it, inline, uploaded or scaled', async () => {
    const inside = { ...image(INLINE), inside: 'result' };
    const around = { type: 'screen.capture', result: FACTS };
    const inline = await composed(answer([inside], around), parts(bytes(INLINE)));
    expect(Object.keys(inline.output ?? {})).toEqual(['type', 'result']);
    expect(inline.output?.result).toMatchObject({ ...FACTS, image_base64: expect.any(String) });
    const large = { ...inside, size: 7 * MIB };
    const uploaded = await composed(answer([large], around), parts(bytes(7 * MIB)));
    expect(uploaded.output).toEqual({
      type: 'screen.capture',
      result: { ...FACTS, image_blob: expect.objectContaining({ size: 7 * MIB }) },
    });
    const scaled = await composed(answer([large], around), parts(bytes(7 * MIB), noUpload));
    expect(scaled.output?.result).toMatchObject({ mime_type: 'image/jpeg', width: 400, height: 200 });
  });

  it('an error passes as it is', async () => {
    const outcome = {
      status: 'error',
      output: null,
      error: 'There is no tab 7.',
      error_code: 'tab_not_found',
    };
    const message = { outcome: JSON.stringify(outcome), duration_ms: 1, attachments: [], body_key: null };
    expect(await composed(message, parts(undefined))).toMatchObject(outcome);
  });
});
