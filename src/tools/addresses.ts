/** Which addresses the agent opens, and how it shows those there are. Pure. */
import { AgentError } from '../protocol/errors';

/** An address without a scheme, as people write it: `localhost:3000/x`. The URL parser reads a scheme into it. */
const HOST_AND_PORT = /^(?!(?:javascript|data|blob|file|about|view-source):)[\w.-]+:\d+(?:[/?#]|$)/i;

/**
 * The address in its normal form. Throws `invalid_input` naming `url` for what is no address, and
 * `page_restricted` for every scheme but http and https (and `about:blank`): scripts, inline data, local
 * files and the browser's own pages are not the platform's to open.
 */
export function readAddress(url: string): string {
  if (HOST_AND_PORT.test(url)) throw notAnAddress();
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw notAnAddress();
  }
  // Chrome escapes what may not stand in a host name, such as a space, where the standard says it is no address.
  if (parsed.hostname.includes('%')) throw notAnAddress();
  if (parsed.protocol === 'http:' || parsed.protocol === 'https:' || parsed.href === 'about:blank') {
    return parsed.href;
  }
  if (parsed.protocol === 'file:') {
    throw new AgentError(
      'page_restricted',
      'Local files are not opened in a tab. They are served only from Storages that a person attached.',
    );
  }
  const only = 'Only http:, https: and about:blank addresses are opened';
  if (parsed.protocol === 'javascript:') {
    throw new AgentError(
      'page_restricted',
      `${only}, not javascript:. page_evaluate runs a script in a page.`,
    );
  }
  throw new AgentError('page_restricted', `${only}, not ${parsed.protocol.slice(0, 40)}.`);
}

function notAnAddress(): AgentError {
  return new AgentError(
    'invalid_input',
    'input.url must be an absolute http: or https: address, such as https://example.com/.',
  );
}

/** The same document, going by the address: all but the fragment is equal. */
export function isSameDocument(one: string, other: string): boolean {
  return withoutFragment(one) === withoutFragment(other);
}

export function hasFragment(url: string): boolean {
  return url.includes('#');
}

function withoutFragment(url: string): string {
  return url.split('#', 1)[0] ?? '';
}
