/** What is in the built extension: nothing a page of Chrome would refuse, nothing nobody asked for. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import source from '../../manifest.json';
import { BUTTON_ICON_SIZES, BUTTON_ICONS, buttonIconFile } from '../../src/platform/button-icons';

const dist = fileURLToPath(new URL('../../dist', import.meta.url));
const files = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  .map((name) => join(dist, name))
  .filter((path) => statSync(path).isFile());
const scripts = files.filter((path) => path.endsWith('.js'));
const pages = files.filter((path) => path.endsWith('.html'));
const read = (path: string): string => readFileSync(path, 'utf8');
const name = (path: string): string => relative(dist, path);
const manifest = JSON.parse(read(join(dist, 'manifest.json'))) as Record<string, unknown>;

describe('the built extension', () => {
  it('has scripts and pages to look at', () => {
    expect(scripts.length).toBeGreaterThan(2);
    expect(pages.map(name)).toContain('src/offscreen.html');
  });

  it.each(scripts.map((path) => [name(path), path]))('%s makes no code from text', (_name, path) => {
    const found = read(path).match(/\beval\s*\(|\bnew\s+Function\b|\bFunction\s*\(\s*["'`]/);
    expect(found?.[0]).toBeUndefined();
  });

  it.each(pages.map((path) => [name(path), path]))(
    '%s has no inline script and loads nothing from afar',
    (_name, path) => {
      const html = read(path);
      for (const [, attributes = '', body = ''] of html.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/g)) {
        expect(attributes).toMatch(/\bsrc=/);
        expect(body.trim()).toBe('');
      }
      expect(html).not.toMatch(/(?:src|href)=["']?(?:https?:)?\/\//);
      expect(html).not.toMatch(/\son[a-z]+=/);
    },
  );

  it('asks for the permissions of the source manifest and no others', () => {
    expect(manifest.permissions).toEqual(source.permissions);
    expect(manifest.host_permissions).toEqual(source.host_permissions);
    expect(manifest.optional_permissions).toBeUndefined();
  });

  it('can be commanded by no page and no other extension', () => {
    expect(manifest.externally_connectable).toBeUndefined();
    expect(manifest.content_scripts).toBeUndefined();
    expect(manifest.web_accessible_resources ?? []).toEqual([]);
    // The polyfill names the event; nothing of ours listens to it.
    for (const path of scripts) expect(read(path)).not.toMatch(/on(Message|Connect)External\.addListener/);
  });

  it('keeps the strict content security policy', () => {
    expect(manifest.content_security_policy).toEqual(source.content_security_policy);
    // Hashing in WebAssembly is allowed, and nothing else that is not a file of the package.
    const policy = JSON.stringify(manifest.content_security_policy);
    expect(policy.match(/[^ ";]*unsafe[^ ";]*/g)).toEqual(["'wasm-unsafe-eval'"]);
    expect(policy).not.toMatch(/https?:/);
  });

  it('has WebAssembly in the storage worker alone', () => {
    const withWasm = scripts.filter((path) => read(path).includes('WebAssembly.'));
    expect(withWasm.map(name)).toEqual([expect.stringMatching(/storage-worker/)]);
  });

  it('checks the tools’ inputs in the offscreen document, not in the worker that starts so often', () => {
    // What ajv's code says of an unknown key.
    const validating = scripts.filter((path) => read(path).includes('must NOT have additional properties'));
    expect(validating.map(name)).toEqual([expect.stringMatching(/^assets\/offscreen-/)]);
  });

  it('keeps the service worker small: each byte costs at each of its starts', () => {
    expect(statSync(join(dist, 'service-worker.js')).size).toBeLessThan(200_000);
  });

  it('stays small: under 300 KB when packed', () => {
    const size = files.reduce((sum, path) => sum + deflateRawSync(readFileSync(path)).length, 0);
    expect(size).toBeLessThan(300_000);
  });

  /** Width and height of a PNG stand at a fixed place in it. */
  function pngSize(file: string): [number, number] {
    const bytes = readFileSync(join(dist, file));
    expect(bytes.subarray(1, 4).toString(), file).toBe('PNG');
    return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  }

  it('has each icon of the manifest, in its size; the button begins as not enrolled, which is true then', () => {
    const { icons, action } = manifest as Pick<typeof source, 'icons' | 'action'>;
    expect(Object.keys(icons)).toEqual(['16', '32', '48', '128']);
    for (const [size, file] of [...Object.entries(icons), ...Object.entries(action.default_icon)]) {
      expect(pngSize(file), file).toEqual([Number(size), Number(size)]);
    }
    const first = Object.fromEntries(
      BUTTON_ICON_SIZES.map((size) => [size, buttonIconFile('not_enrolled', size)]),
    );
    expect(action.default_icon).toEqual(first);
  });

  it('has each picture of the button in each size, small, and no icon that nothing uses', () => {
    const pictures = BUTTON_ICONS.flatMap((icon) =>
      BUTTON_ICON_SIZES.map((size) => ({ file: buttonIconFile(icon, size), size })),
    );
    for (const { file, size } of pictures) {
      expect(pngSize(file), file).toEqual([size, size]);
      expect(statSync(join(dist, file)).size, file).toBeLessThan(2_000);
    }
    const used = [...pictures.map(({ file }) => file), ...Object.values(source.icons)];
    expect(files.map(name).filter((file) => file.startsWith('icons/'))).toEqual(expect.arrayContaining(used));
    expect(files.map(name).filter((file) => file.startsWith('icons/')).length).toBe(used.length);
  });

  it('has every message in both languages', () => {
    const keys = (language: string): string[] =>
      Object.keys(JSON.parse(read(join(dist, '_locales', language, 'messages.json')))).sort();
    expect(keys('ko')).toEqual(keys('en'));
  });
});
