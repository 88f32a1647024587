/** The popup as a whole: what it remembers while it is open. Everything outside comes through `PopupPorts`. */
import type { JSX, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ConnectionState, Overview, StorageOverview } from '../../platform/messages';
import type { Texts } from '../i18n';
import { LastPicture } from './last-picture';
import { type ConnectResult, PasteForm } from './paste-form';
import { PopupFoot } from './popup-foot';
import { popupModel, shownConnection } from './popup-model';
import { GUARD_MS, Questions } from './questions';
import { RecentActivity } from './recent-activity';
import { StateLine } from './state-line';
import { StoragesSection } from './storages-section';

export interface PopupPorts {
  texts: Texts;
  version: string;
  now(): number;
  /** Tells every connection state, null while it is not known. Returns the way to stop. */
  feedConnection(tell: (state: ConnectionState | null) => void): () => void;
  /** These reject when nobody answers. */
  getOverview(): Promise<Overview>;
  listStorages(): Promise<StorageOverview[]>;
  saveEnrollment(text: string): Promise<ConnectResult>;
  forgetEnrollment(): Promise<unknown>;
  setPaused(paused: boolean): Promise<unknown>;
  retryNow(): Promise<unknown>;
  /** Calls back when other questions wait than before. Returns the way to stop. */
  onQuestions(changed: () => void): () => void;
  answerQuestion(question_id: string, allow: boolean): Promise<{ counted: boolean }>;
}

/** The overview is asked for this often while the popup is open. */
const OVERVIEW_EVERY_MS = 2_000;
/** Without an overview by then, the paste box is shown on the connection's word alone. */
const OVERVIEW_PATIENCE_MS = 400;

export function PopupApp({ ports }: { ports: PopupPorts }): JSX.Element {
  const { texts } = ports;
  const main = useFocusKeeper();
  const [told, setConnection] = useState<ConnectionState | null>(null);
  const [wants_another, setWantsAnother] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState(false);
  const [too_late, setTooLate] = useState(false);
  /** By `ports.now`. */
  const guardedUntil = useRef(0);
  const { overview, overview_is_late, overview_is_newer, refresh } = useOverview(ports, told);
  const connection = shownConnection(told, overview_is_newer ? overview : null);
  const questions = overview?.questions.filter(({ deadline }) => deadline > ports.now()) ?? [];
  const counting = questions.length > 0 || (connection !== null && 'until' in connection);
  const now = useNow(ports, counting);
  useEffect(() => ports.feedConnection(setConnection), [ports]);

  const is_persons = overview?.enrollment?.source === 'person';
  // There is nothing to replace any more: the next enrollment may come from elsewhere.
  useEffect(() => {
    if (!is_persons) setWantsAnother(false);
  }, [is_persons]);

  const model = popupModel({ connection, overview, overview_is_late, wants_another });

  /** Does something the person asked for, and says so when it did not happen. */
  async function act(action: () => Promise<unknown>): Promise<void> {
    setBusy(true);
    setFailed(false);
    setTooLate(false);
    try {
      await action();
    } catch {
      setFailed(true);
    }
    void refresh();
    setBusy(false);
  }

  async function answer(question_id: string, allow: boolean): Promise<void> {
    const { counted } = await ports.answerQuestion(question_id, allow);
    setTooLate(!counted);
  }

  async function connect(text: string): Promise<ConnectResult> {
    let result: ConnectResult = 'unanswered';
    // The new state may be seen before the answer comes.
    guardedUntil.current = Number.POSITIVE_INFINITY;
    try {
      result = await ports.saveEnrollment(text);
    } catch {
      // Nobody answered.
    }
    if (result === null) {
      await refresh();
      setWantsAnother(false);
    }
    guardedUntil.current = ports.now() + GUARD_MS;
    return result;
  }

  /** Other buttons come where Connect was: the second click of a double click is not meant for them. */
  function meant(event: MouseEvent, action: () => void): void {
    const isByPointer = event.detail > 0;
    if (!isByPointer || ports.now() >= guardedUntil.current) action();
  }

  return (
    <main ref={main} tabIndex={-1} data-state={connection?.state ?? 'unknown'}>
      <StateLine
        connection={connection}
        now={now}
        texts={texts}
        hint={model.hint}
        action={model.action}
        busy={busy}
        onAction={() => act(() => (model.action === 'resume' ? ports.setPaused(false) : ports.retryNow()))}
      />
      {failed && (
        <p class="failed" role="alert">
          {texts.t('action_failed')}
        </p>
      )}
      {too_late && (
        <p class="failed" role="alert">
          {texts.t('question_too_late')}
        </p>
      )}
      {questions.length > 0 && (
        <Questions
          questions={questions}
          now={now}
          texts={texts}
          onAnswer={(question_id, allow) => act(() => answer(question_id, allow))}
        />
      )}
      {model.paste !== 'none' && (
        <PasteForm
          texts={texts}
          replacing={model.paste === 'replacing'}
          onConnect={connect}
          onCancel={() => setWantsAnother(false)}
        />
      )}
      {overview?.last_picture && <LastPicture picture={overview.last_picture} now={now} texts={texts} />}
      <StoragesSection
        listStorages={ports.listStorages}
        enrolled={(overview?.enrollment ?? null) !== null}
        now={ports.now}
        texts={texts}
      />
      {overview && (overview.enrollment || overview.activity.length > 0) && (
        <RecentActivity activity={overview.activity} now={now} texts={texts} />
      )}
      <PopupFoot
        model={model}
        overview={overview}
        version={ports.version}
        texts={texts}
        busy={busy}
        onPause={(event) => meant(event, () => act(() => ports.setPaused(true)))}
        onForget={() => act(ports.forgetEnrollment)}
        onAnother={(event) => meant(event, () => setWantsAnother(true))}
      />
    </main>
  );
}

