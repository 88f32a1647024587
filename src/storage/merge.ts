/**
 * Who wins at one path: agreed state, device and remote, three ways (storage.md, Who wins). Pure: says what
 * to do, does nothing.
 */
import type { IndexEntry } from './index-entries';
import { sameContent } from './index-entries';
import type { RemoteEntry } from './ports';

/** What stands at a path of the device. `unreadable`: a file that changed whenever it was read. */
export type DeviceEntry = { type: 'file'; sha256: string } | { type: 'unreadable' } | { type: 'directory' };

export type Decision =
  /** The remote brings nothing new. */
  | 'nothing'
  /** Both sides are equal already: the index takes it, the device is not touched. */
  | 'agree'
  /** The device has nothing unsaved here: it takes the remote's state (a deletion too). */
  | 'take'
  /** The device's unsaved state stays; the index takes the remote's, so the next save commits over it. */
  | 'keep'
  /**
   * Something else on the device stands in the way, a directory where a file comes or the reverse. `take` when that
   * goes away in the same merge, else `keep`.
   */
  | 'replace';

/**
 * `agreed`: the index. `remote`: null when it was deleted there. `device`: null when nothing is there, also
 * when an ancestor is a file.
 */
export function decide(
  agreed: IndexEntry | null,
  device: DeviceEntry | null,
  remote: RemoteEntry | null,
): Decision {
  if (sameContent(agreed, remote)) return 'nothing';
  if (remote === null) return decideDeletion(agreed, device);
  if (device === null) return 'take';
  if (device.type === 'directory') return remote.type === 'directory' ? 'agree' : 'replace';
  if (device.type === 'unreadable') return 'keep';
  if (remote.type === 'file' && device.sha256 === remote.sha256) return 'agree';
  return isClean(agreed, device) ? 'take' : 'keep';
}

function decideDeletion(agreed: IndexEntry | null, device: DeviceEntry | null): Decision {
  if (device === null) return 'agree';
  // A directory that was empty goes if it still is; one that stands for a file is the device's own.
  if (device.type === 'directory') return agreed?.type === 'directory' ? 'take' : 'agree';
  return isClean(agreed, device) ? 'take' : 'keep';
}

function isClean(agreed: IndexEntry | null, device: DeviceEntry): boolean {
  return agreed?.type === 'file' && device.type === 'file' && agreed.sha256 === device.sha256;
}
