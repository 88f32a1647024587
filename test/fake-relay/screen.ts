/** The screen of a device as the platform shows it: at most 2 pictures a second, young ones used again. */
import { CAPTURES_PER_SECOND } from '../../src/protocol/limits';
import { type Command, CommandFailed, type CommandSpec } from './commands';
import type { RelayContext } from './context';
import type { Device } from './devices';
import { ApiError } from './http';
import { deliveredPicture } from './output-checks';
import { now } from './traffic';

export interface Picture {
  bytes: Buffer;
  mime_type: string;
  /** Milliseconds, monotonic: when the call that took it was made. */
  at: number;
}

const SPACING_MS = 1_000 / CAPTURES_PER_SECOND;
const TIMEOUT_MS = 20_000;

export class Screens {
  private readonly last = new Map<string, Picture>();
  private readonly calls = new Map<string, { at: number; picture: Promise<Picture> }>();

  constructor(
    private readonly context: RelayContext,
    private readonly start: (device: Device, spec: CommandSpec) => Command,
  ) {}

  /** A picture not older than `max_age_ms`, or a new one. Throws `ApiError`. */
  async get(device: Device, max_age_ms: number): Promise<Picture> {
    const last = this.last.get(device.id);
    if (last && now() - last.at <= max_age_ms) return last;
    if (!device.online) throw new ApiError(409, 'device_offline', 'The device is not online.');
    const call = this.calls.get(device.id);
    // Whoever asks before the next call goes out shares it.
    if (call && call.at > now()) return call.picture;
    const at = Math.max(now(), (call?.at ?? Number.NEGATIVE_INFINITY) + SPACING_MS);
    const picture = this.takeAt(device, at);
    this.calls.set(device.id, { at, picture });
    return picture;
  }

  private async takeAt(device: Device, at: number): Promise<Picture> {
    const wait = at - now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const taken = now();
    const command = this.start(device, {
      command: 'screenshot',
      input: { deliver_image: true },
      timeout_ms: TIMEOUT_MS,
    });
    const answer = await command.finished.catch((thrown: unknown) => {
      const failed = thrown instanceof CommandFailed;
      throw new ApiError(504, failed ? thrown.error_code : 'internal', failed ? thrown.message : 'Failed.');
    });
    if (answer.status === 'error') throw new ApiError(502, answer.error_code, answer.error);
    const delivered = deliveredPicture(this.context.blobs, device, answer.id, answer.output ?? {});
    if (!delivered) throw new ApiError(502, 'contract_broken', 'The answer holds no picture.');
    const picture = { ...delivered, at: taken };
    this.last.set(device.id, picture);
    return picture;
  }
}
