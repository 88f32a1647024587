/** What the parts of the stand-in share. */
import type { JsonObject } from '../../src/protocol/json';
import type { Blobs } from './blobs';
import type { Devices } from './devices';
import type { Faults } from './faults';
import type { StorageService } from './storage-service';
import type { Traffic } from './traffic';

export interface Settings {
  /** Fields of `relay_config` that replace the usual ones. */
  relay_config: JsonObject;
  /** Milliseconds in place of the announced ping interval, for the liveness check; null: as announced. */
  liveness_interval_ms: number | null;
  /** How long a connection may take to send `ready`. */
  ready_deadline_ms: number;
  /** How long after its `timeout_ms` a command is waited for. */
  answer_grace_ms: number;
  /** How long a command waits for its device to come online. */
  queue_deadline_ms: number;
  /** After the agent restarted (a new epoch), send what had no answer once more; else those commands fail. */
  resend_after_new_epoch: boolean;
}

export interface RelayContext {
  readonly settings: Settings;
  readonly traffic: Traffic;
  readonly faults: Faults;
  readonly devices: Devices;
  readonly blobs: Blobs;
  /** Null without a directory for it. */
  storage: StorageService | null;
  /** The agent broke the contract. The sentence holds no token. */
  violation(connection: number | null, sentence: string): void;
  /** One line for a person who watches. Holds no token. */
  note(line: string): void;
}
