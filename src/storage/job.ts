/** What a mode gets to work with: the request, its signal, and a meter for its progress. */
import type { Progress } from '../protocol/frames';
import { PROGRESS_PER_SECOND } from '../protocol/limits';
import type { Clock, ConnectTransport } from './ports';

export interface Job {
  request_id: string;
  /** Aborted by a cancel or at the deadline, with an `AgentError` as its reason. */
  signal: AbortSignal;
  meter: Meter;
  connect: ConnectTransport;
}

/** Bytes moved and files seen, told at most as often as the wire allows. */
export class Meter {
  private bytes = 0;
  private total: number | null = null;
  private last = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly clock: Clock,
    private readonly report: (progress: Progress) => void,
  ) {}

  expectBytes(bytes: number): void {
    this.total = (this.total ?? 0) + bytes;
  }

  readonly addBytes = (bytes: number): void => {
    this.bytes += bytes;
    // Content that was read again is not more than all.
    const completed = this.total === null ? this.bytes : Math.min(this.bytes, this.total);
    this.tell({ completed, total: this.total, unit: 'bytes' });
  };

  readonly files = (files: number): void => {
    this.tell({ completed: files, total: null, unit: 'files' });
  };

  private tell(progress: Progress): void {
    const now = this.clock.now();
    if (now - this.last < 1000 / PROGRESS_PER_SECOND) return;
    this.last = now;
    this.report(progress);
  }
}
