/** The packages of `npm run package`: the same bytes each time, signed, and nothing in them that should not be. */
import { createHash, createPublicKey, verify } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import source from '../../manifest.json';
import packages from '../../package.json';
import { buildExtension } from '../../scripts/build.mjs';
import { checkPackage, LARGEST_ZIP } from '../../scripts/packaging/check-package';
import { extensionIdOf, newSigningKey, publicKeyOf } from '../../scripts/packaging/crx';
import { documentedPermissions } from '../../scripts/packaging/documented-permissions';
import { makePackages } from '../../scripts/packaging/make-packages';
import { signingKey } from '../../scripts/packaging/signing-key';
import { type PackageFiles, readFiles, zip } from '../../scripts/packaging/zip';

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'endue-packages-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const documented_permissions = documentedPermissions(at('docs/permissions.md'));
const { version } = packages;
const base_url = 'https://updates.test/chrome/';
const key = newSigningKey();
const made = (files: PackageFiles, signing_key = key) =>
  makePackages({ files, signing_key, base_url, documented_permissions, version });
const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const manifestOf = (zipped: Uint8Array): Record<string, unknown> =>
  JSON.parse(new TextDecoder().decode(unzipSync(zipped)['manifest.json'])) as Record<string, unknown>;

/** A signed package, taken apart by what the format says: magic, version, length of the header, header, zip. */
function opened(crx: Uint8Array): { header: Buffer; zip: Buffer } {
  const bytes = Buffer.from(crx);
  expect(bytes.subarray(0, 4).toString()).toBe('Cr24');
  expect(bytes.readUInt32LE(4)).toBe(3);
  const end = 12 + bytes.readUInt32LE(8);
  return { header: bytes.subarray(12, end), zip: bytes.subarray(end) };
}

