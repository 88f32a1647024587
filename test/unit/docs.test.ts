/** What the documents list is what there is: tools, permissions, policy keys, dependencies, and each other. */
import { readdirSync, readFileSync } from 'node:fs';
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

  it('README.md leads to every document', () => {
    const readme = read('README.md');
    const documents = readdirSync(at('docs')).filter((name) => name.endsWith('.md'));
    for (const document of documents) expect(readme).toContain(`](docs/${document})`);
  });
});
