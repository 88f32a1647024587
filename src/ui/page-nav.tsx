/** The way between the pages of the extension, which are one family. */
import type { JSX } from 'preact';
import type { MessageKey, Texts } from './i18n';

const PAGES = {
  storages: 'storages_heading',
  activity: 'activity_heading',
  settings: 'settings_heading',
} as const satisfies Record<string, MessageKey>;

export type PageName = keyof typeof PAGES;

interface Props {
  here: PageName;
  texts: Texts;
}

export function PageNav({ here, texts: { t } }: Props): JSX.Element {
  return (
    <nav class="pages" aria-label={t('pages')}>
      <ul>
        {(Object.keys(PAGES) as PageName[]).map((page) => (
          <li key={page}>
            <a href={`../${page}/${page}.html`} aria-current={page === here ? 'page' : undefined}>
              {t(PAGES[page])}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
