/** Asks in the page before a Storage is detached, and says that no file goes. */
import type { JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { RootKind } from '../../storage/ports';
import type { Texts } from '../i18n';

interface Props {
  name: string;
  backing: RootKind;
  texts: Texts;
  onDetach(): void;
  onCancel(): void;
}

export function DetachQuestion({ name, backing, texts: { t }, onDetach, onCancel }: Props): JSX.Element {
  const heading = useId();
  const consequence = useId();
  const cancel = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => cancel.current?.focus(), []);
  return (
    <div
      class="question"
      role="alertdialog"
      aria-labelledby={heading}
      aria-describedby={consequence}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onCancel();
      }}
    >
      <h3 id={heading}>{t('storage_detach_question', [name])}</h3>
      <p id={consequence}>{t(backing === 'folder' ? 'storage_detach_folder' : 'storage_detach_browser')}</p>
      <div class="buttons">
        <button type="button" class="danger" onClick={onDetach}>
          {t('storage_detach')}
        </button>
        <button type="button" ref={cancel} onClick={onCancel}>
          {t('action_cancel')}
        </button>
      </div>
    </div>
  );
}