describe('the packages', () => {
  const builds: Map<string, Uint8Array>[] = [];

  beforeAll(async () => {
    for (const name of ['one', 'two']) {
      const into = join(scratch, name);
      await buildExtension({ quiet: true, into });
      builds.push(readFiles(into));
    }
  }, 120_000);

  const first = (): Map<string, Uint8Array> => builds[0] as Map<string, Uint8Array>;

  it('two builds give the same bytes, in whatever order the files are found', () => {
    const [one, two] = builds.map((files) => made(files));
    expect(one?.store_zip.length).toBeGreaterThan(100_000);
    expect(hash(two?.store_zip as Uint8Array)).toBe(hash(one?.store_zip as Uint8Array));
    expect(hash(two?.crx as Uint8Array)).toBe(hash(one?.crx as Uint8Array));
    expect(two?.update_xml).toBe(one?.update_xml);
    expect(hash(zip(new Map([...first()].reverse())))).toBe(hash(zip(first())));
  });

  it('tells one time in every zone', () => {
    const zone = process.env.TZ;
    try {
      const hashes = ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Asia/Seoul'].map((name) => {
        process.env.TZ = name;
        return hash(zip(first()));
      });
      expect(new Set(hashes).size).toBe(1);
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  it('the zip for the store has neither key nor update address, and every file as it was built', () => {
    const { store_zip } = made(first());
    const manifest = manifestOf(store_zip);
    expect(manifest).toMatchObject({ version, permissions: source.permissions });
    expect(manifest).not.toHaveProperty('key');
    expect(manifest).not.toHaveProperty('update_url');
    expect(store_zip.length).toBeLessThan(LARGEST_ZIP);
    const unzipped = unzipSync(store_zip);
    expect(Object.keys(unzipped)).toEqual([...first().keys()].sort());
    for (const [name, content] of first()) {
      if (name !== 'manifest.json') expect(hash(unzipped[name] as Uint8Array), name).toBe(hash(content));
    }
  });

  it('the signed package is signed by its key, over its id and its zip', () => {
    const { crx, extension_id } = made(first());
    const { header, zip: zipped } = opened(crx);
    const public_key = publicKeyOf(key);
    // The only two of that length: the proof's signature is the last 256 bytes before the signed data.
    const signed_data = Buffer.concat([Buffer.from([0x0a, 16]), idBytes(extension_id)]);
    expect(header.includes(public_key)).toBe(true);
    expect(header.subarray(-signed_data.length)).toEqual(signed_data);
    // Tag and length of the signed data take three bytes.
    const end = header.length - signed_data.length - 4;
    const signature = header.subarray(end - 256, end);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(signed_data.length);
    const signed = Buffer.concat([Buffer.from('CRX3 SignedData\0'), length, signed_data, zipped]);
    const spki = createPublicKey({ key: public_key, format: 'der', type: 'spki' });
    expect(verify('sha256', signed, spki, signature)).toBe(true);
    expect(verify('sha256', Buffer.concat([signed, Buffer.from([0])]), spki, signature)).toBe(false);
    expect(manifestOf(zipped)).toMatchObject({ version, update_url: `${base_url}updates.xml` });
    expect(manifestOf(zipped)).not.toHaveProperty('key');
  });

  it('the id follows the key, as Chrome derives it, and the update XML names it', () => {
    // Of the unpacked extension, whose id is known.
    expect(extensionIdOf(Buffer.from(source.key, 'base64'))).toBe('hjebokbchlgkmmecblopnocjmdjldmhd');
    const [mine, other] = [made(first()), made(first(), newSigningKey())];
    expect(mine.extension_id).toBe(extensionIdOf(publicKeyOf(key)));
    expect(other.extension_id).not.toBe(mine.extension_id);
    expect(hash(other.store_zip)).toBe(hash(mine.store_zip));
    expect(mine.update_xml).toContain(`<app appid='${mine.extension_id}'>`);
    expect(mine.update_xml).toContain(
      `codebase='${base_url}endue-chrome-agent-${version}.crx' version='${version}' prodversionmin='120'`,
    );
  });

  it('the key is the one of the environment, else one that is made once and that nobody else may read', () => {
    const path = join(scratch, 'keys', 'package.pem');
    const fresh = signingKey(undefined, path);
    expect(fresh.from).toBe('new');
    expect(statSync(path).mode & 0o077).toBe(0);
    expect(signingKey(undefined, path)).toEqual({ pem: fresh.pem, from: 'file' });
    expect(signingKey(key, path)).toEqual({ pem: key, from: 'environment' });
    expect(signingKey(path, join(scratch, 'no.pem'))).toEqual({ pem: fresh.pem, from: 'environment' });
    expect(readFileSync(at('.gitignore'), 'utf8').split('\n')).toEqual(
      expect.arrayContaining(['.keys/', 'packages/', '*.pem']),
    );
  });

  it('a key that is given but empty is refused: a new one would be another extension', () => {
    const path = join(scratch, 'never', 'package.pem');
    for (const empty of ['', ' \n']) expect(() => signingKey(empty, path)).toThrow(/set but empty/);
    expect(existsSync(path)).toBe(false);
  });

  it('what is neither a key nor a path is refused, and not quoted', () => {
    expect(() => signingKey('U0VDUkVUOQ==', join(scratch, 'no.pem'))).toThrow(
      /^PACKAGE_KEY is neither a key in PEM nor the path of a file that can be read\.$/,
    );
  });

  it('what is no RSA key is refused, and not quoted', () => {
    expect(() => publicKeyOf('SECRET9')).toThrow(/^The signing key is not a private key in PEM\.$/);
  });

  it.each([
    'updates.test/',
    'ftp://updates.test/',
    'https://updates.test/chrome',
    'https://updates.test/?a/',
  ])('the folder on the web must be one: %s', (url) => {
    const options = { files: first(), signing_key: key, documented_permissions, version };
    expect(() => makePackages({ ...options, base_url: url })).toThrow(/must begin with https/);
  });

  describe('the check', () => {
    const rules = { documented_permissions, version, update_url: null };
    const text = (content: string): Uint8Array => new TextEncoder().encode(content);

    /** What is said of the package with this manifest and these files. */
    function complaints(manifest: Record<string, unknown>, files: Record<string, Uint8Array> = {}): string[] {
      const { key: _key, ...built } = JSON.parse(
        new TextDecoder().decode(first().get('manifest.json')),
      ) as Record<string, unknown>;
      const changed = new Map([...first(), ...Object.entries(files)]);
      changed.set('manifest.json', text(JSON.stringify({ ...built, ...manifest })));
      return checkPackage(changed, zip(changed), rules);
    }

    it('has nothing against the package', () => {
      expect(complaints({})).toEqual([]);
    });

    it.each<[string, Record<string, unknown>, RegExp]>([
      ['a permission more', { permissions: [...source.permissions, 'cookies'] }, /^cookies is asked for/],
      ['a permission less', { permissions: source.permissions.slice(1) }, /^alarms is documented/],
      ['a host more', { host_permissions: ['<all_urls>', 'file:///*'] }, /^file:\/\/\/\* is asked for/],
      ['permissions for later', { optional_permissions: ['history'] }, /has optional_permissions/],
      ['a way in for pages', { externally_connectable: { matches: ['https://x.test/*'] } }, /externally/],
      ['the key of the unpacked extension', { key: source.key }, /has key/],
      ['an update address', { update_url: 'https://x.test/updates.xml' }, /update_url/],
      ['another version', { version: '9.9.9' }, /version/],
      ['manifest version 2', { manifest_version: 2 }, /manifest_version/],
      ['no policy', { content_security_policy: undefined }, /security policy/],
      [
        'a laxer policy',
        {
          content_security_policy: { extension_pages: "script-src 'self' https://x.test; object-src 'none'" },
        },
        /security policy/,
      ],
      ['a missing worker', { background: { service_worker: 'gone.js' } }, /names gone\.js/],
    ])('finds %s', (_what, manifest, complaint) => {
      expect(complaints(manifest)).toEqual([expect.stringMatching(complaint)]);
    });

    it.each<[string, string, string, RegExp]>([
      ['code from text', 'more.js', 'eval("1")', /makes code from text/],
      ['code from afar', 'more.js', 'import("https://x.test/a.js")', /loads code from afar/],
      ['a script from afar', 'more.html', '<script src="https://x.test/a.js"></script>', /from afar/],
      ['an inline script', 'more.html', '<script>1</script>', /script of its own/],
      ['an inline handler', 'more.html', '<p onclick="1"></p>', /script of its own/],
      ['a source map', 'more.js.map', '{}', /does not belong/],
      ['a hidden file', '.env', 'A=1', /does not belong/],
      ['a key', 'package.pem', 'secret', /does not belong/],
    ])('finds %s', (_what, name, content, complaint) => {
      expect(complaints({}, { [name]: text(content) })).toEqual([expect.stringMatching(complaint)]);
    });

    it('finds what is too large, and stops the packages', () => {
      // Digests cannot be compressed.
      const digests = Array.from({ length: LARGEST_ZIP / 32 }, (_, n) => createHash('sha256').update(`${n}`));
      const noise = Uint8Array.from(Buffer.concat(digests.map((digest) => digest.digest())));
      expect(complaints({}, { 'noise.png': noise })).toEqual([expect.stringMatching(/are too many/)]);
      expect(() => made(new Map([...first(), ['noise.png', noise]]))).toThrow(/are too many/);
    });
  });
});

function idBytes(id: string): Buffer {
  const hex = id.replace(/./g, (letter) => (letter.charCodeAt(0) - 97).toString(16));
  return Buffer.from(hex, 'hex');
}
