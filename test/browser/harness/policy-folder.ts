/**
 * Managed policies for one browser of a test. Chromium reads them from a fixed place that every browser of
 * the machine shares; so this one runs in a mount namespace of its own, where that place is a private folder.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CHROMIUM_SETTINGS = '/etc/chromium';
/** Anybody else but root needs to be root of a user namespace to mount. */
const NAMESPACE = ['unshare', ...(process.getuid?.() === 0 ? [] : ['--map-root-user']), '--mount'];
const MOUNT_AND_RUN = `mount --bind "$0" ${CHROMIUM_SETTINGS} && exec "$@"`;

export class PolicyFolder {
  readonly #directory = mkdtempSync(join(tmpdir(), 'endue-policies-'));
  readonly #managed = join(this.#directory, 'policies', 'managed');

  constructor(private readonly extension_id: string) {
    mkdirSync(this.#managed, { recursive: true });
  }

  /** Whether this machine lets a program have mounts of its own: Linux does, unless it is forbidden. */
  static isPossible(): boolean {
    const folder = new PolicyFolder('');
    try {
      const [program = '', ...args] = folder.command(['true']);
      return spawnSync(program, args).status === 0;
    } finally {
      folder.remove();
    }
  }

  /** The command line that runs `plain` under the policies of this folder. */
  command(plain: string[]): string[] {
    return [...NAMESPACE, 'sh', '-c', MOUNT_AND_RUN, this.#directory, ...plain];
  }

  /** What an administrator sets for the extension, and for the browser; a running Chromium takes it over within about 5 s. */
  set(values: Record<string, unknown>, ofBrowser: Record<string, unknown> = {}): void {
    const draft = join(this.#directory, 'draft.json');
    const policies = { ...ofBrowser, '3rdparty': { extensions: { [this.extension_id]: values } } };
    writeFileSync(draft, JSON.stringify(policies));
    // In one piece: Chromium must never read half a file.
    renameSync(draft, this.#file);
  }

  /** The administrator lets go of the browser. */
  clear(): void {
    rmSync(this.#file, { force: true });
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  get #file(): string {
    return join(this.#managed, 'agent.json');
  }
}
