/** The Storages page as a whole: what it remembers while it is open. Everything outside comes through the ports. */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FolderChoice } from '../../platform/folder-access';
import type { StorageOverview } from '../../platform/messages';
import type { FolderHandle } from '../../storage/attachments';
import type { MessageKey, Texts } from '../i18n';
import { PageNav } from '../page-nav';
import { AttachForm, type AttachResult, type StorageToAttach } from './attach-form';
import { StorageCard } from './storage-card';
import { type Attention, afterVisit, type CardWords } from './storage-words';
import type { VisitNote } from './visit-note';

export interface StoragesPorts {
  texts: Texts;
  /** Why the page was opened, or what it came back for. */
  note: VisitNote | null;
  /** These reject when nobody answers. */
  list(): Promise<StorageOverview[]>;
  allowsFolders(): Promise<boolean>;
  pickFolder(): Promise<FolderChoice>;
  droppedFolder(items: DataTransferItemList): Promise<FolderChoice>;
  /** Lets Chrome ask; false when it was not allowed. */
  askForFolder(handle: FolderHandle): Promise<boolean>;
  /** The name of the Storage whose folder is the same, or lies in it or around it. */
  overlapping(handle: FolderHandle): Promise<string | null>;
  /** Nobody else hears of the folder before the page was away. */
  attachFolder(storage: { storage_id: string; name: string; handle: FolderHandle }): Promise<void>;
  attachBrowser(storage: { storage_id: string; name: string }): Promise<void>;
  detach(storage_id: string): Promise<void>;
  /** Lets Chrome ask for a folder that is attached. */
  askAgain(storage_id: string): Promise<'granted' | 'refused' | 'gone'>;
  /** Leaves and comes back with the note. False when that is not possible now. */
  leave(note: VisitNote): Promise<boolean>;
  /** Another permission or folder than before. */
  tellChanged(): Promise<void>;
}

const REFRESH_EVERY_MS = 3_000;
const AGAIN_AFTER_MS = 500;

interface Notice {
  key: MessageKey & ('storage_kept_notice' | 'storage_attached_notice' | 'storage_detached_notice');
  name: string;
}

