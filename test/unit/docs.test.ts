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
    const cited = [...read('docs/security.md').matchAll(/`(test\/[\w/.-]+\.test\.tsx?)`|“([^”]+)”/g)];
    let file = '';
    let titles = 0;
    for (const [, path, title] of cited) {
      if (path) file = read(path);
      if (!title) continue;
      expect(file).toContain(title);
      titles += 1;
    }
    expect(titles).toBeGreaterThan(20);
  });

  it.each(['README.md', 'SECURITY.md', ...documents.map((name) => `docs/${name}`)])(
    '%s leads to files that exist',
    (document) => {
      for (const [, link = ''] of read(document).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
        expect(existsSync(new URL(link, new URL(`../../${document}`, import.meta.url))), link).toBe(true);
      }
    },
  );

  it('README.md leads to every document', () => {
    const readme = read('README.md');
    for (const document of documents) expect(readme).toContain(`](docs/${document})`);
  });
});
