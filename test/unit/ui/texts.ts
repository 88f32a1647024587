/** The messages of `_locales` as Chrome serves them, for tests. */
import en from '../../../public/_locales/en/messages.json';
import ko from '../../../public/_locales/ko/messages.json';
import { createTexts, type Texts } from '../../../src/ui/i18n';

export interface Message {
  message: string;
  description?: string;
  placeholders?: Record<string, { content: string }>;
}

export const MESSAGES: Record<'en' | 'ko', Record<string, Message>> = { en, ko };

/** Chrome's `i18n`: keys without regard to case, '' for an unknown one, `$NAME$` by its placeholder. */
export function texts(language: 'en' | 'ko', uiLanguage: string = language): Texts {
  const byKey = new Map(Object.entries(MESSAGES[language]).map(([key, value]) => [key.toLowerCase(), value]));
  return createTexts({
    getUILanguage: () => uiLanguage,
    getMessage(key, substitutions = []) {
      const found = byKey.get(key.toLowerCase());
      if (!found) return '';
      return found.message.replace(/\$(\w+)\$/g, (_whole, name: string) => {
        const content = found.placeholders?.[name.toLowerCase()]?.content ?? '';
        return content.replace(/\$(\d)/g, (_place, index: string) => substitutions[Number(index) - 1] ?? '');
      });
    },
  });
}
