/** The form that attaches a Storage: each problem beside its field, nothing attached before all is right. */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FolderChoice } from '../../platform/folder-access';
import type { FolderHandle } from '../../storage/attachments';
import type { Texts } from '../i18n';
import { Field } from './field';
import {
  checkDraft,
  type FolderProblem,
  type FormProblems,
  folderProblemInWords,
  hasProblem,
  idProblemInWords,
  NO_PROBLEMS,
  nameProblemInWords,
  type StorageDraft,
  storageIdOf,
} from './storage-form';

export interface StorageToAttach {
  storage_id: string;
  name: string;
  /** Null: inside the browser. */
  handle: FolderHandle | null;
  /** It was dropped, not picked. */
  dropped: boolean;
}

/** `failed`: nobody knows why; the page says so. */
export type AttachResult = 'attached' | 'failed' | FolderProblem;

interface Props {
  texts: Texts;
  attached: readonly string[];
  allowsFolders: boolean;
  dropped: FolderChoice | null;
  /** Something is held over the page. */
  dropping: boolean;
  busy: boolean;
  pickFolder(): Promise<FolderChoice>;
  onAttach(storage: StorageToAttach): Promise<AttachResult>;
}

export function AttachForm(props: Props): JSX.Element {
  const { texts, attached, allowsFolders, dropped } = props;
  const { t } = texts;
  const [storage_id, setId] = useState('');
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<StorageDraft['backing']>('folder');
  const [handle, setHandle] = useState<FolderHandle | null>(null);
  const [isDropped, setDropped] = useState(false);
  const [problems, setProblems] = useState<FormProblems>(NO_PROBLEMS);
  const [working, setWorking] = useState(false);
  /** Counts the tries, so that each one moves the focus. */
  const [tries, setTries] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  const backing = allowsFolders ? chosen : 'browser';
  const busy = props.busy || working;

  useLayoutEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid="true"]')?.focus();
  }, [tries]);
  useEffect(() => {
    if (dropped !== null) take(dropped, true);
  }, [dropped]);

  function take(choice: FolderChoice, byDrop: boolean): void {
    if (choice === 'cancelled') return;
    setChosen('folder');
    if (typeof choice === 'string') {
      setProblems((before) => ({ ...before, folder: { problem: choice } }));
      return;
    }
    setHandle(choice);
    setDropped(byDrop);
    setProblems((before) => ({ ...before, folder: null }));
    setName((before) => before || choice.name);
  }

  async function submit(): Promise<void> {
    const draft: StorageDraft = { storage_id, name, backing, folder: handle?.name ?? null };
    const found = checkDraft(draft, attached);
    setProblems(found);
    setTries((count) => count + 1);
    if (hasProblem(found)) return;
    setWorking(true);
    const result = await props.onAttach({
      storage_id: storageIdOf(draft),
      name: name.trim(),
      handle: backing === 'folder' ? handle : null,
      dropped: isDropped,
    });
    setWorking(false);
    if (typeof result === 'object') {
      setProblems({ ...NO_PROBLEMS, folder: result });
      setTries((count) => count + 1);
    } else if (result === 'attached') {
      setId('');
      setName('');
      setHandle(null);
    }
  }

  return (
    <form
      ref={form}
      class="attach"
      aria-labelledby="attach-heading"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) void submit();
      }}
    >
      <h2 id="attach-heading">{t('attach_heading')}</h2>
      <Field
        id="storage-id"
        label={t('storage_id')}
        help={t('attach_id_help')}
        problem={problems.storage_id && idProblemInWords(problems.storage_id, t)}
        value={storage_id}
        mono
        onChange={(value) => {
          setId(value);
          setProblems((before) => ({ ...before, storage_id: null }));
        }}
        onLeave={() => {
          // An empty field is wrong only once it is sent.
          if (storageIdOf({ storage_id }) === '') return;
          const found = checkDraft({ storage_id, name, backing, folder: null }, attached);
          setProblems((before) => ({ ...before, storage_id: found.storage_id }));
        }}
      />
      <Field
        id="storage-name"
        label={t('attach_name')}
        help={t('attach_name_help')}
        problem={problems.name && nameProblemInWords(problems.name, t)}
        value={name}
        onChange={(value) => {
          setName(value);
          setProblems((before) => ({ ...before, name: null }));
        }}
      />
      {allowsFolders ? (
        <fieldset class="where">
          <legend>{t('attach_where')}</legend>
          <Choice texts={texts} backing="folder" chosen={backing} onChoose={setChosen} />
          {backing === 'folder' && (
            <FolderPart
              texts={texts}
              folder={handle?.name ?? null}
              problem={problems.folder}
              dropping={props.dropping}
              busy={busy}
              dropped={isDropped}
              onPick={() => void props.pickFolder().then((choice) => take(choice, false))}
            />
          )}
          <Choice texts={texts} backing="browser" chosen={backing} onChoose={setChosen} />
        </fieldset>
      ) : (
        <p class="hint">{t('attach_folders_by_policy')}</p>
      )}
      <div class="buttons">
        <button type="submit" class="primary" disabled={busy}>
          {t(working ? 'attach_busy' : 'attach_action')}
        </button>
      </div>
    </form>
  );
}

interface ChoiceProps {
  texts: Texts;
  backing: StorageDraft['backing'];
  chosen: StorageDraft['backing'];
  onChoose(value: StorageDraft['backing']): void;
}

function Choice({ texts: { t }, backing, chosen, onChoose }: ChoiceProps): JSX.Element {
  return (
    <label class="choice">
      <input type="radio" name="backing" checked={chosen === backing} onChange={() => onChoose(backing)} />
      <span>
        <span class="choice-name">
          {t(backing === 'folder' ? 'storage_in_folder' : 'storage_in_browser')}
        </span>
        <span class="hint">{t(backing === 'folder' ? 'attach_folder_help' : 'attach_browser_help')}</span>
      </span>
    </label>
  );
}

interface FolderPartProps {
  texts: Texts;
  folder: string | null;
  problem: FolderProblem | null;
  dropping: boolean;
  dropped: boolean;
  busy: boolean;
  onPick(): void;
}

function FolderPart(props: FolderPartProps): JSX.Element {
  const {
    texts: { t },
    folder,
    problem,
    dropping,
    dropped,
    busy,
    onPick,
  } = props;
  return (
    <div class="folder">
      {folder !== null && <p class="chosen">{t('attach_chosen', [folder])}</p>}
      <div class="buttons">
        <button
          type="button"
          id="choose-folder"
          data-invalid={problem !== null}
          aria-describedby="folder-note"
          disabled={busy}
          onClick={onPick}
        >
          {t(folder === null ? 'attach_choose_folder' : 'attach_choose_other')}
        </button>
        <span class="hint">{t(dropping ? 'attach_drop_here' : 'attach_drop_help')}</span>
      </div>
      <p id="folder-note" class="note" role="status" data-wrong={problem !== null}>
        {problem !== null && folderProblemInWords(problem, t)}
        {problem === null && t(folder !== null && dropped ? 'attach_dropped_steps' : 'attach_folder_steps')}
      </p>
    </div>
  );
}
