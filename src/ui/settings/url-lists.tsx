/** The pages that policy opens or closes to tools (policy.md, `url_allowlist`, `url_blocklist`): to be read only. */
import type { JSX } from 'preact';
import type { PermissionSettings } from '../../platform/messages';
import type { Texts } from '../i18n';
import { LockIcon } from '../lock-icon';

interface Props {
  permissions: PermissionSettings;
  texts: Texts;
}

export function UrlLists({ permissions, texts }: Props): JSX.Element | null {
  const { t } = texts;
  const { url_allowlist, url_blocklist } = permissions;
  if (url_allowlist === null && url_blocklist.length === 0) return null;
  return (
    <section class="urls" aria-labelledby="urls-heading">
      <h2 id="urls-heading">{t('urls_heading')}</h2>
      <p class="managed">
        <LockIcon />
        {t('permission_managed')}
      </p>
      {url_allowlist !== null && (
        <>
          <h3>{t('urls_allowed')}</h3>
          {url_allowlist.length === 0 ? <p>{t('urls_allowed_none')}</p> : <Patterns of={url_allowlist} />}
        </>
      )}
      {url_blocklist.length > 0 && (
        <>
          <h3>{t('urls_blocked')}</h3>
          <Patterns of={url_blocklist} />
        </>
      )}
    </section>
  );
}

function Patterns({ of: patterns }: { of: readonly string[] }): JSX.Element {
  return (
    <ul class="patterns">
      {patterns.map((pattern) => (
        <li key={pattern} class="verbatim">
          {pattern}
        </li>
      ))}
    </ul>
  );
}
