/** One attached Storage: its permission, the one button that repairs it, and what is known of it. */
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { StorageOverview } from '../../platform/messages';
import type { Texts } from '../i18n';
import { DetachQuestion } from './detach-question';
import { StorageFactsList } from './storage-facts';
import { type Attention, type CardWords, cardWords, permissionInWords } from './storage-words';

interface Props {
  storage: StorageOverview;
  texts: Texts;
  attention: Attention | null;
  /** The page was opened for this one: its button gets the focus. */
  isWanted: boolean;
  busy: boolean;
  onRepair(does: NonNullable<CardWords['action']>['does']): void;
  onSessionOnly(): void;
  onDetach(): void;
}

export function StorageCard(props: Props): JSX.Element {
  const { storage, texts, attention, isWanted, busy } = props;
  const { t } = texts;
  const { name, backing, permission, managed } = storage;
  const [asking, setAsking] = useState(false);
  const repair = useRef<HTMLButtonElement>(null);
  const detach = useRef<HTMLButtonElement>(null);
  const wasAsking = useRef(false);
  const words = cardWords(permission, attention);
  const access = permissionInWords(storage);

  useLayoutEffect(() => {
    if (isWanted) repair.current?.focus();
  }, [isWanted, words.action?.label]);
  useLayoutEffect(() => {
    // Back to where the question was asked.
    if (wasAsking.current && !asking) detach.current?.focus();
    wasAsking.current = asking;
  }, [asking]);

  return (
    <li class="card" data-permission={permission}>
      <div class="card-head">
        <h2>{name}</h2>
        {access !== null && (
          <span class="permission" data-permission={permission}>
            {t(access)}
          </span>
        )}
      </div>
      <p class="card-kind">
        <span>{t(backing === 'folder' ? 'storage_in_folder' : 'storage_in_browser')}</span>
        {managed && <span>{t('storage_by_policy')}</span>}
      </p>
      {words.help !== null && (
        <div class="advice">
          {words.heading !== null && <h3>{t(words.heading)}</h3>}
          <p>{t(words.help)}</p>
          {words.action !== null && (
            <div class="buttons">
              <RepairButton {...props} action={words.action} button={repair} />
              {words.session_only && (
                <button type="button" disabled={busy} onClick={props.onSessionOnly}>
                  {t('storage_session_only')}
                </button>
              )}
            </div>
          )}
        </div>
      )}
      <StorageFactsList storage={storage} texts={texts} />
      {!managed && !asking && (
        <div class="buttons card-foot">
          <button
            type="button"
            ref={detach}
            disabled={busy}
            aria-label={t('storage_detach_named', [name])}
            onClick={() => setAsking(true)}
          >
            {t('storage_detach')}
          </button>
        </div>
      )}
      {asking && (
        <DetachQuestion
          name={name}
          backing={backing}
          texts={texts}
          onDetach={props.onDetach}
          onCancel={() => setAsking(false)}
        />
      )}
    </li>
  );
}

interface RepairProps extends Props {
  action: NonNullable<CardWords['action']>;
  button: { current: HTMLButtonElement | null };
}

function RepairButton({ storage, texts: { t }, busy, action, button, onRepair }: RepairProps): JSX.Element {
  const named = action.label === 'storage_repair' ? t('storage_repair_named', [storage.name]) : undefined;
  return (
    <button
      type="button"
      class="primary"
      ref={button}
      disabled={busy}
      aria-label={named}
      onClick={() => onRepair(action.does)}
    >
      {t(action.label)}
    </button>
  );
}
