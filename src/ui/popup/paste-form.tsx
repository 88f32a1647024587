/**
 * The paste box: what was understood while pasting, and what is wrong, in one place (wire.md §1, ui.md). The
 * pasted text lives in the box alone; only the host of it is ever shown.
 */
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  describeEnrollmentDraft,
  type EnrollmentDraft,
  type EnrollmentProblem,
  parseEnrollment,
} from '../../settings/enrollment';
import type { Texts } from '../i18n';

/** Null: saved. `unanswered`: nobody knows. */
export type ConnectResult = EnrollmentProblem | 'unanswered' | null;

interface Props {
  texts: Texts;
  /** True when there is an enrollment that the new one would replace. */
  replacing: boolean;
  onConnect(text: string): Promise<ConnectResult>;
  onCancel(): void;
}

const EMPTY: EnrollmentDraft = { host: null, problem: 'empty' };

export function PasteForm({ texts, replacing, onConnect, onCancel }: Props): JSX.Element {
  const { t } = texts;
  const box = useRef<HTMLTextAreaElement>(null);
  const [draft, setDraft] = useState(EMPTY);
  /** What the last try gave; forgotten at the next change of the text. */
  const [result, setResult] = useState<ConnectResult>(null);
  const [busy, setBusy] = useState(false);
  useLayoutEffect(() => box.current?.focus(), []);

  const change = (text: string): void => {
    setDraft(describeEnrollmentDraft(text));
    setResult(null);
  };

  async function connect(): Promise<void> {
    const text = box.current?.value ?? '';
    const parsed = parseEnrollment(text);
    if (parsed.ok) setBusy(true);
    const outcome = parsed.ok ? await onConnect(text) : parsed.problem;
    setBusy(false);
    setResult(outcome);
    if (outcome !== null) box.current?.focus();
  }

  const isWrong = result !== null || (draft.problem !== null && !isUnfinished(draft.problem));
  return (
    <form
      class="paste"
      onSubmit={(event) => {
        event.preventDefault();
        void connect();
      }}
    >
      <label for="paste-box">{t('paste_label')}</label>
      <textarea
        id="paste-box"
        ref={box}
        rows={3}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        aria-describedby="paste-note"
        aria-invalid={isWrong}
        readOnly={busy}
        onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing || draft.problem !== null) return;
          event.preventDefault();
          event.currentTarget.form?.requestSubmit();
        }}
      />
      <div id="paste-note" class="paste-note" role="status" data-wrong={isWrong}>
        <PasteNote texts={texts} draft={draft} result={result} replacing={replacing} />
      </div>
      <div class="buttons">
        <button type="submit" class="primary" disabled={busy}>
          {t(busy ? 'paste_connecting' : 'paste_connect')}
        </button>
        {replacing && (
          <button type="button" onClick={onCancel}>
            {t('action_cancel')}
          </button>
        )}
      </div>
    </form>
  );
}

/** While the person is still at it, what is missing is no mistake yet. */
function isUnfinished(problem: EnrollmentProblem): boolean {
  return problem === 'empty' || problem === 'token_missing' || problem === 'endpoint_missing';
}

interface NoteProps {
  texts: Texts;
  draft: EnrollmentDraft;
  result: ConnectResult;
  replacing: boolean;
}

function PasteNote({ texts: { t }, draft, result, replacing }: NoteProps): JSX.Element {
  if (result === 'unanswered') return <p>{t('action_failed')}</p>;
  const problem = result ?? draft.problem;
  if (problem === 'empty' && result === null) {
    return <p>{t(replacing ? 'paste_another_help' : 'paste_help')}</p>;
  }
  return (
    <>
      {draft.host !== null && <p class="understood">{t('paste_understood', [draft.host])}</p>}
      {problem !== null && <p>{t(`enrollment_problem_${problem}`)}</p>}
    </>
  );
}
