/** What a picture's own bytes say, read without the product's code. */
import { inflateSync } from 'node:zlib';
import { imageSize } from 'image-size';
import type { JsonObject } from '../../../src/protocol/json';
import type { World } from './world';

/** The bytes that a `screenshot` delivered inline or by upload. */
export function pictureBytes({ relay }: World, output: JsonObject): Buffer {
  if (typeof output.image_base64 === 'string') return Buffer.from(output.image_base64, 'base64');
  const { sha256 } = output.image_blob as { sha256: string };
  const blob = relay.blobs.find((stored) => stored.sha256 === sha256);
  if (!blob) throw new Error('the picture was not uploaded');
  return blob.bytes;
}

/** The same facts that the output gives, from the bytes. */
export function pictureFacts(bytes: Buffer): { mime_type: string; width: number; height: number } {
  const { type, width, height } = imageSize(bytes);
  return { mime_type: type === 'jpg' ? 'image/jpeg' : `image/${type}`, width, height };
}

/** The quantization tables of a JPEG: equal qualities give equal tables. */
export function jpegTables(bytes: Buffer): string[] {
  const tables: string[] = [];
  let at = 2;
  while (bytes[at] === 0xff && bytes[at + 1] !== 0xda) {
    const end = at + 2 + bytes.readUInt16BE(at + 2);
    if (bytes[at + 1] === 0xdb) tables.push(bytes.subarray(at + 4, end).toString('hex'));
    at = end;
  }
  return tables;
}

/** The colour of the middle of a PNG (8 bit, RGB or RGBA) as `#rrggbb`. */
export function pngColour(bytes: Buffer): string {
  const { width, height } = pictureFacts(bytes);
  const channels = bytes[25] === 6 ? 4 : 3;
  const data: Buffer[] = [];
  for (let at = 8; at < bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    if (bytes.toString('latin1', at + 4, at + 8) === 'IDAT') {
      data.push(bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)));
    }
  }
  const lines = inflateSync(Buffer.concat(data));
  const stride = width * channels;
  let above = Buffer.alloc(stride);
  for (let y = 0; y <= height >> 1; y += 1) {
    const start = y * (stride + 1);
    const line = Buffer.from(lines.subarray(start + 1, start + 1 + stride));
    unfilter(lines[start] as number, line, above, channels);
    above = line;
  }
  const middle = (width >> 1) * channels;
  return `#${above.subarray(middle, middle + 3).toString('hex')}`;
}

/** Undoes a PNG line filter in place. */
function unfilter(filter: number, line: Buffer, above: Buffer, channels: number): void {
  for (let x = 0; x < line.length; x += 1) {
    const left = x >= channels ? (line[x - channels] as number) : 0;
    const up = above[x] as number;
    const corner = x >= channels ? (above[x - channels] as number) : 0;
    const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] as number;
    line[x] = ((line[x] as number) + guess) & 0xff;
  }
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)] as const;
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}
