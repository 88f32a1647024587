/**
 * Requests that are too large to be handed to the router: Chrome refuses messages between the extension's contexts above
 * 64 MiB. Such a request is answered `invalid_request`, and what stands for it makes its id used up like any other. Pure.
 */
import { utf8Length } from '../protocol/json';
import { contentOf } from '../protocol/request-names';

const MIB = 1024 * 1024;
/** Of the content as it stands in the message, in UTF-8 bytes; the rest of the message has a MiB. */
const MOST_BYTES = 63 * MIB;
/** A UTF-16 unit takes no more than three bytes there. */
const MOST_BYTES_A_UNIT = 3;
const LONGEST_COMMAND = 200;

export const TOO_LARGE =
  'tool_request is too large: this agent takes requests of up to 63 MiB, counted as JSON text inside of JSON text. Send the content in parts, or have it fetched from an address.';

/** `content`: see `contentOf`. */
export function isTooLarge(content: string): boolean {
  if (content.length * MOST_BYTES_A_UNIT <= MOST_BYTES) return false;
  return utf8Length(JSON.stringify(content)) > MOST_BYTES;
}

/** A short content instead: another for another one, as far as a length and a checksum tell them apart. */
export function standIn(command: string | null, content: string): string {
  const named = command !== null && command.length <= LONGEST_COMMAND ? command : null;
  return contentOf(named, { too_large: [content.length, checksum(content)] });
}

/** FNV-1a over the UTF-16 units. */
function checksum(text: string): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return sum >>> 0;
}
