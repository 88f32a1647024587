/** What the extension's button says with the popup closed (ui.md, States). Pure. */
import type { ButtonState } from '../platform/badge';
import type { ConnectionState } from '../platform/messages';
import { badgeFor, connectionAnnouncement } from './connection-sentence';
import type { Texts } from './i18n';

/** `questions`: how many wait for the person; they come before the connection. `now`: epoch milliseconds. */
export function buttonFor(
  connection: ConnectionState,
  questions: number,
  now: number,
  { t, locale }: Texts,
): ButtonState {
  if (questions > 0) {
    const count = new Intl.NumberFormat(locale).format(questions);
    return { text: '?', urgent: true, tooltip: t('questions_waiting', [count]) };
  }
  const { text, needs_person } = badgeFor(connection);
  // Without the seconds of a wait, which nobody would count down here.
  return { text, urgent: needs_person, tooltip: connectionAnnouncement(connection, now, t, locale) };
}