/** When what had the focus is gone, the focus stays in the popup instead of starting over. */
function useFocusKeeper(): RefObject<HTMLElement | null> {
  const main = useRef<HTMLElement>(null);
  const hadFocus = useRef(false);
  useLayoutEffect(() => {
    const isInside = main.current?.contains(document.activeElement) ?? false;
    if (hadFocus.current && !isInside) main.current?.focus();
    hadFocus.current ||= isInside;
  });
  return main;
}

interface OverviewNow {
  overview: Overview | null;
  overview_is_late: boolean;
  /** True when it was asked for after the connection came into its present state. */
  overview_is_newer: boolean;
  /** Settles when an overview asked for from now on has come, or nobody answered. */
  refresh(): Promise<void>;
}

/** The overview, anew with every change of the connection and every so often. */
function useOverview(ports: PopupPorts, connection: ConnectionState | null): OverviewNow {
  const [overview, setOverview] = useState<Overview | null>(null);
  const [overview_is_late, setLate] = useState(false);
  const asked = useRef(0);
  const shown = useRef(0);

  async function refresh(): Promise<void> {
    asked.current += 1;
    const turn = asked.current;
    try {
      const answer = await ports.getOverview();
      if (turn < shown.current) return;
      shown.current = turn;
      setOverview(answer);
    } catch {
      // What was last known stays; the next turn asks again.
      setLate(true);
    }
  }

  const state = connection?.state;
  const since = useRef({ state, turn: 0 });
  if (since.current.state !== state) since.current = { state, turn: asked.current };
  useEffect(() => void refresh(), [ports, state]);
  useEffect(() => {
    const often = setInterval(refresh, OVERVIEW_EVERY_MS);
    const stop = ports.onQuestions(refresh);
    const late = setTimeout(() => setLate(true), OVERVIEW_PATIENCE_MS);
    return () => {
      stop();
      clearInterval(often);
      clearTimeout(late);
    };
  }, [ports]);
  const overview_is_newer = shown.current > since.current.turn;
  return { overview, overview_is_late, overview_is_newer, refresh };
}

/** The time, twice a second while something counts down, else whenever something else changes. */
function useNow(ports: PopupPorts, counting: boolean): number {
  const [, setTick] = useState(0);
  useEffect(() => {
    if (!counting) return undefined;
    const timer = setInterval(() => setTick((tick) => tick + 1), 500);
    return () => clearInterval(timer);
  }, [counting]);
  return ports.now();
}
