/**
 * `npm run package`: builds the extension and writes the packages into `packages`. `PACKAGE_KEY` is the
 * signing key (PEM, or the path of a file), `PACKAGE_URL` the folder on the web in which the signed package
 * and the update XML will lie.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packages from '../package.json';
import { buildExtension } from './build.mjs';
import { documentedPermissions } from './packaging/documented-permissions';
import { makePackages } from './packaging/make-packages';
import { signingKey } from './packaging/signing-key';
import { readFiles } from './packaging/zip';

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
/** A name that nobody can own (RFC 2606). */
const EXAMPLE_URL = 'https://updates.example.com/';

async function main(): Promise<void> {
  const key = signingKey(process.env.PACKAGE_KEY, at('.keys/package.pem'));
  const base_url = process.env.PACKAGE_URL ?? EXAMPLE_URL;
  const built = mkdtempSync(join(tmpdir(), 'endue-package-'));
  try {
    await buildExtension({ quiet: true, into: built });
    const made = makePackages({
      files: readFiles(built),
      signing_key: key.pem,
      base_url,
      documented_permissions: documentedPermissions(at('docs/permissions.md')),
      version: packages.version,
    });
    const into = at('packages');
    mkdirSync(into, { recursive: true });
    const write = (name: string, content: Uint8Array | string): void => {
      writeFileSync(join(into, name), content);
      console.log(`packages/${name}  ${Buffer.byteLength(content)} bytes`);
    };
    write(made.file_names.store_zip, made.store_zip);
    write(made.file_names.crx, made.crx);
    write(made.file_names.update_xml, made.update_xml);
    console.log(`\nThe signed package's id, for policies: ${made.extension_id}`);
    if (key.from === 'new') {
      console.log('Its key was made and lies in .keys/package.pem. Keep it safe: the id goes with it.');
    }
    if (base_url === EXAMPLE_URL) {
      console.log(`PACKAGE_URL is not set: the update XML and the signed package name ${EXAMPLE_URL}.`);
    }
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : 'The packages could not be made.');
  process.exitCode = 1;
});
