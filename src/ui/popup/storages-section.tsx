/** The attached Storages: name, permission, last save, and the way to repair a lost one (ui.md, Popup 3). */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { StorageOverview } from '../../platform/messages';
import { formatShortTime } from '../format';
import type { Texts } from '../i18n';
import { permissionInWords } from '../storages/storage-words';
import { writeVisitNote } from '../storages/visit-note';

const REFRESH_EVERY_MS = 3_000;
const PAGE = '../storages/storages.html';

interface Props {
  /** Rejects when nobody answers. */
  listStorages(): Promise<StorageOverview[]>;
  /** False at the first run: then nothing stands beside the paste box. */
  enrolled: boolean;
  now(): number;
  texts: Texts;
}

export function StoragesSection({ listStorages, enrolled, now, texts }: Props): JSX.Element | null {
  const [storages, setStorages] = useState<StorageOverview[] | null>(null);
  useEffect(() => {
    // What was last known stays; the next turn asks again.
    const look = (): void => void listStorages().then(setStorages, () => undefined);
    look();
    const timer = setInterval(look, REFRESH_EVERY_MS);
    return () => clearInterval(timer);
  }, [listStorages]);
  if (storages === null || (storages.length === 0 && !enrolled)) return null;
  return <StorageRows storages={storages} now={now()} texts={texts} />;
}

export function StorageRows(props: {
  storages: readonly StorageOverview[];
  now: number;
  texts: Texts;
}): JSX.Element {
  const { storages, now, texts } = props;
  const { t } = texts;
  return (
    <section class="storages" aria-labelledby="storages-heading">
      <div class="section-head">
        <h2 id="storages-heading">{t('storages_heading')}</h2>
        <a href={PAGE} target="_blank" rel="noreferrer">
          {t('storages_manage')}
        </a>
      </div>
      {storages.length === 0 ? (
        <p class="hint">{t('storages_none')}</p>
      ) : (
        <ul class="storage-rows">
          {storages.map((storage) => (
            <Row key={storage.storage_id} storage={storage} now={now} texts={texts} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Row(props: { storage: StorageOverview; now: number; texts: Texts }): JSX.Element {
  const { storage_id, name, permission, saved_at } = props.storage;
  const { t, locale } = props.texts;
  const saved = saved_at === null ? t('storage_never_saved') : formatShortTime(saved_at, props.now, locale);
  return (
    <li data-permission={permission}>
      <span class="storage-name" title={name}>
        {name}
      </span>
      <span class="storage-permission">{t(permissionInWords(props.storage) ?? 'storage_in_browser')}</span>
      {permission === 'lost' ? (
        <a
          href={PAGE + writeVisitNote({ step: 'repair', storage_id })}
          target="_blank"
          rel="noreferrer"
          aria-label={t('storage_repair_named', [name])}
        >
          {t('storage_repair')}
        </a>
      ) : (
        <span class="time" title={t('storage_saved_at')}>
          {saved}
        </span>
      )}
    </li>
  );
}
