/** What the store is told: every field in both languages, within the store's limits, and true of the package. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { imageSize } from 'image-size';
import { describe, expect, it } from 'vitest';
import manifest from '../../manifest.json';
import { ACTIVITY_KEPT } from '../../src/settings/activity';

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const read = (path: string): string => readFileSync(at(path), 'utf8');

const LANGUAGES = ['en', 'ko'];
/** Longest text of each field in characters (docs/store/README.md). */
const FIELDS: Record<string, number> = {
  Title: 75,
  Summary: 132,
  'Detailed description': 16_000,
  Category: 75,
  'Single purpose': 1_000,
  'Remote code': 1_000,
  Certifications: 1_000,
  'Privacy policy': 2_000,
  Support: 2_000,
};
const LONGEST_JUSTIFICATION = 1_000;
/** What the dashboard's data-use boxes are called. */
const KINDS_OF_DATA = [
  'Personally identifiable information',
  'Health information',
  'Financial and payment information',
  'Authentication information',
  'Personal communications',
  'Location',
  'Web history',
  'User activity',
  'Website content',
];

/** Heading → what stands below it. */
function sections(path: string): Map<string, string> {
  const parts = read(path).split(/^## /m).slice(1);
  return new Map(
    parts.map((part): [string, string] => {
      const [heading = '', ...lines] = part.split('\n');
      return [heading, lines.join('\n').trim()];
    }),
  );
}

/** The text of a field, as it is pasted. */
function field(path: string, heading: string): string {
  return /^```text\n([\s\S]*)\n```$/.exec(sections(path).get(heading) ?? '')?.[1] ?? '';
}

/** The cells of the table below a heading, without its head. */
function table(path: string, heading: string): string[][] {
  return rowsOf(sections(path).get(heading) ?? '');
}

function rowsOf(text: string): string[][] {
  const rows = text.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).map((row) =>
    row
      .slice(2, -2)
      .split(' | ')
      .map((cell) => cell.trim()),
  );
}

const permissionIn = (cell = ''): string => /`([^`]+)`/.exec(cell)?.[1] ?? '';

describe.each(LANGUAGES)('docs/store/%s.md', (language) => {
  const path = `docs/store/${language}.md`;

  it('has every field, none empty, none too long', () => {
    expect([...sections(path).keys()].sort()).toEqual(
      [...Object.keys(FIELDS), 'Permission justifications', 'Data use'].sort(),
    );
    for (const [heading, longest] of Object.entries(FIELDS)) {
      const text = field(path, heading);
      expect(text.trim(), heading).not.toBe('');
      expect(text.length, heading).toBeLessThanOrEqual(longest);
    }
  });

  it('has the title and summary of the package', () => {
    const messages = JSON.parse(read(`public/_locales/${language}/messages.json`));
    expect(field(path, 'Title')).toBe(messages.extension_name.message);
    expect(field(path, 'Summary')).toBe(messages.extension_description.message);
  });

  it('justifies each permission of the manifest, and no other', () => {
    const rows = table(path, 'Permission justifications');
    const asked = [...manifest.permissions, ...manifest.host_permissions];
    expect(rows.map(([name]) => permissionIn(name)).sort()).toEqual(asked.sort());
    for (const [name, why = ''] of rows) {
      expect(why.length, name).toBeGreaterThan(10);
      expect(why.length, name).toBeLessThanOrEqual(LONGEST_JUSTIFICATION);
    }
  });

  it('says of each kind of data whether it is handled, the same in each language', () => {
    const rows = table(path, 'Data use');
    expect(rows.map(([kind]) => kind)).toEqual(KINDS_OF_DATA);
    expect(rows.map(([, handled]) => handled)).toEqual(
      table('docs/store/en.md', 'Data use').map(([, handled]) => handled),
    );
    for (const [kind, handled, why = ''] of rows) {
      expect(handled, kind).toMatch(/^(yes|no)$/);
      expect(why, kind).not.toBe('');
    }
  });

  it('names the same tools and permissions as the other language', () => {
    const names = (of: string): string[] => [...read(of).matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
    expect(names(path).sort()).toEqual(names('docs/store/en.md').sort());
  });

  it('promises as many entries of activity as are shown, as the activity page and docs/privacy.md do', () => {
    const { message } = JSON.parse(read(`public/_locales/${language}/messages.json`)).activity_page_note;
    for (const text of [field(path, 'Detailed description'), message, read('docs/privacy.md')]) {
      expect(text).toMatch(new RegExp(`\\b${ACTIVITY_KEPT}(?!\\d)`));
    }
  });

  it('has one to five screenshots of 1280 × 800 and a tile of 440 × 280, without transparency', () => {
    const folder = `docs/store/images/${language}`;
    const names = readdirSync(at(folder)).sort();
    const sizes = new Map(
      names.map((name) => {
        const bytes = readFileSync(at(`${folder}/${name}`));
        // The kind of colour of a PNG: 2 is without, 6 with transparency.
        expect(bytes[25], name).toBe(2);
        const { width, height } = imageSize(bytes);
        return [name, `${width}x${height}`];
      }),
    );
    expect(sizes.get('tile.png')).toBe('440x280');
    const screenshots = names.filter((name) => name !== 'tile.png');
    expect(screenshots.length).toBeGreaterThanOrEqual(3);
    expect(screenshots.length).toBeLessThanOrEqual(5);
    for (const name of screenshots) expect(sizes.get(name), name).toBe('1280x800');
  });
});

describe('docs/store', () => {
  it('justifies a permission in English with the words of docs/permissions.md', () => {
    const documented = rowsOf(read('docs/permissions.md')).map(([name, why]) => [name, why]);
    expect(table('docs/store/en.md', 'Permission justifications')).toEqual(documented);
  });

  it('says yes to the data that docs/privacy.md says leaves the browser', () => {
    const leaving = read('docs/privacy.md').split('## What stays')[0] ?? '';
    const handled = table('docs/store/en.md', 'Data use').filter(([, yes]) => yes === 'yes');
    const SAID_AS: Record<string, string> = {
      'Authentication information': '| The token |',
      'Web history': 'titles and addresses of tabs',
      'Website content': 'content of pages',
    };
    expect(handled.map(([kind]) => kind)).toEqual(Object.keys(SAID_AS));
    for (const words of Object.values(SAID_AS)) expect(leaving).toContain(words);
  });

  it('its pictures are small, and its links lead to files that exist', () => {
    const pictures = LANGUAGES.flatMap((language) =>
      readdirSync(at(`docs/store/images/${language}`)).map((name) => `docs/store/images/${language}/${name}`),
    );
    const bytes = pictures.reduce((sum, picture) => sum + readFileSync(at(picture)).length, 0);
    expect(bytes).toBeLessThan(1_500_000);
    for (const [, link = ''] of read('docs/store/README.md').matchAll(/\]\(([^)#:]+)\)/g)) {
      expect(existsSync(at(`docs/store/${link}`)), link).toBe(true);
    }
  });
});
