/**
 * Where the binary of an answer is uploaded (wire.md §6): always at the socket's own origin, because the
 * token goes with it. Pure.
 */
import { BLOB_UPLOAD_PATH } from '../protocol/limits';

const HTTP_OF: Record<string, string> = { 'wss:': 'https:', 'ws:': 'http:' };

/**
 * The address for one binary, or null when none can be made: an id or a name that is a dot segment would
 * be normalised away (§8), one with an unpaired surrogate cannot be percent-encoded.
 */
export function blobAddress(
  endpoint: string,
  blobUploadUrl: string | undefined,
  requestId: string,
  name: string,
): string | null {
  const origin = httpOrigin(endpoint);
  const segments = [requestId, name].map(encodeSegment);
  if (origin === null || segments.includes(null)) return null;
  const address = prefix(origin, blobUploadUrl);
  address.pathname = `${address.pathname.replace(/\/+$/, '')}/${segments.join('/')}`;
  return address.href;
}

function httpOrigin(endpoint: string): string | null {
  if (!URL.canParse(endpoint)) return null;
  const { protocol, host } = new URL(endpoint);
  const scheme = HTTP_OF[protocol];
  return scheme === undefined ? null : new URL(`${scheme}//${host}`).origin;
}

/** `blob_upload_url` counts only when it has the socket's origin; anything else gets the default path. */
function prefix(origin: string, blobUploadUrl: string | undefined): URL {
  if (blobUploadUrl !== undefined && URL.canParse(blobUploadUrl)) {
    const url = new URL(blobUploadUrl);
    // The address itself is compared too: `blob:https://host/…` claims the origin of its inside.
    const here = url.origin === origin && url.href.startsWith(`${origin}/`);
    if (here && url.username === '' && url.password === '') {
      url.hash = '';
      return url;
    }
  }
  return new URL(BLOB_UPLOAD_PATH, origin);
}

function encodeSegment(segment: string): string | null {
  if (segment === '' || segment === '.' || segment === '..') return null;
  try {
    return encodeURIComponent(segment);
  } catch {
    return null;
  }
}
