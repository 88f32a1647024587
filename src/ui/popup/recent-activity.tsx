/** The last few things the platform asked for (ui.md, Popup 4). */
import type { JSX } from 'preact';
import type { ActivityEntry } from '../../settings/activity';
import { entryInWords, outcomeInWords } from '../activity/activity-words';
import { formatDuration, formatFullTime, formatShortTime } from '../format';
import type { Texts } from '../i18n';

const SHOWN = 5;

interface Props {
  activity: readonly ActivityEntry[];
  now: number;
  texts: Texts;
}

export function RecentActivity({ activity, now, texts }: Props): JSX.Element {
  const { t } = texts;
  return (
    <section class="activity" aria-labelledby="activity-heading">
      <div class="section-head">
        <h2 id="activity-heading">{t('activity_heading')}</h2>
        {activity.length > 0 && (
          <a href="../activity/activity.html" target="_blank" rel="noreferrer">
            {t('activity_all')}
          </a>
        )}
      </div>
      {activity.length === 0 ? (
        <p class="hint">{t('activity_empty')}</p>
      ) : (
        <ol class="entries">
          {activity.slice(0, SHOWN).map((entry) => (
            <Entry
              key={`${entry.at} ${entry.tool} ${entry.duration_ms}`}
              entry={entry}
              now={now}
              texts={texts}
            />
          ))}
        </ol>
      )}
    </section>
  );
}

function Entry({ entry, now, texts }: { entry: ActivityEntry; now: number; texts: Texts }): JSX.Element {
  const tool = entryInWords(entry, texts);
  return (
    <li>
      <span class="time" title={formatFullTime(entry.at, texts.locale)}>
        {formatShortTime(entry.at, now, texts.locale)}
      </span>
      <span class="what">
        <span class={tool.verbatim ? 'tool verbatim' : 'tool'} title={tool.text}>
          {tool.text}
        </span>
        <span class="outcome" data-ok={entry.outcome === 'ok'}>
          {outcomeInWords(entry, texts)}
        </span>
      </span>
      <span class="time">{formatDuration(entry.duration_ms, texts.locale)}</span>
    </li>
  );
}
