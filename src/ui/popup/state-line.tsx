/** The dot, the sentence that is always true, and the one thing to do about it (ui.md, Popup 1). */
import type { JSX } from 'preact';
import type { ConnectionState } from '../../platform/messages';
import { connectionAnnouncement, connectionSentence, shortHost, toneOf } from '../connection-sentence';
import type { MessageKey, Texts } from '../i18n';

interface Props {
  connection: ConnectionState | null;
  now: number;
  texts: Texts;
  hint: MessageKey | null;
  action: 'retry' | 'resume' | null;
  busy: boolean;
  onAction(): void;
}

export function StateLine({ connection, now, texts, hint, action, busy, onAction }: Props): JSX.Element {
  const { t, locale } = texts;
  const sentence = connection ? connectionSentence(connection, now, t, locale) : t('state_unknown');
  // Read aloud when it changes, but not at every second of a countdown.
  const announcement = connection ? connectionAnnouncement(connection, now, t, locale) : t('state_unknown');
  const host = hostOf(connection);
  return (
    <section class="state">
      <span class="dot" data-tone={connection ? toneOf(connection) : 'busy'} aria-hidden="true" />
      <div class="state-words">
        <h1 class="sentence" title={host}>
          <Parts of={sentence} />
        </h1>
        <p class="visually-hidden" role="status">
          {announcement}
        </p>
        {hint && (
          <p class="hint" title={host}>
            {t(hint, [shortHost(host ?? '')])}
          </p>
        )}
        {action && (
          <button type="button" class="primary" disabled={busy} onClick={onAction}>
            {t(`action_${action}`)}
          </button>
        )}
      </div>
    </section>
  );
}

/** What stands between the parts of a sentence. */
const SEPARATOR = /\s·\s/;

/** Each part keeps together where there is room; a separator is seen only between two parts on one line. */
function Parts({ of: sentence }: { of: string }): JSX.Element {
  const [first = '', ...others] = sentence.split(SEPARATOR);
  return (
    <span class="parts">
      <span class="part">{first}</span>
      {others.map((part) => (
        <span class="part" key={part}>
          <span class="separator"> · </span>
          {part}
        </span>
      ))}
    </span>
  );
}

/** The whole host, where the sentence may show it cut. */
function hostOf(connection: ConnectionState | null): string | undefined {
  return connection && 'host' in connection ? connection.host : undefined;
}
