/**
 * Watches the handshakes of this extension's own WebSockets through `webRequest` (wire.md §2). Chrome tells
 * an awake worker only. The polyfill knows neither `extraHeaders` nor `initiator`, hence `chrome` here.
 */

/** As `router/handshake-status.ts` takes it. */
interface Step {
  kind: 'begun' | 'answered' | 'ended';
  request_id: string;
  url: string;
  status?: number;
}

export interface HandshakeWatch {
  /** Watches the handshakes with this relay's host, and no others. */
  follow(endpoint: string): void;
}

type Details = Pick<chrome.webRequest.WebRequestDetails, 'requestId' | 'url' | 'tabId' | 'initiator'>;

/** Not one of a tab: the offscreen document has none. */
const NO_TAB = -1;

export function createHandshakeWatch(tell: (step: Step) => void): HandshakeWatch {
  const own = new URL(chrome.runtime.getURL('')).origin;
  const isOwn = ({ tabId, initiator }: Details) =>
    tabId === NO_TAB && (initiator === undefined || initiator === own);
  /** Returns nothing: the events take a verdict on the request from their listeners. */
  const report = (kind: Step['kind'], details: Details & { statusCode?: number }): undefined => {
    if (!isOwn(details)) return undefined;
    const { requestId, url, statusCode } = details;
    tell({ kind, request_id: requestId, url, ...(statusCode === undefined ? {} : { status: statusCode }) });
    return undefined;
  };
  const onBegun = (details: Details) => report('begun', details);
  const onAnswered = (details: Details & { statusCode?: number }) => report('answered', details);
  const onEnded = (details: Details) => report('ended', details);
  let followed: string | null = null;

  function listen(urls: string[]): void {
    const { onBeforeRequest, onHeadersReceived, onErrorOccurred } = chrome.webRequest;
    onBeforeRequest.removeListener(onBegun);
    onHeadersReceived.removeListener(onAnswered);
    onErrorOccurred.removeListener(onEnded);
    const filter: chrome.webRequest.RequestFilter = { urls, types: ['websocket'] };
    onBeforeRequest.addListener(onBegun, filter);
    // Without `extraHeaders` a refused handshake may go unseen.
    onHeadersReceived.addListener(onAnswered, filter, ['responseHeaders', 'extraHeaders']);
    onErrorOccurred.addListener(onEnded, filter);
  }

  return {
    follow(endpoint) {
      const { protocol, hostname } = new URL(endpoint);
      const pattern = `${protocol}//${hostname}/*`;
      if (pattern === followed) return;
      try {
        listen([pattern]);
      } catch {
        // A host that Chrome takes in an address, but not in a pattern: whoever is told compares the origin.
        listen(['ws://*/*', 'wss://*/*']);
      }
      followed = pattern;
    },
  };
}
