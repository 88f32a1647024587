/**
 * The packages of a built extension: the zip for the store, and for an update server of one's own the signed
 * package with its update XML. The same files and key give the same bytes.
 */
import { checkPackage } from './check-package';
import { extensionIdOf, publicKeyOf, signCrx } from './crx';
import { type PackageFiles, zip } from './zip';

export const PACKAGE_NAME = 'endue-chrome-agent';

export interface PackageOptions {
  /** The built extension. */
  files: PackageFiles;
  /** The private key of the signed package, PEM. */
  signing_key: string;
  /** The folder, on the web, in which the signed package and the update XML will lie; ends with `/`. */
  base_url: string;
  documented_permissions: readonly string[];
  version: string;
}

export interface Packages {
  /** For the store, which signs it with a key of its own: without `key` and `update_url`. */
  store_zip: Uint8Array;
  /** For an update server. Its updates come from there too: `update_url` is in its manifest. */
  crx: Uint8Array;
  update_xml: string;
  /** Of the signed package. */
  extension_id: string;
  file_names: { store_zip: string; crx: string; update_xml: string };
}

/** Throws, with every fault in its message, when a package is not as it must be. */
export function makePackages(options: PackageOptions): Packages {
  const { files, signing_key, version, documented_permissions } = options;
  const base_url = checkedBase(options.base_url);
  const file_names = {
    store_zip: `${PACKAGE_NAME}-${version}.zip`,
    crx: `${PACKAGE_NAME}-${version}.crx`,
    update_xml: 'updates.xml',
  };
  const update_url = new URL(file_names.update_xml, base_url).href;
  const store = withManifest(files, { key: undefined });
  const hosted = withManifest(files, { key: undefined, update_url });
  const [store_zip, hosted_zip] = [zip(store), zip(hosted)];
  const rules = { documented_permissions, version };
  const faults = new Set([
    ...checkPackage(store, store_zip, { ...rules, update_url: null }),
    ...checkPackage(hosted, hosted_zip, { ...rules, update_url }),
  ]);
  if (faults.size > 0) throw new Error([...faults].join('\n'));
  const extension_id = extensionIdOf(publicKeyOf(signing_key));
  const crx_url = new URL(file_names.crx, base_url).href;
  return {
    store_zip,
    crx: signCrx(hosted_zip, signing_key),
    update_xml: updateXml({ extension_id, crx_url, version, least_chrome: leastChrome(files) }),
    extension_id,
    file_names,
  };
}

function checkedBase(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url && /^https?:$/.test(url.protocol) && url.pathname.endsWith('/') && !url.search && !url.hash)
    return url;
  throw new Error('The address of the folder must begin with https:// or http:// and end with /.');
}

/** What Chrome asks an update server for. */
function updateXml(facts: {
  extension_id: string;
  crx_url: string;
  version: string;
  least_chrome: string;
}): string {
  const codebase = facts.crx_url.replaceAll('&', '&amp;').replaceAll("'", '&apos;');
  return `<?xml version='1.0' encoding='UTF-8'?>
<gupdate xmlns='http://www.google.com/update2/response' protocol='2.0'>
  <app appid='${facts.extension_id}'>
    <updatecheck codebase='${codebase}' version='${facts.version}' prodversionmin='${facts.least_chrome}'/>
  </app>
</gupdate>
`;
}

function leastChrome(files: PackageFiles): string {
  return String(readManifest(files).minimum_chrome_version);
}

function withManifest(files: PackageFiles, changes: Record<string, string | undefined>): PackageFiles {
  const manifest = JSON.stringify({ ...readManifest(files), ...changes }, null, 2);
  return new Map([...files, ['manifest.json', new TextEncoder().encode(`${manifest}\n`)]]);
}

function readManifest(files: PackageFiles): Record<string, unknown> {
  const content = files.get('manifest.json');
  if (!content) throw new Error('There is no manifest.json: the extension is not built.');
  return JSON.parse(new TextDecoder().decode(content)) as Record<string, unknown>;
}
