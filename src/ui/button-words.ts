/** What the extension's button says with the popup closed (ui.md, States and Badge). Pure. */
import type { ButtonState } from '../platform/badge';
import type { ConnectionState } from '../platform/messages';
import { badgeFor, connectionAnnouncement, iconFor } from './connection-sentence';
import type { Texts } from './i18n';

export interface ButtonFacts {
  connection: ConnectionState;
  /** How many questions wait for the person; they come before all else. */
  questions: number;
  /** Names of the Storages whose permission is lost. */
  lost: readonly string[];
  /** Epoch milliseconds. */
  now: number;
  texts: Texts;
}

/**
 * A lost Storage needs a person, except while paused: then nothing is to be used anyway. While no platform is
 * there to use it, the picture goes on saying that. The sentence of the connection is
 * without the seconds of a wait, which nobody would count down here.
 */
export function buttonFor({
  connection,
  questions,
  lost,
  now,
  texts: { t, locale },
}: ButtonFacts): ButtonState {
  if (questions > 0) {
    const count = new Intl.NumberFormat(locale).format(questions);
    return { icon: 'attention', text: '?', urgent: true, tooltip: t('questions_waiting', [count]) };
  }
  const { text, needs_person } = badgeFor(connection);
  const icon = iconFor(connection);
  const sentence = connectionAnnouncement(connection, now, t, locale);
  if (lost.length === 0) return { icon, text, urgent: needs_person, tooltip: sentence };
  const tooltip = `${sentence}\n${t('storages_lost_tooltip', [new Intl.ListFormat(locale).format(lost)])}`;
  if (connection.state === 'paused') return { icon, text, urgent: needs_person, tooltip };
  return { icon: icon === 'not_enrolled' ? icon : 'attention', text: '!', urgent: true, tooltip };
}
