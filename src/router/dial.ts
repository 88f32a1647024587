/**
 * Whether to dial, with what, and what came of it (wire.md §2, §3, §5 rule 6). The only place of the
 * service worker that hands the token on, and only to the relay host.
 */
import type { DialDecision, RouterMessages } from '../platform/messages';
import type { Settings } from '../settings/settings-store';
import type { AgentFacts, ToolPolicy } from '../tools/tool';
import { enrollmentId, tokenDigestIn } from './enrollment-id';
import type { HandshakeStatus } from './handshake-status';
import { readyFrame } from './ready-frame';

/** The event may come a little after the socket's close. */
const STATUS_PATIENCE_MS = 500;

export interface DialOptions {
  settings: Pick<Settings, 'current' | 'stopToken'>;
  handshakes: Pick<HandshakeStatus, 'follow' | 'last'>;
  /** Sees to it that Chrome tells of handshakes with this endpoint (`platform/handshake-watch.ts`). */
  watch(endpoint: string): void;
  facts(): Promise<AgentFacts>;
  policy(): Promise<ToolPolicy>;
  /** Every tool there is, in the order of the catalogue. */
  tools: readonly { name: string }[];
  sessionEpoch(): Promise<string>;
}

export interface Dial {
  prepare(): Promise<DialDecision>;
  handshakeStatus(): Promise<RouterMessages['dial.handshake_status']['out']>;
  tokenStopped(enrollment_id: string): Promise<void>;
}

export function createDial(options: DialOptions): Dial {
  const { settings, handshakes } = options;
  return {
    async prepare() {
      const { enrollment, idle } = await settings.current();
      if (idle) return { dial: false, because: idle };
      if (!enrollment) return { dial: false, because: { state: 'not_enrolled' } };
      // Not sooner: the tools' policy waits for a managed policy that is late, a browser with nothing to dial need not.
      const [facts, policy, epoch] = await Promise.all([
        options.facts(),
        options.policy(),
        options.sessionEpoch(),
      ]);
      const { endpoint, token } = enrollment;
      options.watch(endpoint);
      handshakes.follow(endpoint);
      const tools = options.tools.map(({ name }) => name).filter((name) => !policy.blocked_tools.has(name));
      return {
        dial: true,
        endpoint,
        token,
        enrollment_id: await enrollmentId(enrollment),
        ready: readyFrame(facts, tools, epoch),
      };
    },
    async handshakeStatus() {
      return { status: await handshakes.last(STATUS_PATIENCE_MS) };
    },
    tokenStopped: (enrollment_id) => settings.stopToken(tokenDigestIn(enrollment_id)),
  };
}
