/** What waits for the person's word: what, by which tool, on which page, for how long (tools.md, confirmation). */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { PendingQuestion } from '../../platform/messages';
import { toolInWords } from '../activity/activity-words';
import { secondsUntil } from '../connection-sentence';
import { formatDuration } from '../format';
import type { Texts } from '../i18n';
import { QuestionDetails } from './question-details';

interface Props {
  questions: readonly PendingQuestion[];
  now: number;
  texts: Texts;
  onAnswer(question_id: string, allow: boolean): void;
}

/** A question that appears under the pointer must not be answered by a click that was meant for something else. */
export const GUARD_MS = 500;

export function Questions({ questions, now, texts, onAnswer }: Props): JSX.Element {
  const { t, locale } = texts;
  const count = new Intl.NumberFormat(locale).format(questions.length);
  return (
    <section class="questions" aria-labelledby="questions-heading">
      <h2 id="questions-heading">{t('question_heading')}</h2>
      <p class="visually-hidden" role="status">
        {t('questions_waiting', [count])}
      </p>
      <ul>
        {questions.map((question) => (
          <QuestionItem
            key={question.question_id}
            question={question}
            now={now}
            texts={texts}
            onAnswer={onAnswer}
          />
        ))}
      </ul>
    </section>
  );
}

interface ItemProps {
  question: PendingQuestion;
  now: number;
  texts: Texts;
  onAnswer: Props['onAnswer'];
}

function QuestionItem({ question, now, texts, onAnswer }: ItemProps): JSX.Element {
  const { question_id, tool, page, details, deadline } = question;
  const { t, locale } = texts;
  const [open, setOpen] = useState(false);
  const [answered, setAnswered] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setOpen(true), GUARD_MS);
    return () => clearTimeout(timer);
  }, []);
  const answer = (allow: boolean): void => {
    setAnswered(true);
    onAnswer(question_id, allow);
  };
  const words = toolInWords(tool, texts);
  const left = formatDuration(secondsUntil(deadline, now) * 1000, locale);
  return (
    <li class="question-item" aria-label={t('question_title', [words.text])}>
      <p class="question-what">{t('question_title', [words.text])}</p>
      <p class="question-host">
        <bdi>{page === null ? t('question_no_page') : page.host}</bdi>
      </p>
      {page !== null && page.title !== '' && (
        <p class="question-title" title={page.title}>
          <bdi>{page.title}</bdi>
        </p>
      )}
      <QuestionDetails details={details} texts={texts} />
      <p class="question-facts">
        <code>{tool}</code> <span class="time">{t('question_left', [left])}</span>
      </p>
      <div class="answers">
        <button type="button" disabled={!open || answered} onClick={() => answer(true)}>
          {t('action_allow')}
        </button>
        <button type="button" disabled={!open || answered} onClick={() => answer(false)}>
          {t('action_decline')}
        </button>
      </div>
    </li>
  );
}
