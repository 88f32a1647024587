/** Which names and addresses a download may have. Pure. */
import { AgentError } from '../protocol/errors';
import { utf8Length } from '../protocol/json';

const LONGEST_SEGMENT_BYTES = 200;
const MOST_SEGMENTS = 8;
/** Names of devices on Windows, with any ending. */
const DEVICE = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i;

/**
 * The relative path below the Downloads folder, as it is given to Chrome. Throws `path_invalid` with the
 * reason for whatever some file system would change or refuse: the file has the name that was asked for, or none.
 */
export function checkDownloadName(filename: string): string {
  const segments = filename.split('/');
  if (segments.length > MOST_SEGMENTS) throw invalid(`has more than ${MOST_SEGMENTS} parts`);
  for (const segment of segments) {
    if (segment === '') throw invalid('must be relative, without empty parts');
    if (segment === '.' || segment === '..') throw invalid('must not have "." or ".." as a part');
    if (hasForbidden(segment)) throw invalid('has a character that file systems do not take');
    if (/^[\s.~]|[\s.~]$/u.test(segment)) {
      throw invalid('must not have a part that begins or ends with a space, a dot or a tilde');
    }
    if (DEVICE.test(segment)) throw invalid('has a part that is a device on Windows');
    if (utf8Length(segment) > LONGEST_SEGMENT_BYTES) {
      throw invalid(`has a part of more than ${LONGEST_SEGMENT_BYTES} bytes`);
    }
  }
  return filename.normalize('NFC');
}

/**
 * Control characters, invisible marks, such as those that turn the direction of text, and what Windows forbids. In a
 * function, because making it takes half a millisecond of each start of the service worker.
 */
function hasForbidden(segment: string): boolean {
  return /[\p{Cc}\p{Cf}\p{Cs}<>:"|?*\\]/u.test(segment);
}

function invalid(why: string): AgentError {
  return new AgentError('path_invalid', `input.filename ${why}.`);
}

/** `web`: to be judged by the rules for addresses. `inline`: the content stands in the address itself. */
export type DownloadAddress = { url: string; kind: 'web' | 'inline' };

/**
 * What may be downloaded: http, https, and data. Throws `invalid_input` for what is no address or lives in a
 * page only, `page_restricted` for the schemes closed to the agent.
 */
export function readDownloadAddress(given: string): DownloadAddress {
  let url: URL;
  try {
    url = new URL(given);
  } catch {
    throw new AgentError(
      'invalid_input',
      'input.url must be an absolute address with its scheme, such as https://example.com/report.pdf.',
    );
  }
  switch (url.protocol) {
    case 'http:':
    case 'https:':
      return { url: url.href, kind: 'web' };
    case 'data:':
      return { url: given.trim(), kind: 'inline' };
    case 'blob:':
      throw new AgentError(
        'invalid_input',
        'input.url: a blob: address is known to its own page only. Click the link in that page, or read the content and pass it as a data: address.',
      );
    default:
      throw new AgentError(
        'page_restricted',
        `Only http:, https: and data: addresses are downloaded, not ${url.protocol.slice(0, 40)}.`,
      );
  }
}

/** The last part of a path of any system. */
export function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? '';
}
