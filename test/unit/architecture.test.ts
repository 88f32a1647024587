/** The house of the project: imports run downwards, and cores know no browser. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../src', import.meta.url));

/** A folder may import from itself and from those named here; `platform` is for shells (see below). */
const MAY_IMPORT: Record<string, string[]> = {
  protocol: [],
  settings: ['protocol'],
  storage: ['protocol'],
  page: ['protocol'],
  tools: ['settings', 'storage', 'protocol'],
  router: ['tools', 'settings', 'storage', 'protocol'],
  relay: ['protocol'],
  ui: ['settings', 'protocol'],
  platform: ['protocol'],
};

interface Import {
  from: string;
  specifier: string;
  target: string;
  typeOnly: boolean;
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'))
  .map((name) => name.replaceAll('\\', '/'));

function importsOf(file: string): Import[] {
  const text = readFileSync(join(src, file), 'utf8');
  const found = text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+'([^']+)'/gm);
  return [...found].map(([, type, specifier = '']) => ({
    from: file,
    specifier,
    target: specifier.startsWith('.')
      ? relative(src, resolve(src, dirname(file), specifier)).replaceAll('\\', '/')
      : '',
    typeOnly: type !== undefined,
  }));
}

const folderOf = (path: string): string => (path.includes('/') ? (path.split('/')[0] as string) : '');
const imports = files.flatMap(importsOf).filter(({ target }) => target !== '');

describe('the house', () => {
  it('has files to look at', () => {
    expect(files.length).toBeGreaterThan(20);
    expect(imports.length).toBeGreaterThan(20);
  });

  it('imports run downwards', () => {
    const upward = imports.filter(({ from, target, typeOnly }) => {
      const own = folderOf(from);
      const other = folderOf(target);
      if (own === '' || own === other || typeOnly) return false;
      return other !== 'platform' && !MAY_IMPORT[own]?.includes(other);
    });
    expect(upward.map(({ from, specifier }) => `${from} → ${specifier}`)).toEqual([]);
  });
});
