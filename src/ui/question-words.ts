/** A question to the person in words, for the popup and the notification. Pure. */
import type { PendingQuestion } from '../platform/messages';
import type { ShownQuestion } from '../platform/question-notifications';
import { toolInWords } from './activity/activity-words';
import { shortHost } from './connection-sentence';
import { formatTime } from './format';
import type { Texts } from './i18n';

/** The last moment that a date can tell. */
const LATEST_TIME = 8_640_000_000_000_000;

/** Where it would act, in one short line: data of a page, shown as text. */
export function questionPlace({ page }: PendingQuestion, { t }: Texts): string {
  if (page === null) return t('question_no_page');
  const host = shortHost(page.host);
  return page.title === '' ? host : `${host} · ${page.title}`;
}

/** `now` is epoch milliseconds. */
export function questionNotification(question: PendingQuestion, now: number, texts: Texts): ShownQuestion {
  const { t, locale } = texts;
  const { question_id, tool, deadline } = question;
  return {
    question_id,
    title: t('question_title', [toolInWords(tool, texts).text]),
    message: questionPlace(question, texts),
    context: t('question_until', [tool, formatTime(Math.min(deadline, LATEST_TIME), now, locale)]),
    buttons: [t('action_allow'), t('action_decline')],
  };
}
