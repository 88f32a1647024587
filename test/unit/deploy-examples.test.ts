/** The examples an administrator copies: each has the form its system reads, and says what the extension takes. */
import { readFileSync } from 'node:fs';
import Ajv from 'ajv';
import { describe, expect, it } from 'vitest';
import schema from '../../public/managed-schema.json';
import { readManagedPolicy } from '../../src/settings/managed-policy';

type Dictionary = Record<string, unknown>;

const read = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
/** What stands for a token in the documents is none, so that nobody tries it. */
const deploy = withToken(read('deploy.md'));
const policy_document = withToken(read('policy.md'));

function withToken(document: string): string {
  return document.replaceAll('osat_…', 'osat_example');
}

const fits = new Ajv({ allErrors: true }).compile({ ...schema, additionalProperties: false });

/** The code of all blocks of a language. */
function blocks(language: string, document: string): string[] {
  return [...document.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );
}

/** Known keys and types alone, and no value that the extension would ignore. */
function isTaken(keys: unknown): void {
  expect(fits(keys), JSON.stringify(fits.errors)).toBe(true);
  expect(readManagedPolicy(keys).problems).toEqual([]);
}

/** What Chrome's policy takes for one extension. */
const INSTALLING: Record<string, RegExp> = {
  installation_mode: /^force_installed$/,
  update_url: /^(<update url>|UPDATE_URL)$/,
  toolbar_pin: /^force_pinned$/,
};

function installs(settings: unknown, id: string): void {
  expect(Object.keys(settings as Dictionary)).toEqual([id]);
  const entry = (settings as Dictionary)[id] as Dictionary;
  expect(Object.keys(entry).sort()).toEqual(Object.keys(INSTALLING).sort());
  for (const [key, pattern] of Object.entries(INSTALLING)) expect(entry[key], key).toMatch(pattern);
}

/** Key → values of a .reg file, which is lines: a head, keys in brackets, `"name"=value`. */
function readReg(text: string): Map<string, Dictionary> {
  const [head, ...lines] = text.split('\n').filter((line) => line !== '');
  expect(head).toBe('Windows Registry Editor Version 5.00');
  const keys = new Map<string, Dictionary>();
  let values: Dictionary | undefined;
  for (const line of lines) {
    const [, key] = /^\[(.+)\]$/.exec(line) ?? [];
    const [, name = '', word, text] =
      /^"(\w+)"=(?:dword:([0-9a-f]{8})|"((?:[^"\\]|\\["\\])*)")$/.exec(line) ?? [];
    if (key !== undefined) {
      values = {};
      keys.set(key, values);
    } else {
      expect(name, line).not.toBe('');
      if (values)
        values[name] = text === undefined ? Number.parseInt(word ?? '', 16) : text.replace(/\\(.)/g, '$1');
    }
  }
  return keys;
}

/** As Chrome turns registry values into those of the schema: numbers into booleans, JSON texts into lists and objects. */
function fromRegistry(values: Dictionary): Dictionary {
  const properties: Record<string, { type: string } | undefined> = schema.properties;
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const type = properties[name]?.type;
      if (type === 'boolean' && typeof value === 'number') return [name, value !== 0];
      if (type === 'array' || type === 'object') return [name, JSON.parse(String(value))];
      return [name, value];
    }),
  );
}

/** A property list as JSON would have it. Strict: what it does not know is an error. */
function readPlist(text: string): unknown {
  const tokens = [...text.matchAll(/<[^>]+>|[^<\s][^<]*/g)].map(([token]) => token.trim());
  const body = tokens.slice(
    tokens.findIndex((token) => token.startsWith('<plist')) + 1,
    tokens.indexOf('</plist>'),
  );
  let at = 0;
  const take = (): string => body[at++] ?? '';
  const content = (tag: string): string => {
    const found = take();
    expect(take()).toBe(`</${tag}>`);
    return found;
  };
  const value = (): unknown => {
    const tag = take();
    if (tag === '<string>') return content('string');
    if (tag === '<integer>') return Number(content('integer'));
    if (tag === '<true/>' || tag === '<false/>') return tag === '<true/>';
    if (tag === '<array>') {
      const items: unknown[] = [];
      while (body[at] !== '</array>') items.push(value());
      take();
      return items;
    }
    expect(tag).toBe('<dict>');
    const entries: [string, unknown][] = [];
    while (body[at] !== '</dict>') {
      expect(take()).toBe('<key>');
      entries.push([content('key'), value()]);
    }
    take();
    return Object.fromEntries(entries);
  };
  const whole = value();
  expect(at).toBe(body.length);
  return whole;
}

