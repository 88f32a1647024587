/** What can be done at any time, and under whose rule this browser is (ui.md, Popup 5). */
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Overview } from '../../platform/messages';
import type { Texts } from '../i18n';
import { LockIcon } from '../lock-icon';
import type { PopupModel } from './popup-model';

interface Props {
  model: PopupModel;
  overview: Overview | null;
  version: string;
  texts: Texts;
  busy: boolean;
  onPause(event: MouseEvent): void;
  onForget(): void;
  onAnother(event: MouseEvent): void;
}

export function PopupFoot(props: Props): JSX.Element {
  const { model, overview, version, texts, busy } = props;
  const { t } = texts;
  const [asking, setAsking] = useState(false);
  const forget = useRef<HTMLButtonElement>(null);
  const wasAsking = useRef(false);
  useLayoutEffect(() => {
    // Back to where the question was asked.
    if (wasAsking.current && !asking) forget.current?.focus();
    wasAsking.current = asking;
  }, [asking]);
  // The question was about the enrollment that is gone, not about the next one.
  useLayoutEffect(() => {
    if (!model.forget) setAsking(false);
  }, [model.forget]);
  return (
    <footer>
      {asking && model.forget ? (
        <ForgetQuestion
          texts={texts}
          onForget={() => {
            setAsking(false);
            props.onForget();
          }}
          onCancel={() => setAsking(false)}
        />
      ) : (
        <div class="buttons quiet">
          {model.pause && (
            <button type="button" disabled={busy} onClick={props.onPause}>
              {t('action_pause')}
            </button>
          )}
          {model.another && (
            <button type="button" disabled={busy} onClick={props.onAnother}>
              {t('action_another')}
            </button>
          )}
          {model.forget && (
            <button type="button" ref={forget} disabled={busy} onClick={() => setAsking(true)}>
              {t('action_forget')}
            </button>
          )}
        </div>
      )}
      <div class="about">
        {overview?.managed && (
          <span class="managed">
            <LockIcon />
            {t('managed')}
          </span>
        )}
        <a class="settings-link" href="../settings/settings.html" target="_blank" rel="noreferrer">
          {t('action_settings')}
        </a>
        <span class="version">{t('version', [version])}</span>
      </div>
      {overview && overview.policy_problems.length > 0 && (
        <details class="policy-problems">
          <summary>{t('policy_problems', [String(overview.policy_problems.length)])}</summary>
          <ul>
            {overview.policy_problems.map(({ key, reason }) => (
              <li key={key}>
                <code>{key}</code> <span>{texts.known(reason) ?? reason}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </footer>
  );
}

function ForgetQuestion(props: { texts: Texts; onForget(): void; onCancel(): void }): JSX.Element {
  const { t } = props.texts;
  const cancel = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => cancel.current?.focus(), []);
  return (
    <div
      class="question"
      role="alertdialog"
      aria-labelledby="forget-question"
      aria-describedby="forget-consequence"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        // Otherwise Chrome closes the whole popup.
        event.preventDefault();
        props.onCancel();
      }}
    >
      <h2 id="forget-question">{t('forget_question')}</h2>
      <p id="forget-consequence">{t('forget_consequence')}</p>
      <div class="buttons">
        <button type="button" class="danger" onClick={props.onForget}>
          {t('action_forget')}
        </button>
        <button type="button" ref={cancel} onClick={props.onCancel}>
          {t('action_cancel')}
        </button>
      </div>
    </div>
  );
}
