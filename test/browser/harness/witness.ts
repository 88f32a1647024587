/**
 * Writes down everything a browser says about itself: the consoles and logs of every context, every request
 * and address, every frame of a socket, every navigation. Attached to all targets, so that no service worker
 * sleeps meanwhile.
 */
import type { AgentBrowser } from './agent-browser';

export interface Testimony {
  /** Which protocol event said it. */
  event: string;
  /** The event as JSON. */
  text: string;
}

export interface Witness {
  readonly heard: Testimony[];
  stop(): void;
}

const EVENTS = [
  'Runtime.consoleAPICalled',
  'Runtime.exceptionThrown',
  'Log.entryAdded',
  'Network.requestWillBeSent',
  'Network.requestWillBeSentExtraInfo',
  'Network.responseReceived',
  'Network.loadingFailed',
  'Network.webSocketCreated',
  'Network.webSocketWillSendHandshakeRequest',
  'Network.webSocketHandshakeResponseReceived',
  'Network.webSocketFrameSent',
  'Network.webSocketFrameReceived',
  'Network.webSocketFrameError',
  'Page.frameNavigated',
  'Page.navigatedWithinDocument',
  'Target.targetCreated',
  'Target.targetInfoChanged',
];

const DOMAINS = ['Runtime', 'Log', 'Network', 'Page'];

export async function witness({ connection }: AgentBrowser): Promise<Witness> {
  const heard: Testimony[] = [];
  const stops = EVENTS.map((event) =>
    connection.on(event, (params) => heard.push({ event, text: JSON.stringify(params) })),
  );
  stops.push(
    connection.on('Target.attachedToTarget', ({ sessionId }) => {
      for (const domain of DOMAINS) {
        // Not every kind of target has every domain.
        connection.send(`${domain}.enable`, {}, sessionId as string).catch(() => undefined);
      }
      connection.send('Runtime.runIfWaitingForDebugger', {}, sessionId as string).catch(() => undefined);
    }),
  );
  await connection.send('Target.setDiscoverTargets', { discover: true, filter: [{}] });
  await connection.send('Target.setAutoAttach', {
    autoAttach: true,
    waitForDebuggerOnStart: true,
    flatten: true,
    filter: [{ type: 'browser', exclude: true }, { type: 'tab', exclude: true }, {}],
  });
  return {
    heard,
    stop() {
      for (const stop of stops) stop();
    },
  };
}
