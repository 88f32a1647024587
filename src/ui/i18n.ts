/**
 * The messages of `_locales`, by key. Thin over `browser.i18n`, which is passed in; knows no page but the
 * one it is told to label.
 */
import type messages from '../../public/_locales/en/messages.json';

export type MessageKey = keyof typeof messages;

/** The message of that key in the language of the browser, `$1…` replaced. */
export type Translate = (key: MessageKey, substitutions?: string[]) => string;

export interface Texts {
  t: Translate;
  /** The same for a key that came from outside; null when there is no such message. */
  known(key: string): string | null;
  /** Language tag for dates and numbers: the browser's own, unless the messages are in another language. */
  locale: string;
  /** Language tag of the messages. */
  language: string;
}

export interface I18n {
  getMessage(key: string, substitutions?: string[]): string;
  getUILanguage(): string;
}

export function createTexts(i18n: I18n): Texts {
  const t: Translate = (key, substitutions) => i18n.getMessage(key, substitutions);
  const language = t('language_tag');
  const own = i18n.getUILanguage();
  return {
    t,
    known: (key) => i18n.getMessage(key) || null,
    locale: own.split('-', 1)[0] === language ? own : language,
    language,
  };
}

/** Tells the document its language and its title. */
export function labelDocument(target: Document, { t, language }: Texts, title: MessageKey): void {
  target.documentElement.lang = language;
  target.title = t(title);
}
