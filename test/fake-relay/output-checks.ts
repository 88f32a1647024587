/** Whether the binary in a `tool_response` travels as it must (wire.md §6; tools.md, screenshot). */
import { imageSize } from 'image-size';
import type { ToolResponseFrame } from '../../src/protocol/frames';
import type { JsonObject, JsonValue } from '../../src/protocol/json';
import type { Blobs } from './blobs';
import type { Command } from './commands';
import type { Device } from './devices';
import { shown } from './frame-checks';

const BASE64_SUFFIX = '_base64';
const BLOB_SUFFIX = '_blob';

const PICTURE_TYPES: Record<string, string> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
};

/** A sentence for each thing that is wrong. `command` is undefined for requests that were sent raw. */
export function checkOutput(
  blobs: Blobs,
  device: Device,
  frame: ToolResponseFrame,
  command: Command | undefined,
  maxInlineBytes: number,
): string[] {
  if (frame.output === null) return [];
  const violations: string[] = [];
  for (const [field, value] of Object.entries(frame.output)) {
    if (field.endsWith(BLOB_SUFFIX) && !blobs.find(device, frame.id, value)) {
      violations.push(`${field} of ${shown(frame.id)} is not what an upload answered`);
    }
    if (!field.endsWith(BASE64_SUFFIX)) continue;
    const bytes = bytesOf(value);
    if (!bytes) {
      violations.push(`${field} of ${shown(frame.id)} is not base64`);
    } else if (bytes.length > maxInlineBytes && !blobs.tried(device, frame.id) && hasUploadPath(frame.id)) {
      violations.push(`${field} of ${shown(frame.id)} is over max_inline_bytes and no upload was tried`);
    }
  }
  if (command?.command === 'screenshot')
    violations.push(...checkPicture(blobs, device, frame.id, frame.output));
  return violations;
}

/** The delivered picture's bytes and what the output calls them; null when none was delivered. */
export function deliveredPicture(
  blobs: Blobs,
  device: Device,
  request_id: string,
  output: JsonObject,
): { bytes: Buffer; mime_type: string } | null {
  const bytes =
    'image_blob' in output
      ? blobs.find(device, request_id, output.image_blob)?.bytes
      : bytesOf(output.image_base64);
  return bytes && typeof output.mime_type === 'string' ? { bytes, mime_type: output.mime_type } : null;
}

function checkPicture(blobs: Blobs, device: Device, request_id: string, output: JsonObject): string[] {
  const { mime_type, width, height } = output;
  if (typeof mime_type !== 'string' || !Object.hasOwn(PICTURE_TYPES, mime_type)) {
    return [`screenshot with mime_type ${shown(mime_type)}`];
  }
  const picture = deliveredPicture(blobs, device, request_id, output);
  if (!picture) return [];
  try {
    const found = imageSize(picture.bytes);
    if (found.type !== PICTURE_TYPES[mime_type]) return [`screenshot says ${mime_type} but is ${found.type}`];
    if (found.width !== width || found.height !== height) {
      return [`screenshot says ${width}×${height} but is ${found.width}×${found.height}`];
    }
    return [];
  } catch {
    return ['screenshot is not a picture'];
  }
}

function bytesOf(value: JsonValue | undefined): Buffer | null {
  if (typeof value !== 'string' || value.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value))
    return null;
  return Buffer.from(value, 'base64');
}

/** wire.md §8: these ids never reach a URL. Nor does one that has no UTF-8, or is too long for any URL. */
function hasUploadPath(id: string): boolean {
  return id !== '.' && id !== '..' && !/\p{Surrogate}/u.test(id) && id.length <= 2_000;
}
