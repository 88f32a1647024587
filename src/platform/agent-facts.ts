/**
 * What this extension and its browser are, in the words of the wire (wire.md §3). The polyfill and the
 * language's types know no `userAgentData`.
 */
import type { AgentFacts } from '../tools/tool';
import { browser } from './browser';

const OS_NAMES: Readonly<Record<string, string>> = { win: 'windows', cros: 'chromeos' };
const ARCH_NAMES: Readonly<Record<string, string>> = { 'x86-64': 'x86_64', 'x86-32': 'x86' };

interface Brand {
  brand: string;
  version: string;
}

interface UserAgentData {
  getHighEntropyValues(hints: string[]): Promise<{ fullVersionList?: Brand[] }>;
}

/** They do not change while the browser runs: asked once per life of the worker. */
export async function readAgentFacts(): Promise<AgentFacts> {
  const [platform, { brand, version }] = await Promise.all([browser.runtime.getPlatformInfo(), readBrand()]);
  return {
    version: browser.runtime.getManifest().version,
    browser_name: brand,
    browser_version: version,
    os: OS_NAMES[platform.os] ?? platform.os,
    arch: ARCH_NAMES[platform.arch] ?? platform.arch,
  };
}

async function readBrand(): Promise<Brand> {
  const { userAgentData, userAgent } = navigator as Navigator & { userAgentData?: UserAgentData };
  try {
    const { fullVersionList = [] } = (await userAgentData?.getHighEntropyValues(['fullVersionList'])) ?? {};
    const brand = mostTelling(fullVersionList);
    if (brand) return brand;
  } catch {
    // An administrator may have switched the hints off.
  }
  return { brand: 'Chromium', version: /Chrome\/([\d.]+)/.exec(userAgent)?.[1] ?? '' };
}

/** Beside its own name a browser gives the engine's, and one that is made up: `Not(A:Brand`. */
function mostTelling(brands: readonly Brand[]): Brand | undefined {
  const real = brands.filter(({ brand }) => !/not.?a.?brand/i.test(brand.replace(/[^a-z]/gi, ' ')));
  return real.find(({ brand }) => brand !== 'Chromium') ?? real[0];
}
