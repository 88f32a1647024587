/** Devices (the platform's resources), their tokens, and the commands each was given. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { ReadyFrame } from '../../src/protocol/frames';
import type { JsonObject } from '../../src/protocol/json';
import type { Enrollment } from '../../src/settings/enrollment';
import type { Command } from './commands';
import { Conduct } from './conduct';
import type { RelayConnection } from './connection';

export interface DeviceFacts {
  station_id: string;
  type: string;
  kind: string;
  name: string;
}

export class Device {
  /** The resource id. */
  readonly id = `res_${randomUUID()}`;
  /** The connection token now valid; null when it was revoked. */
  token: string | null = newToken();
  /** Every connection it ever opened, in order. */
  readonly connections: RelayConnection[] = [];
  readonly commands = new Map<string, Command>();
  readonly conduct: Conduct;
  /** The most sockets that were open at one time. */
  maxOpenSockets = 0;
  /** What `describe_tools` answered at the last handshake. */
  tools: JsonObject[] = [];
  /** What `workspace_info` answered at the last handshake; `{truncated: true}` when it was too long. */
  workspaceInfo: JsonObject | null = null;

  constructor(
    readonly facts: DeviceFacts,
    private readonly endpoint: string,
    violation: (connection: number, sentence: string) => void,
  ) {
    this.conduct = new Conduct(violation);
  }

  /** The newest connection while it is open. */
  get connection(): RelayConnection | null {
    const last = this.connections.at(-1);
    return last?.open ? last : null;
  }

  get online(): boolean {
    return this.connection?.online ?? false;
  }

  /** The last `ready`, or null before the first. */
  get ready(): ReadyFrame | null {
    return this.connections.findLast(({ ready }) => ready !== null)?.ready ?? null;
  }

  /** Throws when the token was revoked. */
  get enrollment(): Enrollment {
    if (this.token === null) throw new Error('the token of this device was revoked');
    return { endpoint: this.endpoint, token: this.token };
  }

  /** As the device API shows it, without the token. */
  describe(): JsonObject {
    const { ready } = this;
    return {
      id: this.id,
      ...this.facts,
      online: this.online,
      agent: ready && {
        version: ready.version,
        os: ready.os,
        arch: ready.arch,
        session_epoch: ready.session_epoch,
        capabilities: ready.capabilities,
      },
      tools: this.tools,
      workspace_info: this.workspaceInfo,
    };
  }
}

export class Devices {
  private readonly byId = new Map<string, Device>();
  /** Tokens that were refused for good: dialing again with one breaks rule 6. */
  private readonly refused = new Set<string>();
  /** Every token ever given out. */
  private readonly given = new Set<string>();

  add(device: Device): void {
    this.byId.set(device.id, device);
    this.give(device);
  }

  get(id: string): Device | undefined {
    return this.byId.get(id);
  }

  all(): Device[] {
    return [...this.byId.values()];
  }

  byToken(token: string): Device | undefined {
    return this.all().find((device) => device.token === token);
  }

  /** Gives the device a new token; the old one is refused from now on. */
  rotate(device: Device): void {
    device.token = newToken();
    this.give(device);
  }

  /** Notes that an agent was told that this token is refused for good. */
  refuse(token: string): void {
    this.refused.add(token);
  }

  wasRefused(token: string): boolean {
    return this.refused.has(token);
  }

  /** True when a token of any device, valid or not, stands in `text`. */
  tokenIn(text: string): boolean {
    return [...this.given].some((token) => text.includes(token));
  }

  private give(device: Device): void {
    if (device.token !== null) this.given.add(device.token);
  }
}

function newToken(): string {
  return `osat_${randomBytes(24).toString('base64url')}`;
}
