/** A question to the person in words, for the popup and the notification. Pure. */
import type { PendingQuestion, QuestionDetail, QuestionDetailKind } from '../platform/messages';
import type { ShownQuestion } from '../platform/question-notifications';
import { toolInWords } from './activity/activity-words';
import { shortHost } from './connection-sentence';
import { formatDeadline } from './format';
import type { MessageKey, Texts } from './i18n';

/** The last moment that a date can tell. */
const LATEST_TIME = 8_640_000_000_000_000;

/** Where it would act, in one short line: data of a page, shown as text. */
export function questionPlace({ page }: PendingQuestion, { t }: Texts): string {
  if (page === null) return t('question_no_page');
  const host = shortHost(page.host);
  return page.title === '' ? host : `${host} · ${page.title}`;
}

/** As much as a notification shows without being opened. */
const LONGEST_LINE = 120;

export const DETAIL_WORDS: Readonly<Record<QuestionDetailKind, MessageKey>> = {
  script: 'question_script',
  address: 'question_address',
  action: 'question_action',
  element: 'question_element',
  text: 'question_text',
  option: 'question_option',
  key: 'question_key',
  storage: 'question_storage',
  link: 'question_link',
  path: 'question_path',
  target: 'question_target',
  content: 'question_content',
};

/** How much of it is not shown; null when nothing is left out. */
export function leftOut({ left_out }: QuestionDetail, { t, locale }: Texts): string | null {
  if (left_out === 0) return null;
  return t('question_left_out', [new Intl.NumberFormat(locale).format(left_out)]);
}

/** The first of it in one line, and that the popup has the rest; '' when there is nothing to show here. */
function detailLine(question: PendingQuestion, texts: Texts): string {
  const first = question.details.find(({ concealed }) => !concealed);
  if (first === undefined) return '';
  const characters = [...first.text.replace(/\s+/g, ' ').trim()];
  const isCut = characters.length > LONGEST_LINE || first.left_out > 0;
  const text = isCut ? `${characters.slice(0, LONGEST_LINE - 1).join('')}…` : characters.join('');
  const line = `${texts.t(DETAIL_WORDS[first.kind])}: ${text}`;
  return isCut || question.details.length > 1 ? `${line}\n${texts.t('question_more')}` : line;
}

/** `now` is epoch milliseconds. */
export function questionNotification(question: PendingQuestion, now: number, texts: Texts): ShownQuestion {
  const { t, locale } = texts;
  const { question_id, tool, deadline } = question;
  return {
    question_id,
    title: t('question_title', [toolInWords(tool, texts).text]),
    message: [questionPlace(question, texts), detailLine(question, texts)].filter(Boolean).join('\n'),
    context: t('question_until', [tool, formatDeadline(Math.min(deadline, LATEST_TIME), now, locale)]),
    buttons: [t('action_allow'), t('action_decline')],
  };
}
