/**
 * A real Chromium with the built extension, driven by the protocol only where a test asks for it: so its
 * service worker sleeps, dies and wakes as it does at a person's.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import manifest from '../../../manifest.json';
import { chromiumEnvironment, chromiumFlags, requireChromium } from '../../../scripts/chromium.mjs';
import { extensionIdOf } from '../../../scripts/packaging/crx';
import type { ConnectionState, MessageMap, MessageType } from '../../../src/platform/messages';
import { CdpConnection, type CdpSession, type TargetInfo } from './cdp';
import type { PolicyFolder } from './policy-folder';
import { until } from './until';

export const EXTENSION_DIRECTORY = fileURLToPath(new URL('../../../dist', import.meta.url));
export const EXTENSION_ID = extensionId(manifest.key);
export const EXTENSION_ORIGIN = `chrome-extension://${EXTENSION_ID}`;

/** The id Chrome gives the extension with this `key` in its manifest. */
export function extensionId(key: string): string {
  return extensionIdOf(Buffer.from(key, 'base64'));
}

export interface LaunchOptions {
  /** Kept after `close`, for a restart with the same one; otherwise a new one that goes with the browser. */
  profile?: string;
  language?: string;
  headless?: boolean;
  /** Another one than the built; null: none but those of the policies. */
  extension?: string | null;
  flags?: string[];
  /** The browser obeys the policies of this folder, and no others. */
  policies?: PolicyFolder;
}

export class AgentBrowser {
  private constructor(
    readonly profile: string,
    private readonly ownsProfile: boolean,
    private readonly process: ChildProcess,
    readonly connection: CdpConnection,
    /** The address a second client may connect to. */
    readonly debuggerUrl: string,
  ) {}

  static async launch(options: LaunchOptions = {}): Promise<AgentBrowser> {
    const profile = options.profile ?? newProfile();
    const portFile = join(profile, 'DevToolsActivePort');
    rmSync(portFile, { force: true });
    const plain = [
      requireChromium(),
      ...chromiumFlags({
        extension: options.extension === undefined ? EXTENSION_DIRECTORY : options.extension,
        headless: options.headless ?? true,
        profile,
        ...(options.language ? { language: options.language } : {}),
      }),
      '--remote-debugging-port=0',
      ...(options.flags ?? []),
      'about:blank',
    ];
    const [program = '', ...flags] = options.policies?.command(plain) ?? plain;
    const env = chromiumEnvironment(options.language);
    const child = spawn(program, flags, { stdio: 'ignore', detached: true, env });
    try {
      const debuggerUrl = await until('the browser listens', () => readDebuggerUrl(portFile));
      const connection = await CdpConnection.connect(debuggerUrl);
      return new AgentBrowser(profile, options.profile === undefined, child, connection, debuggerUrl);
    } catch (error) {
      killGroup(child);
      throw error;
    }
  }

  /** Opens a page (its own window unless `newWindow` is false) and attaches to it. */
  async openPage(url: string, { newWindow = false, background = false } = {}): Promise<CdpSession> {
    const { targetId } = await this.connection.send('Target.createTarget', { url, newWindow, background });
    return this.connection.attach(targetId as string);
  }

  /** An extension page to send messages from; reused while it is open. */
  async extensionPage(path = 'src/ui/popup/popup.html'): Promise<CdpSession> {
    const page = await this.openPage(`${EXTENSION_ORIGIN}/${path}`, { background: true });
    await until('the extension page is loaded', () =>
      page.evaluate<boolean>(`document.readyState === 'complete' && !!chrome.runtime?.id`).catch(() => false),
    );
    return page;
  }

  /** Sends one of the extension's own messages, from a page of its own that is closed afterwards. */
  async message<T extends MessageType>(type: T, input: MessageMap[T]['in']): Promise<MessageMap[T]['out']> {
    const page = await this.extensionPage();
    try {
      const reply = await page.evaluate<{ ok: boolean; out: MessageMap[T]['out'] } | undefined>(
        `chrome.runtime.sendMessage(${JSON.stringify({ type, input })})`,
      );
      if (!reply?.ok) throw new Error(`${type} was not answered`);
      return reply.out;
    } finally {
      await page.close();
    }
  }

  async enroll(enrollment: { endpoint: string; token: string }): Promise<void> {
    const reply = await this.message('enrollment.save', { text: JSON.stringify(enrollment) });
    if (!reply.saved) throw new Error(`the enrollment was refused: ${reply.problem}`);
  }

  /** The connection as the offscreen document tells it, asked without waking the service worker. */
  async connectionState(): Promise<ConnectionState | null> {
    const offscreen = await this.offscreen().catch(() => null);
    if (!offscreen) return null;
    await offscreen.detach();
    return (await this.message('relay.connection', {})).connection;
  }

  targets(): Promise<TargetInfo[]> {
    return this.connection.targets();
  }

  async offscreenTargets(): Promise<TargetInfo[]> {
    return (await this.targets()).filter(
      ({ url, type }) => url.startsWith(EXTENSION_ORIGIN) && type === 'background_page',
    );
  }

  /** Attaches to the offscreen document, waiting until there is one. */
  async offscreen(): Promise<CdpSession> {
    const target = await until(
      'the offscreen document is there',
      async () => (await this.offscreenTargets())[0],
    );
    return this.connection.attach(target.targetId);
  }

  /** The service worker's target while it runs; no debugger is attached by asking. */
  async serviceWorkerTarget(): Promise<TargetInfo | undefined> {
    return (await this.targets()).find(
      ({ url, type }) => type === 'service_worker' && url.startsWith(EXTENSION_ORIGIN),
    );
  }

  /** Attaches to the running service worker; while attached it does not sleep. */
  async serviceWorker(): Promise<CdpSession> {
    const target = await until('the service worker runs', () => this.serviceWorkerTarget());
    return this.connection.attach(target.targetId);
  }

  /** Kills the service worker as Chrome does, at whatever it is doing. Needs a page of the extension. */
  async killServiceWorker(page: CdpSession): Promise<void> {
    await page.send('ServiceWorker.enable');
    await page.send('ServiceWorker.stopAllWorkers');
  }

  /** Waits until Chrome has put the service worker to sleep by itself (30 s without events). */
  async serviceWorkerSleeps(): Promise<void> {
    await until('the service worker sleeps', async () => !(await this.serviceWorkerTarget()), 90_000);
  }

  /** SIGKILL to everything, as a crash or a power cut would; the profile stays. */
  async kill(): Promise<void> {
    const gone = new Promise((resolve) => this.process.once('exit', resolve));
    killGroup(this.process);
    if (this.process.exitCode === null && this.process.signalCode === null) await gone;
    this.connection.close();
  }

  /** Ends the browser in good order. */
  async close(): Promise<void> {
    const gone = new Promise((resolve) => this.process.once('exit', resolve));
    await this.connection.send('Browser.close').catch(() => undefined);
    const timer = setTimeout(() => killGroup(this.process), 5_000);
    if (this.process.exitCode === null && this.process.signalCode === null) await gone;
    clearTimeout(timer);
    killGroup(this.process);
    this.connection.close();
    if (this.ownsProfile) removeProfile(this.profile);
  }
}

export function newProfile(): string {
  return mkdtempSync(join(tmpdir(), 'endue-profile-'));
}

export function removeProfile(profile: string): void {
  rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

function readDebuggerUrl(portFile: string): string | undefined {
  try {
    const [port, path] = readFileSync(portFile, 'utf8').trim().split('\n');
    return port && path ? `ws://127.0.0.1:${port}${path}` : undefined;
  } catch {
    return undefined;
  }
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has gone already.
  }
}
