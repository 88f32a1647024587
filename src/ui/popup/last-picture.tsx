/** The last picture that went to the platform, small; a click makes it larger (ui.md, Popup 2). */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Overview } from '../../platform/messages';
import { formatTime } from '../format';
import type { Texts } from '../i18n';

interface Props {
  picture: NonNullable<Overview['last_picture']>;
  now: number;
  texts: Texts;
}

export function LastPicture({ picture, now, texts: { t, locale } }: Props): JSX.Element {
  const [large, setLarge] = useState(false);
  const time = formatTime(picture.captured_at, now, locale);
  return (
    <section class="picture" data-large={large} aria-labelledby="picture-heading">
      <div class="section-head">
        <h2 id="picture-heading">{t('picture_heading')}</h2>
        <span class="time">{time}</span>
      </div>
      <button
        type="button"
        class="picture-frame"
        aria-expanded={large}
        title={t(large ? 'picture_reduce' : 'picture_enlarge')}
        onClick={() => setLarge(!large)}
      >
        <img src={picture.data_url} alt={t('picture_alt', [time])} />
      </button>
    </section>
  );
}
