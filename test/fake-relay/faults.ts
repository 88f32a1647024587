/** Faults on demand: what the stand-in does wrong on purpose, and how often. */
import { readStorageFault, type StorageFault, type StorageFaultScope } from './storage-faults';

const BLOB_ANSWERS = [
  'wrong_sha256',
  'wrong_size',
  'wrong_name',
  'wrong_mime_type',
  'not_json',
  /** 307 to another address on this server; following it is a violation. */
  'redirect',
  /** Takes the bytes and never answers. */
  'hang',
  /** Breaks the TCP connection in the middle. */
  'cut',
] as const;

/** How a blob upload is answered instead of properly. */
export type BlobAnswer = (typeof BLOB_ANSWERS)[number] | { status: number; retry_after?: string };

/** Faults that stay until they are used up (`times`) or cleared. */
export type LastingFault =
  /** The handshake is answered with this HTTP status. */
  | { fault: 'refuse_handshake'; status: number }
  /** The handshake is never answered. */
  | { fault: 'stall_handshake' }
  /** The handshake selects no protocol, or another one: `token` is the offered one with the token in it. */
  | { fault: 'subprotocol'; answer: 'none' | 'token' | (string & {}) }
  /** `relay_config` is left out of the handshake. */
  | { fault: 'no_relay_config' }
  /** After `ready` nothing is called: the device never gets online. */
  | { fault: 'no_handshake_calls' }
  /** Everything is received, nothing is sent. */
  | { fault: 'silence' }
  /** Pings are not answered. */
  | { fault: 'no_pong' }
  /** Every frame leaves so much later. */
  | { fault: 'slow'; delay_ms: number }
  | { fault: 'blob'; answer: BlobAnswer };

/** Faults that happen once, at once. */
export type MomentaryFault =
  /** Closes the socket with this code; 1006 breaks the TCP connection without a close frame. */
  | { fault: 'close'; code: number; reason?: string }
  /** Sends a frame as it stands, text or binary. */
  | { fault: 'send'; text: string }
  | { fault: 'send'; binary_base64: string };

export interface FaultScope {
  /** Resource id; without it every device is meant. */
  device?: string;
  /** How often it strikes; without it always, until cleared. */
  times?: number;
}

export type LastingFaultName = LastingFault['fault'];
/** What the storage service does wrong (`storage-faults.ts`); its `times` is its own. */
export type ServiceFault = { fault: 'storage' } & StorageFault & StorageFaultScope;
export type Fault = ((LastingFault | MomentaryFault) & FaultScope) | ServiceFault;

const LASTING: ReadonlySet<string> = new Set<LastingFaultName>([
  'refuse_handshake',
  'stall_handshake',
  'subprotocol',
  'no_relay_config',
  'no_handshake_calls',
  'silence',
  'no_pong',
  'slow',
  'blob',
]);

export function isLasting(fault: Fault): fault is LastingFault & FaultScope {
  return LASTING.has(fault.fault);
}

/** Reads a fault from the body of `POST /__faults`; null when it is none. */
export function readFault(value: unknown): Fault | null {
  if (typeof value !== 'object' || value === null) return null;
  if ('fault' in value && value.fault === 'storage') {
    const read = readStorageFault(value as Record<string, unknown>);
    return read && { fault: 'storage', ...read };
  }
  const { fault, status, answer, delay_ms, code, text, binary_base64, times, device } = value as Record<
    string,
    unknown
  >;
  if (times !== undefined && !(Number.isInteger(times) && (times as number) > 0)) return null;
  if (device !== undefined && typeof device !== 'string') return null;
  const complete: Record<string, boolean> = {
    refuse_handshake: isFailureStatus(status),
    stall_handshake: true,
    subprotocol: typeof answer === 'string',
    no_relay_config: true,
    no_handshake_calls: true,
    silence: true,
    no_pong: true,
    slow: typeof delay_ms === 'number' && delay_ms >= 0,
    blob: isBlobAnswer(answer),
    close: Number.isInteger(code),
    send: typeof text === 'string' || typeof binary_base64 === 'string',
  };
  return typeof fault === 'string' && Object.hasOwn(complete, fault) && complete[fault]
    ? (value as Fault)
    : null;
}

function isBlobAnswer(answer: unknown): answer is BlobAnswer {
  if (typeof answer === 'string') return (BLOB_ANSWERS as readonly string[]).includes(answer);
  return (
    typeof answer === 'object' && answer !== null && isFailureStatus((answer as { status?: unknown }).status)
  );
}

function isFailureStatus(status: unknown): boolean {
  return Number.isInteger(status) && (status as number) >= 300 && (status as number) <= 599;
}

type Named<N extends LastingFaultName> = Extract<LastingFault, { fault: N }> & FaultScope;

export class Faults {
  readonly active: (LastingFault & FaultScope)[] = [];

  add(fault: LastingFault & FaultScope): void {
    this.active.push({ ...fault });
  }

  /** Ends the faults of one name, or all. */
  clear(name?: LastingFaultName): void {
    const staying = name === undefined ? [] : this.active.filter((fault) => fault.fault !== name);
    this.active.splice(0, this.active.length, ...staying);
  }

  /** The oldest fault of that name for this device (resource id), used once by this call; or undefined. */
  take<N extends LastingFaultName>(name: N, device: string | null): Named<N> | undefined {
    const index = this.active.findIndex(
      (fault) => fault.fault === name && (fault.device === undefined || fault.device === device),
    );
    const found = this.active[index] as Named<N> | undefined;
    if (found?.times !== undefined) {
      found.times -= 1;
      if (found.times <= 0) this.active.splice(index, 1);
    }
    return found;
  }
}