describe('docs/deploy.md: the examples', () => {
  it('Linux: one file installs and enrolls', () => {
    const [text = ''] = blocks('json', deploy);
    const file = JSON.parse(text) as {
      ExtensionSettings: Dictionary;
      '3rdparty': { extensions: Dictionary };
    };
    expect(Object.keys(file)).toEqual(['ExtensionSettings', '3rdparty']);
    installs(file.ExtensionSettings, '<id>');
    expect(Object.keys(file['3rdparty'].extensions)).toEqual(['<id>']);
    isTaken(file['3rdparty'].extensions['<id>']);
  });

  it('Windows: a .reg file, its JSON texts valid, one of each type', () => {
    const [text = '', ...more] = blocks('reg', deploy);
    expect(more).toEqual([]);
    const root = 'HKEY_LOCAL_MACHINE\\Software\\Policies\\Google\\Chrome';
    const keys = readReg(text);
    expect([...keys.keys()]).toEqual([root, `${root}\\3rdparty\\extensions\\<id>\\policy`]);
    const [chrome = {}, own = {}] = keys.values();
    expect(Object.keys(chrome)).toEqual(['ExtensionSettings']);
    installs(JSON.parse(String(chrome.ExtensionSettings)), '<id>');
    const policy = fromRegistry(own);
    isTaken(policy);
    const kinds = Object.values(policy).map((value) => (Array.isArray(value) ? 'list' : typeof value));
    expect(new Set(kinds)).toEqual(new Set(['string', 'boolean', 'object', 'list']));
  });

  it('macOS: a profile of two payloads', () => {
    const [text = '', ...more] = blocks('xml', deploy);
    expect(more).toEqual([]);
    const profile = readPlist(text) as Dictionary;
    expect(profile).toMatchObject({
      PayloadType: 'Configuration',
      PayloadVersion: 1,
      PayloadScope: 'System',
    });
    const payloads = profile.PayloadContent as Dictionary[];
    const all = [profile, ...payloads];
    for (const key of ['PayloadIdentifier', 'PayloadUUID']) {
      expect(new Set(all.map((part) => part[key])).size, key).toBe(all.length);
    }
    expect(payloads.map(({ PayloadType }) => PayloadType)).toEqual([
      'com.google.Chrome',
      'com.google.Chrome.extensions.EXTENSION_ID',
    ]);
    const [install = {}, own = {}] = payloads.map((payload) =>
      Object.fromEntries(Object.entries(payload).filter(([key]) => !key.startsWith('Payload'))),
    );
    expect(Object.keys(install)).toEqual(['ExtensionSettings']);
    installs(install.ExtensionSettings, 'EXTENSION_ID');
    isTaken(own);
  });

  it('Google Admin console: each key inside Value', () => {
    const [, text = '', ...more] = blocks('json', deploy);
    expect(more).toEqual([]);
    const keys = Object.entries(JSON.parse(text) as Record<string, Dictionary>).map(([key, wrapped]) => {
      expect(Object.keys(wrapped), key).toEqual(['Value']);
      return [key, wrapped.Value];
    });
    isTaken(Object.fromEntries(keys));
  });

  it('what stands within the text is taken too', () => {
    const OF_CHROME = /^"(toolbar_pin|toolbar_state|override_update_url|minimum_version_required)"/;
    const pieces = [...deploy.matchAll(/`("\w+": [^`]+)`/g)].map(([, piece = '']) => piece);
    const own = pieces.filter((piece) => !OF_CHROME.test(piece));
    expect(own.length).toBeGreaterThanOrEqual(5);
    for (const piece of pieces) expect(() => JSON.parse(`{${piece}}`), piece).not.toThrow();
    for (const piece of own) isTaken(JSON.parse(`{${piece}}`));
    const [, type = ''] = /`tool_permissions` = `([^`]+)`/.exec(deploy) ?? [];
    isTaken({ tool_permissions: JSON.parse(type) });
  });
});

describe('docs/policy.md: the example', () => {
  it('enrolls', () => {
    const [text = '', ...more] = blocks('json', policy_document);
    expect(more).toEqual([]);
    const file = JSON.parse(text) as { '3rdparty': { extensions: Dictionary } };
    for (const keys of Object.values(file['3rdparty'].extensions)) isTaken(keys);
  });
});
