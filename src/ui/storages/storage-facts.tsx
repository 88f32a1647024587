/** What is durable of a Storage: its id and last save, and of the rest what there is. */
import type { ComponentChildren, JSX } from 'preact';
import type { StorageOverview } from '../../platform/messages';
import { formatFullTime } from '../format';
import type { Texts } from '../i18n';

interface Props {
  storage: StorageOverview;
  texts: Texts;
}

export function StorageFactsList({ storage, texts }: Props): JSX.Element {
  const { t, locale } = texts;
  const { storage_id, revision, saved_at, sealed, links, gone, recovery_folders } = storage;
  const hasRecovered = !gone && recovery_folders.length > 0;
  return (
    <dl class="facts">
      <Fact label={t('storage_id')}>
        <span class="verbatim">{storage_id}</span>
      </Fact>
      {revision !== null && (
        <Fact label={t('storage_revision')}>
          <span class="verbatim revision">{String(revision)}</span>
        </Fact>
      )}
      <Fact label={t('storage_saved_at')}>
        {saved_at === null ? (
          t('storage_never_saved')
        ) : (
          <time dateTime={new Date(saved_at).toISOString()}>{formatFullTime(saved_at, locale)}</time>
        )}
      </Fact>
      {sealed.length > 0 && (
        <Fact label={t('storage_sealed')}>
          <PathList
            texts={texts}
            rows={sealed.map(({ path, until }) => ({
              path,
              more: until === null ? '' : t('storage_until', [formatFullTime(until, locale)]),
            }))}
          />
        </Fact>
      )}
      {links.length > 0 && (
        <Fact label={t('storage_links')}>
          <PathList
            texts={texts}
            rows={links.map(({ path, broken }) => ({ path, more: broken ? t('storage_link_broken') : '' }))}
          />
        </Fact>
      )}
      {hasRecovered && (
        <Fact label={t('storage_recovered')}>
          <PathList texts={texts} rows={recovery_folders.map((path) => ({ path, more: '' }))} />
          <p class="hint">{t('storage_recovered_help')}</p>
        </Fact>
      )}
    </dl>
  );
}

function Fact({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function PathList({
  rows,
  texts: { t },
}: {
  rows: { path: string; more: string }[];
  texts: Texts;
}): JSX.Element {
  return (
    <ul>
      {rows.map(({ path, more }) => (
        <li key={path}>
          {path === '' ? t('storage_whole') : <span class="verbatim">{path}</span>}
          {more !== '' && <span class="more">{more}</span>}
        </li>
      ))}
    </ul>
  );
}
