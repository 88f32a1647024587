import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'vite';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '../../../src/protocol/errors';
import { type PolicyReason, readManagedPolicy } from '../../../src/settings/managed-policy';
import { TOOLS } from '../../../src/tools/registry';
import { outcomeInWords, toolInWords } from '../../../src/ui/activity/activity-words';
import type { MessageKey } from '../../../src/ui/i18n';
import { MESSAGES, type Message, texts } from './texts';

const src = fileURLToPath(new URL('../../../src', import.meta.url));
const ui = join(src, 'ui');
const uiFiles = readdirSync(ui, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));

const placeholdersIn = ({ message }: Message): string[] =>
  [...message.matchAll(/\$(\w+)\$/g)].map(([, name = '']) => name.toLowerCase()).sort();

describe('_locales', () => {
  it('both languages have the same messages with the same placeholders', () => {
    expect(Object.keys(MESSAGES.ko)).toEqual(Object.keys(MESSAGES.en));
    for (const [key, english] of Object.entries(MESSAGES.en)) {
      const korean = MESSAGES.ko[key] as Message;
      expect(placeholdersIn(korean), key).toEqual(placeholdersIn(english));
      expect(korean.placeholders, key).toEqual(english.placeholders);
      expect(Object.keys(english.placeholders ?? {}).sort(), key).toEqual(placeholdersIn(english));
    }
  });

  it('no message is empty, and English says what each is for', () => {
    for (const messages of Object.values(MESSAGES)) {
      for (const [key, { message }] of Object.entries(messages)) expect(message.trim(), key).not.toBe('');
    }
    for (const [key, { description }] of Object.entries(MESSAGES.en)) expect(description, key).toBeTruthy();
  });

  it('the description fits where Chrome shows it', () => {
    for (const { extension_description } of Object.values(MESSAGES)) {
      expect(extension_description?.message.length).toBeLessThanOrEqual(132);
    }
  });

  it('every outcome and every tool has its words', () => {
    for (const language of ['en', 'ko'] as const) {
      const words = texts(language);
      for (const outcome of ['ok', 'waiting', ...ERROR_CODES] as const) {
        expect(words.known(`outcome_${outcome}`), outcome).not.toBeNull();
        expect(outcomeInWords({ outcome }, words)).toBe(words.known(`outcome_${outcome}`));
      }
      for (const { name } of TOOLS) expect(toolInWords(name, words), name).toMatchObject({ verbatim: false });
    }
  });

  it('an unknown tool is shown by the name it was asked for, whatever that is', () => {
    for (const tool of ['my_tool', 'SCREENSHOT', '@@extension_id', '<b>x</b>', '', '__proto__']) {
      expect(toolInWords(tool, texts('en'))).toEqual({ text: tool, verbatim: true });
    }
  });

  it('every reason of an ignored policy key has its message', () => {
    // The compiler holds the list of reasons to the messages; the file must have what the compiler read.
    const keyOf = (reason: PolicyReason): MessageKey => reason;
    const { problems } = readManagedPolicy({ endpoint: 5, log_level: 'loud', storages: [1], other: 1 });
    expect(problems).toHaveLength(4);
    for (const { reason } of problems) expect(texts('ko').known(keyOf(reason)), reason).not.toBeNull();
  });

  it('every message is used', () => {
    const sources = readdirSync(src, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => readFileSync(join(src, name), 'utf8'))
      .join('\n');
    const manifest = readFileSync(join(src, '../manifest.json'), 'utf8');
    const isBuilt = /^(?:state|announce|action|enrollment_problem|tool|outcome|class|permission|asked)_/;
    const unused = Object.keys(MESSAGES.en).filter(
      (key) => !isBuilt.test(key) && !sources.includes(`'${key}'`) && !manifest.includes(`__MSG_${key}__`),
    );
    expect(unused).toEqual([]);
  });

  it('what is not made of messages is not said: no text of its own in any component', () => {
    const attributes = ['title', 'alt', 'placeholder', 'aria-label', 'aria-description', 'label', 'value'];
    const found: string[] = [];
    const look = (node: unknown, file: string): void => {
      if (Array.isArray(node)) for (const part of node) look(part, file);
      if (typeof node !== 'object' || node === null) return;
      const { type, value, name } = node as { type?: string; value?: unknown; name?: { name?: string } };
      if (type === 'JSXText' && /\p{L}/u.test(String(value))) found.push(`${file}: ${String(value).trim()}`);
      if (type === 'JSXAttribute' && attributes.includes(name?.name ?? '') && isLiteral(value)) {
        found.push(`${file}: ${name?.name}`);
      }
      for (const part of Object.values(node)) look(part, file);
    };
    const isLiteral = (value: unknown): boolean => (value as { type?: string } | null)?.type === 'Literal';
    const components = uiFiles.filter((name) => name.endsWith('.tsx'));
    expect(components.length).toBeGreaterThan(5);
    for (const file of components) {
      const { program, errors } = parseSync(file, readFileSync(join(ui, file), 'utf8'));
      expect(errors).toEqual([]);
      look(program, file);
    }
    expect(found).toEqual([]);
  });
});

describe('languages', () => {
  it('dates follow the browser, unless its language is not that of the messages', () => {
    expect(texts('en', 'en-GB').locale).toBe('en-GB');
    expect(texts('ko', 'ko').locale).toBe('ko');
    expect(texts('en', 'fr-FR').locale).toBe('en');
    expect(texts('en', 'fr-FR').language).toBe('en');
  });
});
