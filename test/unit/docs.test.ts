/** What the documents list is what there is: tools, permissions, policy keys, dependencies, and each other. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import manifest from '../../manifest.json';
import packages from '../../package.json';
import { POLICY_KEYS } from '../../src/settings/managed-policy';
import { TOOLS } from '../../src/tools/registry';

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const read = (path: string): string => readFileSync(at(path), 'utf8');

/** What stands between backticks in the first cells of all tables, in order. */
function named(path: string): string[] {
  const rows = read(path).matchAll(/^\|([^|]*)\|/gm);
  return [...rows].flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
}

/** What the tests and groups of a file are called, in whatever way they are made. */
function titlesIn(source: string): string[] {
  const calls = source.matchAll(/(?:\b(?:it|test|describe)|\))\(\s*(['"`])((?:\\.|(?!\1).)*)\1\s*,/gs);
  return [...calls].map(([, , title = '']) => title.replace(/\\(.)/g, '$1'));
}

const documents = readdirSync(at('docs')).filter((name) => name.endsWith('.md'));

describe('the documents', () => {
  it('docs/permissions.md has one row per permission of the manifest, and no other', () => {
    const asked = [...manifest.permissions, ...manifest.host_permissions];
    expect(named('docs/permissions.md').sort()).toEqual(asked.sort());
  });

  it('docs/dependencies.md names each package once, and no other', () => {
    const installed = [...Object.keys(packages.dependencies), ...Object.keys(packages.devDependencies)];
    expect(named('docs/dependencies.md').sort()).toEqual(installed.sort());
  });

  it('docs/policy.md has every key of the managed policy once, and no other', () => {
    expect(named('docs/policy.md').sort()).toEqual([...POLICY_KEYS].sort());
  });

  it('README.md names every tool once, and no other', () => {
    expect(named('README.md').sort()).toEqual(TOOLS.map(({ name }) => name).sort());
  });

  it('docs/security.md names tests that exist', () => {
    const cited = [
      ...read('docs/security.md').matchAll(/`(?:test\/[\w/-]+\/)?([\w/.-]+\.test\.tsx?)`|“([^”]+)”/g),
    ];
    let file = '';
    let titles = 0;
    for (const [cell, path = '', title] of cited) {
      // A file without its folder lies beside the one before.
      if (path)
        file = cell.includes('/') ? cell.slice(1, -1) : `${file.slice(0, file.lastIndexOf('/'))}/${path}`;
      if (!title) expect(existsSync(at(file)), file).toBe(true);
      else if (!titlesIn(read(file)).includes(title)) expect.fail(`${file} has no test “${title}”`);
      else titles += 1;
    }
    expect(titles).toBeGreaterThan(20);
  });

  it.each([
    'README.md',
    'SECURITY.md',
    'CHANGELOG.md',
    'docs/store/README.md',
    'test/fake-relay/README.md',
    ...documents.map((name) => `docs/${name}`),
  ])('%s leads to files and names files and commands that exist', (document) => {
    const text = read(document);
    for (const [, link = ''] of text.matchAll(/(?:\]\(|(?:src|href)=")([^)#:"]+)(?:#[^)]*)?[)"]/g)) {
      expect(existsSync(new URL(link, new URL(`../../${document}`, import.meta.url))), link).toBe(true);
    }
    for (const [, path = ''] of text.matchAll(/`((?:src|test|docs|scripts|public)\/[\w./-]+)`/g)) {
      expect(existsSync(at(path)), path).toBe(true);
    }
    for (const [, command = ''] of text.matchAll(/\bnpm run ([\w:]+)/g)) {
      expect(Object.keys(packages.scripts)).toContain(command);
    }
  });

  it('README.md leads to every document', () => {
    const readme = read('README.md');
    for (const document of documents) expect(readme).toContain(`](docs/${document})`);
  });
});