export function StoragesApp({ ports }: { ports: StoragesPorts }): JSX.Element {
  const { t } = ports.texts;
  const { storages, failed, refresh } = useStorages(ports);
  const [allowsFolders, setAllowsFolders] = useState(true);
  const [notice, setNotice] = useState<Notice | null>(null);
  const [attention, setAttention] = useState<ReadonlyMap<string, Attention>>(new Map());
  const [busy, setBusy] = useState(false);
  const [leaving, setLeaving] = useState(false);
  const [problem, setProblem] = useState(false);
  const isWelcomed = useRef(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const folderDrop = useFolderDrop(ports, allowsFolders);

  useEffect(() => {
    ports.allowsFolders().then(setAllowsFolders, () => undefined);
  }, [ports]);

  useEffect(() => {
    const { note } = ports;
    if (isWelcomed.current || storages === null) return;
    isWelcomed.current = true;
    const storage = storages.find(({ storage_id }) => storage_id === note?.storage_id);
    if (!note || !storage) return;
    const after = afterVisit(note, storage.permission);
    if (after.notice !== null) setNotice({ key: 'storage_kept_notice', name: storage.name });
    if (after.attention !== null) mark(storage.storage_id, after.attention);
  }, [ports, storages]);

  function mark(storage_id: string, what: Attention | null): void {
    setAttention((before) => {
      const after = new Map(before);
      if (what === null) after.delete(storage_id);
      else after.set(storage_id, what);
      return after;
    });
  }

  async function leave(note: VisitNote): Promise<void> {
    if (await ports.leave(note)) setLeaving(true);
    else mark(note.storage_id, 'busy');
  }

  /** Does something the person asked for, and says so when it did not happen. */
  async function act(action: () => Promise<void>): Promise<void> {
    setBusy(true);
    setProblem(false);
    setNotice(null);
    try {
      await action();
    } catch {
      setProblem(true);
    }
    await refresh();
    setBusy(false);
  }

  async function ask(storage_id: string, then: VisitNote['step'] | null): Promise<void> {
    const answer = await ports.askAgain(storage_id);
    if (answer !== 'granted') {
      // What is gone is told by the list, for as long as it is.
      mark(storage_id, answer === 'refused' ? answer : null);
      return;
    }
    mark(storage_id, null);
    if (then !== null) await leave({ step: then, storage_id });
    else await ports.tellChanged();
  }

  async function chooseAgain({ storage_id, name }: StorageOverview): Promise<void> {
    const handle = await ports.pickFolder();
    if (typeof handle === 'string') return;
    if (!(await ports.askForFolder(handle))) {
      mark(storage_id, 'refused');
      return;
    }
    await ports.attachFolder({ storage_id, name, handle });
    mark(storage_id, null);
    await leave({ step: 'finish', storage_id });
  }

  function repair(storage: StorageOverview, does: NonNullable<CardWords['action']>['does']): Promise<void> {
    const { storage_id } = storage;
    switch (does) {
      case 'ask':
        return act(() => ask(storage_id, 'check'));
      case 'view':
        return act(() => ask(storage_id, 'finish'));
      case 'keep':
        // Chrome asks only for what it has forgotten.
        return act(() => leave({ step: 'finish', storage_id }));
      case 'choose':
        return act(() => chooseAgain(storage));
    }
  }

  async function attach(storage: StorageToAttach): Promise<AttachResult> {
    setProblem(false);
    setNotice(null);
    const { storage_id, name, handle, dropped } = storage;
    try {
      if (handle === null) {
        await ports.attachBrowser({ storage_id, name });
        await refresh();
        setNotice({ key: 'storage_attached_notice', name: name || storage_id });
        return 'attached';
      }
      const other = await ports.overlapping(handle);
      if (other !== null) return { problem: 'overlaps', name: other };
      // What Chrome is asked of a handle that was dropped it does not remember; it must be loaded anew first.
      if (!dropped && !(await ports.askForFolder(handle))) return { problem: 'refused' };
      await ports.attachFolder({ storage_id, name, handle });
      await leave({ step: dropped ? 'view' : 'finish', storage_id });
      await refresh();
      return 'attached';
    } catch {
      setProblem(true);
      return 'failed';
    }
  }

  async function detach({ storage_id, name }: StorageOverview): Promise<void> {
    await act(async () => {
      await ports.detach(storage_id);
      mark(storage_id, null);
      setNotice({ key: 'storage_detached_notice', name });
    });
    heading.current?.focus();
  }

  return (
    <>
      <PageNav here="storages" texts={ports.texts} />
      <main data-dropping={folderDrop.isOver}>
        <h1 ref={heading} tabIndex={-1}>
          {t('storages_heading')}
        </h1>
        <p class="hint">{t('storages_page_note')}</p>
        <div role="status" class="notice">
          {leaving ? <p>{t('storage_returning')}</p> : notice && <p>{t(notice.key, [notice.name])}</p>}
        </div>
        {problem && <p role="alert">{t('action_failed')}</p>}
        {failed && <p role="alert">{t('storages_unavailable')}</p>}
        {storages?.length === 0 && <p class="none">{t('storages_none')}</p>}
        {storages !== null && storages.length > 0 && (
          <ul class="cards">
            {storages.map((storage) => (
              <StorageCard
                key={storage.storage_id}
                storage={storage}
                texts={ports.texts}
                attention={storage.gone ? 'gone' : (attention.get(storage.storage_id) ?? null)}
                isWanted={ports.note?.storage_id === storage.storage_id}
                busy={busy || leaving}
                onRepair={(does) => repair(storage, does)}
                onSessionOnly={() => act(() => ask(storage.storage_id, null))}
                onDetach={() => detach(storage)}
              />
            ))}
          </ul>
        )}
        {/* Not before the list above it is there, which would move it from under the pointer. */}
        {(storages !== null || failed) && (
          <AttachForm
            texts={ports.texts}
            attached={storages?.map(({ storage_id }) => storage_id) ?? []}
            allowsFolders={allowsFolders}
            dropped={folderDrop.dropped}
            dropping={folderDrop.isOver}
            busy={busy || leaving}
            pickFolder={ports.pickFolder}
            onAttach={attach}
          />
        )}
      </main>
    </>
  );
}

interface StoragesNow {
  /** Null before the first answer. */
  storages: StorageOverview[] | null;
  failed: boolean;
  refresh(): Promise<void>;
}

function useStorages(ports: StoragesPorts): StoragesNow {
  const [storages, setStorages] = useState<StorageOverview[] | null>(null);
  /** Tries in a row that nobody answered. One alone is a browser that just started. */
  const [failures, setFailures] = useState(0);
  const asked = useRef(0);

  async function refresh(): Promise<void> {
    asked.current += 1;
    const turn = asked.current;
    try {
      const answer = await ports.list();
      if (turn !== asked.current) return;
      setStorages(answer);
      setFailures(0);
    } catch {
      setFailures((before) => before + 1);
    }
  }

  useEffect(() => {
    if (failures !== 1) return undefined;
    const timer = setTimeout(refresh, AGAIN_AFTER_MS);
    return () => clearTimeout(timer);
  }, [failures]);
  useEffect(() => {
    const look = (): void => {
      if (!document.hidden) void refresh();
    };
    look();
    const timer = setInterval(look, REFRESH_EVERY_MS);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [ports]);
  return { storages, failed: failures > 1, refresh };
}

interface FolderDrop {
  isOver: boolean;
  /** The last thing that was dropped. */
  dropped: FolderChoice | null;
}

/** On the whole window, also beside the page's column. */
function useFolderDrop(ports: StoragesPorts, isAllowed: boolean): FolderDrop {
  const [isOver, setOver] = useState(false);
  const [dropped, setDropped] = useState<FolderChoice | null>(null);
  // Not later than the page is seen: what is dropped before would open in place of the page.
  useLayoutEffect(() => {
    if (!isAllowed) return undefined;
    // Also for `dragenter`: a drop is refused when what lies under it has just changed and was only entered.
    const over = (event: DragEvent): void => {
      // Otherwise Chrome opens what is dropped, and the page is gone.
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      setOver(false);
      if (event.dataTransfer) void ports.droppedFolder(event.dataTransfer.items).then(setDropped);
    };
    document.addEventListener('dragenter', over);
    document.addEventListener('dragover', over);
    document.addEventListener('dragleave', leave);
    document.addEventListener('drop', drop);
    return () => {
      document.removeEventListener('dragenter', over);
      document.removeEventListener('dragover', over);
      document.removeEventListener('dragleave', leave);
      document.removeEventListener('drop', drop);
    };
  }, [ports, isAllowed]);
  return { isOver, dropped };
}
