/** A platform, a browser and (when asked for) a proxy between them, ready for a test and cleaned up after it. */
import type { Device } from '../../fake-relay/devices';
import { type FakeRelay, type FakeRelayOptions, startFakeRelay } from '../../fake-relay/fake-relay';
import { startTcpProxy, type TcpProxy } from '../../fake-relay/tcp-proxy';
import { AgentBrowser, type LaunchOptions, newProfile, removeProfile } from './agent-browser';
import { type Site, startSite } from './site';

export interface World extends AsyncDisposable {
  relay: FakeRelay;
  proxy: TcpProxy;
  device: Device;
  browser: AgentBrowser;
  site: Site;
  /** A browser with the same profile, in place of one that was killed or closed. */
  relaunch(): Promise<AgentBrowser>;
}

export interface WorldOptions {
  relay?: FakeRelayOptions;
  browser?: LaunchOptions;
  /** The browser dials the relay through the proxy. */
  proxied?: boolean;
  /** False: the browser is not enrolled. */
  enrolled?: boolean;
}

/** Starts everything; unless told otherwise, resolves when the device is online. */
export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const relay = await startFakeRelay(options.relay);
  const proxy = await startTcpProxy({ port: relay.port });
  const site = await startSite();
  const device = relay.createDevice();
  const profile = newProfile();
  const launch = () => AgentBrowser.launch({ ...options.browser, profile });
  let browser = await launch();
  const world: World = {
    relay,
    proxy,
    device,
    site,
    get browser() {
      return browser;
    },
    async relaunch() {
      browser = await launch();
      return browser;
    },
    async [Symbol.asyncDispose]() {
      await browser.close().catch(() => undefined);
      removeProfile(profile);
      await proxy.close();
      await site.close();
      await relay.close();
    },
  };
  if (options.enrolled === false) return world;
  try {
    await browser.enroll(options.proxied ? relay.enrollmentVia(device, proxy.port) : device.enrollment);
    await relay.waitForOnline(device);
  } catch (error) {
    await world[Symbol.asyncDispose]();
    throw error;
  }
  return world;
}
