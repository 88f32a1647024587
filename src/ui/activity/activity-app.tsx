/** The activity page: all that is kept of what the platform asked for (ui.md, Popup 4). */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ActivityEntry } from '../../settings/activity';
import { formatDuration, formatFullTime } from '../format';
import type { Texts } from '../i18n';
import { PageNav } from '../page-nav';
import { entryInWords, outcomeInWords } from './activity-words';

interface Props {
  texts: Texts;
  /** Newest first. Rejects when nobody answers. */
  getActivity(): Promise<ActivityEntry[]>;
}

const REFRESH_EVERY_MS = 3_000;

export function ActivityApp({ texts, getActivity }: Props): JSX.Element {
  const { t } = texts;
  const [activity, setActivity] = useState<ActivityEntry[] | null>(null);
  const [failed, setFailed] = useState(false);

  useEffect(() => {
    const refresh = (): void => {
      if (document.hidden) return;
      getActivity().then(
        (entries) => {
          setActivity(entries);
          setFailed(false);
        },
        () => setFailed(true),
      );
    };
    refresh();
    const timer = setInterval(refresh, REFRESH_EVERY_MS);
    document.addEventListener('visibilitychange', refresh);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', refresh);
    };
  }, [getActivity]);

  return (
    <>
      <PageNav here="activity" texts={texts} />
      <main>
        <h1>{t('activity_heading')}</h1>
        <p class="hint">{t('activity_page_note')}</p>
        {failed && <p role="alert">{t('activity_unavailable')}</p>}
        {activity?.length === 0 && <p>{t('activity_empty')}</p>}
        {activity !== null && activity.length > 0 && (
          <table>
            <thead>
              <tr>
                <th scope="col">{t('activity_time')}</th>
                <th scope="col">{t('activity_tool')}</th>
                <th scope="col">{t('activity_outcome')}</th>
                <th scope="col" class="number">
                  {t('activity_duration')}
                </th>
              </tr>
            </thead>
            <tbody>
              {activity.map((entry) => (
                <Row key={`${entry.at} ${entry.tool} ${entry.duration_ms}`} entry={entry} texts={texts} />
              ))}
            </tbody>
          </table>
        )}
      </main>
    </>
  );
}

function Row({ entry, texts }: { entry: ActivityEntry; texts: Texts }): JSX.Element {
  const tool = entryInWords(entry, texts);
  return (
    <tr>
      <td class="time">
        <time dateTime={new Date(entry.at).toISOString()}>{formatFullTime(entry.at, texts.locale)}</time>
      </td>
      <td class={tool.verbatim ? 'verbatim' : ''}>{tool.text}</td>
      <td class="outcome" data-ok={entry.outcome === 'ok'}>
        {outcomeInWords(entry, texts)}
      </td>
      <td class="number">{formatDuration(entry.duration_ms, texts.locale)}</td>
    </tr>
  );
}
