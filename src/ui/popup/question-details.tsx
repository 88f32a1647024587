/** What a tool that waits for the person was given: text of the platform, shown as it is and never as markup. */
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { QuestionDetail } from '../../platform/messages';
import type { Texts } from '../i18n';
import { DETAIL_WORDS, leftOut } from '../question-words';

interface Props {
  details: readonly QuestionDetail[];
  texts: Texts;
}

export function QuestionDetails({ details, texts }: Props): JSX.Element | null {
  if (details.length === 0) return null;
  return (
    <div class="details">
      {details.map((detail, index) => (
        <Detail key={`${index} ${detail.kind}`} detail={detail} texts={texts} />
      ))}
    </div>
  );
}

function Detail({ detail, texts }: { detail: QuestionDetail; texts: Texts }): JSX.Element {
  const { t } = texts;
  const [open, setOpen] = useState(false);
  const label = t(DETAIL_WORDS[detail.kind]);
  const rest = leftOut(detail, texts);
  const whole = (
    <>
      <DetailText label={label} text={detail.text} />
      {rest !== null && <p class="detail-rest">{rest}</p>}
    </>
  );
  if (!detail.concealed) {
    return (
      <div class="detail">
        <p class="detail-label">{label}</p>
        {whole}
      </div>
    );
  }
  return (
    <details class="detail" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary class="detail-label">{t('question_reveal', [label])}</summary>
      {open && whole}
    </details>
  );
}

/** Where there is more than fits, the keyboard can scroll it, too. */
function DetailText({ label, text }: { label: string; text: string }): JSX.Element {
  const box = useRef<HTMLElement>(null);
  const [scrolls, setScrolls] = useState(false);
  useLayoutEffect(() => {
    const { scrollHeight = 0, clientHeight = 0 } = box.current ?? {};
    setScrolls(scrollHeight > clientHeight);
  }, [text]);
  return (
    <figure
      ref={box}
      class="detail-text verbatim"
      aria-label={label}
      tabIndex={scrolls ? 0 : undefined}
      dir="auto"
    >
      {text}
    </figure>
  );
}
